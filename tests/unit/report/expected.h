// Expected outputs as files in tests/data/report, rewritten when the environment has UPDATE_EXPECTED=1.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace ridgeline::report::testing {

inline std::filesystem::path expected_path(std::string_view name) {
#ifdef RIDGELINE_SOURCE_DIR
  const std::filesystem::path source = RIDGELINE_SOURCE_DIR;
#else
  const std::filesystem::path source = std::filesystem::path(__FILE__).parent_path() / "../../..";
#endif
  return source / "tests/data/report" / name;
}

inline void expect_file(std::string_view name, const std::string& actual) {
  const std::filesystem::path path = expected_path(name);
  const char* update = std::getenv("UPDATE_EXPECTED");
  if (update != nullptr && std::string_view(update) == "1") {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << actual;
    return;
  }
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file) << path << " is missing: make it with UPDATE_EXPECTED=1, and look at it";
  std::ostringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(actual, expected.str()) << "differs from " << path << "; UPDATE_EXPECTED=1 rewrites it";
}

}  // namespace ridgeline::report::testing
