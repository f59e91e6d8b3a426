#include "step/graph/host_spans.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace ridgeline::step {

namespace {

using analysis::HostPiece;
using recording::Call;
using recording::kNone;
using recording::Recording;

/// The clock of a device may be this far off that of the host.
constexpr std::uint64_t kClockErrorNs = 2'000;
/// What a launch takes of the host at most, when the activity's start does not tell because its stream was busy.
constexpr std::uint64_t kLaunchNs = 8'000;
/// A copy that takes so long before it begins waited: for the work of the device that was over in its last tenth.
constexpr std::uint64_t kBlockedNs = 1'000'000;
constexpr double kBlockedShare = 0.9;
/// The iteration's thread waits for others when they work in so much of a gap between its operations.
constexpr double kWaitingShare = 0.5;
/// Those that work in so much of it are awaited: autograd has a thread for each device.
constexpr double kWorkerShare = 0.25;

struct Interval {
  std::uint64_t begin;
  std::uint64_t end;
};

/// A part of a thread's time that is not simply work of the thread.
struct Section {
  enum class Type : std::uint8_t { kCall, kWait, kIdle };
  std::uint64_t begin;
  std::uint64_t end;
  Type type;
  std::uint32_t call = kNone;
  std::uint32_t activity = kNone;
};

/// Activities by the call that asked for them, and in the order in which they ended.
class Activities {
 public:
  explicit Activities(const Recording& recording)
      : recording_(recording), first_(recording.call_start().size(), kNone) {
    for (std::uint32_t i = 0; i < recording.activity_start().size(); ++i) {
      if (const std::uint32_t call = recording.activity_call()[i]; call != kNone && first_[call] == kNone) {
        first_[call] = i;
      }
      by_end_.push_back(i);
    }
    std::ranges::stable_sort(by_end_, {}, [&](std::uint32_t i) { return recording.activity_end()[i]; });
  }

  /// The sections of a call.
  void add_sections(std::uint32_t call, std::vector<Section>& sections) const {
    const std::uint64_t start = recording_.call_start()[call];
    const std::uint64_t end = recording_.call_end()[call];
    const std::uint32_t own = first_[call];
    const std::uint32_t awaited = awaited_by(call);
    std::uint64_t cursor = start;
    const auto add = [&](std::uint64_t until, Section::Type type, std::uint32_t activity) {
      if (until > cursor) {
        sections.push_back({cursor, until, type, call, activity});
        cursor = until;
      }
    };
    if (own != kNone) {
      const std::uint64_t asked = std::clamp(recording_.activity_start()[own], start, end);
      add(awaited == kNone ? asked : std::min(asked, start + kLaunchNs), Section::Type::kCall, kNone);
    }
    if (awaited != kNone) {
      add(std::clamp(recording_.activity_end()[awaited], start, end), Section::Type::kWait, awaited);
    }
    add(end, Section::Type::kCall, kNone);
  }

 private:
  /// The activity whose end the call waited for: a copy that was over when its call returned, or what ended last while
  /// the host synchronised.
  std::uint32_t awaited_by(std::uint32_t call) const {
    const std::uint64_t end = recording_.call_end()[call] + kClockErrorNs;
    const auto kind = static_cast<Call>(recording_.call_kind()[call]);
    if (kind == Call::kCopy && first_[call] != kNone && recording_.activity_end()[first_[call]] <= end) {
      return first_[call];
    }
    if (kind == Call::kCopy && first_[call] != kNone) {
      return blocked_by(call, recording_.activity_start()[first_[call]]);
    }
    return kind == Call::kSynchronise ? last_ended(recording_.call_start()[call], end) : kNone;
  }

  /// What a copy waited for before it began: one from pageable memory begins at once, and its call fills buffers.
  std::uint32_t blocked_by(std::uint32_t call, std::uint64_t own_start) const {
    const std::uint64_t start = recording_.call_start()[call];
    const std::uint64_t length = recording_.call_end()[call] - start;
    const std::uint32_t other = length < kBlockedNs ? kNone : last_ended(start, own_start);
    const bool late = other != kNone && static_cast<double>(recording_.activity_end()[other] - start) >=
                                            kBlockedShare * static_cast<double>(length);
    return late ? other : kNone;
  }

