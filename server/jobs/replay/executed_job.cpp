#include "jobs/replay/executed_job.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace ridgeline::jobs {

namespace {

using analysis::ExecutionNode;
using analysis::ExecutionTrace;
using step::Graph;
using step::TaskId;
using Type = ExecutionNode::Type;

constexpr std::int64_t kNsPerUs = 1000;
constexpr std::uint64_t kMostMicroseconds = std::uint64_t{1} << 50U;
constexpr std::uint16_t kHost = 0;
constexpr std::uint16_t kDevice = 1;
constexpr std::uint16_t kFree = 2;

/// The whole number behind the last occurrence of a text; nothing where there is none.
std::optional<int> number_behind(std::string_view name, std::string_view text) {
  const std::size_t at = name.rfind(text);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  name.remove_prefix(at + text.size());
  int number = 0;
  const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
  return problem == std::errc{} && end == name.data() + name.size() ? std::optional(number) : std::nullopt;
}

bool is_communication(Type type) { return type == Type::kSend || type == Type::kReceive || type == Type::kCollective; }

/// The group, or both ends of a message and its tag.
using Channel = std::tuple<std::string, int, int, std::int64_t>;

/// "train.py:22"
analysis::Location location_of(const std::string& text) {
  const auto line = number_behind(text, ":");
  if (!line.has_value() || *line < 1) {
    return {};
  }
  analysis::Location location;
  location.file = text.substr(0, text.rfind(':'));
  location.line = static_cast<decltype(location.line)>(*line);
  return location;
}

/// The graph of one rank.
class Rank {
 public:
  Rank(const ExecutionTrace& trace, std::map<Channel, std::uint32_t>& channels) : trace_(trace), channels_(channels) {
    Graph& graph = made_.graph;
    made_.ranks = {trace.rank};
    graph.names.emplace_back();
    graph.lines.emplace_back();
    graph.modules.emplace_back();
    graph.operations.emplace_back();
    graph.resources = {{"host", step::Resource::Type::kHost},
                       {"device", step::Resource::Type::kDevice},
                       {"communication and memory", step::Resource::Type::kLink, 1e9}};
  }

  base::Result<EqualRanks> make() {
    for (const ExecutionNode& node : trace_.nodes) {
      if (node.duration_us > kMostMicroseconds) {
        return error("a node takes longer than 35 years");
      }
      add(node);
    }
    Graph& graph = made_.graph;
    std::vector<bool> is_waited_for(graph.tasks.size());
    for (TaskId to = 0; to < trace_.nodes.size(); ++to) {
      for (const std::uint64_t id : trace_.nodes[to].after) {
        const auto from = task_of_.find(id);
        if (from == task_of_.end()) {
          return error("a node waits for node " + std::to_string(id) + ", which is not there");
        }
        graph.dependencies.push_back({from->second, to, 0});
        is_waited_for[from->second] = true;
      }
    }
    graph.end = append({.resource = kFree, .kind = step::Kind::kMark});
    for (TaskId id = 0; id < graph.end; ++id) {
      if (!is_waited_for[id]) {
        graph.dependencies.push_back({id, graph.end, 0});
      }
    }
    return std::move(made_);
  }

  /// Tasks of the marks of steps.
  const std::map<int, TaskId>& step_ends() const { return step_ends_; }
  std::size_t without_duration() const { return without_duration_; }

 private:
  base::Error error(const std::string& what) const {
    return base::error("rank " + std::to_string(trace_.rank) + ": " + what);
  }

  TaskId append(step::Task task) {
    made_.graph.tasks.push_back(task);
    return static_cast<TaskId>(made_.graph.tasks.size() - 1);
  }

  void add(const ExecutionNode& node) {
    const bool computes = node.type == Type::kCompute;
    step::Task task;
    task.resource = !computes ? kFree : node.on_host ? kHost : kDevice;
    task.kind = is_communication(node.type) ? step::Kind::kCommunication
                : !computes                 ? step::Kind::kMark
                : node.on_host              ? step::Kind::kOperation
                                            : step::Kind::kKernel;
    task.duration_ns = static_cast<std::int64_t>(node.duration_us) * kNsPerUs;
    task.name = index_of(node.name, names_, made_.graph.names);
    task.line = line_of(node.line);
    const TaskId id = append(task);
    task_of_[node.id] = id;
    if (is_communication(node.type)) {
      add_call(node, id);
    }
    const auto step = computes && node.duration_us == 0 ? number_behind(node.name, "end of step ") : std::nullopt;
    if (step.has_value()) {
      step_ends_[*step] = id;
    }
  }

