#include "ingest/host_sweep.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <tuple>

#include "base/text.h"
#include "ingest/autograd_node.h"
#include "ingest/range_phase.h"
#include "ingest/trace_stacks.h"

namespace ridgeline::ingest {

namespace {

using base::contains;
using recording::Call;
using recording::kNone;
using recording::Scope;

constexpr std::uint64_t kSampleNs = 250'000;
constexpr std::size_t kMaxSamples = std::size_t{1} << 22U;
/// Functions in functions: Python stops at 1,000 where nobody asks for more. What is deeper counts for the last of
/// these, since each piece of time goes to every line of its stack.
constexpr std::size_t kMaxFrames = 2048;
constexpr std::uint64_t kRounding = 2000;  ///< error of old traces, in whole microseconds
constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

Call kind_of_call(std::string_view name) {
  if (contains(name, "Synchronize")) {
    return Call::kSynchronise;
  }
  if (contains(name, "Memcpy") || contains(name, "Memset") || contains(name, "MemCpy")) {
    return Call::kCopy;
  }
  return contains(name, "Launch") ? Call::kLaunch : Call::kOther;
}

struct Span {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
};

/// When threads other than `main` ran autograd's nodes: by time, without overlaps.
std::vector<Span> backward_elsewhere(const Trace& trace, std::uint32_t main) {
  std::vector<Span> nodes;
  for (const TraceEvent& event : trace.events) {
    if (event.kind == EventKind::kOp && event.thread != main && is_autograd_node(event, trace.strings[event.name])) {
      nodes.push_back({event.start, event.end});
    }
  }
  std::ranges::sort(nodes, {}, &Span::start);
  std::vector<Span> spans;
  for (const Span& node : nodes) {
    if (spans.empty() || node.start > spans.back().end) {
      spans.push_back(node);
    } else {
      spans.back().end = std::max(spans.back().end, node.end);
    }
  }
  return spans;
}

class Sweeper {
 public:
  Sweeper(const Trace& trace, const TraceFiles& files, const std::unordered_set<std::uint64_t>& externals,
          ColumnsBuilder& builder, TraceLosses& losses)
      : trace_(trace), externals_(externals), builder_(builder), stacks_(trace, files, builder), losses_(losses) {}

  HostSweep run(const std::vector<std::uint32_t>& order) {
    backward_elsewhere_ = backward_elsewhere(trace_, order.front());
    for (const std::uint32_t index : sorted(order)) {
      const TraceEvent& event = trace_.events[index];
      const std::uint16_t thread = thread_number_[event.thread];
      if (thread != thread_) {
        finish_thread();
        thread_ = thread;
        cursor_ = event.start;
      }
      advance(event.start, event.kind == EventKind::kMemory);
      add(index, event);
    }
    finish_thread();
    result_.module_calls = stacks_.module_calls();
    return std::move(result_);
  }

 private:
  struct OpenFunction {
    std::uint64_t end;
    std::uint32_t node;
  };
  struct OpenOp {
    std::uint64_t end;
    std::uint32_t op;
    std::uint32_t node;
  };

  /// The host's events: thread by thread, by start, what encloses before what is enclosed.
  std::vector<std::uint32_t> sorted(const std::vector<std::uint32_t>& order) {
    constexpr std::uint16_t kNotUsed = std::numeric_limits<std::uint16_t>::max();
    thread_number_.assign(trace_.threads.size(), kNotUsed);
    for (std::size_t i = 0; i < std::min<std::size_t>(order.size(), kNotUsed); ++i) {
      thread_number_[order[i]] = static_cast<std::uint16_t>(i);
    }
    std::vector<std::uint32_t> indices;
    for (std::uint32_t i = 0; i < trace_.events.size(); ++i) {
      const TraceEvent& event = trace_.events[i];
      const bool of_host = event.kind > EventKind::kStep && event.kind <= EventKind::kMemory;
      if (of_host && thread_number_[event.thread] != kNotUsed) {
        indices.push_back(i);
      }
    }
    std::ranges::stable_sort(indices, [&](std::uint32_t a, std::uint32_t b) {
      const TraceEvent& x = trace_.events[a];
      const TraceEvent& y = trace_.events[b];
      const auto key = [&](const TraceEvent& event) {
        return std::tuple(thread_number_[event.thread], event.start, kNever - event.end, event.kind);
      };
      return key(x) < key(y);
    });
    return indices;
  }