  /// The last to end within (after, until] that was asked for before `after`.
  std::uint32_t last_ended(std::uint64_t after, std::uint64_t until) const {
    const auto end_of = [&](std::uint32_t i) { return recording_.activity_end()[i]; };
    for (auto at = std::ranges::upper_bound(by_end_, until, {}, end_of);
         at != by_end_.begin() && end_of(*std::prev(at)) > after;) {
      --at;
      const std::uint32_t call = recording_.activity_call()[*at];
      if (call == kNone || recording_.call_start()[call] < after) {
        return *at;
      }
    }
    return kNone;
  }

  const Recording& recording_;
  std::vector<std::uint32_t> first_;
  std::vector<std::uint32_t> by_end_;
};

/// When a thread is in an operation or in a call of the device's runtime, within the iteration; merged.
std::vector<Interval> busy_intervals(const Recording& recording, std::uint16_t thread,
                                     const std::vector<HostPiece>& pieces) {
  std::vector<Interval> found;
  for (const HostPiece& piece : pieces) {
    if (piece.in_operation) {
      found.push_back({piece.begin, piece.end});
    }
  }
  if (!pieces.empty()) {
    const auto calls = std::ranges::equal_range(recording.call_thread(), thread);
    for (auto at = calls.begin(); at != calls.end(); ++at) {
      const auto call = static_cast<std::size_t>(at - recording.call_thread().begin());
      const std::uint64_t begin = std::max(recording.call_start()[call], pieces.front().begin);
      const std::uint64_t end = std::min(recording.call_end()[call], pieces.back().end);
      if (begin < end) {
        found.push_back({begin, end});
      }
    }
  }
  std::ranges::sort(found, {}, &Interval::begin);
  std::vector<Interval> merged;
  for (const Interval& interval : found) {
    if (!merged.empty() && interval.begin <= merged.back().end) {
      merged.back().end = std::max(merged.back().end, interval.end);
    } else {
      merged.push_back(interval);
    }
  }
  return merged;
}

/// What lies between the intervals in [begin, end).
std::vector<Interval> gaps(const std::vector<Interval>& busy, std::uint64_t begin, std::uint64_t end) {
  std::vector<Interval> found;
  for (const Interval& interval : busy) {
    if (interval.begin > begin) {
      found.push_back({begin, interval.begin});
    }
    begin = std::max(begin, interval.end);
  }
  if (end > begin) {
    found.push_back({begin, end});
  }
  return found;
}

/// The intervals that begin within `gap`, cut off at its end.
std::vector<Interval> beginning_in(const std::vector<Interval>& busy, const Interval& gap) {
  std::vector<Interval> found;
  for (auto at = std::ranges::lower_bound(busy, gap.begin, {}, &Interval::begin);
       at != busy.end() && at->begin < gap.end; ++at) {
    found.push_back({at->begin, std::min(at->end, gap.end)});
  }
  return found;
}

class Cutter {
 public:
  Cutter(const Recording& recording, const std::vector<analysis::HostPieces>& pieces)
      : recording_(recording), activities_(recording), pieces_(pieces) {
    for (std::size_t thread = 0; thread < pieces.size(); ++thread) {
      busy_.push_back(busy_intervals(recording, static_cast<std::uint16_t>(thread), pieces[thread].pieces));
    }
    waits_ = waits_for_threads();
  }

  std::vector<HostSpan> spans_of(std::uint16_t thread) const {
    std::vector<Section> sections = thread == 0 ? waits_ : idle_of(thread);
    const auto calls = std::ranges::equal_range(recording_.call_thread(), thread);
    for (auto at = calls.begin(); at != calls.end(); ++at) {
      activities_.add_sections(static_cast<std::uint32_t>(at - recording_.call_thread().begin()), sections);
    }
    std::ranges::stable_sort(sections, {}, &Section::begin);
    return cut(pieces_[thread].pieces, sections);
  }

 private:
  /// Gaps of thread 0 that others fill: in backward of a device, autograd has a thread of its own.
  std::vector<Section> waits_for_threads() const {
    std::vector<Section> sections;
    if (pieces_.empty() || pieces_[0].pieces.empty()) {
      return sections;
    }
    for (const Interval& gap : gaps(busy_[0], pieces_[0].pieces.front().begin, pieces_[0].pieces.back().end)) {
      std::uint64_t first = gap.end;
      std::uint64_t last = gap.begin;
      std::uint64_t worked = 0;
      for (std::size_t thread = 1; thread < busy_.size(); ++thread) {
        for (const Interval& interval : beginning_in(busy_[thread], gap)) {
          first = std::min(first, interval.begin);
          last = std::max(last, interval.end);
          worked += interval.end - interval.begin;
        }
      }
      if (last > first && static_cast<double>(worked) >= kWaitingShare * static_cast<double>(gap.end - gap.begin)) {
        sections.push_back({first, last, Section::Type::kWait});
      }
    }
    return sections;
  }

