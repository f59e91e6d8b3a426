#include "analysis/memory/ledger.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "analysis/memory/allocator_replay.h"
#include "base/difference.h"
#include "base/text.h"

namespace ridgeline::analysis {

namespace {

using recording::kNone;
using recording::Recording;

constexpr std::size_t kMaxEdits = 2000;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  // Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (OOPSLA 2014): the finaliser of SplitMix64.
  std::uint64_t x = hash + 0x9e3779b97f4a7c15U * (value + 1);
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

/// What an allocation is recognised by in another recording: the names of its ops and frames. Frames of the runner and
/// outside it say which batch size is recorded, nothing of the step.
class Identities {
 public:
  explicit Identities(const Recording& recording) : recording_(recording) {
    for (std::uint32_t i = 0; i < recording.string_ends().size(); ++i) {
      strings_.push_back(std::hash<std::string_view>()(recording.string(i)));
    }
    for (std::size_t i = 0; i < recording.node_parent().size(); ++i) {
      stacks_.push_back(i == 0 ? 0 : stack(i));
    }
    for (std::size_t i = 0; i < recording.op_name().size(); ++i) {
      const std::uint32_t parent = recording.op_parent()[i];
      const std::uint64_t outer = parent == kNone ? 0 : ops_[parent];
      ops_.push_back(mixed(mixed(outer, strings_[recording.op_name()[i]]), stacks_[recording.op_node()[i]]));
    }
  }

  std::uint64_t of(std::uint32_t event) const {
    const std::uint32_t op = recording_.memory_op()[event];
    const std::uint64_t place = mixed(op == kNone ? 0 : ops_[op], stacks_[recording_.memory_node()[event]]);
    return mixed(place, recording_.memory_stage()[event]);
  }

 private:
  std::uint64_t stack(std::size_t node) const {
    const std::uint32_t code = recording_.node_code()[node];
    const std::uint32_t instance = recording_.node_instance()[node];
    if (base::contains(recording_.string(recording_.code_file()[code]), "/ridgeline_runner/")) {
      return 0;
    }
    std::uint64_t hash = stacks_[recording_.node_parent()[node]];
    for (const std::uint32_t name : {recording_.code_file()[code], recording_.code_name()[code],
                                     recording_.instance_type()[instance], recording_.instance_name()[instance]}) {
      hash = mixed(hash, strings_[name]);
    }
    return mixed(hash, recording_.node_line()[node]);
  }

  const Recording& recording_;
  std::vector<std::uint64_t> strings_;
  std::vector<std::uint64_t> stacks_;
  std::vector<std::uint64_t> ops_;
};

/// What the allocator did in one iteration: first what was alive already, by identity (its order has no meaning: the
/// first batch size makes the optimizer's state after its input, the next ones find it there), then the events.
struct History {
  struct Event {
    std::uint32_t born = 0;  ///< the recording's event that allocated the block
    std::size_t other = 0;   ///< the position in the history where it is freed, or was allocated; kNever: not freed
    bool allocates = false;
    bool before = false;  ///< of the iteration
  };
  static constexpr std::size_t kNever = ~std::size_t{0};

  const Recording* recording = nullptr;
  std::vector<Event> events;
  std::vector<std::uint64_t> tokens;
};

/// Writes the history of one iteration of a replayed recording.
class HistoryWriter {
 public:
  HistoryWriter(const Recording& recording, const std::vector<Block>& blocks, std::size_t iteration)
      : blocks_(blocks), identities_(recording), position_(blocks.size(), History::kNever) {
    const auto time = recording.memory_time();
    const auto start = std::ranges::lower_bound(time, recording.iteration_start()[iteration]);
    const auto end = std::ranges::upper_bound(time, recording.iteration_end()[iteration]);
    first_ = static_cast<std::uint32_t>(start - time.begin());
    end_ = static_cast<std::uint32_t>(end - time.begin());
    history_.recording = &recording;
  }

  History run() {
    add_alive();
    add_events();
    return std::move(history_);
  }

 private:
  void add(std::uint32_t block, bool allocates) {
    const std::size_t here = history_.events.size();
    const std::uint32_t born = blocks_[block].event;
    history_.events.push_back({born, allocates ? History::kNever : position_[block], allocates, born < first_});
    const std::uint64_t when = born < first_ ? 2 : 3;
    history_.tokens.push_back(mixed(identities_.of(born), allocates ? when : 4 + when));
    if (allocates) {
      position_[block] = here;
    } else {
      history_.events[position_[block]].other = here;
    }
  }

  void add_alive() {
    std::vector<std::pair<std::uint64_t, std::uint32_t>> alive;  // identity, block
    for (std::uint32_t block = 0; block < blocks_.size(); ++block) {
      const Block& life = blocks_[block];
      if (life.event < first_ && (life.death_event == kNone || life.death_event >= first_)) {
        alive.emplace_back(identities_.of(life.event), block);
      }
    }
    std::ranges::stable_sort(alive, {}, &std::pair<std::uint64_t, std::uint32_t>::first);
    for (const auto& [identity, block] : alive) {
      add(block, true);
    }
  }

  void add_events() {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> deaths;  // event, block
    for (std::uint32_t block = 0; block < blocks_.size(); ++block) {
      const std::uint32_t death = blocks_[block].death_event;
      if (death != kNone && death >= first_ && death < end_) {
        deaths.emplace_back(death, block);
      }
    }
    std::ranges::sort(deaths);
    auto death = deaths.begin();
    for (std::uint32_t block = 0; block < blocks_.size(); ++block) {
      const std::uint32_t born = blocks_[block].event;
      if (born < first_ || born >= end_) {
        continue;
      }
      for (; death != deaths.end() && death->first <= born; ++death) {
        add(death->second, false);
      }
      add(block, true);
    }
    for (; death != deaths.end(); ++death) {
      add(death->second, false);
    }
  }