  /// Closes what ends until then, sampling the Python stack on the way.
  void advance(std::uint64_t time, bool keep_what_ends_now) {
    while (true) {
      const std::uint64_t function = functions_.empty() ? kNever : functions_.back().end;
      const std::uint64_t op = ops_.empty() ? kNever : ops_.back().end;
      const std::uint64_t next = std::min(function, op);
      if (next > time || (next == time && keep_what_ends_now)) {
        break;
      }
      sample_until(next);
      if (op <= function) {
        ops_.pop_back();
      } else {
        functions_.pop_back();
      }
    }
    sample_until(time);
  }

  void finish_thread() {
    while (!functions_.empty() || !ops_.empty()) {
      advance(std::max(functions_.empty() ? 0 : functions_.back().end, ops_.empty() ? 0 : ops_.back().end), false);
    }
    sample_until(kNever);  // autograd may run after the thread's last event
  }

  /// Samples the thread of the iterations as the agent's timer would have.
  void sample_until(std::uint64_t time) {
    const Scope scope = ops_.empty() ? Scope::kUser : static_cast<Scope>(builder_.columns.op_scope[ops_.back().op]);
    if (thread_ == 0 && !functions_.empty() && scope != Scope::kFunction) {
      sample(cursor_, time, functions_.back().node);
    } else if (thread_ == 0 && functions_.empty() && scope == Scope::kUser) {
      sample_backward(time);
    }
    cursor_ = std::max(cursor_, time);
  }

  /// Where nothing else is known of the thread, it waited for the threads that ran autograd's nodes.
  void sample_backward(std::uint64_t time) {
    for (; next_backward_ < backward_elsewhere_.size(); ++next_backward_) {
      const Span& span = backward_elsewhere_[next_backward_];
      if (span.start < time && span.end > cursor_) {
        sample(std::max(cursor_, span.start), std::min(time, span.end),
               builder_.push_frame(node(), stacks_.engine_code(), 0, 0));
      }
      if (span.end >= time) {
        break;
      }
    }
  }

  void sample(std::uint64_t from, std::uint64_t to, std::uint32_t stack) {
    std::uint64_t at = (from + kSampleNs - 1) / kSampleNs * kSampleNs;
    for (; at < to && builder_.columns.sample_time.size() < kMaxSamples; at += kSampleNs) {
      builder_.columns.sample_time.push_back(at);
      builder_.columns.sample_node.push_back(stack);
    }
  }

  std::uint32_t node() const {
    if (!functions_.empty()) {
      return functions_.back().node;
    }
    return ops_.empty() ? 0 : ops_.back().node;
  }

  /// `end`, cut to that of what encloses the event.
  std::uint64_t cut(std::uint64_t end, std::uint64_t enclosing) {
    if (end <= enclosing) {
      return end;
    }
    losses_.overlapping += end > enclosing + kRounding ? 1 : 0;
    return enclosing;
  }

  void add(std::uint32_t index, const TraceEvent& event) {
    switch (event.kind) {
      case EventKind::kPython:
        add_function(event);
        break;
      case EventKind::kAnnotation:
      case EventKind::kOp:
        result_.op_event.push_back(index);
        add_op(event);
        break;
      case EventKind::kCall:
        result_.calls.push_back({thread_, kind_of_call(trace_.strings[event.name]), stacks_.text(event.name),
                                 ops_.empty() ? kNone : ops_.back().op, node(), event.start, event.end,
                                 event.correlation});
        break;
      default:
        result_.memory.push_back({index, ops_.empty() ? kNone : ops_.back().op, node(), thread_});
        break;
    }
  }

  void add_function(const TraceEvent& event) {
    const FrameKey frame = stacks_.frame_of(event);
    if (!frame.known) {
      return;  // other functions of C have no lines
    }
    result_.has_python = true;
    const std::uint64_t end = cut(event.end, functions_.empty() ? kNever : functions_.back().end);
    const std::uint32_t parent = functions_.empty() ? 0 : functions_.back().node;
    const bool fits = functions_.size() < kMaxFrames;
    losses_.too_deep += fits ? 0 : 1;
    functions_.push_back({end, fits ? builder_.push_frame(parent, frame.code, frame.line, frame.instance) : parent});
  }

