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

/// Types `words` key by key at `at`, and takes them away again.
std::vector<double> type(SourceTree& tree, std::size_t at, const std::string& words) {
  std::vector<double> times;
  const auto change = [&](const TextEdit& edit) {
    times.push_back(milliseconds_of([&] {
      if (!tree.edit(edit) || !find_entry_point(tree).has_value()) {
        std::abort();
      }
    }));
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    change({{at + i, at + i}, words.substr(i, 1)});
  }
  for (std::size_t i = words.size(); i-- > 0;) {
    change({{at + i, at + i + 1}, ""});
  }
  return times;
}

/// At twenty places all over the file.
std::vector<double> type_everywhere(SourceTree& tree, const std::string& words) {
  std::vector<double> times;
  for (std::size_t place = 0; place < 20; ++place) {
    const std::size_t near = tree.text().size() * place / 20;
    const std::size_t at = tree.text().find("        return {", near);
    const std::vector<double> more = type(tree, at == std::string_view::npos ? tree.text().size() : at, words);
    times.insert(times.end(), more.begin(), more.end());
  }
  return times;
}

}  // namespace

int main() {
  const std::string text = long_file();
  std::vector<double> parse;
  for (int round = 0; round < 10; ++round) {
    parse.push_back(milliseconds_of([&] { SourceTree::parse(text); }));
  }
  auto tree = SourceTree::parse(text);
  if (!tree.has_value()) {
    return 1;
  }
  std::printf("{\"lines\": %zu, \"bytes\": %zu,\n", tree->lines().count(), text.size());
  print("parse", parse);
  print("change", type_everywhere(*tree, "        y = self.layers[0](x)  # a 'note'\n"));
  const std::size_t top = tree->text().find("\nclass Block3") + 1;
  if (!tree->edit({{top, top}, "broken = call(\n"})) {
    return 1;
  }
  print("broken", type_everywhere(*tree, "        y = x + 1\n"));
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
