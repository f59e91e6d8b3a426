#include "operations/device/data_sheets.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <map>
#include <set>
#include <string>

#include "operations/device/data_sheet_table.h"
#include "operations/device/device_file.h"
#include "operations/device/embedded_data_sheets.h"

namespace ridgeline::operations {
namespace {

/// Multiply-adds that a unit does in a cycle: in float32 on its ordinary lanes (AMD: on matrix cores), in float16 on
/// tensor or matrix cores with sums in float32 (P100: on ordinary lanes, in pairs).
struct Lanes {
  int float32;
  int float16;
};

/// CUDA C++ Programming Guide, throughput of arithmetic instructions, and the white papers of the architectures.
const std::map<std::string_view, Lanes> kLanes = {
    {"P4", {128, 0}},
    {"P100-PCIE", {64, 128}},
    {"P100", {64, 128}},
    {"T4", {64, 512}},
    {"V100-PCIE", {64, 512}},
    {"V100-PCIE-32GB", {64, 512}},
    {"V100", {64, 512}},
    {"V100-SXM2-32GB", {64, 512}},
    {"RTX 2080 Ti", {64, 256}},
    {"A10", {128, 512}},
    {"A10G", {128, 256}},
    {"A100-PCIE-40GB", {64, 1024}},
    {"A100", {64, 1024}},
    {"A100-SXM4-80GB", {64, 1024}},
    {"A100 80GB PCIe", {64, 1024}},
    {"RTX 3090", {128, 256}},
    {"L4", {128, 512}},
    {"L40S", {128, 512}},
    {"RTX 4090", {128, 256}},
    {"H100", {128, 2048}},
    {"H100 PCIe", {128, 2048}},
    {"H200", {128, 2048}},
    {"B200", {128, 4096}},
    {"MI210", {128, 512}},
    {"MI250X", {128, 512}},
    {"MI300X", {128, 1024}},
};

/// TFLOP/s at boost clock.
double computed(const Sheet& sheet, int lanes) {
  return sheet.units.value * lanes * 2 * sheet.boost_mhz.value * 1e6 / 1e12;
}

TEST(DataSheets, PeaksAreUnitsTimesLanesTimesClock) {
  const std::set<std::string_view> lower_clock = {"H100", "H100 PCIe", "H200", "B200"};  // for tensor cores
  for (const Sheet& sheet : data_sheet_table()) {
    ASSERT_TRUE(kLanes.contains(sheet.name)) << sheet.name;
    const Lanes lanes = kLanes.at(sheet.name);
    ASSERT_TRUE(sheet.units.known() && sheet.boost_mhz.known() && sheet.float32.known()) << sheet.name;
    EXPECT_NEAR(sheet.float32.value / computed(sheet, lanes.float32), 1, 0.013) << sheet.name;
    if (sheet.float16.known()) {
      const double ratio = sheet.float16.value / computed(sheet, lanes.float16);
      EXPECT_GT(ratio, lower_clock.contains(sheet.name) ? 0.91 : 0.98) << sheet.name;
      EXPECT_LT(ratio, 1.005) << sheet.name;
    }
    if (sheet.bfloat16.known()) {
      EXPECT_EQ(sheet.bfloat16.value, sheet.float16.value) << sheet.name;
    }
    if (sheet.tf32.known()) {
      EXPECT_NEAR(sheet.tf32.value / sheet.float16.value, 0.5, 0.005) << sheet.name;
    }
  }
}

TEST(DataSheets, MemoryIsPlausible) {
  for (const Sheet& sheet : data_sheet_table()) {
    ASSERT_TRUE(sheet.memory_gb.known() && sheet.memory_gb_per_s.known() && sheet.l2_mib.known()) << sheet.name;
    const double read_all_s = sheet.memory_gb.value / sheet.memory_gb_per_s.value;
    EXPECT_GT(read_all_s, 0.015) << sheet.name;
    EXPECT_LT(read_all_s, 0.085) << sheet.name;
    const double bytes_per_flop = sheet.memory_gb_per_s.value / sheet.float32.value / 1e3;
    EXPECT_GT(bytes_per_flop, 0.009) << sheet.name;
    EXPECT_LT(bytes_per_flop, 0.11) << sheet.name;
  }
}

TEST(DataSheets, EachFigureHasTwoDocuments) {
  const auto documents = nlohmann::json::parse(embedded_files().front().content).at("documents");
  std::set<std::string_view> names;
  for (const Sheet& sheet : data_sheet_table()) {
    EXPECT_TRUE(names.insert(sheet.name).second) << sheet.name;
    for (const Cell* cell : {&sheet.units, &sheet.boost_mhz, &sheet.float32, &sheet.tf32, &sheet.float16,
                             &sheet.bfloat16, &sheet.shared_kib, &sheet.l2_mib, &sheet.last_cache_mib, &sheet.memory_gb,
                             &sheet.memory_gb_per_s, &sheet.power_w}) {
      EXPECT_TRUE(!cell->known() || cell->documents[0] != cell->documents[1]) << sheet.name << " " << cell->value;
      for (const std::string& document : cell->documents) {
        EXPECT_TRUE(!cell->known() || documents.contains(document)) << sheet.name << " " << document;
      }
    }
  }
  EXPECT_GE(names.size(), 20U);
}

TEST(DataSheets, AreDevicesThatFilesHold) {
  for (const Device& device : data_sheets()) {
    const auto read = parse_device(device_json(device), "sheet.json");
    ASSERT_TRUE(read.has_value()) << device.name << ": " << read.error().message();
    EXPECT_EQ(*read, device);
  }
}

TEST(DataSheets, AreFoundByWhatDriversReport) {
  const std::map<std::string, std::string> found = {
      {"NVIDIA H100 80GB HBM3", "H100"},
      {"NVIDIA H100 PCIe", "H100 PCIe"},
      {"Tesla V100-PCIE-16GB", "V100-PCIE"},
      {"Tesla V100-SXM2-32GB", "V100-SXM2-32GB"},
      {"v100 pcie", "V100-PCIE"},
      {"NVIDIA A100-SXM4-40GB", "A100"},
      {"NVIDIA A100-SXM4-80GB", "A100-SXM4-80GB"},
      {"NVIDIA A100 80GB PCIe", "A100 80GB PCIe"},
      {"NVIDIA L4", "L4"},
      {"NVIDIA L40S", "L40S"},
      {"NVIDIA A10G", "A10G"},
      {"NVIDIA GeForce RTX 2080 Ti", "RTX 2080 Ti"},
      {"AMD Instinct MI250X/MI250", "MI250X"},
  };
  for (const auto& [name, sheet] : found) {
    ASSERT_TRUE(find_data_sheet(name).has_value()) << name;
    EXPECT_EQ(find_data_sheet(name)->name, sheet) << name;
  }
}

TEST(DataSheets, AreNotThoseOfOtherCards) {
  for (const char* name : {"GeForce 256", "NVIDIA H100 NVL", "NVIDIA GeForce RTX 3090 Ti", "NVIDIA GeForce RTX 4090 D",
                           "NVIDIA GeForce RTX 4090 Laptop GPU", "Tesla P100-PCIE-12GB", "A100 80GB", "NVIDIA L40",
                           "NVIDIA A100-SXM4-40GB MIG 1g.5gb", "NVIDIA GB200", "Tesla V100S-PCIE-32GB", ""}) {
    EXPECT_FALSE(find_data_sheet(name).has_value()) << name;
  }
}

/// What ROCm calls a device is one of MI250X's two dies; each of MI300X's eight dies has an L2.
TEST(DataSheets, CountDiesAsTorchDoes) {
  EXPECT_EQ(find_data_sheet("AMD Instinct MI250X")->compute_units, 110);
  const Device mi300x = *find_data_sheet("AMD Instinct MI300X");
  ASSERT_EQ(mi300x.levels.size(), 3U);
  EXPECT_EQ(mi300x.compute_units / mi300x.levels.front().shared_by_units, 8);
}

}  // namespace
}  // namespace ridgeline::operations
