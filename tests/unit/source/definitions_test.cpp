#include "source/definitions.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/source/marked.h"

namespace ridgeline::source {
namespace {

constexpr std::string_view kFile =
    "import torch\n"                   // 0
    "\n"                               // 1
    "@register\n"                      // 2
    "class Net(nn.Module):\n"          // 3
    "    size = 3\n"                   // 4
    "\n"                               // 5
    "    @staticmethod\n"              // 6
    "    def forward(\n"               // 7
    "        x,\n"                     // 8
    "    ):\n"                         // 9
    "        text = '''\n"             // 10
    "def not_a_function():\n"          // 11
    "'''\n"                            // 12
    "        def inner(): return x\n"  // 13
    "        return inner()\n"         // 14
    "\n"                               // 15
    "    class Config: pass\n"         // 16
    "\n"                               // 17
    "if x:\n"                          // 18
    "    async def helper():\n"        // 19
    "        pass\n";                  // 20

std::string name_at(const SourceTree& tree, std::size_t line) {
  const auto definition = definition_at(tree, line);
  return definition.has_value() ? definition->qualified_name : "";
}

TEST(Definitions, HaveQualifiedNamesAndLines) {
  struct Row {
    std::string name;
    DefinitionKind kind;
    std::size_t first, named, last;
    bool operator==(const Row&) const = default;
  };
  std::vector<Row> rows;
  const SourceTree tree = parsed(kFile);
  for (const Definition& definition : definitions(tree)) {
    rows.push_back({definition.qualified_name, definition.kind, definition.first_line, definition.name_line,
                    definition.last_line});
    EXPECT_TRUE(definition.qualified_name.ends_with(slice(kFile, definition.name_span)));
  }
  const std::vector<Row> expected = {{"Net", DefinitionKind::kClass, 2, 3, 16},
                                     {"Net.forward", DefinitionKind::kMethod, 6, 7, 14},
                                     {"Net.forward.inner", DefinitionKind::kFunction, 13, 13, 13},
                                     {"Net.Config", DefinitionKind::kClass, 16, 16, 16},
                                     {"helper", DefinitionKind::kFunction, 19, 19, 20}};
  EXPECT_EQ(rows, expected);
}

TEST(DefinitionAt, IsTheInnermostAroundTheLine) {
  const SourceTree tree = parsed(kFile);
  const std::vector<std::string> expected = {"",
                                             "",
                                             "Net",
                                             "Net",
                                             "Net",
                                             "Net",
                                             "Net.forward",
                                             "Net.forward",
                                             "Net.forward",
                                             "Net.forward",
                                             "Net.forward",
                                             "Net.forward",
                                             "Net.forward",
                                             "Net.forward.inner",
                                             "Net.forward",
                                             "Net",
                                             "Net.Config",
                                             "",
                                             "",
                                             "helper",
                                             "helper",
                                             "",
                                             ""};
  for (std::size_t line = 0; line < expected.size(); ++line) {
    EXPECT_EQ(name_at(tree, line), expected[line]) << "line " << line;
  }
}

TEST(DefinitionAt, SaysTheSameAsTheList) {
  const SourceTree tree = parsed(kFile);
  for (const Definition& definition : definitions(tree)) {
    const auto at = definition_at(tree, definition.name_line);
    ASSERT_TRUE(at.has_value());
    EXPECT_EQ(at->qualified_name, definition.qualified_name);
    EXPECT_EQ(at->span, definition.span);
    EXPECT_EQ(at->kind, definition.kind);
  }
}

TEST(DefinitionAt, SeesAroundMistakes) {
  const SourceTree tree =
      parsed("class A:\n  def f(self):\n    x = 1\n  def g(self):\n    y = (\n\nclass B:\n  def h(self):\n    z = 1\n");
  EXPECT_EQ(name_at(tree, 2), "A.f");
}

TEST(Definitions, NamesAreBounded) {
  std::string text;
  for (std::size_t depth = 0; depth < 90; ++depth) {
    text += std::string(depth, ' ') + "class Größe_of_a_level:\n";
  }
  const SourceTree tree = parsed(text + std::string(90, ' ') + "x = 1\n");
  const auto found = definitions(tree);
  ASSERT_EQ(found.size(), 90);
  EXPECT_LE(found.back().qualified_name.size(), kMaxNameBytes);
  EXPECT_TRUE(found.back().qualified_name.ends_with(".Größe_of_a_level"));
  EXPECT_EQ(definition_at(tree, 90)->qualified_name, found.back().qualified_name);
}

}  // namespace
}  // namespace ridgeline::source