  /// Gaps of another thread, in which it waits for what thread 0 or a device does. While thread 0 waits for this
  /// thread, as for that of autograd, they are its own work between operations.
  std::vector<Section> idle_of(std::uint16_t thread) const {
    std::vector<Section> sections;
    const std::vector<HostPiece>& pieces = pieces_[thread].pieces;
    if (busy_[thread].empty()) {
      if (!pieces.empty()) {
        sections.push_back({pieces.front().begin, pieces.back().end, Section::Type::kIdle});
      }
      return sections;
    }
    for (const Interval& gap : gaps(busy_[thread], pieces.front().begin, pieces.back().end)) {
      const auto after = std::ranges::upper_bound(waits_, gap.begin, {}, &Section::begin);
      const bool is_awaited =
          after != waits_.begin() && gap.end <= std::prev(after)->end && works_in(thread, *std::prev(after));
      if (!is_awaited) {
        sections.push_back({gap.begin, gap.end, Section::Type::kIdle});
      }
    }
    return sections;
  }

  /// Whether the thread is one of those that do most of the work of a wait.
  bool works_in(std::uint16_t thread, const Section& wait) const {
    std::uint64_t worked = 0;
    for (const Interval& interval : beginning_in(busy_[thread], {wait.begin, wait.end})) {
      worked += interval.end - interval.begin;
    }
    return static_cast<double>(worked) >= kWorkerShare * static_cast<double>(wait.end - wait.begin);
  }

  /// Sections are by begin; what of one lies in an earlier one is left out.
  static std::vector<HostSpan> cut(const std::vector<HostPiece>& pieces, const std::vector<Section>& sections) {
    std::vector<HostSpan> spans;
    bool idle = false;
    const auto work = [&](const HostPiece& piece, std::uint64_t begin, std::uint64_t end, const Section* section) {
      const Kind own = piece.in_operation ? Kind::kOperation : Kind::kPython;
      const double part = static_cast<double>(end - begin) / static_cast<double>(piece.end - piece.begin);
      spans.push_back({piece.key, begin, end, piece.ns * part, section != nullptr ? Kind::kCall : own,
                       section != nullptr ? section->call : kNone, kNone, std::exchange(idle, false)});
    };
    std::size_t next = 0;
    for (const HostPiece& piece : pieces) {
      std::uint64_t cursor = piece.begin;
      while (cursor < piece.end) {
        while (next < sections.size() && sections[next].end <= cursor) {
          ++next;
        }
        if (next == sections.size() || sections[next].begin >= piece.end) {
          work(piece, cursor, piece.end, nullptr);
          break;
        }
        const Section& section = sections[next];
        if (section.begin > cursor) {
          work(piece, cursor, section.begin, nullptr);
          cursor = section.begin;
        }
        const std::uint64_t end = std::min(piece.end, section.end);
        if (section.type == Section::Type::kCall) {
          work(piece, cursor, end, &section);
        } else if (section.type == Section::Type::kIdle) {
          idle = true;
        } else if (end == section.end) {
          spans.push_back({piece.key, end, end, 0, Kind::kWait, section.call, section.activity, false});
        }
        cursor = end;
      }
    }
    return spans;
  }

  const Recording& recording_;
  Activities activities_;
  const std::vector<analysis::HostPieces>& pieces_;
  std::vector<std::vector<Interval>> busy_;  ///< by thread
  std::vector<Section> waits_;               ///< of thread 0 for others, in order of time
};

}  // namespace

HostSpans host_spans(const Recording& recording, const std::vector<analysis::HostPieces>& pieces) {
  const Cutter cutter(recording, pieces);
  HostSpans spans;
  for (std::size_t thread = 0; thread < pieces.size(); ++thread) {
    spans.push_back(cutter.spans_of(static_cast<std::uint16_t>(thread)));
  }
  return spans;
}

}  // namespace ridgeline::step
