#include "base/difference.h"

#include <algorithm>
#include <cstdlib>

namespace ridgeline::base {

namespace {

using Tokens = std::span<const std::uint64_t>;
using Offset = std::ptrdiff_t;

/// How far along `a` each diagonal k = x - y got with a number of edits; diagonals -edits, -edits + 2, … edits.
class Front {
 public:
  explicit Front(Offset edits) : edits_(edits), reach_(static_cast<std::size_t>(edits) + 1) {}
  Offset& at(Offset diagonal) { return reach_[static_cast<std::size_t>((diagonal + edits_) / 2)]; }
  Offset get(Offset diagonal) const { return reach_[static_cast<std::size_t>((diagonal + edits_) / 2)]; }

 private:
  Offset edits_;
  std::vector<Offset> reach_;
};

/// Where a path with one more edit enters `diagonal`: from the one above by an insertion, else by a deletion.
bool comes_by_insertion(const Front& before, Offset edits, Offset diagonal) {
  return diagonal == -edits || (diagonal != edits && before.get(diagonal - 1) < before.get(diagonal + 1));
}

/// The fronts of 0, 1, … edits up to the one that reaches both ends; empty when that takes too many edits.
std::vector<Front> search(Tokens a, Tokens b, Offset max_edits) {
  const auto size_a = static_cast<Offset>(a.size());
  const auto size_b = static_cast<Offset>(b.size());
  std::vector<Front> fronts;
  if (std::abs(size_a - size_b) > max_edits) {
    return fronts;
  }
  for (Offset edits = 0; edits <= std::min(max_edits, size_a + size_b); ++edits) {
    Front front(edits);
    for (Offset diagonal = -edits; diagonal <= edits; diagonal += 2) {
      Offset x = 0;
      if (edits > 0) {
        const Front& before = fronts.back();
        x = comes_by_insertion(before, edits, diagonal) ? before.get(diagonal + 1) : before.get(diagonal - 1) + 1;
      }
      Offset y = x - diagonal;
      while (x < size_a && y < size_b && y >= 0 && a[static_cast<std::size_t>(x)] == b[static_cast<std::size_t>(y)]) {
        ++x;
        ++y;
      }
      front.at(diagonal) = x;
      if (x >= size_a && y >= size_b) {
        fronts.push_back(std::move(front));
        return fronts;
      }
    }
    fronts.push_back(std::move(front));
  }
  return {};
}

}  // namespace

std::optional<std::vector<std::pair<std::size_t, std::size_t>>> common_subsequence(Tokens a, Tokens b,
                                                                                   std::size_t max_edits) {
  const std::vector<Front> fronts = search(a, b, static_cast<Offset>(max_edits));
  if (fronts.empty()) {
    return std::nullopt;
  }
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  auto x = static_cast<Offset>(a.size());
  auto y = static_cast<Offset>(b.size());
  for (auto edits = static_cast<Offset>(fronts.size()) - 1; edits >= 0; --edits) {
    Offset from_x = 0;
    Offset from_y = 0;
    bool insertion = false;
    if (edits > 0) {
      const Front& before = fronts[static_cast<std::size_t>(edits - 1)];
      const Offset diagonal = x - y;
      insertion = comes_by_insertion(before, edits, diagonal);
      const Offset source = insertion ? diagonal + 1 : diagonal - 1;
      from_x = before.get(source) + (insertion ? 0 : 1);
      from_y = from_x - diagonal;
    }
    while (x > from_x && y > from_y) {
      pairs.emplace_back(static_cast<std::size_t>(--x), static_cast<std::size_t>(--y));
    }
    if (edits > 0) {
      x = from_x - (insertion ? 0 : 1);
      y = from_y - (insertion ? 1 : 0);
    }
  }
  std::ranges::reverse(pairs);
  return pairs;
}

}  // namespace ridgeline::base
