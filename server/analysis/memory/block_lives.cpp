#include "analysis/memory/block_lives.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

namespace ridgeline::analysis {

BlockLives lives_of(const AllocatorModel& model) {
  const std::size_t count = model.requests.size();
  BlockLives lives{std::vector<bool>(count), {}, std::vector<bool>(count), {}};
  std::vector<bool> made(count);
  for (const std::int32_t event : model.later) {
    (event < 0 ? lives.freed : made)[request_of(event)] = true;
  }
  const auto key = [&](std::size_t request) {
    return std::pair(model.requests[request].stream, model.requests[request].bytes);
  };
  std::map<std::pair<std::uint16_t, std::vector<std::uint64_t>>, std::deque<std::size_t>> left;  // at the end, by kind
  for (std::size_t i = model.alive; i < count; ++i) {
    if (made[i] && !lives.freed[i]) {
      left[key(i)].push_back(i);
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    lives.freed_instead.push_back(i);
    if (i < model.alive && lives.freed[i]) {
      std::deque<std::size_t>& same_kind = left[key(i)];
      lives.freed_instead.back() = same_kind.empty() ? kNoRequest : same_kind.front();
      if (!same_kind.empty()) {
        lives.outlives[same_kind.front()] = true;
        same_kind.pop_front();
      }
    }
  }
  for (const auto& [kind, requests] : left) {
    lives.leaked.insert(lives.leaked.end(), requests.begin(), requests.end());
  }
  std::ranges::sort(lives.leaked);
  return lives;
}

}  // namespace ridgeline::analysis
