// Profiles that were made before, by the folder that their entry points are in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ridgeline::app {

struct KeptReport {
  std::string id;
  std::string entry;            ///< real path
  std::uint64_t created_s = 0;  ///< seconds since 1970
};

/// The stored profiles of entry points below `folder`, a real path, newest first: at most 16. Empty where the store
/// cannot be read. Reads the disk.
std::vector<KeptReport> kept_reports(const std::string& folder);

/// That one, as text for a terminal without the lines' source; nothing: there is none of that id below `folder`. Reads
/// the disk.
struct KeptReportText {
  KeptReport report;
  std::string text;
};
std::optional<KeptReportText> kept_report(const std::string& folder, const std::string& id);

}  // namespace ridgeline::app
