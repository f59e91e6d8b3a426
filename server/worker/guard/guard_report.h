// What a guarded command was kept from, for whom has started it.
#pragma once

#include <optional>
#include <string>

namespace ridgeline::worker {

struct Report {
  std::string unavailable{};  ///< why the kernel cannot guard a command: it was not started. Else empty
  std::string ended_at{};     ///< the file whose change ended the command; mostly empty
  std::string call{};         ///< with which system call
  std::string refused{};      ///< the first file that it was kept from writing and went on
  std::string connection{};   ///< the first address that it was kept from connecting to
};

std::string report_text(const Report& report);

/// Nothing where the text is no report.
std::optional<Report> parse_report(const std::string& text);

}  // namespace ridgeline::worker
