// How long the loop is held by a text that is opened or edited: by a file of 20,000 lines, and by one that no parser
// gets through.
#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "editor/source_view.h"
#include "lsp/session/documents.h"
#include "source/definitions.h"
#include "source/line_map.h"
#include "source/source_tree.h"

namespace {

using namespace ridgeline;
using namespace ridgeline::source;

constexpr std::size_t kLines = 20'000;

std::string long_file() {
  std::string text = "import torch\nfrom torch import nn\n";
  for (std::size_t number = 0, lines = 2; lines + 20 < kLines; ++number, lines += 12) {
    text += "\n\nclass Block" + std::to_string(number) +
            "(nn.Module):\n"
            "    def __init__(self, width: int = 64, *, dropout=0.1):\n"
            "        super().__init__()\n"
            "        self.norm = nn.LayerNorm(width)  # before the layers, not behind them\n"
            "        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(4)])\n"
            "\n"
            "    def forward(self, x):\n"
            "        for layer in self.layers:\n"
            "            x = x + torch.relu(layer(self.norm(x)))\n"
            "        return {\"output\": x, 'scale': x.abs().mean(dim=-1, keepdim=True)}\n";
  }
  return text +
         "\n\ndef model_provider():\n    return Block0()\n\n\n"
         "def input_provider(batch_size=32):\n    return (torch.rand(batch_size, 64),)\n\n\n"
         "def iteration_provider(model):\n    def iteration(x):\n        model(x)[\"output\"].sum().backward()\n\n"
         "    return iteration\n";
}

/// 344 KiB that take a parser the square of their length.
std::string open_bracket() {
  std::string text = "broken = call(\n";
  for (int i = 0; i < 25'000; ++i) {
    text += "x" + std::to_string(i) + " = " + std::to_string(i) + "\n";
  }
  return text + "\n\ndef input_provider(batch_size=32):\n    return ()\n";
}

double milliseconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// Processor time of the thread: waiting does not count.
double milliseconds_of_thread(const auto& work) {
  const auto start = source::processor_time();
  work();
  return std::chrono::duration<double, std::milli>(source::processor_time() - start).count();
}

void print(const char* name, std::vector<double> times, const char* end = ",") {
  std::ranges::sort(times);
  std::printf("\"%s\": {\"p50\": %.4f, \"p99\": %.4f, \"worst\": %.4f}%s\n", name, times[times.size() / 2],
              times[times.size() * 99 / 100], times.back(), end);
}

struct Times {
  std::vector<double> held;   ///< by the longest of what a key makes the loop do
  std::vector<double> known;  ///< until the entry point is known again
};

/// An editor's document and what the daemon makes of it, as on its loop.
class Editor {
 public:
  explicit Editor(std::string text) {
    lsp::Document document({"file:///entry.py", "python", 1, std::move(text)}, "/entry.py",
                           lsp::PositionEncoding::kUtf16);
    document_ = std::make_unique<lsp::Document>(std::move(document));
    measure(opened, [&] { view_ = std::make_unique<editor::SourceView>(*document_, thread_, 1, loop_, [] {}); });
  }
  ~Editor() { view_.reset(); }
  Editor(const Editor&) = delete;
  Editor& operator=(const Editor&) = delete;

  std::string_view text() const { return document_->bytes(); }

  /// Replaces `length` characters of a line, which is all ASCII.
  void change(std::size_t at, std::size_t length, const std::string& text, Times& times) {
    const protocol::Range range = document_->range(at, at + length);
    measure(times, [&] {
      const std::vector<protocol::TextDocumentContentChange> changes = {{range, text}};
      view_->changed(document_->change(document_->version() + 1, changes).edits);
    });
  }

  Times opened;

 private:
  /// `work`, and then what comes back to the loop until the facts are there.
  void measure(Times& times, const auto& work) {
    const auto start = std::chrono::steady_clock::now();
    double held = milliseconds_of(work);
    loop_.restart();
    const auto guard = boost::asio::make_work_guard(loop_);
    while (!view_->is_ready()) {
      // The time that the loop waits for the thread is not counted: what comes is run when it is there.
      const double cpu = milliseconds_of_thread([&] { loop_.run_one(); });
      held = std::max(held, cpu);
    }
    times.held.push_back(held);
    times.known.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }

  boost::asio::io_context loop_;
  editor::SourceThread thread_;
  std::unique_ptr<lsp::Document> document_;
  std::unique_ptr<editor::SourceView> view_;
};

/// Types `words` key by key into new lines in front of `before` all over the file, and takes them away again.
Times type_everywhere(Editor& editor, std::size_t places, const std::string& before, const std::string& words) {
  const std::string indent = "        ";
  Times times;
  for (std::size_t place = 0; place < places; ++place) {
    const std::size_t line = editor.text().find(before, editor.text().size() * place / places);
    if (line == std::string_view::npos) {
      continue;
    }
    editor.change(line, 0, "\n" + indent, times);
    const std::size_t at = line + 1 + indent.size();
    for (std::size_t i = 0; i < words.size(); ++i) {
      editor.change(at + i, 0, words.substr(i, 1), times);
    }
    for (std::size_t i = words.size(); i-- > 0;) {
      editor.change(at + i, 1, "", times);
    }
    editor.change(line, at - line, "", times);
  }
  return times;
}

void print(const std::string& name, const Times& times) {
  print((name + "Held").c_str(), times.held);
  print((name + "Known").c_str(), times.known);
}

}  // namespace

int main() {
  const std::string text = long_file();
  std::vector<double> parse;
  for (int round = 0; round < 5; ++round) {
    parse.push_back(milliseconds_of([&] { SourceTree::parse(text); }));
  }
  auto tree = SourceTree::parse(text);
  if (!tree.has_value()) {
    return 1;
  }
  std::printf("{\"lines\": %zu, \"bytes\": %zu,\n", tree->lines().count(), text.size());
  print("parse", parse);
  const std::string statement = "\n        return {";
  {
    Editor editor(text);
    print("opened", editor.opened);
    print("key", type_everywhere(editor, 5, statement, "y = self.layers[0](x)  # a note"));
  }
  {
    std::string broken = text;
    broken.insert(broken.find("\nclass Block3") + 1, "broken = call(\n");
    Editor editor(broken);
    print("broken", type_everywhere(editor, 1, statement, "y = 1"));
  }
  {
    Editor editor(open_bracket());
    print("bracketOpened", editor.opened);
    print("bracket", type_everywhere(editor, 1, "\nx20000 = ", "y = 1"));
  }
  std::vector<double> definition;
  for (std::size_t line = 0; line < tree->lines().count(); line += 7) {
    definition.push_back(milliseconds_of([&] { definition_at(*tree, line); }));
  }
  print("definition", definition);
  std::vector<double> all;
  std::vector<double> maps;
  std::string after = text;
  after.insert(after.size() / 2, "x");
  after.insert(after.size() / 4, "# a line\n");
  for (int round = 0; round < 20; ++round) {
    all.push_back(milliseconds_of([&] { definitions(*tree); }));
    maps.push_back(milliseconds_of([&] { line_map(text, after); }));
  }
  print("definitions", all);
  print("lineMap", maps, "}");
  return 0;
}
