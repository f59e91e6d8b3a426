// A width that padding is predicted to pay for, in the editor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "editor/code_action.h"
#include "editor/diagnostics.h"

namespace ridgeline::editor {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kPath = "/project/net.py";
constexpr const char* kText =
    "self.up = nn.Linear(64, 63)\nself.down = nn.Linear(63, 8)\nx = self.up(x)\nx = self.down(x)\n";

Snapshot snapshot_of(const std::string& text) {
  app::ProfileWithSources made;
  made.profile.project_root = "/project";
  made.profile.entry_path = kPath;
  made.profile.batch_size = 8;
  made.profile.iteration.ms = {100, 99, 101};
  analysis::LineCost line;
  line.location = {"net.py", 3};
  line.self_ms = line.total_ms = 40;
  made.profile.lines = {line};
  made.profile.environment.device = "cpu";
  made.profile.work.emplace().paddings.push_back({{"net.py", 3}, {"up"}, 63, 64, 20, 5, 2, 9});
  made.sources = {{kPath, kText}};
  const auto entry = std::make_shared<Entry>();
  entry->path = kPath;
  entry->figures = std::make_shared<const Figures>(std::move(made));
  SourceFacts facts;
  facts.parsed = true;
  Settings settings;
  settings.advice.fill(true);
  Snapshot snapshot{{{"file:///project/net.py", "python", 1, text}, kPath, lsp::PositionEncoding::kUtf8},
                    std::make_shared<const SourceFacts>(std::move(facts)),
                    std::make_shared<const Settings>(settings),
                    {}};
  snapshot.client.code_action.literals = true;
  snapshot.entry = entry;
  return snapshot;
}

std::vector<protocol::CodeAction> actions_at(std::uint32_t line, const std::string& text = kText) {
  CodeActionParams params;
  params.range = {{line, 1}, {line, 2}};
  return code_actions(snapshot_of(text), params, {});
}

TEST(PaddingInTheEditor, IsOneEditWhereTheNumbersStandAndWhereTheLayerIsCalled) {
  for (const std::uint32_t line : {0U, 1U, 2U}) {
    const auto actions = actions_at(line);
    ASSERT_EQ(actions.size(), 1U) << line;
    EXPECT_EQ(actions[0].title, "64 wide instead of 63: 0.75× of the time of its products, predicted");
    ASSERT_TRUE(actions[0].edit.has_value());
    EXPECT_EQ(actions[0].edit->document_changes.at(0).edits.size(), 2U);
  }
  EXPECT_THAT(actions_at(3), IsEmpty());
}

TEST(PaddingInTheEditor, IsNotWrittenIntoATextThatDidNotRun) {
  EXPECT_THAT(actions_at(0, std::string(kText) + "y = 1\n"), IsEmpty());
}

TEST(PaddingInTheEditor, IsADiagnosticAtTheCall) {
  const auto found = diagnostics(snapshot_of(kText));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].code, "padding-pays");
  EXPECT_EQ(found[0].range.start.line, 2U);
  EXPECT_THAT(found[0].message, HasSubstr("With 64 they are predicted to take 0.75×"));
}

}  // namespace
}  // namespace ridgeline::editor
