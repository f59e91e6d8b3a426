#include "operations/device/data_sheet_table.h"

#include <nlohmann/json.hpp>

#include "operations/device/embedded_data_sheets.h"

namespace ridgeline::operations {

namespace {

using nlohmann::json;

Cell cell_of(const json& sheet, const char* key) {
  const auto found = sheet.find(key);
  return found == sheet.end()
             ? Cell{}
             : Cell{found->at("value").get<double>(), found->at("documents").get<std::array<std::string, 2>>()};
}

Sheet sheet_of(const json& sheet) {
  Sheet made;
  made.name = sheet.at("name");
  made.amd = sheet.at("vendor") == "AMD";
  made.units = cell_of(sheet, "units");
  made.boost_mhz = cell_of(sheet, "boostMHz");
  made.float32 = cell_of(sheet, "float32TFlopPerS");
  made.tf32 = cell_of(sheet, "tf32TFlopPerS");
  made.float16 = cell_of(sheet, "float16TFlopPerS");
  made.bfloat16 = cell_of(sheet, "bfloat16TFlopPerS");
  made.shared_kib = cell_of(sheet, "sharedKiB");
  made.l2_mib = cell_of(sheet, "l2MiB");
  made.units_of_l2 = sheet.value("unitsOfL2", 0);
  made.last_cache_mib = cell_of(sheet, "lastCacheMiB");
  made.memory_gb = cell_of(sheet, "memoryGB");
  made.memory_gb_per_s = cell_of(sheet, "memoryGBPerS");
  made.power_w = cell_of(sheet, "powerW");
  return made;
}

}  // namespace

const std::vector<Sheet>& data_sheet_table() {
  static const std::vector<Sheet> all = [] {
    const json file = json::parse(embedded_files().front().content);
    std::vector<Sheet> made;
    for (const json& sheet : file.at("gpus")) {
      made.push_back(sheet_of(sheet));
    }
    return made;
  }();
  return all;
}

}  // namespace ridgeline::operations
