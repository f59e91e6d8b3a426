#include "base/similarity.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace ridgeline::base {

namespace {

double ratio(std::size_t common, std::string_view a, std::string_view b) {
  return 2.0 * static_cast<double>(common) / static_cast<double>(a.size() + b.size());
}

std::size_t longest_common_subsequence(std::string_view a, std::string_view b) {
  std::vector<std::size_t> best(b.size() + 1);
  for (const char byte : a) {
    std::size_t diagonal = 0;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = best[j];
      best[j] = byte == b[j - 1] ? diagonal + 1 : std::max(above, best[j - 1]);
      diagonal = above;
    }
  }
  return best.back();
}

}  // namespace

double similarity(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty() || ratio(std::min(a.size(), b.size()), a, b) < kLeastSimilarity) {
    return 0;
  }
  return ratio(longest_common_subsequence(a, b), a, b);
}

}  // namespace ridgeline::base
