#include "jobs/replay/job_graph.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace ridgeline::jobs {

namespace {

using step::Graph;
using step::kNoTask;
using step::Task;
using step::TaskId;

constexpr std::size_t kMostResources = std::numeric_limits<std::uint16_t>::max();
constexpr double kMostMessages = 4e6;

base::Error sequence_error(const EqualRanks& ranks, const std::string& what) {
  return base::error("rank " + std::to_string(ranks.ranks.front()) + ": " + what);
}

class Joiner {
 public:
  Joiner(const std::vector<EqualRanks>& ranks, const Network& network, Joining joining)
      : ranks_(ranks), network_(network), joining_(joining) {}

  base::Result<JobGraph> join() {
    if (const auto error = check()) {
      return *error;
    }
    job_.graph.names.emplace_back();
    job_.graph.lines.emplace_back();
    job_.graph.modules.emplace_back();
    job_.graph.operations.emplace_back();
    for (const EqualRanks& ranks : ranks_) {
      append(ranks);
    }
    free_ = add_resource({"network", step::Resource::Type::kLink, 1e9});
    add_collectives();
    move_dependents();
    if (joining_ == Joining::kMessages && !expand_all()) {
      return base::error("the messages of the job need more than 65,535 links: simulate it without messages");
    }
    if (joining_ == Joining::kWhole) {
      for (std::size_t place = 0; place < job_.collectives.size(); ++place) {
        meet(place);
      }
    }
    for (std::size_t place = 0; place < job_.collectives.size(); ++place) {
      meet_as_recorded(place);
    }
    finish();
    return std::move(job_);
  }

 private:
  std::optional<base::Error> check() {
    if (ranks_.empty()) {
      return base::error("a job without ranks");
    }
    std::set<int> seen;
    std::size_t resources = 0;
    for (const EqualRanks& ranks : ranks_) {
      if (ranks.ranks.empty() || ranks.graph.end == kNoTask) {
        return base::error("a part of a job without rank or end");
      }
      for (const int rank : ranks.ranks) {
        if (!seen.insert(rank).second) {
          return base::error("rank " + std::to_string(rank) + " is there twice");
        }
      }
      resources += ranks.graph.resources.size();
      if (auto error = check_calls(ranks)) {
        return error;
      }
    }
    if (resources + 1 > kMostResources) {
      return base::error("the ranks of the job have more than 65,535 threads and streams");
    }
    world_ = static_cast<std::uint32_t>(seen.size());
    if (joining_ == Joining::kMessages && world_ != ranks_.size()) {
      return base::error("messages are only simulated between ranks that are simulated one by one");
    }
    return std::nullopt;
  }

  /// The calls of group 0, in order.
  static std::vector<const Call*> calls_of_all(const EqualRanks& ranks) {
    std::vector<const Call*> calls;
    for (const Call& call : ranks.calls) {
      if (call.group == 0) {
        calls.push_back(&call);
      }
    }
    return calls;
  }

  std::optional<base::Error> check_calls(const EqualRanks& ranks) const {
    for (const Call& call : ranks.calls) {
      if (call.task >= ranks.graph.tasks.size()) {
        return sequence_error(ranks, "a collective without a task");
      }
      if (call.recorded.has_value() ? ranks.ranks.size() > 1 : call.group != 0) {
        return sequence_error(ranks, "its groups are not modelled for several equal ranks");
      }
      if (!call.recorded.has_value() && !is_modelled(call.kind)) {
        return sequence_error(ranks,
                              "collective " + std::to_string(call.sequence) + " is of a kind that is not modelled");
      }
    }
    const std::vector<const Call*> first = calls_of_all(ranks_.front());
    const std::vector<const Call*> own = calls_of_all(ranks);
    for (std::size_t place = 0; place < own.size(); ++place) {
      const Call& call = *own[place];
      if (place >= first.size() || call.kind != first[place]->kind || call.sequence != first[place]->sequence ||
          call.recorded.has_value() != first[place]->recorded.has_value() ||
          std::abs(call.bytes - first[place]->bytes) > 0.5) {
        return sequence_error(ranks, "its collective " + std::to_string(call.sequence) + " is none of rank " +
                                         std::to_string(ranks_.front().ranks.front()));
      }
    }
    if (own.size() == first.size()) {
      return std::nullopt;
    }
    return sequence_error(ranks, "it calls " + std::to_string(own.size()) + " collectives, rank " +
                                     std::to_string(ranks_.front().ranks.front()) + " calls " +
                                     std::to_string(first.size()));
  }

  std::uint16_t add_resource(step::Resource resource) {
    job_.graph.resources.push_back(std::move(resource));
    return static_cast<std::uint16_t>(job_.graph.resources.size() - 1);
  }

