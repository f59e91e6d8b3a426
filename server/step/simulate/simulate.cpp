#include "step/simulate/simulate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>

namespace ridgeline::step {

namespace {

/// The dependencies by the task that they start from: those of task t are [first[t], first[t + 1]).
struct Outgoing {
  struct Edge {
    TaskId to;
    std::int64_t lag_ns;
  };
  std::vector<std::uint32_t> first;
  std::vector<Edge> edges;

  explicit Outgoing(const Graph& graph) : first(graph.tasks.size() + 1), edges(graph.dependencies.size()) {
    for (const Dependency& dependency : graph.dependencies) {
      ++first[dependency.from + 1];
    }
    for (std::size_t i = 1; i < first.size(); ++i) {
      first[i] += first[i - 1];
    }
    std::vector<std::uint32_t> at(first.begin(), first.end() - 1);
    for (const Dependency& dependency : graph.dependencies) {
      edges[at[dependency.from]++] = {dependency.to, dependency.lag_ns};
    }
  }
};

/// No sum of times can be larger, or it might not fit: about 100 years.
constexpr double kMostNs = 3e18;

base::Result<void> check(const Graph& graph) {
  const std::size_t count = graph.tasks.size();
  if (count >= kNoTask || graph.dependencies.size() >= std::numeric_limits<std::uint32_t>::max()) {
    return base::error("the graph has too many tasks or dependencies");
  }
  double sum = 0;
  for (const Task& task : graph.tasks) {
    if (task.resource >= graph.resources.size() || (task.next != kNoTask && task.next >= count)) {
      return base::error("a task names a resource or a task that the graph does not have");
    }
    if (task.duration_ns < 0 || task.gap_ns < 0) {
      return base::error("a task has a negative duration or gap");
    }
    sum += static_cast<double>(task.duration_ns) + static_cast<double>(task.gap_ns);
  }
  for (const Dependency& dependency : graph.dependencies) {
    if (dependency.from >= count || dependency.to >= count || dependency.lag_ns < 0) {
      return base::error("a dependency names a task that the graph does not have, or has a negative lag");
    }
    sum += static_cast<double>(dependency.lag_ns);
  }
  if (graph.end != kNoTask && graph.end >= count) {
    return base::error("the end of the graph is no task of it");
  }
  if (!(sum <= kMostNs)) {
    return base::error("the times of the graph are too long");
  }
  return {};
}

class Simulation {
 public:
  explicit Simulation(const Graph& graph)
      : graph_(graph), outgoing_(graph), waits_for_(graph.tasks.size()), ready_(graph.tasks.size()) {
    const std::size_t count = graph.tasks.size();
    schedule_.start.resize(count);
    schedule_.end.resize(count);
    schedule_.cause.resize(count, kNoTask);
    schedule_.order.reserve(count);
    for (const Dependency& dependency : graph.dependencies) {
      ++waits_for_[dependency.to];
    }
    for (const Task& task : graph.tasks) {
      if (task.next != kNoTask) {
        ++waits_for_[task.next];
      }
    }
    find_places();
  }

  base::Result<Schedule> run() {
    for (TaskId id = 0; id < graph_.tasks.size(); ++id) {
      if (waits_for_[id] == 0) {
        events_.push({0, Event::kReady, id});
      }
    }
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.time;
      switch (event.type) {
        case Event::kReady:
          become_ready(event.subject);
          break;
        case Event::kDispatch:
          dispatch(event.subject);
          break;
        case Event::kShare:
          finish_shared(event.subject, event.version);
          break;
      }
    }
    if (schedule_.order.size() != graph_.tasks.size()) {
      return base::error("tasks of the graph wait for each other in a circle");
    }
    schedule_.total_ns = graph_.end != kNoTask   ? schedule_.end[graph_.end]
                         : schedule_.end.empty() ? 0
                                                 : *std::ranges::max_element(schedule_.end);
    return std::move(schedule_);
  }

 private:
  struct Event {
    /// At one time, tasks become ready before a resource chooses among them.
    enum Type : std::uint8_t { kReady, kShare, kDispatch };
    std::int64_t time;
    Type type;
    std::uint32_t subject;  ///< a task (kReady) or a resource
    std::uint32_t version = 0;
    bool operator<(const Event& other) const {  // std::priority_queue has the largest on top
      return std::tie(other.time, other.type, other.subject) < std::tie(time, type, subject);
    }
  };

  struct Waiting {
    std::int32_t priority;
    std::int64_t ready;
    TaskId task;
    bool operator<(const Waiting& other) const {
      return std::tie(priority, other.ready, other.task) < std::tie(other.priority, ready, task);
    }
  };

  struct Place {
    bool in_order = true;  ///< its tasks form one chain: none ever waits for the resource itself
    std::int64_t free_at = 0;
    TaskId last = kNoTask;  ///< that ran
    std::priority_queue<Waiting> queue{};
    std::int64_t dispatch_at = -1;  ///< time of the dispatch that is due
    // A resource that is shared.
    struct Running {
      double finish;  ///< in the resource's own time, which runs at the rate of each task
      TaskId task;
      bool operator<(const Running& other) const { return std::tie(other.finish, other.task) < std::tie(finish, task); }
    };
    std::priority_queue<Running> running{};
    double own_time = 0;
    std::int64_t seen_at = 0;  ///< when `own_time` was that
    std::uint32_t version = 0;
  };

