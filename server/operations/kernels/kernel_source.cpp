#include "operations/kernels/kernel_source.h"

#include <fmt/format.h>

namespace ridgeline::operations {

std::string beginning(std::string_view operation, bool parallel,
                      const std::vector<std::pair<std::string_view, std::int64_t>>& constants) {
  std::string text = fmt::format(
      "// {0}: float32, row by row. Made by `ridgeline kernel '{0}'`.\n"
      "// c++ -std=c++17 -O3 -march=native -fPIC -shared{1} FILE.cpp -o FILE.so\n"
      "#include <cstdlib>\n\n#define RIDGELINE_PARALLEL {2}\n\nnamespace {{\n\n",
      operation, parallel ? " -fopenmp" : "", parallel ? 1 : 0);
  for (const auto& [name, value] : constants) {
    text += fmt::format("constexpr long {} = {};\n", name, value);
  }
  return text + R"code(
typedef float Vector __attribute__((vector_size(kVector * 4), aligned(4), may_alias));

constexpr long smaller(long x, long y) { return x < y ? x : y; }
)code";
}

void replace_all(std::string& text, std::string_view token, std::string_view value) {
  for (std::size_t at = 0; (at = text.find(token, at)) != std::string::npos; at += value.size()) {
    text.replace(at, token.size(), value);
  }
}

}  // namespace ridgeline::operations
