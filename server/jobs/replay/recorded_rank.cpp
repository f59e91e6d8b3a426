#include "jobs/replay/recorded_rank.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "analysis/attribution/attribution.h"
#include "analysis/attribution/iteration_walk.h"
#include "analysis/breakdown/breakdown.h"
#include "protocol/recording_format.h"

namespace ridgeline::jobs {

namespace {

using recording::Recording;
using step::Graph;
using step::kNoTask;
using step::Task;
using step::TaskId;

constexpr std::string_view kAccumulation = "torch::autograd::AccumulateGrad";
constexpr std::string_view kBackwardNode = "autograd::engine::evaluate_function";  // with the hooks of the node

/// What happens to the thread at a time, besides its work. At one time in this order.
struct Event {
  enum class Type : std::uint8_t { kCall, kWaitBegins, kWaitEnds, kResult, kGradient };
  std::int64_t time_ns = 0;
  Type type = Type::kCall;
  std::size_t place = 0;  ///< of RecordedRank::collectives; of a gradient 0
};

class RankBuilder {
 public:
  RankBuilder(const Recording& recording, const RankRecord& record, const analysis::SourceScope& scope, StepRange steps)
      : recording_(recording),
        record_(record),
        scope_(scope),
        steps_(steps),
        attribution_(analysis::attribute(recording, scope)),
        walk_(recording, attribution_) {}

  RecordedRank build(std::int64_t lead_ns) {
    Graph& graph = result_.graph;
    graph.names.emplace_back();
    graph.lines.emplace_back();
    graph.modules.emplace_back();
    graph.operations.emplace_back();
    graph.resources = {{"thread 0", step::Resource::Type::kHost}, {"collectives", step::Resource::Type::kLink, 1e9}};
    choose_collectives();
    add_gradients();
    add_events();
    graph.tasks[append({.kind = step::Kind::kMark})].gap_ns = lead_ns;
    for (std::size_t i = steps_.first; i < steps_.first + steps_.count; ++i) {
      add_step(i);
    }
    graph.end = result_.step_ends.back();
    const auto& all = record_.iterations;
    graph.recorded_ns = all[steps_.first + steps_.count - 1].ended_ns - all[steps_.first].started_ns;
    return std::move(result_);
  }

 private:
  void choose_collectives() {
    for (std::uint32_t i = 0; i < record_.collectives.size(); ++i) {
      const std::uint32_t iteration = record_.collectives[i].iteration;
      if (iteration >= steps_.first && iteration < steps_.first + steps_.count) {
        result_.collectives.push_back(i);
      }
    }
    result_.calls.assign(result_.collectives.size(), kNoTask);
  }

  void add_gradients() {
    const std::uint64_t begin = recording_.iteration_start()[steps_.first];
    const std::uint64_t end = recording_.iteration_end()[steps_.first + steps_.count - 1];
    for (std::size_t op = 0; op < recording_.op_name().size(); ++op) {
      if (recording_.op_thread()[op] != 0 || recording_.string(recording_.op_name()[op]) != kAccumulation) {
        continue;
      }
      const std::uint32_t outer = recording_.op_parent()[op];
      const bool in_node =
          outer != recording::kNone && recording_.string(recording_.op_name()[outer]).starts_with(kBackwardNode);
      const std::uint64_t ready = recording_.op_end()[in_node ? outer : op];
      if (ready < begin || ready > end) {
        continue;
      }
      events_.push_back({static_cast<std::int64_t>(ready), Event::Type::kGradient, 0});
    }
  }

  const Collective& collective(std::size_t place) const { return record_.collectives[result_.collectives[place]]; }

