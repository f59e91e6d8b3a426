#include "base/machine_limits.h"

#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/unit/temporary_folder.h"

namespace ridgeline::base {
namespace {

/// Each case of tests/data/machine_limits.json is a machine, as files below its root; the runner's are tested with the
/// same.
TEST(MachineLimits, AreThoseOfAllControlGroupsAbove) {
  std::ifstream file(RIDGELINE_SOURCE_DIR "/tests/data/machine_limits.json");
  for (const nlohmann::json& machine : nlohmann::json::parse(file)) {
    SCOPED_TRACE(machine["name"].get<std::string>());
    const testing::TemporaryFolder root;
    for (const auto& [path, content] : machine["files"].items()) {
      root.file(path, content.get<std::string>());
    }
    const MachineLimits limits = machine_limits(root.path().string());
    EXPECT_EQ(limits.memory_bytes, machine["memoryBytes"].get<std::uint64_t>());
    EXPECT_EQ(limits.available_bytes, machine["availableBytes"].get<std::uint64_t>());
    const auto& processors = machine["processors"];
    EXPECT_EQ(limits.processors, processors.is_null() ? std::nullopt : std::optional(processors.get<double>()));
  }
}

TEST(MachineLimits, AreUnknownWithoutFiles) {
  const testing::TemporaryFolder root;
  EXPECT_EQ(machine_limits(root.path().string()).memory_bytes, 0U);
}

}  // namespace
}  // namespace ridgeline::base