  static std::uint32_t index_of(const std::string& name, std::unordered_map<std::string, std::uint32_t>& known,
                                std::vector<std::string>& names) {
    const auto [found, is_new] = known.try_emplace(name, static_cast<std::uint32_t>(names.size()));
    if (is_new) {
      names.push_back(name);
    }
    return found->second;
  }

  std::uint32_t line_of(const std::string& text) {
    if (text.empty()) {
      return 0;
    }
    const auto [found, is_new] = lines_.try_emplace(text, static_cast<std::uint32_t>(made_.graph.lines.size()));
    if (is_new) {
      made_.graph.lines.push_back(location_of(text));
    }
    return found->second;
  }

  void add_call(const ExecutionNode& node, TaskId task) {
    const bool is_message = node.type != Type::kCollective;
    const Channel channel = is_message ? Channel{"", node.from, node.to, node.tag}
                                       : Channel{node.group.empty() ? "0" : node.group, -1, -1, 0};
    const std::uint32_t group =
        channels_.try_emplace(channel, static_cast<std::uint32_t>(channels_.size() + 1)).first->second;
    const bool is_root = node.root == trace_.rank;
    const auto cost = static_cast<double>(made_.graph.tasks[task].duration_ns);
    without_duration_ += node.duration_us == 0 ? 1 : 0;
    made_.calls.push_back({task, node.kind, calls_of_[group]++, static_cast<double>(node.bytes),
                           number_behind(node.name, " of bucket ").value_or(-1), group,
                           RecordedCall{cost, awaits_of(node.kind, is_root), is_root, cost, false}});
  }

  const ExecutionTrace& trace_;
  std::map<Channel, std::uint32_t>& channels_;
  EqualRanks made_;
  std::unordered_map<std::uint64_t, TaskId> task_of_;
  std::unordered_map<std::string, std::uint32_t> names_;
  std::unordered_map<std::string, std::uint32_t> lines_;
  std::map<std::uint32_t, std::uint64_t> calls_of_;  ///< by group
  std::map<int, TaskId> step_ends_;
  std::size_t without_duration_ = 0;
};

/// The steps that all ranks have marked; one step where they differ, or have none.
void set_steps(RecordedJob& job, const std::vector<std::map<int, TaskId>>& ends) {
  const auto steps_of = [](const std::map<int, TaskId>& own) {
    std::vector<std::int64_t> steps;
    for (const auto& [step, task] : own) {
      steps.push_back(step);
    }
    return steps;
  };
  job.steps = steps_of(ends.front());
  const bool is_one =
      job.steps.empty() || !std::ranges::all_of(ends, [&](const auto& own) { return steps_of(own) == job.steps; });
  if (is_one) {
    job.steps = {0};
  }
  for (std::size_t rank = 0; rank < ends.size(); ++rank) {
    std::vector<TaskId>& own = job.step_ends.emplace_back();
    if (is_one) {
      own.push_back(job.ranks[rank].graph.end);
    }
    for (const auto& [step, task] : ends[rank]) {
      if (!is_one) {
        own.push_back(task);
      }
    }
    job.buckets.emplace_back(job.steps.size());
  }
}

}  // namespace

base::Result<ExecutedJob> executed_job(const std::vector<ExecutionTrace>& traces) {
  ExecutedJob executed;
  std::map<Channel, std::uint32_t> channels;
  std::vector<std::map<int, TaskId>> step_ends;
  std::set<int> seen;
  std::size_t without_duration = 0;
  for (const ExecutionTrace& trace : traces) {
    if (!seen.insert(trace.rank).second) {
      return base::error("two traces are of rank " + std::to_string(trace.rank));
    }
    Rank rank(trace, channels);
    auto made = rank.make();
    if (!made) {
      return made.error();
    }
    executed.job.ranks.push_back(std::move(*made));
    step_ends.push_back(rank.step_ends());
    without_duration += rank.without_duration();
  }
  if (traces.empty()) {
    return base::error("a job without ranks");
  }
  set_steps(executed.job, step_ends);
  if (without_duration > 0) {
    executed.warnings.push_back(
        std::to_string(without_duration) +
        " communications of the traces have no duration, or less than a microsecond: they take no "
        "time in this replay.");
  }
  return executed;
}

}  // namespace ridgeline::jobs
