// [tool.ridgeline] of the project's pyproject.toml, besides the budgets, which `ridgeline check` reads.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ridgeline::app {

struct ProjectSettings {
  std::optional<double> co2_g_per_kwh{};  ///< of the electricity
};

/// Parses the text of a pyproject.toml. Pure. An error is "NAME:LINE:COLUMN: what is wrong and what to write".
base::Result<ProjectSettings> parse_project_settings(std::string_view text, const std::string& name);

/// The settings of the project's folder; empty without a pyproject.toml.
base::Result<ProjectSettings> project_settings(const std::string& project_root);

}  // namespace ridgeline::app
