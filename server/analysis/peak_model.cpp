#include "analysis/peak_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/alignment.h"
#include "analysis/allocator_replay.h"
#include "analysis/envelope.h"

namespace ridgeline::analysis {

namespace {

using recording::kNone;
using recording::Recording;

constexpr std::size_t kMaxEdits = 2000;
constexpr std::size_t kNamed = 8;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  // Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (OOPSLA 2014): the finaliser of SplitMix64.
  std::uint64_t x = hash + 0x9e3779b97f4a7c15U * (value + 1);
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

/// What an allocation is recognised by in another recording: the names of its ops and frames. Frames of the runner and
/// outside of it say which batch size is recorded, nothing of the step.
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
    if (recording_.string(recording_.code_file()[code]).find("/ridgeline_runner/") != std::string_view::npos) {
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
  };
  static constexpr std::size_t kNever = ~std::size_t{0};

  const Recording* recording = nullptr;
  std::vector<Event> events;
  std::vector<std::uint64_t> tokens;
};

History history_of(const Recording& recording) {
  Replay replay(recording);
  PeakFinder finder(recording);
  std::uint64_t live = 0;
  replay.run([&](std::uint32_t event, std::uint64_t live_after) {
    finder.before(event, live);
    live = live_after;
    finder.after(event, live);
  });
  const std::size_t iteration = finder.finish(live).iteration;
  const auto time = recording.memory_time();
  const auto first =
      static_cast<std::uint32_t>(std::ranges::lower_bound(time, recording.iteration_start()[iteration]) - time.begin());
  const auto end =
      static_cast<std::uint32_t>(std::ranges::upper_bound(time, recording.iteration_end()[iteration]) - time.begin());

  const Identities identities(recording);
  History history{&recording, {}, {}};
  std::vector<std::pair<std::uint32_t, std::uint32_t>> deaths;  // event, block
  std::vector<std::pair<std::uint64_t, std::uint32_t>> alive;   // identity, block
  const auto& blocks = replay.blocks();
  std::vector<std::size_t> position(blocks.size(), History::kNever);
  const auto add = [&](std::uint32_t block, bool allocates) {
    const std::size_t here = history.events.size();
    const std::uint32_t born = blocks[block].event;
    history.events.push_back({born, allocates ? History::kNever : position[block], allocates});
    const std::uint64_t when = born < first ? 2 : 3;
    history.tokens.push_back(mixed(identities.of(born), allocates ? when : 4 + when));
    if (allocates) {
      position[block] = here;
    } else {
      history.events[position[block]].other = here;
    }
  };
  for (std::uint32_t block = 0; block < blocks.size(); ++block) {
    const Block& life = blocks[block];
    const bool ends = life.death_event != kNone;
    if (ends && life.death_event >= first && life.death_event < end) {
      deaths.emplace_back(life.death_event, block);
    }
    if (life.event < first && (!ends || life.death_event >= first)) {
      alive.emplace_back(identities.of(life.event), block);
    }
  }
  std::ranges::stable_sort(alive, {}, &std::pair<std::uint64_t, std::uint32_t>::first);
  for (const auto& [identity, block] : alive) {
    add(block, true);
  }
  std::ranges::sort(deaths);
  auto death = deaths.begin();
  for (std::uint32_t block = 0; block < blocks.size(); ++block) {
    const std::uint32_t born = blocks[block].event;
    if (born < first || born >= end) {
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
  return history;
}

/// The histories of all samples in one order, in which each keeps its own.
struct Merged {
  /// The position in each history of what happens here; kNever: it does not happen there.
  std::vector<std::vector<std::size_t>> events;
};

std::optional<Merged> merge(std::span<const History> histories) {
  Merged merged;
  std::vector<std::uint64_t> tokens = histories[0].tokens;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    merged.events.emplace_back(histories.size(), History::kNever).front() = i;
  }
  for (std::size_t sample = 1; sample < histories.size(); ++sample) {
    const std::vector<std::uint64_t>& theirs = histories[sample].tokens;
    auto pairs = align(tokens, theirs, kMaxEdits);
    if (!pairs.has_value()) {
      return std::nullopt;
    }
    pairs->emplace_back(tokens.size(), theirs.size());
    Merged next;
    std::vector<std::uint64_t> next_tokens;
    std::size_t ours = 0;
    std::size_t their = 0;
    for (const auto& [our_match, their_match] : *pairs) {
      for (; ours < our_match; ++ours) {
        next.events.push_back(std::move(merged.events[ours]));
        next_tokens.push_back(tokens[ours]);
      }
      for (; their < their_match; ++their) {
        next.events.emplace_back(histories.size(), History::kNever)[sample] = their;
        next_tokens.push_back(theirs[their]);
      }
      if (our_match < tokens.size()) {
        next.events.push_back(std::move(merged.events[ours]));
        next.events.back()[sample] = their++;
        next_tokens.push_back(tokens[ours++]);
      }
    }
    merged = std::move(next);
    tokens = std::move(next_tokens);
  }
  return merged;
}

/// A block as all samples know it.
struct Allocation {
  std::size_t birth = 0;             ///< position in the merged order
  std::size_t death = 0;             ///< likewise; History::kNever
  std::vector<std::uint64_t> bytes;  ///< at each sample; 0 where it does not exist
  const Recording* recording = nullptr;
  std::uint32_t event = 0;  ///< of that recording, which allocated it
  bool linear = true;
};

/// Allocations that one event of the merged order makes: several when the samples free it at different places.
std::vector<Allocation> allocations_of(std::span<const History> histories, const Merged& merged) {
  std::vector<std::vector<std::size_t>> place(histories.size());  // of a history's event in the merged order
  for (std::size_t sample = 0; sample < histories.size(); ++sample) {
    place[sample].resize(histories[sample].events.size());
  }
  for (std::size_t here = 0; here < merged.events.size(); ++here) {
    for (std::size_t sample = 0; sample < histories.size(); ++sample) {
      if (merged.events[here][sample] != History::kNever) {
        place[sample][merged.events[here][sample]] = here;
      }
    }
  }
  std::vector<Allocation> allocations;
  for (std::size_t here = 0; here < merged.events.size(); ++here) {
    const std::size_t first = allocations.size();
    for (std::size_t sample = 0; sample < histories.size(); ++sample) {
      const std::size_t own = merged.events[here][sample];
      if (own == History::kNever || !histories[sample].events[own].allocates) {
        continue;
      }
      const History::Event& event = histories[sample].events[own];
      const std::size_t death = event.other == History::kNever ? History::kNever : place[sample][event.other];
      auto same = std::ranges::find(allocations.begin() + static_cast<std::ptrdiff_t>(first), allocations.end(), death,
                                    &Allocation::death);
      if (same == allocations.end()) {
        allocations.push_back(
            {here, death, std::vector<std::uint64_t>(histories.size()), histories[sample].recording, event.born, true});
        same = allocations.end() - 1;
      }
      same->bytes[sample] = histories[sample].recording->memory_bytes()[event.born];
    }
  }
  return allocations;
}

/// Whether all samples lie on the line through the first and the last, exactly, and it does not fall.
bool is_linear(const std::vector<std::uint64_t>& bytes, const std::vector<int>& sizes) {
  const auto rise = static_cast<double>(bytes.back()) - static_cast<double>(bytes.front());
  const double run = sizes.back() - sizes.front();
  if (rise < 0) {
    return false;
  }
  for (std::size_t i = 1; i + 1 < bytes.size(); ++i) {
    const auto part = static_cast<double>(bytes[i]) - static_cast<double>(bytes.front());
    if (part * run != rise * (sizes[i] - sizes.front())) {
      return false;
    }
  }
  return true;
}

/// One stretch of batch sizes, and the two samples that lines are drawn through there.
struct Stretch {
  int low = 1;
  int high = 0;
  std::size_t left = 0;
  std::size_t right = 0;
  bool inside = false;  ///< between two samples
};

std::vector<Stretch> stretches_of(const std::vector<int>& sizes, bool all_linear) {
  const int most = std::numeric_limits<int>::max();
  const std::size_t last = sizes.size() - 1;
  if (all_linear) {
    return {{1, most, 0, last, false}};
  }
  std::vector<Stretch> stretches;
  if (sizes.front() > 1) {
    stretches.push_back({1, sizes.front() - 1, 0, 1, false});
  }
  for (std::size_t i = 0; i < last; ++i) {
    stretches.push_back({sizes[i], i + 1 == last ? sizes[last] : sizes[i + 1] - 1, i, i + 1, true});
  }
  stretches.push_back({sizes.back() + 1, most, last - 1, last, false});
  return stretches;
}

/// Beyond the samples a size may lie so many times as far off as the samples themselves lie off their line.
constexpr double kDoubt = 4;

/// The most that a sample lies off the line through the first and the last.
double departure(const std::vector<std::uint64_t>& bytes, const std::vector<int>& sizes) {
  const double rise = static_cast<double>(bytes.back()) - static_cast<double>(bytes.front());
  double most = 0;
  for (std::size_t i = 1; i + 1 < bytes.size(); ++i) {
    const double part = static_cast<double>(sizes[i] - sizes.front()) / (sizes.back() - sizes.front());
    most = std::max(most, std::abs(static_cast<double>(bytes[i]) - static_cast<double>(bytes.front()) - part * rise));
  }
  return most;
}

enum class Bound : std::uint8_t { kValue, kLow, kHigh };

/// A line through two points: its values at the left and right sample of a stretch.
struct Ends {
  double left = 0;
  double right = 0;
};

/// The bytes of an allocation in a stretch. What is linear has one line. Of the rest, inside: the line between the
/// neighbours, bounded by the lesser and the greater of them; outside: that line as far as it grows, bounded by what
/// stays as it is and what vanishes with the batch or grows in proportion to it.
Ends ends_of(const Allocation& allocation, const std::vector<int>& sizes, const Stretch& stretch, Bound bound) {
  const auto left = static_cast<double>(allocation.bytes[stretch.left]);
  const auto right = static_cast<double>(allocation.bytes[stretch.right]);
  if (allocation.linear) {
    return {left, right};
  }
  if (stretch.inside) {
    const double constant = bound == Bound::kLow ? std::min(left, right) : std::max(left, right);
    return bound == Bound::kValue ? Ends{left, right} : Ends{constant, constant};
  }
  const bool below = stretch.high < sizes.front();
  const double near = below ? left : right;
  const double ratio = static_cast<double>(sizes[stretch.left]) / sizes[stretch.right];
  const Ends constant{near, near};
  const Ends proportional = below ? Ends{left, left / ratio} : Ends{right * ratio, right};
  const Ends chord{left, right};
  const bool shrinks = right < left;
  const bool steep = chord.right - chord.left > proportional.right - proportional.left;
  if (bound == Bound::kValue) {
    return shrinks || (below && steep) ? constant : chord;
  }
  if (bound == Bound::kLow) {
    return shrinks || below ? Ends{0, 0} : constant;
  }
  const Ends ends = below ? (shrinks ? chord : constant) : (steep ? chord : proportional);
  const double doubt = kDoubt * departure(allocation.bytes, sizes);
  return {ends.left + doubt, ends.right + doubt};
}

/// The peak over one stretch, as pieces.
std::vector<PeakPiece> peak_in(const std::vector<Allocation>& allocations, std::size_t instants,
                               const std::vector<int>& sizes, const Stretch& stretch, Bound bound) {
  std::vector<Ends> change(instants);
  for (const Allocation& allocation : allocations) {
    const Ends ends = ends_of(allocation, sizes, stretch, bound);
    change[allocation.birth].left += ends.left;
    change[allocation.birth].right += ends.right;
    if (allocation.death != History::kNever) {
      change[allocation.death].left -= ends.left;
      change[allocation.death].right -= ends.right;
    }
  }
  const double x0 = sizes[stretch.left];
  const double x1 = sizes[stretch.right];
  std::vector<StraightLine> lines;
  Ends live;
  const auto is_top = [&](std::size_t next) {
    return next == instants || change[next].left < 0 || change[next].right < 0;
  };
  for (std::size_t here = 0; here < instants; ++here) {
    live.left += change[here].left;
    live.right += change[here].right;
    if (is_top(here + 1)) {
      const double slope = (live.right - live.left) / (x1 - x0);
      lines.push_back({slope, live.left - slope * x0});
    }
  }
  std::vector<PeakPiece> pieces;
  for (const EnvelopePiece& piece : upper_envelope(std::move(lines), stretch.low, stretch.high)) {
    pieces.push_back({piece.from, piece.line.slope, piece.line.intercept});
  }
  return pieces;
}

std::vector<PeakPiece> peak_everywhere(const std::vector<Allocation>& allocations, std::size_t instants,
                                       const std::vector<int>& sizes, bool all_linear, Bound bound) {
  std::vector<PeakPiece> pieces;
  for (const Stretch& stretch : stretches_of(sizes, all_linear)) {
    for (const PeakPiece& piece : peak_in(allocations, instants, sizes, stretch, bound)) {
      pieces.push_back(piece);
    }
  }
  return pieces;
}

Location user_line(const Recording& recording, std::uint32_t event, const SourceScope& scope) {
  for (std::uint32_t node = recording.memory_node()[event]; node != 0; node = recording.node_parent()[node]) {
    const std::string_view file = recording.string(recording.code_file()[recording.node_code()[node]]);
    if (is_user_file(file, scope)) {
      return {display_path(file, scope), recording.node_line()[node]};
    }
  }
  return {};
}

std::vector<NotLinear> named(const std::vector<Allocation>& allocations, const SourceScope& scope) {
  std::map<std::tuple<std::string, std::string, std::uint32_t>, NotLinear> groups;
  for (const Allocation& allocation : allocations) {
    if (allocation.linear) {
      continue;
    }
    const std::uint32_t op = allocation.recording->memory_op()[allocation.event];
    const std::string operation(op == kNone ? "" : allocation.recording->string(allocation.recording->op_name()[op]));
    const Location location = user_line(*allocation.recording, allocation.event, scope);
    NotLinear& group = groups[{operation, location.file, location.line}];
    group.operation = operation;
    group.location = location;
    group.bytes.resize(allocation.bytes.size());
    for (std::size_t i = 0; i < group.bytes.size(); ++i) {
      group.bytes[i] += allocation.bytes[i];
    }
  }
  std::vector<NotLinear> all;
  for (auto& [key, group] : groups) {
    all.push_back(std::move(group));
  }
  const auto spread = [](const NotLinear& group) {
    const auto [low, high] = std::ranges::minmax_element(group.bytes);
    return *high - *low;
  };
  std::ranges::stable_sort(all, std::ranges::greater(), spread);
  all.resize(std::min(all.size(), kNamed));
  return all;
}

bool is_incomplete(const SampledMemory& sample) {
  return sample.recording->loss()[static_cast<std::size_t>(recording::Loss::kMemory)] > 0;
}

double at(const std::vector<PeakPiece>& pieces, int batch_size) {
  const auto after = std::ranges::upper_bound(pieces, batch_size, {}, &PeakPiece::from_batch);
  const PeakPiece& piece = after == pieces.begin() ? pieces.front() : *(after - 1);
  return std::max(0.0, std::round(piece.intercept + piece.slope * batch_size));
}

/// The last batch size of a piece.
int end_of(const std::vector<PeakPiece>& pieces, std::size_t piece, int most) {
  return piece + 1 < pieces.size() ? std::min(most, pieces[piece + 1].from_batch - 1) : most;
}

}  // namespace

std::optional<PeakModel> fit_peak_model(std::span<const SampledMemory> samples, const SourceScope& scope,
                                        std::string& why_not) {
  std::vector<SampledMemory> sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted, {}, &SampledMemory::batch_size);
  if (sorted.size() < 2) {
    why_not = "it needs two batch sizes";
    return std::nullopt;
  }
  if (std::ranges::any_of(sorted, is_incomplete)) {
    why_not = "a recording was full";
    return std::nullopt;
  }
  std::vector<int> sizes;
  std::vector<History> histories;
  for (const SampledMemory& sample : sorted) {
    sizes.push_back(sample.batch_size);
    histories.push_back(history_of(*sample.recording));
  }
  const std::optional<Merged> merged = merge(histories);
  if (!merged.has_value()) {
    why_not = "the step allocates in another order at each batch size";
    return std::nullopt;
  }
  std::vector<Allocation> allocations = allocations_of(histories, *merged);
  PeakModel model;
  model.checked = sizes.size() > 2;
  model.allocations = static_cast<int>(allocations.size());
  for (Allocation& allocation : allocations) {
    allocation.linear = is_linear(allocation.bytes, sizes);
    model.not_linear += allocation.linear ? 0 : 1;
  }
  const bool all_linear = model.not_linear == 0;
  const std::size_t instants = merged->events.size();
  model.value = peak_everywhere(allocations, instants, sizes, all_linear, Bound::kValue);
  if (!all_linear) {
    model.low = peak_everywhere(allocations, instants, sizes, false, Bound::kLow);
    model.high = peak_everywhere(allocations, instants, sizes, false, Bound::kHigh);
  }
  model.largest_not_linear = named(allocations, scope);
  return model;
}

