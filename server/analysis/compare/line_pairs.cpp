#include "analysis/compare/line_pairs.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/difference.h"

namespace ridgeline::analysis {

namespace {

using Lines = std::vector<const LineCost*>;  ///< of one file, by number
using Position = std::pair<std::size_t, std::size_t>;

/// Beyond that many lines inserted and deleted in a file, none of it is matched in place.
constexpr std::size_t kMaxEdits = 4000;

std::map<std::string_view, Lines> by_file(const std::vector<LineCost>& lines) {
  std::map<std::string_view, Lines> files;
  for (const LineCost& line : lines) {
    files[line.location.file].push_back(&line);
  }
  for (auto& [file, own] : files) {
    std::ranges::sort(own, {}, [](const LineCost* line) { return line->location.line; });
  }
  return files;
}

class LinePairing {
 public:
  LinePairing(const std::vector<LineCost>& before, const std::vector<LineCost>& after)
      : before_(by_file(before)), after_(by_file(after)) {}

  std::vector<LinePair> run() {
    for (const auto& [file, lines] : before_) {
      const auto found = after_.find(file);
      if (found == after_.end()) {
        left_before_.insert(left_before_.end(), lines.begin(), lines.end());
      } else {
        pair_file(lines, found->second);
      }
    }
    for (const auto& [file, lines] : after_) {
      if (!before_.contains(file)) {
        left_after_.insert(left_after_.end(), lines.begin(), lines.end());
      }
    }
    pair_moved();
    for (const LineCost* line : left_before_) {
      pairs_.push_back({Presence::kRemoved, line, nullptr});
    }
    for (const LineCost* line : left_after_) {
      pairs_.push_back({Presence::kAdded, nullptr, line});
    }
    return std::move(pairs_);
  }

 private:
  void pair_file(const Lines& before, const Lines& after) {
    const bool known = std::ranges::none_of(before, &std::string::empty, &LineCost::text) &&
                       std::ranges::none_of(after, &std::string::empty, &LineCost::text);
    std::map<std::string, std::uint64_t> numbers;
    const auto tokens = [&](const Lines& lines) {
      std::vector<std::uint64_t> all;
      for (const LineCost* line : lines) {
        const std::string name = known ? line->text : std::to_string(line->location.line);
        all.push_back(numbers.try_emplace(name, numbers.size()).first->second);
      }
      return all;
    };
    const std::vector<std::uint64_t> tokens_before = tokens(before);
    const std::vector<std::uint64_t> tokens_after = tokens(after);
    auto same = base::common_subsequence(tokens_before, tokens_after, kMaxEdits).value_or(std::vector<Position>());
    same.emplace_back(before.size(), after.size());
    Position begin{0, 0};
    for (const auto& [x, y] : same) {
      pair_between(std::span(before).subspan(begin.first, x - begin.first),
                   std::span(after).subspan(begin.second, y - begin.second), known);
      if (x < before.size()) {
        pairs_.push_back({Presence::kSame, before[x], after[y]});
      }
      begin = {x + 1, y + 1};
    }
  }

  /// What lies between the same neighbours, and is not the same.
  void pair_between(std::span<const LineCost* const> before, std::span<const LineCost* const> after, bool known) {
    if (known && before.size() == after.size()) {
      for (std::size_t i = 0; i < before.size(); ++i) {
        pairs_.push_back({Presence::kEdited, before[i], after[i]});
      }
      return;
    }
    left_before_.insert(left_before_.end(), before.begin(), before.end());
    left_after_.insert(left_after_.end(), after.begin(), after.end());
  }

  /// Takes lines out of what is left whose text is left exactly once in either version.
  void pair_moved() {
    struct Places {
      Lines before;
      Lines after;
    };
    std::map<std::string_view, Places> texts;
    for (const LineCost* line : left_before_) {
      texts[line->text].before.push_back(line);
    }
    for (const LineCost* line : left_after_) {
      texts[line->text].after.push_back(line);
    }
    for (const auto& [text, places] : texts) {
      if (!text.empty() && places.before.size() == 1 && places.after.size() == 1) {
        pairs_.push_back({Presence::kMoved, places.before[0], places.after[0]});
        std::erase(left_before_, places.before[0]);
        std::erase(left_after_, places.after[0]);
      }
    }
  }

  std::map<std::string_view, Lines> before_;
  std::map<std::string_view, Lines> after_;
  Lines left_before_;
  Lines left_after_;
  std::vector<LinePair> pairs_;
};

}  // namespace

std::vector<LinePair> pair_lines(const std::vector<LineCost>& before, const std::vector<LineCost>& after) {
  return LinePairing(before, after).run();
}

}  // namespace ridgeline::analysis
