#include "assistant/tool.h"

#include <gtest/gtest.h>

#include <string>

#include "assistant/answer_text.h"

namespace ridgeline::assistant {
namespace {

TEST(InQuotes, NothingEndsTheQuotation) {
  EXPECT_EQ(in_quotes("a \"b\" \\"), "\"a \\\"b\\\" \\\\\"");
  EXPECT_EQ(in_quotes("two\nlines").find('\n'), std::string::npos);
  EXPECT_LE(in_quotes(std::string(5000, 'x')).size(), 170U);
  EXPECT_EQ(in_quotes(std::string(159, 'x') + "é", 160), "\"" + std::string(159, 'x') + "…\"");
}

TEST(QuotedLines, KeepTheEndAndMarkEachLine) {
  EXPECT_EQ(quoted_lines("one\ntwo"), "| one\n| two\n");
  const std::string text = quoted_lines(std::string(3000, 'a') + "\nlast\n", 100);
  EXPECT_EQ(text, "| last\n");
}

TEST(ArgumentProblem, SaysWhatIsWrongWithWhich) {
  const Json schema = Json::parse(R"({"required": ["name"], "properties": {"name": {"type": "string", "maxLength": 5},
    "size": {"type": "integer", "minimum": 1, "maximum": 9}, "kind": {"enum": ["a", "b"]},
    "many": {"type": "array", "maxItems": 2, "items": {"type": "number"}}}})");
  const auto problem = [&](const char* arguments) { return argument_problem(schema, Json::parse(arguments)); };
  EXPECT_EQ(problem(R"({"name": "x", "size": 3.0, "kind": "a", "many": [1, 2.5]})"), "");
  EXPECT_EQ(problem("{}"), "The argument name is missing.");
  EXPECT_EQ(problem(R"({"name": "toolong"})"), "name is too long.");
  EXPECT_EQ(problem(R"({"name": 1})"), "name must be of type string.");
  EXPECT_EQ(problem(R"({"name": "x", "size": 0})"), "size is out of its range.");
  EXPECT_EQ(problem(R"({"name": "x", "size": 1.5})"), "size must be of type integer.");
  EXPECT_EQ(problem(R"({"name": "x", "size": 1e300})"), "size must be of type integer.");
  EXPECT_EQ(problem(R"({"name": "x", "kind": "c"})"), "kind must be one of [\"a\",\"b\"].");
  EXPECT_EQ(problem(R"({"name": "x", "many": [1, 2, 3]})"), "many has too many items.");
  EXPECT_EQ(problem(R"({"name": "x", "many": ["1"]})"), "an item of many must be of type number.");
  EXPECT_EQ(problem(R"({"name": "x", "nope": 1})"),
            "There is no argument \"nope\"; there are: kind, many, name, size.");
}

TEST(Tools, HaveSchemasThatCanBeRead) {
  for (const Tool& tool : tools()) {
    EXPECT_EQ(Json::parse(tool.input).at("additionalProperties"), false) << tool.name;
    EXPECT_EQ(Json::parse(tool.output).at("type"), "object") << tool.name;
  }
}

}  // namespace
}  // namespace ridgeline::assistant
