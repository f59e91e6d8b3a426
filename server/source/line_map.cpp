#include "source/line_map.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>
#include <unordered_map>
#include <utility>

#include "base/difference.h"
#include "base/line_index.h"

namespace ridgeline::source {

namespace {

// Beyond that many lines inserted and deleted, a shortest difference says little and costs its square.
constexpr std::size_t kMaxEdits = 400;

using Lines = std::span<const std::uint64_t>;  // equal lines have equal numbers
using Pair = std::pair<std::size_t, std::size_t>;

/// The lines of `text` as numbers.
std::vector<std::uint64_t> numbered(std::string_view text,
                                    std::unordered_map<std::string_view, std::uint64_t>& numbers) {
  const base::LineIndex lines(text);
  std::vector<std::uint64_t> found;
  found.reserve(lines.count());
  for (std::size_t line = 0; line < lines.count(); ++line) {
    const auto next = std::uint64_t{numbers.size()};
    found.push_back(numbers.try_emplace(lines.line_in(text, line), next).first->second);
  }
  return found;
}

/// The lines that both have exactly once, in an order that both have: as many as there can be.
std::vector<Pair> unique_lines(Lines a, Lines b) {
  struct Places {
    std::size_t in_a = 0, in_b = 0;
    int count_a = 0, count_b = 0;
  };
  std::unordered_map<std::uint64_t, Places> places;
  for (std::size_t line = 0; line < a.size(); ++line) {
    Places& place = places[a[line]];
    place.in_a = line;
    ++place.count_a;
  }
  for (std::size_t line = 0; line < b.size(); ++line) {
    Places& place = places[b[line]];
    place.in_b = line;
    ++place.count_b;
  }
  // The longest ascending sequence: of each length the one that ends first, and which one it goes on from.
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::vector<Pair> candidates;
  std::vector<std::size_t> before;
  std::vector<std::size_t> ends;
  for (std::size_t line = 0; line < a.size(); ++line) {
    const Places& place = places[a[line]];
    if (place.count_a != 1 || place.count_b != 1) {
      continue;
    }
    const auto end =
        std::ranges::lower_bound(ends, place.in_b, {}, [&](std::size_t i) { return candidates[i].second; });
    before.push_back(end == ends.begin() ? kNone : *std::prev(end));
    candidates.emplace_back(line, place.in_b);
    if (end == ends.end()) {
      ends.push_back(candidates.size() - 1);
    } else {
      *end = candidates.size() - 1;
    }
  }
  std::vector<Pair> pairs;
  for (std::size_t at = ends.empty() ? kNone : ends.back(); at != kNone; at = before[at]) {
    pairs.push_back(candidates[at]);
  }
  std::ranges::reverse(pairs);
  return pairs;
}

/// `anchors` with the equal lines in front of and behind each.
std::vector<Pair> extended(const std::vector<Pair>& anchors, Lines a, Lines b) {
  std::vector<Pair> pairs;
  Pair end = {0, 0};  // behind the last pair
  for (const auto& [x, y] : anchors) {
    if (x < end.first) {
      continue;  // reached from the anchor before
    }
    std::size_t back = 0;
    while (x - back > end.first && y - back > end.second && a[x - back - 1] == b[y - back - 1]) {
      ++back;
    }
    end = {x - back, y - back};
    while (end.first < a.size() && end.second < b.size() && a[end.first] == b[end.second]) {
      pairs.push_back(end);
      ++end.first;
      ++end.second;
    }
  }
  return pairs;
}

std::vector<Pair> equal_lines(Lines a, Lines b) {
  if (a.empty() || b.empty()) {
    return {};
  }
  auto pairs = base::common_subsequence(a, b, kMaxEdits);
  return pairs.has_value() ? std::move(*pairs) : extended(unique_lines(a, b), a, b);
}

}  // namespace

std::vector<std::optional<std::size_t>> line_map(std::string_view before, std::string_view after) {
  std::unordered_map<std::string_view, std::uint64_t> numbers;
  const std::vector<std::uint64_t> all_a = numbered(before, numbers);
  const std::vector<std::uint64_t> all_b = numbered(after, numbers);
  std::vector<std::optional<std::size_t>> map(all_a.size());
  Lines a = all_a;
  Lines b = all_b;
  const auto prefix = static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  a = a.subspan(prefix);
  b = b.subspan(prefix);
  std::size_t suffix = 0;
  while (suffix < a.size() && suffix < b.size() && a[a.size() - suffix - 1] == b[b.size() - suffix - 1]) {
    ++suffix;
  }
  for (std::size_t line = 0; line < prefix; ++line) {
    map[line] = line;
  }
  for (std::size_t line = 1; line <= suffix; ++line) {
    map[all_a.size() - line] = all_b.size() - line;
  }
  for (const auto& [x, y] : equal_lines(a.first(a.size() - suffix), b.first(b.size() - suffix))) {
    map[prefix + x] = prefix + y;
  }
  return map;
}

}  // namespace ridgeline::source
