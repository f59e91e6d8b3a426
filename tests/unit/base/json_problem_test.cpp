#include "base/json_problem.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace ridgeline::base {
namespace {

std::string problem_of(const std::string& text) {
  try {
    return nlohmann::json::parse(text).at("name").get<std::string>();
  } catch (const nlohmann::json::exception& problem) {
    return json_problem(problem.what());
  }
}

TEST(JsonProblem, SaysWhereAndWhat) {
  EXPECT_EQ(problem_of("{\"a\": \n"), "line 2, column 1: unexpected end of input");
  EXPECT_EQ(problem_of("hello"), "line 1, column 1: invalid literal; last read: 'h'");
  EXPECT_EQ(problem_of("[1, 2"), "line 1, column 6: unexpected end of input");
}

TEST(JsonProblem, LeavesOtherMessages) {
  EXPECT_EQ(problem_of("{}"), "key 'name' not found");
  EXPECT_EQ(json_problem("`ranks` must be a list"), "`ranks` must be a list");
  EXPECT_EQ(json_problem(""), "");
  EXPECT_EQ(json_problem("[json.exception.parse_error.101]"), "[json.exception.parse_error.101]");
}

}  // namespace
}  // namespace ridgeline::base
