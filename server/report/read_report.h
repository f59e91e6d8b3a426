// Reads back a JSON report: what another batch size is predicted from.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "analysis/profile.h"

namespace ridgeline::report {

/// The identity, environment, capacity, samples and skipped batch sizes of a report of json_report(); the rest of the
/// profile stays empty. Strict: a field that is missing, of another type or out of range makes it nothing, and `error`
/// says which. Never throws.
std::optional<analysis::Profile> read_report(std::string_view json, std::string& error);

}  // namespace ridgeline::report