  void add_events() {
    std::map<std::uint32_t, std::int64_t> last_bucket;  // by iteration
    for (std::size_t place = 0; place < result_.collectives.size(); ++place) {
      const Collective& one = collective(place);
      if (one.bucket >= 0) {
        last_bucket[one.iteration] = std::max(last_bucket[one.iteration], one.called_ns);
      }
    }
    for (std::size_t place = 0; place < result_.collectives.size(); ++place) {
      const Collective& one = collective(place);
      events_.push_back({one.called_ns, Event::Type::kCall, place});
      if (one.waited_ns > 0) {
        events_.push_back({one.ended_ns - one.waited_ns, Event::Type::kWaitBegins, place});
        events_.push_back({one.ended_ns, Event::Type::kWaitEnds, place});
      } else {
        const std::int64_t bucket = one.bucket >= 0 ? last_bucket[one.iteration] : 0;
        events_.push_back({std::max(one.ended_ns, bucket), Event::Type::kResult, place});
      }
    }
    std::ranges::stable_sort(events_, {}, [](const Event& one) { return std::pair(one.time_ns, one.type); });
  }

  // ---- tasks of the thread -----------------------------------------------------------------------------------------

  TaskId append(Task task) {
    const auto id = static_cast<TaskId>(result_.graph.tasks.size());
    result_.graph.tasks.push_back(task);
    if (last_ != kNoTask) {
      result_.graph.tasks[last_].next = id;
    }
    for (const std::size_t place : std::exchange(results_, {})) {
      result_.graph.dependencies.push_back({result_.calls[place], id, 0});
    }
    last_ = id;
    return id;
  }

  void add_step(std::size_t iteration) {
    const auto begin = static_cast<std::int64_t>(recording_.iteration_start()[iteration]);
    result_.gradients.emplace_back();
    if (iteration > steps_.first) {
      const auto before = static_cast<std::int64_t>(recording_.iteration_end()[iteration - 1]);
      result_.graph.tasks[last_].gap_ns += std::max<std::int64_t>(0, begin - before);
    }
    for (const analysis::HostPiece& piece : walk_.take(iteration).pieces) {
      add_piece(piece);
    }
    flush();
    take_events(static_cast<std::int64_t>(recording_.iteration_end()[iteration]));
    result_.step_ends.push_back(append({.kind = step::Kind::kMark}));
  }

  /// Cuts the piece where something else happens.
  void add_piece(const analysis::HostPiece& piece) {
    auto cursor = static_cast<std::int64_t>(piece.begin);
    const auto end = static_cast<std::int64_t>(piece.end);
    while (cursor < end) {
      take_events(cursor);
      const std::int64_t until = next_ < events_.size() ? std::min(end, events_[next_].time_ns) : end;
      if (waiting_ == 0) {
        add_work(piece, until - cursor);
      }
      cursor = until;
    }
  }

  void add_work(const analysis::HostPiece& piece, std::int64_t ns) {
    if (!(open_.has_value() && open_->key == piece.key)) {
      flush();
      open_ = piece;
      open_ns_ = 0;
    }
    open_ns_ += ns;
  }

  void flush() {
    if (!open_.has_value()) {
      return;
    }
    Task task;
    task.duration_ns = open_ns_;
    task.kind = open_->in_operation ? step::Kind::kOperation : step::Kind::kPython;
    task.name = name_of(open_->key.operation);
    task.line = line_of(walk_.tree()[open_->key.owner].self_line);
    task.module = module_of(open_->key.owner);
    task.phase = open_->key.phase;
    append(task);
    open_.reset();
  }

  std::uint32_t name_of(std::uint32_t string) {
    if (string == 0) {
      return 0;
    }
    const auto [found, is_new] = names_.try_emplace(string, static_cast<std::uint32_t>(result_.graph.names.size()));
    if (is_new) {
      result_.graph.names.emplace_back(recording_.string(string));
    }
    return found->second;
  }

  std::uint32_t line_of(analysis::LineId line) {
    if (line == 0) {
      return 0;
    }
    const auto [found, is_new] = lines_.try_emplace(line, static_cast<std::uint32_t>(result_.graph.lines.size()));
    if (is_new) {
      result_.graph.lines.push_back(analysis::location_of(line, recording_, walk_.tree(), scope_));
    }
    return found->second;
  }

