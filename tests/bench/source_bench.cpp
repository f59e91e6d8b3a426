// How long the loop waits for the source layer at each key, in a file of 20,000 lines.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "source/definitions.h"
#include "source/entry_point.h"
#include "source/line_map.h"
#include "source/source_tree.h"

namespace {

using namespace ridgeline::source;

constexpr std::size_t kLines = 20'000;
constexpr std::chrono::microseconds kSlice{1000};

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

double milliseconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

void print(const char* name, std::vector<double> times, const char* end = ",") {
  std::ranges::sort(times);
  std::printf("\"%s\": {\"p50\": %.4f, \"p99\": %.4f, \"worst\": %.4f}%s\n", name, times[times.size() / 2],
              times[times.size() * 99 / 100], times.back(), end);
}

struct Times {
  std::vector<double> held;   ///< by the longest slice of a key's work
  std::vector<double> known;  ///< until the entry point is known again
};

/// Makes a change as the loop does, in slices.
void change(SourceTree& tree, const TextEdit& edit, Times& times) {
  double held = milliseconds_of([&] { tree.edit(edit); });
  double all = held;
  for (bool done = false; !done;) {
    const double slice = milliseconds_of([&] { done = tree.catch_up(kSlice); });
    held = std::max(held, slice);
    all += slice;
  }
  const double find = milliseconds_of([&] { find_entry_point(tree); });
  times.held.push_back(std::max(held, find));
  times.known.push_back(all + find);
}

/// Types `words` key by key into new lines all over the file, and takes them away again.
Times type_everywhere(SourceTree& tree, std::size_t places, const std::string& words) {
  const std::string indent = "        ";
  Times times;
  for (std::size_t place = 0; place < places; ++place) {
    const std::size_t line = tree.text().find("\n        return {", tree.text().size() * place / places);
    if (line == std::string_view::npos) {
      continue;
    }
    change(tree, {{line, line}, "\n" + indent}, times);
    const std::size_t at = line + 1 + indent.size();
    for (std::size_t i = 0; i < words.size(); ++i) {
      change(tree, {{at + i, at + i}, words.substr(i, 1)}, times);
    }
    for (std::size_t i = words.size(); i-- > 0;) {
      change(tree, {{at + i, at + i + 1}, ""}, times);
    }
    change(tree, {{line, at}, ""}, times);
  }
  return times;
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
  const Times typed = type_everywhere(*tree, 5, "y = self.layers[0](x)  # a note");
  print("held", typed.held);
  print("known", typed.known);
  const std::size_t top = tree->text().find("\nclass Block3") + 1;
  if (!tree->edit({{top, top}, "broken = call(\n"})) {
    return 1;
  }
  const Times broken = type_everywhere(*tree, 1, "y = 1");
  print("brokenHeld", broken.held);
  print("brokenKnown", broken.known);
  if (!tree->edit({{top, top + 15}, ""})) {
    return 1;
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