Measured peak_at(const PeakModel& model, int batch_size) {
  const double value = at(model.value, batch_size);
  return {value, model.low.empty() ? value : std::min(value, at(model.low, batch_size)),
          model.high.empty() ? value : std::max(value, at(model.high, batch_size))};
}

std::optional<int> largest_batch_within(const PeakModel& model, double bytes, int most) {
  for (std::size_t piece = model.value.size(); piece-- > 0;) {
    int low = model.value[piece].from_batch;
    int high = end_of(model.value, piece, most);
    const auto fits = [&](int batch_size) { return at(model.value, batch_size) <= bytes; };
    if (low > high) {
      continue;
    }
    if (fits(high)) {
      return high;
    }
    if (!fits(low)) {
      continue;  // a piece is straight: nothing between two ends that are too much
    }
    while (high - low > 1) {
      const int middle = low + (high - low) / 2;
      (fits(middle) ? low : high) = middle;
    }
    return low;
  }
  return std::nullopt;
}

int least_batch(const PeakModel& model, int most) {
  int least = 1;
  for (std::size_t piece = 0; piece < model.value.size() && model.value[piece].from_batch <= most; ++piece) {
    for (const int end : {model.value[piece].from_batch, end_of(model.value, piece, most)}) {
      least = at(model.value, end) < at(model.value, least) ? end : least;
    }
  }
  return least;
}

bool grows(const PeakModel& model) { return model.value.back().slope > 0; }

}  // namespace ridgeline::analysis
