#include "app/profiling/project_settings.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/file.h"
#include "base/toml.h"

namespace ridgeline::app {

namespace {

constexpr double kMostGrams = 1e5;
constexpr std::string_view kCo2 = "co2-grams-per-kwh";

base::Error wrong(const std::string& name, const toml::source_position& at, std::string_view what) {
  return base::error(fmt::format("{}:{}:{}: {}", name, at.line, at.column, what));
}

}  // namespace

base::Result<ProjectSettings> parse_project_settings(std::string_view text, const std::string& name) {
  const auto document = base::parse_toml(text, name);
  if (!document) {
    return document.error();
  }
  ProjectSettings settings;
  const toml::table* own = document->at_path("tool.ridgeline").as_table();
  if (own == nullptr) {
    return settings;
  }
  for (const auto& [key, value] : *own) {
    if (key.str() == "budgets") {
      continue;
    }
    if (key.str() != kCo2) {
      return wrong(name, key.source().begin,
                   fmt::format("[tool.ridgeline] has no \"{}\"; it has budgets and {}", key.str(), kCo2));
    }
    settings.co2_g_per_kwh = value.value<double>();
    if (!settings.co2_g_per_kwh || !(*settings.co2_g_per_kwh >= 0 && *settings.co2_g_per_kwh <= kMostGrams)) {
      return wrong(name, value.source().begin, fmt::format("write grams from 0 to {:.0f}, such as 350", kMostGrams));
    }
  }
  return settings;
}

base::Result<ProjectSettings> project_settings(const std::string& project_root) {
  const std::string path = project_root + "/pyproject.toml";
  std::error_code problem;
  if (!std::filesystem::is_regular_file(path, problem)) {
    return ProjectSettings{};
  }
  const auto text = base::read_text(path, base::kMaxTomlBytes);
  return text ? parse_project_settings(*text, path) : base::Result<ProjectSettings>(text.error());
}

}  // namespace ridgeline::app
