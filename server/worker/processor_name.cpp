#include "worker/processor_name.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "worker/embedded_sources.h"

namespace ridgeline::worker {

namespace {

using nlohmann::json;

constexpr const char* kArmTable = "profiler/runner/ridgeline_runner/common/arm_processors.json";

json arm_table() {
  const auto files = embedded_files();
  const auto found = std::ranges::find(files, std::string_view(kArmTable), &base::EmbeddedFile::path);
  return found == files.end() ? json::object() : json::parse(found->content, nullptr, false);
}

/// Of "CPU implementer" and "CPU part", as the file has them: "0x41", "0xd0c".
std::string arm_name(const json& table, const std::string& implementer, const std::string& part) {
  const json known = table.value(implementer, json::object());
  const std::string parts = known.contains("parts") ? known["parts"].value(part, "part " + part) : "part " + part;
  return known.value("name", "implementer " + implementer) + " " + parts;
}

}  // namespace

std::string processor_name_in(std::istream& cpuinfo) {
  json table;
  std::vector<std::string> names;
  std::string model;
  std::string implementer;
  bool is_x86 = false;
  for (std::string line; (!is_x86 || model.empty()) && std::getline(cpuinfo, line);) {
    const std::size_t colon = line.find(": ");
    const std::string value(colon == std::string::npos ? "" : base::trimmed(std::string_view(line).substr(colon + 2)));
    if (line.starts_with("vendor_id")) {
      is_x86 = true;
    } else if (line.starts_with("model name") && model.empty()) {
      model = value;
    } else if (line.starts_with("CPU implementer")) {
      implementer = value;
    } else if (line.starts_with("CPU part")) {
      table = table.is_null() ? arm_table() : std::move(table);
      std::string name = arm_name(table, implementer, value);
      if (std::ranges::find(names, name) == names.end()) {
        names.push_back(std::move(name));
      }
    }
  }
  if (!names.empty()) {
    return fmt::format("{}", fmt::join(names, " + "));
  }
  return model.empty() ? "unknown processor" : model;
}

}  // namespace ridgeline::worker