  void append(const EqualRanks& ranks) {
    Graph& all = job_.graph;
    const Graph& one = ranks.graph;
    const auto tasks = static_cast<TaskId>(all.tasks.size());
    const auto moved = [](std::uint32_t index, std::size_t by) {
      return index == 0 ? 0U : index + static_cast<std::uint32_t>(by) - 1;
    };
    for (Task task : one.tasks) {
      if (task.next != kNoTask) {
        task.next += tasks;
      }
      task.name = moved(task.name, all.names.size());
      task.line = moved(task.line, all.lines.size());
      task.module = moved(task.module, all.modules.size());
      task.operation = moved(task.operation, all.operations.size());
      task.resource = static_cast<std::uint16_t>(task.resource + all.resources.size());
      all.tasks.push_back(task);
    }
    for (const step::Dependency& each : one.dependencies) {
      all.dependencies.push_back({each.from + tasks, each.to + tasks, each.lag_ns});
    }
    JobGraph::Part part{ranks.ranks, tasks, static_cast<TaskId>(one.tasks.size()), one.memory, one.bytes_at_start};
    for (step::MemoryChange& change : part.memory) {
      change.task += tasks;
    }
    job_.parts.push_back(std::move(part));
    const std::string name = "rank " + std::to_string(ranks.ranks.front()) + ", ";
    append_tables(one, name);
  }

  void append_tables(const Graph& one, const std::string& name) {
    Graph& all = job_.graph;
    const std::size_t names = all.names.size();
    const std::size_t operations = all.operations.size();
    for (std::size_t place = 1; place < one.operations.size(); ++place) {
      step::Operation operation = one.operations[place];
      if (operation.name != 0) {
        operation.name += static_cast<std::uint32_t>(names) - 1;
      }
      if (operation.parent != 0) {
        operation.parent += static_cast<std::uint32_t>(operations) - 1;
      }
      all.operations.push_back(operation);
    }
    const auto rest = [](const auto& table) { return table.begin() + (table.empty() ? 0 : 1); };
    all.names.insert(all.names.end(), rest(one.names), one.names.end());
    all.lines.insert(all.lines.end(), rest(one.lines), one.lines.end());
    all.modules.insert(all.modules.end(), rest(one.modules), one.modules.end());
    for (step::Resource resource : one.resources) {
      resource.name = name + resource.name;
      all.resources.push_back(std::move(resource));
    }
  }

  /// Calls of one group with one sequence are one collective.
  void add_collectives() {
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::size_t> places;
    for (std::size_t part = 0; part < ranks_.size(); ++part) {
      for (const Call& call : ranks_[part].calls) {
        const auto [found, is_new] = places.try_emplace({call.group, call.sequence}, job_.collectives.size());
        if (is_new) {
          job_.collectives.push_back({call.kind, call.sequence, call.bucket, {}, {}, {}});
          calls_.emplace_back();
        }
        add_call(found->second, part, call);
      }
    }
  }

  /// The task of a call becomes two: its start, and its end, behind which all is that was behind the task.
  void add_call(std::size_t place, std::size_t part, const Call& call) {
    const TaskId start = job_.parts[part].first + call.task;
    Task& task = job_.graph.tasks[start];
    task.duration_ns = 0;
    Task end = task;
    task.gap_ns = 0;
    JobGraph::Collective& collective = job_.collectives[place];
    collective.parts.push_back(part);
    collective.starts.push_back(start);
    collective.ends.push_back(step::insert_after(job_.graph, start, end));
    end_of_[start] = collective.ends.back();
    calls_[place].push_back(&call);
  }

  void move_dependents() {
    for (step::Dependency& dependency : job_.graph.dependencies) {
      const auto moved = end_of_.find(dependency.from);
      if (moved != end_of_.end()) {
        dependency.from = moved->second;
      }
    }
  }

  TaskId add_task(std::uint16_t resource, double ns, step::Kind kind) {
    Task task;
    task.resource = resource;
    task.duration_ns = std::llround(ns);
    task.kind = kind;
    job_.graph.tasks.push_back(task);
    return static_cast<TaskId>(job_.graph.tasks.size() - 1);
  }

  void depend(TaskId from, TaskId to, double lag_ns = 0) {
    job_.graph.dependencies.push_back({from, to, std::llround(lag_ns)});
  }

  bool is_recorded(std::size_t place) const { return calls_[place].front()->recorded.has_value(); }

  void meet(std::size_t place) {
    if (is_recorded(place)) {
      return;
    }
    const JobGraph::Collective& collective = job_.collectives[place];
    const TaskId all = add_task(free_, 0, step::Kind::kMark);
    const double cost =
        cost_ns(collective.kind, network_.algorithm, world_, calls_[place].front()->bytes, network_.slowest);
    for (const TaskId start : collective.starts) {
      depend(start, all);
    }
    for (const TaskId end : collective.ends) {
      depend(all, end, cost);
    }
  }

