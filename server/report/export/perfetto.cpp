#include "report/export/perfetto.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/attribution/attribution.h"
#include "analysis/breakdown/breakdown.h"
#include "analysis/memory/memory.h"
#include "analysis/memory/memory_over_time.h"
#include "report/export/exported_places.h"
#include "report/export/trace_writer.h"

namespace ridgeline::report {

namespace {

using recording::kNone;
using recording::Recording;

constexpr std::uint64_t kHost = 1;            // process
constexpr std::uint64_t kFirstDevice = 1000;  // process of device 0
constexpr std::uint64_t kSteps = 1;           // thread of the host's process
constexpr std::uint64_t kFirstThread = 2;     // of the recording's threads
constexpr std::array<std::string_view, recording::kActivityCount> kActivities = {
    "kernel", "copy to the device", "copy to the host", "copy on the device", "memory set"};

/// Steps [first, last] of the recording.
struct Steps {
  std::size_t first = 0;
  std::size_t last = 0;
};

/// A row for each stream of a device. Work that overlaps in one stream, as of a CUDA graph, gets a further row, since
/// the slices of a row nest.
class DeviceRows {
 public:
  /// Activities come by start time. Names the row and its device when they are new.
  Track track_of(const Recording& recording, std::size_t activity, TraceWriter& writer) {
    const std::uint32_t device = recording.activity_device()[activity];
    const std::uint32_t stream = recording.activity_stream()[activity];
    std::vector<Row>& rows = rows_[device][stream];
    const std::uint64_t start = recording.activity_start()[activity];
    auto row = std::ranges::find_if(rows, [&](const Row& each) { return each.end <= start; });
    if (row == rows.end()) {
      const std::uint64_t process = kFirstDevice + device;
      writer.name_process(process, fmt::format("device {}", device));
      rows.push_back({{process, ++count_}, 0});
      row = rows.end() - 1;
      writer.name_track(row->track, rows.size() == 1 ? fmt::format("stream {}", stream)
                                                     : fmt::format("stream {} ({})", stream, rows.size()));
    }
    row->end = recording.activity_end()[activity];
    return row->track;
  }

 private:
  struct Row {
    Track track;
    std::uint64_t end = 0;
  };
  std::map<std::uint32_t, std::map<std::uint32_t, std::vector<Row>>> rows_;  ///< by device and stream
  std::uint64_t count_ = 0;
};

class TraceExporter {
 public:
  explicit TraceExporter(const analysis::RecordedRun& recorded)
      : recorded_(recorded),
        recording_(recorded.run.recording),
        attribution_(analysis::attribute(recording_, recorded.scope)),
        memory_(analysis::analyse_memory(recording_, attribution_, attribution_.tree)) {}

  std::string run(const analysis::Profile& profile, std::size_t most_events) {
    steps_ = shown_steps(most_events);
    start_ = recording_.iteration_start()[steps_.first];
    end_ = recording_.iteration_end()[steps_.last];
    writer_.name_process(kHost, profile.entry_path.substr(profile.entry_path.find_last_of('/') + 1));
    add_steps();
    add_operations();
    add_calls();
    add_activities();
    add_memory();
    return std::move(writer_).take(fmt::format(
        "as the clock of the recording has them, with the cost of recording in them; {} of {} recorded steps are shown",
        steps_.last - steps_.first + 1, recording_.iteration_start().size()));
  }

 private:
  struct Text {
    std::string line;
    std::string module;
  };

  /// How many of sorted times lie in a step.
  static std::size_t in_step(std::span<const std::uint64_t> times, std::uint64_t start, std::uint64_t end) {
    return static_cast<std::size_t>(
        std::ranges::count_if(times, [&](std::uint64_t t) { return t >= start && t <= end; }));
  }

  std::size_t events_of(std::size_t step) const {
    const std::uint64_t start = recording_.iteration_start()[step];
    const std::uint64_t end = recording_.iteration_end()[step];
    return in_step(recording_.op_start(), start, end) + in_step(recording_.call_start(), start, end) +
           3 * in_step(recording_.activity_start(), start, end) + 2 * in_step(recording_.memory_time(), start, end);
  }

  /// The step with the peak, and those after and before it for which there is room.
  Steps shown_steps(std::size_t most_events) const {
    Steps steps{memory_.iteration, memory_.iteration};
    std::size_t events = events_of(memory_.iteration);
    const auto fits = [&](std::size_t step) {
      events += events_of(step);
      return events <= most_events;
    };
    while (steps.last + 1 < recording_.iteration_start().size() && fits(steps.last + 1)) {
      ++steps.last;
    }
    while (steps.first > 0 && fits(steps.first - 1)) {
      --steps.first;
    }
    return steps;
  }

  bool is_shown(std::uint64_t time) const { return time >= start_ && time <= end_; }

  /// Since the start; cut off at the end of what encloses it, so that slices nest.
  TraceSpan span(std::uint64_t start, std::uint64_t end, std::uint64_t limit) const {
    return {start - start_, std::max(start, std::min(end, limit)) - start_};
  }

  void add_steps() {
    writer_.name_track({kHost, kSteps}, "steps");
    for (std::size_t step = steps_.first; step <= steps_.last; ++step) {
      const std::uint64_t end = recording_.iteration_end()[step];
      writer_.slice({kHost, kSteps}, fmt::format("step {}", step + 1), "step",
                    span(recording_.iteration_start()[step], end, end));
    }
  }

