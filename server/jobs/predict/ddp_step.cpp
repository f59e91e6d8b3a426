#include "jobs/predict/ddp_step.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

namespace ridgeline::jobs {

using step::Graph;
using step::Kind;
using step::kNoTask;
using step::TaskId;

namespace {

constexpr std::size_t kMostStreams = std::numeric_limits<std::uint16_t>::max();

class DdpBuilder {
 public:
  DdpBuilder(Graph graph, const std::vector<Gradient>& gradients, const std::vector<TaskId>& hosts,
             const DdpOptions& options)
      : gradients_(gradients), hosts_(hosts), options_(options) {
    made_.graph = std::move(graph);
  }

  base::Result<DdpStep> run() {
    if (const auto wrong = check()) {
      return *wrong;
    }
    Graph& graph = made_.graph;
    on_device_ = graph.tasks[gradients_.back().ready].kind == Kind::kKernel;
    host_ = graph.tasks[hosts_.back()].resource;
    last_backward_ = end_of_backward();
    link_ = add_resource("collectives", step::Resource::Type::kLink);
    processor_ = options_.shares_core ? host_ : add_resource("communication threads", step::Resource::Type::kHost);
    if (options_.shares_core) {
      graph.resources[host_].shared_by = 1;
    }
    name_ = step::name_index(graph, "DistributedDataParallel");
    add_end_of_backward();
    add_before_forward();
    add_buckets();
    return std::move(made_);
  }