  void meet_as_recorded(std::size_t place) {
    if (!is_recorded(place)) {
      return;
    }
    const JobGraph::Collective& collective = job_.collectives[place];
    const TaskId all = add_task(free_, 0, step::Kind::kMark);
    for (const TaskId start : collective.starts) {
      depend(start, all);
    }
    for (std::size_t own = 0; own < calls_[place].size(); ++own) {
      const RecordedCall& recorded = *calls_[place][own]->recorded;
      const TaskId end = collective.ends[own];
      depend(collective.starts[own], end, recorded.cost_ns);
      if (recorded.awaits == Awaits::kAll) {
        depend(all, end, recorded.cost_ns);
      }
      for (std::size_t other = 0; recorded.awaits == Awaits::kRoot && other < calls_[place].size(); ++other) {
        if (calls_[place][other]->recorded->is_root) {
          depend(collective.starts[other], end, recorded.cost_ns);
        }
      }
    }
  }

  bool expand_all() {
    double messages = 0;
    for (std::size_t place = 0; place < job_.collectives.size(); ++place) {
      if (is_recorded(place)) {
        continue;
      }
      const JobGraph::Collective& collective = job_.collectives[place];
      const Rounds rounds = rounds_of(collective.kind, network_.algorithm, world_, calls_[place].front()->bytes);
      for (const auto& round : rounds) {
        messages += static_cast<double>(round.size());
      }
      if (messages > kMostMessages || !expand(collective, rounds)) {
        return false;
      }
    }
    return true;
  }

  struct Arrival {
    TaskId task = 0;
    double lag_ns = 0;
  };

  bool expand(const JobGraph::Collective& collective, const Rounds& rounds) {
    std::vector<std::vector<Arrival>> before(world_);  // by part: what it must be over with
    for (std::size_t part = 0; part < world_; ++part) {
      before[part].push_back({collective.starts[part], 0});
    }
    for (const std::vector<Message>& round : rounds) {
      std::vector<std::vector<Arrival>> after = before;
      for (const Message& message : round) {
        after[message.from].clear();
        after[message.to].clear();
      }
      for (const Message& message : round) {
        const Link& link = network_.slowest;
        const auto resource = link_between(machine_of(message.from), machine_of(message.to));
        if (!resource.has_value()) {
          return false;
        }
        const TaskId task = add_task(*resource, message.bytes / link.bytes_per_ns, step::Kind::kCommunication);
        for (const std::size_t end : {message.from, message.to}) {
          for (const Arrival& arrival : before[end]) {
            depend(arrival.task, task, arrival.lag_ns);
          }
        }
        after[message.from].push_back({task, 0});
        after[message.to].push_back({task, link.latency_ns});
      }
      before = std::move(after);
    }
    for (std::size_t part = 0; part < world_; ++part) {
      for (const Arrival& arrival : before[part]) {
        depend(arrival.task, collective.ends[part], arrival.lag_ns);
      }
    }
    return true;
  }

  int machine_of(std::size_t part) const { return job_.parts[part].ranks.front() / network_.ranks_of_machine; }

  std::optional<std::uint16_t> link_between(int from, int to) {
    const auto known = links_.find({from, to});
    if (known != links_.end()) {
      return known->second;
    }
    if (job_.graph.resources.size() >= kMostResources) {
      return std::nullopt;
    }
    const std::uint16_t resource =
        add_resource({"link " + std::to_string(from) + " to " + std::to_string(to), step::Resource::Type::kLink, 1});
    links_.insert({{from, to}, resource});
    return resource;
  }

  void finish() {
    job_.graph.end = add_task(free_, 0, step::Kind::kMark);
    for (std::size_t part = 0; part < ranks_.size(); ++part) {
      const TaskId end = job_.parts[part].first + ranks_[part].graph.end;
      const auto moved = end_of_.find(end);
      depend(moved == end_of_.end() ? end : moved->second, job_.graph.end);
      job_.graph.recorded_ns = std::max(job_.graph.recorded_ns, ranks_[part].graph.recorded_ns);
    }
  }

  const std::vector<EqualRanks>& ranks_;
  const Network& network_;
  Joining joining_;
  JobGraph job_;
  std::uint32_t world_ = 0;
  std::uint16_t free_ = 0;                       ///< where marks are
  std::vector<std::vector<const Call*>> calls_;  ///< of each collective, by its parts
  std::map<TaskId, TaskId> end_of_;
  std::map<std::pair<int, int>, std::uint16_t> links_;
};

}  // namespace

base::Result<JobGraph> join(const std::vector<EqualRanks>& ranks, const Network& network, Joining joining) {
  return Joiner(ranks, network, joining).join();
}

step::MemoryPeak memory_peak(const JobGraph& job, std::size_t part, const step::Schedule& schedule) {
  Graph graph;
  graph.memory = job.parts[part].memory;
  graph.bytes_at_start = job.parts[part].bytes_at_start;
  return step::memory_peak(graph, schedule);
}

}  // namespace ridgeline::jobs