  static Track host_track(std::uint16_t thread) { return {kHost, kFirstThread + thread}; }

  const Text& text_of(analysis::TreeNode stack) {
    const auto [found, inserted] = texts_.try_emplace(stack);
    if (inserted) {
      const analysis::CallTree& tree = attribution_.tree;
      found->second = {line_text(tree[stack].self_line, tree, recorded_),
                       module_text(analysis::innermost_module(tree, stack), recorded_)};
    }
    return found->second;
  }

  void add_operations() {
    for (std::size_t thread = 0; thread < recording_.thread_torch_id().size(); ++thread) {
      const std::string name = thread == 0 ? "thread 0, which runs the steps" : fmt::format("thread {}", thread);
      writer_.name_track(host_track(static_cast<std::uint16_t>(thread)), name);
    }
    ends_.assign(recording_.op_end().begin(), recording_.op_end().end());
    for (std::uint32_t op = 0; op < recording_.op_name().size(); ++op) {
      const std::uint32_t parent = recording_.op_parent()[op];
      ends_[op] = std::max(recording_.op_start()[op], std::min(ends_[op], parent == kNone ? end_ : ends_[parent]));
      if (!is_shown(recording_.op_start()[op])) {
        continue;
      }
      const Text& text = text_of(attribution_.owner[op]);
      const std::string operation = analysis::operation_name(recording_.string(attribution_.operation[op]));
      writer_.slice(host_track(recording_.op_thread()[op]), recording_.string(recording_.op_name()[op]), "operation",
                    span(recording_.op_start()[op], ends_[op], end_),
                    {{"line", text.line},
                     {"module", text.module},
                     {"operation", operation},
                     {"phase", analysis::kPhaseNames[static_cast<std::size_t>(attribution_.phase[op])]}});
    }
  }

  void add_calls() {
    for (std::uint32_t call = 0; call < recording_.call_name().size(); ++call) {
      if (!is_shown(recording_.call_start()[call])) {
        continue;
      }
      const std::uint32_t op = recording_.call_op()[call];
      const std::uint64_t limit = op == kNone ? end_ : std::max(ends_[op], recording_.call_start()[call]);
      writer_.slice(host_track(recording_.call_thread()[call]), recording_.string(recording_.call_name()[call]),
                    "device call", span(recording_.call_start()[call], recording_.call_end()[call], limit),
                    {{"line", text_of(owner_of(call)).line}});
    }
  }

  analysis::TreeNode owner_of(std::uint32_t call) const {
    const std::uint32_t op = recording_.call_op()[call];
    return op == kNone ? attribution_.tree.node_of_stack(recording_.call_node()[call]) : attribution_.owner[op];
  }

  void add_activities() {
    for (std::size_t i = 0; i < recording_.activity_name().size(); ++i) {
      const std::uint64_t start = recording_.activity_start()[i];
      if (!is_shown(start)) {
        continue;
      }
      const Track track = rows_.track_of(recording_, i, writer_);
      const std::uint32_t call = recording_.activity_call()[i];
      const Text none;
      const Text& text = call == kNone ? none : text_of(owner_of(call));
      const std::uint64_t bytes = recording_.activity_bytes()[i];
      writer_.slice(track, recording_.string(recording_.activity_name()[i]), kActivities[recording_.activity_kind()[i]],
                    span(start, recording_.activity_end()[i], recording_.activity_end()[i]),
                    {{"line", text.line}, {"module", text.module}, {"bytes", bytes > 0 ? std::to_string(bytes) : ""}});
      if (call != kNone && is_shown(recording_.call_start()[call])) {
        writer_.arrow(host_track(recording_.call_thread()[call]), recording_.call_start()[call] - start_, track,
                      start - start_);
      }
    }
  }

  /// A counter is written where it changes.
  void add_memory() {
    std::array<std::uint64_t, analysis::kCategoryCount + 1> last{};
    bool is_first = true;
    const auto write = [&](std::size_t counter, const char* of, std::uint64_t time, std::uint64_t bytes) {
      if (is_first || last[counter] != bytes) {
        writer_.counter(kHost, fmt::format("live memory{}{}", *of == '\0' ? "" : ": ", of), time - start_, bytes);
      }
      last[counter] = bytes;
    };
    for (std::size_t step = steps_.first; step <= steps_.last; ++step) {
      for (const analysis::LiveMemory& live : analysis::live_memory(recording_, memory_, step)) {
        write(analysis::kCategoryCount, "", live.time,
              std::accumulate(live.bytes.begin(), live.bytes.end(), std::uint64_t{0}));
        for (std::size_t i = 0; i < analysis::kCategoryCount; ++i) {
          write(i, analysis::kCategoryLabels[i], live.time, live.bytes[i]);
        }
        is_first = false;
      }
    }
  }

  const analysis::RecordedRun& recorded_;
  const Recording& recording_;
  const analysis::Attribution attribution_;
  const analysis::MemoryAnalysis memory_;
  Steps steps_;
  std::uint64_t start_ = 0;  ///< of what is shown
  std::uint64_t end_ = 0;
  std::vector<std::uint64_t> ends_;  ///< of operations, inside of what encloses them
  std::map<analysis::TreeNode, Text> texts_;
  DeviceRows rows_;
  TraceWriter writer_;
};

}  // namespace

std::string perfetto_trace(const analysis::RecordedRun& recorded, const analysis::Profile& profile,
                           std::size_t most_events) {
  return TraceExporter(recorded).run(profile, most_events);
}

}  // namespace ridgeline::report