 private:
  std::optional<base::Error> check() const {
    const std::size_t tasks = made_.graph.tasks.size();
    if (gradients_.empty()) {
      return base::error("no gradients were found: the step has no backward to make parallel");
    }
    if (hosts_.size() != gradients_.size()) {
      return base::error("gradients and their tasks do not agree");
    }
    const std::vector<std::size_t>& sizes = options_.bucket_gradients;
    if (std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}) != gradients_.size()) {
      return base::error("buckets do not have all gradients");
    }
    if (made_.graph.resources.size() + 2 > kMostStreams) {
      return base::error("the graph has no room for a link");
    }
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      if (gradients_[i].ready >= tasks || hosts_[i] >= tasks) {
        return base::error("a gradient is of a task that the graph does not have");
      }
    }
    return std::nullopt;
  }

  std::uint16_t add_resource(const char* name, step::Resource::Type type) {
    made_.graph.resources.push_back({name, type});
    return static_cast<std::uint16_t>(made_.graph.resources.size() - 1);
  }

  /// The last task of backward in the order of its thread: no earlier than the last gradient.
  TaskId end_of_backward() const {
    TaskId last = hosts_.back();
    for (TaskId id = last; id != kNoTask; id = made_.graph.tasks[id].next) {
      if (made_.graph.tasks[id].phase == analysis::Phase::kBackward) {
        last = id;
      }
    }
    return last;
  }

  TaskId add(std::uint16_t resource, double ns, Kind kind) {
    step::Task task;
    task.resource = resource;
    task.duration_ns = std::llround(ns);
    task.kind = kind;
    task.name = name_;
    made_.graph.tasks.push_back(task);
    return static_cast<TaskId>(made_.graph.tasks.size() - 1);
  }

  void depend(TaskId from, TaskId to, std::int64_t lag_ns = 0) {
    made_.graph.dependencies.push_back({from, to, lag_ns});
  }

  /// Work of the host behind a task, at its line.
  TaskId work_after(TaskId before, double ns, Kind kind = Kind::kOperation) {
    step::Task task = made_.graph.tasks[before];
    task.duration_ns = std::llround(ns);
    task.gap_ns = 0;
    task.kind = kind;
    task.name = name_;
    const TaskId id = step::insert_after(made_.graph, before, task);
    made_.graph.tasks[id].gap_ns = std::exchange(made_.graph.tasks[before].gap_ns, 0);
    return id;
  }

  /// A collective on the link and, beside it, what it takes of a core. Both are there before what waits goes on.
  TaskId communicate(const Communication& cost, TaskId& last_on_link, TaskId& last_on_core,
                     const std::vector<TaskId>& after) {
    const TaskId sent = add(link_, cost.ns - cost.tail_ns, Kind::kCommunication);
    const TaskId worked = add(processor_, cost.processor_ns, Kind::kCommunication);
    for (const TaskId each : after) {
      depend(each, sent);
      depend(each, worked);
    }
    if (last_on_link != kNoTask) {
      made_.graph.tasks[last_on_link].next = sent;
      made_.graph.tasks[last_on_core].next = worked;
    }
    last_on_link = sent;
    last_on_core = worked;
    return sent;
  }

  void add_before_forward() {
    TaskId before = 0;
    if (options_.before_forward_ns > 0) {
      before = work_after(before, options_.before_forward_ns);
    }
    if (options_.broadcasts.empty()) {
      return;
    }
    const TaskId over = work_after(before, 0, Kind::kWait);
    TaskId link = kNoTask;
    TaskId core = kNoTask;
    for (const Communication& cost : options_.broadcasts) {
      made_.broadcasts.push_back(communicate(cost, link, core, {before}));
    }
    depend(link, over);
    depend(core, over);
    first_on_link_ = link;
    first_on_core_ = core;
  }

  void add_end_of_backward() {
    made_.backward_over = work_after(last_backward_, 0, Kind::kMark);
    made_.reduced = work_after(made_.backward_over, 0, Kind::kWait);
    work_after(made_.reduced, options_.copies_ns / 2);
  }

  void add_buckets() {
    double total = 0;
    for (const Gradient& gradient : gradients_) {
      total += static_cast<double>(gradient.bytes);
    }
    std::vector<std::uint64_t> bytes;
    std::vector<TaskId> ready;
    for (std::size_t i = 0; i < gradients_.size(); ++i) {
      bytes.push_back(gradients_[i].bytes);
      const double share = total > 0 ? static_cast<double>(gradients_[i].bytes) / total : 0;
      const TaskId copied = work_after(behind(hosts_[i]), share * options_.copies_ns / 2);
      behind_[hosts_[i]] = copied;
      ready.push_back(on_device_ ? gradients_[i].ready : copied);
    }
    TaskId link = first_on_link_;
    TaskId core = first_on_core_;
    std::size_t next = 0;
    for (const std::size_t size : options_.bucket_gradients) {
      DdpStep::Bucket bucket{size, 0, hosts_[next + size - 1], 0};
      std::vector<TaskId> after;
      if (!options_.overlap) {
        after.push_back(on_device_ ? gradients_.back().ready : made_.backward_over);
      }
      for (const std::size_t end = next + size; next < end; ++next) {
        bucket.bytes += bytes[next];
        after.push_back(ready[next]);
      }
      const Communication cost = options_.all_reduce(static_cast<double>(bucket.bytes));
      bucket.task = communicate(cost, link, core, after);
      bucket.tail_ns = std::llround(cost.tail_ns);
      made_.buckets.push_back(bucket);
    }
    wait_for_buckets();
    if (!on_device_) {
      depend(core, made_.reduced);
    }
  }

  void wait_for_buckets() {
    const std::vector<TaskId> waiting = what_waits();
    for (const DdpStep::Bucket& bucket : made_.buckets) {
      const bool is_last = &bucket == &made_.buckets.back();
      if (!is_last && bucket.tail_ns == 0) {
        continue;  // the next one is over later
      }
      for (const TaskId id : waiting) {
        depend(bucket.task, id, bucket.tail_ns);
      }
    }
  }

  /// The host, or, with a device, its stream: what updates the parameters, and the end.
  std::vector<TaskId> what_waits() const {
    if (!on_device_) {
      return {made_.reduced};
    }
    std::vector<TaskId> waiting;
    for (TaskId id = 0; id < made_.graph.tasks.size(); ++id) {
      const step::Task& task = made_.graph.tasks[id];
      if (task.kind == Kind::kKernel && task.phase == analysis::Phase::kOptimizer) {
        waiting.push_back(id);
      }
    }
    if (made_.graph.end != kNoTask) {
      waiting.push_back(made_.graph.end);
    }
    return waiting;
  }

  TaskId behind(TaskId host) const {
    const auto found = behind_.find(host);
    return found == behind_.end() ? host : found->second;
  }

  const std::vector<Gradient>& gradients_;
  const std::vector<TaskId>& hosts_;
  const DdpOptions& options_;
  DdpStep made_;
  bool on_device_ = false;
  std::uint16_t host_ = 0;
  std::uint16_t link_ = 0;
  std::uint16_t processor_ = 0;
  std::uint32_t name_ = 0;
  TaskId last_backward_ = kNoTask;
  TaskId first_on_link_ = kNoTask;
  TaskId first_on_core_ = kNoTask;
  std::map<TaskId, TaskId> behind_;  ///< the last copy behind a task of the host
};

}  // namespace

base::Result<DdpStep> ddp_step(Graph graph, const std::vector<Gradient>& gradients, const std::vector<TaskId>& hosts,
                               const DdpOptions& options) {
  return DdpBuilder(std::move(graph), gradients, hosts, options).run();
}

}  // namespace ridgeline::jobs