  void add_op(const TraceEvent& event) {
    recording::Columns& columns = builder_.columns;
    const auto op = static_cast<std::uint32_t>(columns.op_name.size());
    const std::uint32_t parent = ops_.empty() ? kNone : ops_.back().op;
    const Scope scope = scope_of(event, parent);
    const bool hooked = trace_.strings[event.name].starts_with(kNodeWithHooks);
    const std::uint32_t stack = stack_of(event);
    columns.op_thread.push_back(thread_);
    columns.op_scope.push_back(static_cast<std::uint8_t>(scope));
    columns.op_name.push_back(stacks_.text(event.name));
    columns.op_node.push_back(stack);
    columns.op_parent.push_back(parent);
    columns.op_start.push_back(event.start);
    columns.op_end.push_back(cut(event.end, ops_.empty() ? kNever : ops_.back().end));
    columns.op_sequence.push_back(hooked ? -1 : event.sequence);
    columns.op_forward_thread.push_back(scope == Scope::kBackward ? event.number : 0);
    ops_.push_back({columns.op_end.back(), op, stack});
    if (event.external != kNoId && externals_.contains(event.external)) {
      result_.op_of_external.try_emplace(event.external, op);
    }
  }

  Scope scope_of(const TraceEvent& event, std::uint32_t parent) const {
    const std::string_view name = trace_.strings[event.name];
    if (event.kind == EventKind::kAnnotation || name.starts_with("Optimizer.") || name.starts_with("enumerate(")) {
      return Scope::kUser;
    }
    // A node is recorded twice: with its hooks, and inside that by itself.
    const bool inside_hooked = parent != kNone && is_hooked_node(parent, name);
    return inside_hooked || is_autograd_node(event, name) ? Scope::kBackward : Scope::kFunction;
  }

  bool is_hooked_node(std::uint32_t op, std::string_view name) const {
    const std::uint32_t index = builder_.columns.op_name[op];
    const std::uint32_t begin = index == 0 ? 0 : builder_.columns.string_ends[index - 1];
    const std::string_view outer(reinterpret_cast<const char*>(builder_.columns.string_bytes.data()) + begin,
                                 builder_.columns.string_ends[index] - begin);
    return outer.starts_with(kNodeWithHooks) && outer.substr(kNodeWithHooks.size()) == name;
  }

  std::uint32_t stack_of(const TraceEvent& event) {
    if (!functions_.empty()) {
      return functions_.back().node;
    }
    if (event.stack != 0) {
      result_.has_call_stacks = true;
      return stacks_.call_stack(event.stack);
    }
    const std::uint32_t outer = node();
    switch (phase_of_range(event, trace_.strings[event.name], trace_.source)) {
      case RangePhase::kOptimizer:
        return builder_.push_frame(outer, builder_.code("/site-packages/torch/optim/optimizer.py", "step"), 0, 0);
      case RangePhase::kData:
        return builder_.push_frame(outer, builder_.code("/site-packages/torch/utils/data/dataloader.py", "__next__"), 0,
                                   0);
      case RangePhase::kBackward:
        return builder_.push_frame(outer, stacks_.engine_code(), 0, 0);
      default:
        return outer;
    }
  }

  const Trace& trace_;
  const std::unordered_set<std::uint64_t>& externals_;
  ColumnsBuilder& builder_;
  TraceStacks stacks_;
  TraceLosses& losses_;
  HostSweep result_;
  std::vector<std::uint16_t> thread_number_;  ///< by thread of the trace
  std::vector<Span> backward_elsewhere_;
  std::size_t next_backward_ = 0;  ///< all before it have ended
  std::vector<OpenFunction> functions_;
  std::vector<OpenOp> ops_;
  std::uint16_t thread_ = 0;
  std::uint64_t cursor_ = 0;
};

}  // namespace

HostSweep sweep_host(const Trace& trace, const std::vector<std::uint32_t>& order, const TraceFiles& files,
                     const std::unordered_set<std::uint64_t>& externals, ColumnsBuilder& builder, TraceLosses& losses) {
  return Sweeper(trace, files, externals, builder, losses).run(order);
}

}  // namespace ridgeline::ingest
