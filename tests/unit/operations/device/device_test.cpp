#include <gtest/gtest.h>

#include <string>

#include "operations/device/data_sheets.h"
#include "operations/device/device_file.h"
#include "operations/device/roofline.h"

namespace ridgeline::operations {
namespace {

/// Two cores of 100 GFLOP/s; L1 of 1 kB, a shared L2 of 100 kB, memory.
Device two_cores() {
  Device device;
  device.name = "a processor";
  device.compute_units = 2;
  device.vector_bytes = 32;
  device.clock_hz = Figure{3e9, FigureSource::kMeasured};
  device.peaks = {{"float32", {{200e9, FigureSource::kMeasured}, Figure{100e9, FigureSource::kMeasured}}}};
  device.levels = {{"L1", 1000, 1, 64, Rate{{400e9}, Figure{200e9}}},
                   {"L2", 100e3, 2, 64, Rate{{100e9}, Figure{60e9}}},
                   {"memory", 8e9, 2, 64, Rate{{20e9}, Figure{15e9}}}};
  return device;
}

void expect_error(const std::string& text, const std::string& part) {
  const auto device = parse_device(text, "mine.json");
  ASSERT_FALSE(device.has_value()) << text;
  EXPECT_NE(device.error().message().find(part), std::string::npos) << device.error().message();
  EXPECT_TRUE(device.error().message().starts_with("mine.json: "));
}

TEST(DeviceFile, IsReadBackAsItWasWritten) {
  for (const Device& device : {two_cores(), *find_data_sheet("V100")}) {
    const auto read = parse_device(device_json(device), "mine.json");
    ASSERT_TRUE(read.has_value()) << read.error().message();
    EXPECT_EQ(*read, device);
  }
}

TEST(DeviceFile, WhatIsWrongIsNamed) {
  const std::string good = device_json(two_cores());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  expect_error("", "not valid JSON: line 1, column 1");
  expect_error("[]", "no object");
  expect_error(with("\"cpu\"", "\"tpu\""), "kind: write");
  expect_error(with("\"computeUnits\": 2", "\"computeUnits\": 0"), "computeUnits: write a number from 1");
  expect_error(with("\"computeUnits\": 2", "\"computeUnits\": 1.5"), "computeUnits: write a whole number");
  expect_error(with("\"measured\"", "\"guessed\""), "source: write");
  expect_error(with("100000.0", "-1"), "levels[1].capacityBytes");
  expect_error(with("\"dtype\"", "\"type\""), "peaks[0].dtype: is missing");
  expect_error(std::string(kMaxDeviceFileBytes + 1, ' '), "too large");
}

OperationWork matrix(double flops, double bytes) { return {OperationKind::kMatrix, "float32", flops, bytes, 0}; }

TEST(Roofline, TakesTheSlowerOfComputingAndMoving) {
  const auto computed = roofline_bound(matrix(2e9, 1000), two_cores(), 2);
  ASSERT_TRUE(computed.has_value());
  EXPECT_DOUBLE_EQ(computed->ns, 1e7);
  EXPECT_EQ(computed->limit, Limit::kCompute);
  // One core: half of the peak.
  EXPECT_DOUBLE_EQ(roofline_bound(matrix(2e9, 1000), two_cores(), 1)->ns, 2e7);
  const auto moved = roofline_bound(matrix(1, 1e6), two_cores(), 2);
  EXPECT_EQ(moved->limit, Limit::kMemory);
  EXPECT_EQ(moved->level, "memory");
  EXPECT_DOUBLE_EQ(moved->ns, (1e6 - 100e3) / 20);  // the shared cache may hold the rest
  EXPECT_DOUBLE_EQ(plain_roofline(matrix(1, 1e6), two_cores(), 2)->ns, 1e6 / 20);
  EXPECT_EQ(roofline_bound(matrix(1, 50e3), two_cores(), 2)->level, "L2");
  EXPECT_EQ(roofline_bound(matrix(1, 1500), two_cores(), 2)->level, "L1");
}

TEST(Roofline, NeedsThePeakOfAMatrixType) {
  OperationWork work = matrix(1000, 100);
  work.dtype = "bfloat16";
  EXPECT_FALSE(roofline_bound(work, two_cores(), 2).has_value());
  work.kind = OperationKind::kElementwise;
  EXPECT_TRUE(roofline_bound(work, two_cores(), 2).has_value());
}

}  // namespace
}  // namespace ridgeline::operations