  void find_places() {
    places_.resize(graph_.resources.size());
    std::vector<bool> follows(graph_.tasks.size());
    for (const Task& task : graph_.tasks) {
      if (task.next != kNoTask && graph_.tasks[task.next].resource == task.resource) {
        follows[task.next] = true;
      }
    }
    std::vector<bool> has_first(places_.size());
    for (TaskId id = 0; id < graph_.tasks.size(); ++id) {
      const std::uint16_t resource = graph_.tasks[id].resource;
      if (!follows[id]) {
        places_[resource].in_order = places_[resource].in_order && !has_first[resource];
        has_first[resource] = true;
      }
    }
  }

  void become_ready(TaskId id) {
    const std::uint16_t resource = graph_.tasks[id].resource;
    Place& place = places_[resource];
    if (graph_.resources[resource].shared_by > 0) {
      join(resource, id);
    } else if (place.in_order) {
      start(id);
    } else {
      place.queue.push({graph_.tasks[id].priority, now_, id});
      ask_dispatch(resource, std::max(now_, place.free_at));
    }
  }

  void ask_dispatch(std::uint32_t resource, std::int64_t time) {
    Place& place = places_[resource];
    if (place.dispatch_at != time) {
      place.dispatch_at = time;
      events_.push({time, Event::kDispatch, resource});
    }
  }

  void dispatch(std::uint32_t resource) {
    Place& place = places_[resource];
    place.dispatch_at = -1;
    if (place.queue.empty()) {
      return;
    }
    if (place.free_at > now_) {
      ask_dispatch(resource, place.free_at);
      return;
    }
    const Waiting next = place.queue.top();
    place.queue.pop();
    if (now_ > next.ready) {
      schedule_.cause[next.task] = place.last;
    }
    start(next.task);
    if (!place.queue.empty()) {
      ask_dispatch(resource, place.free_at);
    }
  }

  /// On a resource that runs one task at a time.
  void start(TaskId id) {
    const Task& task = graph_.tasks[id];
    Place& place = places_[task.resource];
    schedule_.order.push_back(id);
    schedule_.start[id] = now_;
    schedule_.end[id] = now_ + task.duration_ns;
    place.free_at = schedule_.end[id];
    place.last = id;
    release(id);
  }

  // ---- a resource that is shared -----------------------------------------------------------------------------------

  double rate(std::uint32_t resource) const {
    const double running = static_cast<double>(places_[resource].running.size());
    return std::min(1.0, graph_.resources[resource].shared_by / running);
  }

  void pass_time(std::uint32_t resource) {
    Place& place = places_[resource];
    if (!place.running.empty()) {
      place.own_time += static_cast<double>(now_ - place.seen_at) * rate(resource);
    }
    place.seen_at = now_;
  }

  void join(std::uint32_t resource, TaskId id) {
    Place& place = places_[resource];
    pass_time(resource);
    schedule_.order.push_back(id);
    schedule_.start[id] = now_;
    place.running.push({place.own_time + static_cast<double>(graph_.tasks[id].duration_ns), id});
    expect_finish(resource);
  }

  void expect_finish(std::uint32_t resource) {
    Place& place = places_[resource];
    ++place.version;
    if (!place.running.empty()) {
      const double left = std::max(0.0, place.running.top().finish - place.own_time) / rate(resource);
      // The smallest parts of a nanosecond are the rounding of sums.
      const auto ns = static_cast<std::int64_t>(std::ceil(left - 1e-6));
      events_.push({now_ + std::max<std::int64_t>(0, ns), Event::kShare, resource, place.version});
    }
  }

  void finish_shared(std::uint32_t resource, std::uint32_t version) {
    Place& place = places_[resource];
    if (version != place.version) {
      return;
    }
    pass_time(resource);
    while (!place.running.empty() && place.running.top().finish <= place.own_time + 1e-6) {
      const TaskId id = place.running.top().task;
      place.running.pop();
      schedule_.end[id] = now_;
      release(id);
    }
    expect_finish(resource);
  }

  // ---- what follows ------------------------------------------------------------------------------------------------

  void release(TaskId id) {
    const std::int64_t end = schedule_.end[id];
    const Task& task = graph_.tasks[id];
    if (task.next != kNoTask) {
      allow(task.next, end + task.gap_ns, id);
    }
    for (std::uint32_t i = outgoing_.first[id]; i < outgoing_.first[id + 1]; ++i) {
      allow(outgoing_.edges[i].to, end + outgoing_.edges[i].lag_ns, id);
    }
  }

  void allow(TaskId id, std::int64_t time, TaskId by) {
    if (time > ready_[id] || (schedule_.cause[id] == kNoTask && time == ready_[id])) {
      ready_[id] = time;
      schedule_.cause[id] = by;
    }
    if (--waits_for_[id] == 0) {
      events_.push({ready_[id], Event::kReady, id});
    }
  }

  const Graph& graph_;
  Outgoing outgoing_;
  std::vector<std::uint32_t> waits_for_;  ///< by task: what has not ended yet
  std::vector<std::int64_t> ready_;
  std::vector<Place> places_;  ///< by resource
  std::priority_queue<Event> events_;
  std::int64_t now_ = 0;
  Schedule schedule_;
};

}  // namespace

base::Result<Schedule> simulate(const Graph& graph) {
  if (auto checked = check(graph); !checked) {
    return checked.error();
  }
  return Simulation(graph).run();
}

}  // namespace ridgeline::step
