#include "step/changes/step_operations.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <string_view>
#include <unordered_set>

#include "base/difference.h"

namespace ridgeline::step {

namespace {

/// Memory grows with the square of it.
constexpr std::size_t kMaxEdits = 3000;

using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;

std::uint64_t token_of(std::string_view name) { return std::hash<std::string_view>{}(name); }

/// What they begin with alike and what they end with alike.
Pairs ends_in_common(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  Pairs pairs;
  const std::size_t shorter = std::min(a.size(), b.size());
  std::size_t begin = 0;
  for (; begin < shorter && a[begin] == b[begin]; ++begin) {
    pairs.emplace_back(begin, begin);
  }
  std::size_t end = 0;
  while (end < shorter - begin && a[a.size() - 1 - end] == b[b.size() - 1 - end]) {
    ++end;
  }
  for (; end > 0; --end) {
    pairs.emplace_back(a.size() - end, b.size() - end);
  }
  return pairs;
}

/// Where the sequences differ too much, their ends.
Pairs common(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  auto found = base::common_subsequence(a, b, kMaxEdits);
  return found ? std::move(*found) : ends_in_common(a, b);
}

/// What autograd calls inside of an operation that overwrites what its gradient needs. Listed, it stands before it.
constexpr std::string_view kSaved = "aten::clone";
constexpr std::string_view kFree = "aten::detach";

/// Operations in order, and their tokens. Of recorded ones 0 is inside of another one, which has its time.
struct Sequence {
  std::vector<std::uint32_t> operations;
  std::vector<std::uint64_t> tokens;
};

Sequence without_free(const Sequence& all) {
  Sequence others;
  for (std::size_t i = 0; i < all.tokens.size(); ++i) {
    if (all.tokens[i] != token_of(kFree)) {
      others.operations.push_back(all.operations[i]);
      others.tokens.push_back(all.tokens[i]);
    }
  }
  return others;
}

/// The outermost of the recorded operations whose names the list has, and what autograd saves directly in them.
Sequence recorded_like(const Graph& graph, const protocol::CapturedStep& step) {
  const std::unordered_set<std::string_view> listed(step.names.begin(), step.names.end());
  Sequence recorded;
  const auto insert = [&recorded](std::size_t place, std::uint32_t operation, std::string_view name) {
    recorded.operations.insert(recorded.operations.begin() + static_cast<std::ptrdiff_t>(place), operation);
    recorded.tokens.insert(recorded.tokens.begin() + static_cast<std::ptrdiff_t>(place), token_of(name));
  };
  std::vector<bool> inside(graph.operations.size());
  std::size_t outermost = 0;  // place of the last one
  for (std::uint32_t i = 1; i < graph.operations.size(); ++i) {
    const Operation& operation = graph.operations[i];
    const std::string_view name = graph.names[operation.name];
    const bool wanted = listed.contains(name);
    inside[i] = wanted || inside[operation.parent];
    if (wanted && !inside[operation.parent]) {
      outermost = recorded.operations.size();
      insert(outermost, i, name);
    } else if (name == kSaved && wanted && operation.parent == recorded.operations[outermost]) {
      insert(outermost++, 0, name);
    }
  }
  return recorded;
}

/// Indices of the operations of one part of the step, and their tokens.
struct Part {
  std::vector<std::size_t> indices;
  std::vector<std::uint64_t> tokens;
};

std::array<Part, 3> parts_of(const protocol::CapturedStep& step) {
  std::array<Part, 3> parts;
  for (std::size_t i = 0; i < step.operations.size(); ++i) {
    const protocol::CapturedOperation& operation = step.operations[i];
    Part& part = parts.at(static_cast<std::size_t>(operation.part));
    part.indices.push_back(i);
    part.tokens.push_back(token_of(step.names[static_cast<std::size_t>(operation.name)]) ^
                          (token_of(step.modules[static_cast<std::size_t>(operation.module)]) << 1U));
  }
  return parts;
}

}  // namespace

bool is_free(std::string_view name) { return name == kFree; }

std::vector<std::uint32_t> find_recorded(const Graph& graph, const protocol::CapturedStep& step) {
  Sequence recorded = recorded_like(graph, step);
  Sequence listed;
  for (std::uint32_t i = 0; i < step.operations.size(); ++i) {
    listed.operations.push_back(i);
    listed.tokens.push_back(token_of(step.names[static_cast<std::size_t>(step.operations[i].name)]));
  }
  auto pairs = base::common_subsequence(listed.tokens, recorded.tokens, kMaxEdits);
  if (!pairs) {
    listed = without_free(listed);
    recorded = without_free(recorded);
    pairs = common(listed.tokens, recorded.tokens);
  }
  std::vector<std::uint32_t> found(step.operations.size());
  for (const auto& [a, b] : *pairs) {
    found[listed.operations[a]] = recorded.operations[b];
  }
  return found;
}

Pairs match_operations(const protocol::CapturedStep& unchanged, const protocol::CapturedStep& changed) {
  const auto before = parts_of(unchanged);
  const auto after = parts_of(changed);
  Pairs pairs;
  for (std::size_t part = 0; part < before.size(); ++part) {
    for (const auto& [a, b] : common(before.at(part).tokens, after.at(part).tokens)) {
      pairs.emplace_back(before.at(part).indices[a], after.at(part).indices[b]);
    }
  }
  std::ranges::sort(pairs);
  return pairs;
}

}  // namespace ridgeline::step
