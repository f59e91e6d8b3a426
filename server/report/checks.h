// What `ridgeline doctor` found, for a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/text_report.h"

namespace ridgeline::report {

enum class CheckStatus : std::uint8_t { kOk, kNote, kFail };

struct Check {
  CheckStatus status = CheckStatus::kOk;
  std::string name;
  std::string found;
  std::string fix;  ///< what to do, where `found` does not say it
};

/// A row each, then how many failed. Of `options`: width and colour. Everything is made printable and kept to a few
/// lines. Ends with a newline.
std::string text_checks(const std::vector<Check>& checks, const TextOptions& options = {});

}  // namespace ridgeline::report