  std::uint32_t module_of(analysis::TreeNode node) {
    const std::uint32_t instance = analysis::innermost_module(walk_.tree(), node);
    if (instance == 0) {
      return 0;
    }
    const auto [found, is_new] =
        modules_.try_emplace(instance, static_cast<std::uint32_t>(result_.graph.modules.size()));
    if (is_new) {
      result_.graph.modules.emplace_back(analysis::module_name(recording_, instance));
    }
    return found->second;
  }

  // ---- collectives -------------------------------------------------------------------------------------------------

  /// Those that are not after `time`.
  void take_events(std::int64_t time) {
    while (next_ < events_.size() && events_[next_].time_ns <= time) {
      flush();
      const Event& event = events_[next_++];
      switch (event.type) {
        case Event::Type::kCall:
          add_call(event.place);
          break;
        case Event::Type::kWaitBegins:
          ++waiting_;
          break;
        case Event::Type::kWaitEnds:
          --waiting_;
          results_.push_back(event.place);
          append({.kind = step::Kind::kWait});
          break;
        case Event::Type::kResult:
          results_.push_back(event.place);
          break;
        case Event::Type::kGradient:
          result_.gradients.back().push_back(last_);
          break;
      }
    }
  }

  /// It starts some time after its call, or after the collective before that still ran.
  void add_call(std::size_t place) {
    const Collective& one = collective(place);
    const auto id = static_cast<TaskId>(result_.graph.tasks.size());
    result_.graph.tasks.push_back({.resource = 1, .kind = step::Kind::kCommunication});
    result_.calls[place] = id;
    std::erase_if(running_, [&](std::size_t other) { return collective(other).ended_ns <= one.called_ns; });
    std::size_t before = place;
    for (const std::size_t other : running_) {
      const Collective& earlier = collective(other);
      const bool is_over = earlier.group == one.group && earlier.ended_ns <= start_ns(one);
      if (is_over && (before == place || earlier.ended_ns > collective(before).ended_ns)) {
        before = other;
      }
    }
    running_.push_back(place);
    if (before == place) {
      result_.graph.dependencies.push_back({last_, id, start_ns(one) - one.called_ns});
      return;
    }
    result_.graph.dependencies.push_back({last_, id, 0});
    result_.graph.dependencies.push_back({result_.calls[before], id, start_ns(one) - collective(before).ended_ns});
  }

  const Recording& recording_;
  const RankRecord& record_;
  const analysis::SourceScope& scope_;
  StepRange steps_;
  analysis::Attribution attribution_;
  analysis::IterationWalk walk_;
  RecordedRank result_;
  std::vector<Event> events_;
  std::size_t next_ = 0;              ///< of events_
  int waiting_ = 0;                   ///< for how many collectives
  std::vector<std::size_t> results_;  ///< of collectives: the thread's next task goes on with them
  std::vector<std::size_t> running_;  ///< of collectives: called, and not over at the last call
  TaskId last_ = kNoTask;             ///< of the thread
  std::optional<analysis::HostPiece> open_;
  std::int64_t open_ns_ = 0;
  std::unordered_map<std::uint32_t, std::uint32_t> names_;
  std::unordered_map<std::uint32_t, std::uint32_t> lines_;
  std::unordered_map<std::uint32_t, std::uint32_t> modules_;
};

}  // namespace

std::int64_t start_ns(const Collective& one) {
  const bool is_message = one.kind == CollectiveKind::kSend || one.kind == CollectiveKind::kReceive;
  return is_message ? one.called_ns : one.started_ns;
}

RecordedRank recorded_rank(const Recording& recording, const RankRecord& record, const analysis::SourceScope& scope,
                           StepRange steps, std::int64_t lead_ns) {
  return RankBuilder(recording, record, scope, steps).build(lead_ns);
}

}  // namespace ridgeline::jobs
