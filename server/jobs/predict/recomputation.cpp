#include "jobs/predict/recomputation.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "analysis/attribution/attribution.h"
#include "analysis/attribution/iteration_walk.h"
#include "analysis/memory/memory.h"

namespace ridgeline::jobs {

namespace {

using analysis::Category;
using analysis::MemoryCost;
using analysis::Phase;
using analysis::TreeNode;
using recording::Recording;

constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
constexpr std::string_view kTorch = "/torch/nn/modules/";

/// When a module ran in the iteration with the peak, by the recording's clock.
struct ModuleSpan {
  std::uint64_t forward_end = 0;
  std::uint64_t backward_begin = kNever;

  bool is_whole() const { return forward_end > 0 && backward_begin != kNever && forward_end < backward_begin; }
};

/// The memory of one rank.
class RankMemory {
 public:
  RankMemory(const Recording& recording, const analysis::SourceScope& scope)
      : recording_(recording),
        attribution_(analysis::attribute(recording, scope)),
        memory_(analysis::analyse_memory(recording, attribution_, attribution_.tree)) {
    analysis::IterationWalk walk(recording, attribution_);
    for (const analysis::HostPiece& piece : walk.take(memory_.iteration).pieces) {
      each_module(walk.tree(), piece.key.owner, [&](std::uint32_t instance) { add(piece, spans_[instance]); });
    }
    for (const MemoryCost& block : memory_.blocks) {
      each_module(attribution_.tree, block.owner, [&](std::uint32_t module) { blocks_[module].push_back(&block); });
    }
  }

  /// By class: instances in the order of forward.
  std::map<std::string, std::vector<std::uint32_t>> repeated() const {
    std::map<std::string, std::vector<std::uint32_t>> by_class;
    for (const auto& [instance, span] : spans_) {
      const std::string_view file = recording_.string(recording_.instance_file()[instance]);
      if (!span.is_whole() || name_of(instance).empty() || file.find(kTorch) != std::string_view::npos) {
        continue;
      }
      by_class[std::string(recording_.string(recording_.instance_type()[instance]))].push_back(instance);
    }
    std::erase_if(by_class, [&](auto& one) { return one.second.size() < 2 || are_nested(one.second); });
    for (auto& [type, instances] : by_class) {
      std::ranges::stable_sort(instances, {}, [&](std::uint32_t one) { return spans_.at(one).forward_end; });
    }
    return by_class;
  }

  std::string name_of(std::uint32_t instance) const {
    return std::string(recording_.string(recording_.instance_name()[instance]));
  }

  /// Nothing where the rank has no such module.
  std::optional<std::uint64_t> peak_bytes(std::span<const std::string> modules) const {
    std::vector<Delta> deltas;
    std::vector<bool> moved(memory_.blocks.size());
    for (const std::string& name : modules) {
      const auto module = std::ranges::find_if(spans_, [&](const auto& one) { return name_of(one.first) == name; });
      if (module == spans_.end() || !module->second.is_whole()) {
        return std::nullopt;
      }
      add_module(module->first, module->second, deltas, moved);
    }
    for (std::size_t i = 0; i < memory_.blocks.size(); ++i) {
      if (!moved[i]) {
        add_life(memory_.blocks[i].event, memory_.blocks[i].freed_by, memory_.blocks[i].bytes, deltas);
      }
    }
    return peak_of(std::move(deltas), event_at(recording_.iteration_start()[memory_.iteration]),
                   event_at(recording_.iteration_end()[memory_.iteration]));
  }

 private:
  /// What lives more, or less, from before an event on.
  struct Delta {
    std::uint32_t event = 0;
    std::int64_t bytes = 0;
  };

  template <typename Visit>
  static void each_module(const analysis::CallTree& tree, TreeNode node, Visit visit) {
    for (; node != 0; node = tree[node].parent) {
      if (tree[node].instance != 0) {
        visit(tree[node].instance);
      }
    }
  }

  static void add(const analysis::HostPiece& piece, ModuleSpan& span) {
    if (piece.key.phase == Phase::kForward) {
      span.forward_end = std::max(span.forward_end, piece.end);
    }
    if (piece.key.phase == Phase::kBackward) {
      span.backward_begin = std::min(span.backward_begin, piece.begin);
    }
  }

  bool are_nested(const std::vector<std::uint32_t>& instances) const {
    return std::ranges::any_of(instances, [&](std::uint32_t outer) {
      const std::string prefix = name_of(outer) + ".";
      return std::ranges::any_of(instances, [&](std::uint32_t inner) { return name_of(inner).starts_with(prefix); });
    });
  }