  const std::vector<Block>& blocks_;
  const Identities identities_;
  std::vector<std::size_t> position_;  ///< of each block in the history
  std::uint32_t first_ = 0;            ///< the iteration's events, up to but without `end_`
  std::uint32_t end_ = 0;
  History history_;
};

/// The history of the iteration with the peak.
History history_of(const Recording& recording) {
  Replay replay(recording);
  const std::size_t iteration = find_peak(recording, replay).iteration;
  return HistoryWriter(recording, replay.blocks(), iteration).run();
}

/// The histories of all samples in one order, in which each keeps its own.
struct Merged {
  std::size_t samples = 0;
  /// For each event here, in turn for each sample: its position in that history; kNever: it does not happen there.
  std::vector<std::size_t> positions;

  std::size_t size() const { return positions.size() / samples; }
  std::size_t at(std::size_t event, std::size_t sample) const { return positions[event * samples + sample]; }
  std::size_t* add() {
    positions.resize(positions.size() + samples, History::kNever);
    return &positions[positions.size() - samples];
  }
};

std::optional<Merged> merge(std::span<const History> histories) {
  Merged merged{histories.size(), {}};
  std::vector<std::uint64_t> tokens = histories[0].tokens;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    *merged.add() = i;
  }
  for (std::size_t sample = 1; sample < histories.size(); ++sample) {
    const std::vector<std::uint64_t>& theirs = histories[sample].tokens;
    auto pairs = base::common_subsequence(tokens, theirs, kMaxEdits);
    if (!pairs.has_value()) {
      return std::nullopt;
    }
    pairs->emplace_back(tokens.size(), theirs.size());
    Merged next{histories.size(), {}};
    std::vector<std::uint64_t> next_tokens;
    std::size_t ours = 0;
    std::size_t their = 0;
    const auto keep = [&] {
      std::copy_n(&merged.positions[ours * merged.samples], merged.samples, next.add());
      next_tokens.push_back(tokens[ours++]);
    };
    for (const auto& [our_match, their_match] : *pairs) {
      while (ours < our_match) {
        keep();
      }
      for (; their < their_match; ++their) {
        next.add()[sample] = their;
        next_tokens.push_back(theirs[their]);
      }
      if (our_match < tokens.size()) {
        keep();
        next.positions[next.positions.size() - next.samples + sample] = their++;
      }
    }
    merged = std::move(next);
    tokens = std::move(next_tokens);
  }
  return merged;
}

/// Allocations that one event of the merged order makes: several when the samples free it at different places.
std::vector<Allocation> allocations_of(std::span<const History> histories, const Merged& merged) {
  std::vector<std::vector<std::size_t>> place(histories.size());  // of a history's event in the merged order
  for (std::size_t sample = 0; sample < histories.size(); ++sample) {
    place[sample].resize(histories[sample].events.size());
    for (std::size_t here = 0; here < merged.size(); ++here) {
      if (merged.at(here, sample) != History::kNever) {
        place[sample][merged.at(here, sample)] = here;
      }
    }
  }
  std::vector<Allocation> allocations;
  for (std::size_t here = 0; here < merged.size(); ++here) {
    const auto first = static_cast<std::ptrdiff_t>(allocations.size());
    for (std::size_t sample = 0; sample < histories.size(); ++sample) {
      const std::size_t own = merged.at(here, sample);
      if (own == History::kNever || !histories[sample].events[own].allocates) {
        continue;
      }
      const History::Event& event = histories[sample].events[own];
      const std::size_t death = event.other == History::kNever ? kNeverFreed : place[sample][event.other];
      auto same = std::ranges::find(allocations.begin() + first, allocations.end(), death, &Allocation::death);
      if (same == allocations.end()) {
        const std::vector<std::uint64_t> none(histories.size());
        const std::vector<std::uint32_t> nowhere(histories.size(), kNone);
        allocations.push_back({here, death, none, sample, nowhere, event.before, none});
        same = allocations.end() - 1;
      }
      const Recording& recording = *histories[sample].recording;
      const std::uint64_t requested = recording.memory_requested()[event.born];
      same->events[sample] = event.born;
      same->bytes[sample] = recording.memory_bytes()[event.born];
      same->requested[sample] = requested > 0 ? requested : same->bytes[sample];
    }
  }
  return allocations;
}

bool is_incomplete(const Recording* recording) {
  return recording->loss()[static_cast<std::size_t>(recording::Loss::kMemory)] > 0;
}

}  // namespace

base::Result<Ledger> match_allocations(std::span<const Recording* const> recordings) {
  if (recordings.size() < 2) {
    return base::error("at least two batch sizes are needed");
  }
  if (std::ranges::any_of(recordings, is_incomplete)) {
    return base::error("a recording was full");
  }
  std::vector<History> histories;
  for (const Recording* recording : recordings) {
    histories.push_back(history_of(*recording));
  }
  const std::optional<Merged> merged = merge(histories);
  if (!merged.has_value()) {
    return base::error("the step allocates in a different order at each batch size");
  }
  return Ledger{merged->size(), allocations_of(histories, *merged)};
}

}  // namespace ridgeline::analysis
