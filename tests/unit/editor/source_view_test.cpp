#include "editor/source_view.h"

#include <gtest/gtest.h>

#include <boost/asio/executor_work_guard.hpp>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "editor/batch_size_method.h"

namespace ridgeline::editor {
namespace {

constexpr const char* kEntry =
    "def model_provider():\n    return Net()\n\n\ndef input_provider(batch_size=32):\n    return ()\n\n\n"
    "def iteration_provider(model):\n    return print\n";

lsp::Document document(const std::string& text) {
  return {{"file:///entry.py", "python", 1, text}, "/entry.py", lsp::PositionEncoding::kUtf8};
}

/// A view and what it needs; ready() waits until the text has been read.
struct Viewed {
  explicit Viewed(lsp::Document& document) : view(document, thread, 1, loop, [] {}) {}

  const SourceView& ready() {
    loop.restart();
    const auto work = boost::asio::make_work_guard(loop);
    while (!view.is_ready()) {
      loop.run_one();
    }
    return view;
  }
  /// Whether the thread has the document's text: by the line of its last byte, and each line being itself.
  LineView lines(const std::string& profiled) {
    ready();
    loop.restart();
    const auto work = boost::asio::make_work_guard(loop);
    const auto text = std::make_shared<const std::string>(profiled);
    auto found = view.lines(text);
    while (found == nullptr) {
      loop.run_one();
      found = view.lines(text);
    }
    return *found;
  }

  boost::asio::io_context loop;
  SourceThread thread;
  SourceView view;
};

void expect_same_text(Viewed& viewed, const lsp::Document& document) {
  const LineView lines = viewed.lines(document.bytes());
  ASSERT_EQ(lines.current.size(), document.text().line_count());
  for (std::size_t line = 0; line < lines.current.size(); ++line) {
    ASSERT_EQ(lines.current[line], line) << document.bytes();
  }
}

protocol::TextDocumentContentChange change(std::uint32_t line, std::uint32_t from, std::uint32_t to, std::string text) {
  return {protocol::Range{{line, from}, {line, to}}, std::move(text)};
}

TEST(SourceView, FollowsOneEdit) {
  lsp::Document open = document(kEntry);
  Viewed viewed(open);
  EXPECT_EQ(batch_size_in_code(*viewed.ready().facts(), nullptr), 32);
  const std::vector changes = {change(4, 30, 32, "128")};
  viewed.view.changed(open.change(2, changes).edits);
  EXPECT_EQ(batch_size_in_code(*viewed.ready().facts(), nullptr), 128);
}

TEST(SourceView, FollowsSeveralEditsAtOnce) {
  lsp::Document open = document(kEntry);
  Viewed viewed(open);
  const std::vector changes = {change(4, 30, 32, "7"), change(0, 0, 0, "# äöü 😀\n"), change(5, 30, 31, "64")};
  const lsp::AppliedChanges applied = open.change(2, changes);
  EXPECT_EQ(applied.error, std::nullopt);
  viewed.view.changed(applied.edits);
  expect_same_text(viewed, open);
  EXPECT_EQ(batch_size_in_code(*viewed.ready().facts(), nullptr), 64);
}

TEST(SourceView, AlwaysHasTheDocumentsText) {
  std::mt19937 random(1);
  lsp::Document open = document(kEntry);
  Viewed viewed(open);
  const std::vector<std::string> pieces = {"", "x", "\n", "ä", "😀", "def ", "(", "\"\"\"", "    "};
  for (int version = 2; version < 300; ++version) {
    std::vector<protocol::TextDocumentContentChange> changes;
    for (std::size_t i = 0; i <= random() % 3; ++i) {
      const auto below = [&](std::size_t end) { return static_cast<std::uint32_t>(random() % end); };
      changes.push_back(change(below(12), 0, below(2), pieces[below(pieces.size())]));
    }
    viewed.view.changed(open.change(version, changes).edits);
    if (!open.in_sync()) {
      const std::vector<protocol::TextDocumentContentChange> whole = {{std::nullopt, kEntry}};
      viewed.view.changed(open.change(++version, whole).edits);
    }
    expect_same_text(viewed, open);
  }
}

TEST(SourceView, AnswersOnlyAboutTheTextAsItIs) {
  lsp::Document open = document("f(x)\n");
  Viewed viewed(open);
  viewed.ready();
  int old_answers = 0;
  std::optional<source::Call> call;
  viewed.view.find_call(2, [&](const auto&) { ++old_answers; });
  const std::vector changes = {change(0, 0, 1, "other")};
  viewed.view.changed(open.change(2, changes).edits);
  EXPECT_FALSE(viewed.view.is_ready());
  viewed.ready();
  viewed.view.find_call(6, [&](std::optional<source::Call> found) { call = std::move(found); });
  viewed.loop.restart();
  const auto work = boost::asio::make_work_guard(viewed.loop);
  while (!call.has_value()) {
    viewed.loop.run_one();
  }
  EXPECT_EQ(call->callee, "other");
  EXPECT_EQ(old_answers, 0);
}

TEST(SourceView, SaysThatATextIsTooLarge) {
  lsp::Document open = document(std::string(source::kMaxTextBytes + 1, '#'));
  Viewed viewed(open);
  EXPECT_FALSE(viewed.ready().facts()->parsed);
  const std::vector<protocol::TextDocumentContentChange> whole = {{std::nullopt, kEntry}};
  viewed.view.changed(open.change(2, whole).edits);
  EXPECT_TRUE(viewed.ready().facts()->parsed);
  EXPECT_TRUE(viewed.view.facts()->entry_point.has_value());
}

TEST(LineView, GoesBothWays) {
  const LineView view = make_line_view("a\nb\nc\n", "new\na\nchanged\nc\n");
  EXPECT_EQ(view.current[0], 1U);
  EXPECT_EQ(view.current[1], std::nullopt);
  EXPECT_EQ(view.current[2], 3U);
  EXPECT_EQ(view.profiled[0], std::nullopt);
  EXPECT_EQ(view.profiled[1], 0U);
  EXPECT_EQ(view.profiled[2], std::nullopt);
  EXPECT_EQ(view.profiled[3], 2U);
}

TEST(BatchSizeEdit, TouchesOnlyTheLiteral) {
  lsp::Document open = document(kEntry);
  Viewed viewed(open);
  const Snapshot snapshot{open, viewed.ready().facts(), nullptr, {}};
  const auto edit = batch_size_edit(snapshot, 96);
  ASSERT_TRUE(edit.has_value()) << edit.error().message();
  const protocol::TextDocumentEdit& change = edit->document_changes.at(0);
  EXPECT_EQ(change.version, 1);
  ASSERT_EQ(change.edits.size(), 1U);
  EXPECT_EQ(change.edits[0].range, (protocol::Range{{4, 30}, {4, 32}}));
  EXPECT_EQ(change.edits[0].new_text, "96");
  const auto none = batch_size_edit(snapshot, 0);
  ASSERT_FALSE(none.has_value());
  EXPECT_NE(none.error().message(), "");
}

TEST(BatchSizeEdit, SaysWhyThereIsNone) {
  for (const char* text :
       {"x = 3\n", "def input_provider(batch_size=SIZE):\n    pass\n", "def input_provider(x):\n  pass\n"}) {
    lsp::Document open = document(text);
    const auto edit = batch_size_edit(Snapshot{open, Viewed(open).ready().facts(), nullptr, {}}, 8);
    ASSERT_FALSE(edit.has_value()) << text;
    EXPECT_NE(edit.error().message(), "") << text;
  }
}

}  // namespace
}  // namespace ridgeline::editor