  /// The first event from that time on.
  std::uint32_t event_at(std::uint64_t time) const {
    const auto& times = recording_.memory_time();
    return static_cast<std::uint32_t>(std::ranges::lower_bound(times, time) - times.begin());
  }

  static void add_life(std::uint32_t from, std::uint32_t until, std::uint64_t bytes, std::vector<Delta>& deltas) {
    deltas.push_back({from, static_cast<std::int64_t>(bytes)});
    if (until != recording::kNone) {
      deltas.push_back({until, -static_cast<std::int64_t>(bytes)});
    }
  }

  void add_module(std::uint32_t instance, const ModuleSpan& span, std::vector<Delta>& deltas,
                  std::vector<bool>& moved) const {
    const std::uint32_t begin = event_at(recording_.iteration_start()[memory_.iteration]);
    const std::uint32_t forward = event_at(span.forward_end);
    const std::uint32_t backward = event_at(span.backward_begin);
    std::vector<const MemoryCost*> kept;
    std::vector<Delta> temporaries;
    bool has_output = false;
    for (const MemoryCost* block : blocks_.contains(instance) ? blocks_.at(instance) : kNoBlocks) {
      if (block->event < begin || block->event >= forward) {
        continue;
      }
      if (block->category == Category::kTemporaries) {
        add_life(block->event, std::min(block->freed_by, forward), block->bytes, temporaries);
      }
      if (block->category != Category::kActivations) {
        continue;
      }
      const bool outlives = block->freed_by >= backward;
      has_output = has_output || (!outlives && block->freed_by >= forward);
      if (outlives) {
        kept.push_back(block);
      }
    }
    const auto largest = std::ranges::max_element(kept, {}, &MemoryCost::bytes);
    if (!has_output && largest != kept.end()) {
      kept.erase(largest);
    }
    for (const MemoryCost* block : kept) {
      moved[static_cast<std::size_t>(block - memory_.blocks.data())] = true;
      add_life(block->event, forward, block->bytes, deltas);
      add_life(backward, block->freed_by, block->bytes, deltas);
    }
    add_life(backward, backward + 1, peak_of(std::move(temporaries)), deltas);
  }

  /// The peak of the bytes alive at events from `from` to before `until`.
  static std::uint64_t peak_of(std::vector<Delta> deltas, std::uint32_t from = 0,
                               std::uint32_t until = recording::kNone) {
    std::ranges::stable_sort(deltas, {}, &Delta::event);
    std::int64_t live = 0;
    std::int64_t peak = 0;
    for (std::size_t i = 0; i < deltas.size(); ++i) {
      live += deltas[i].bytes;
      const bool is_last = i + 1 == deltas.size() || deltas[i + 1].event != deltas[i].event;
      if (is_last && deltas[i].event >= from && deltas[i].event < until) {
        peak = std::max(peak, live);
      }
    }
    return static_cast<std::uint64_t>(peak);
  }

  inline static const std::vector<const MemoryCost*> kNoBlocks{};

  const Recording& recording_;
  analysis::Attribution attribution_;
  analysis::MemoryAnalysis memory_;
  std::map<std::uint32_t, ModuleSpan> spans_;                       ///< by instance
  std::map<std::uint32_t, std::vector<const MemoryCost*>> blocks_;  ///< that were allocated in it, by instance
};

/// The most of the ranks.
std::optional<std::uint64_t> peak_bytes(const std::vector<RankMemory>& ranks, std::span<const std::string> modules) {
  std::uint64_t most = 0;
  for (const RankMemory& rank : ranks) {
    const auto peak = rank.peak_bytes(modules);
    if (!peak.has_value()) {
      return std::nullopt;
    }
    most = std::max(most, *peak);
  }
  return most;
}

}  // namespace

std::vector<Recomputation> fitting_recomputations(std::span<const Recording> recordings,
                                                  const analysis::SourceScope& scope, std::uint64_t limit_bytes) {
  std::vector<RankMemory> ranks;
  ranks.reserve(recordings.size());
  for (const Recording& recording : recordings) {
    ranks.emplace_back(recording, scope);
  }
  std::vector<Recomputation> fitting;
  if (ranks.empty()) {
    return fitting;
  }
  for (const auto& [type, instances] : ranks.front().repeated()) {
    Recomputation one{type, instances.size(), {}, 0};
    for (const std::uint32_t instance : instances) {
      one.modules.push_back(ranks.front().name_of(instance));
      const auto peak = peak_bytes(ranks, one.modules);
      if (!peak.has_value() || *peak > limit_bytes) {
        continue;
      }
      one.peak_bytes = *peak;
      fitting.push_back(std::move(one));
      break;
    }
  }
  return fitting;
}

}  // namespace ridgeline::jobs
