// Changes of training on several devices: data-parallel training, P3, BlueConnect, deep gradient compression (Daydream,
// section 5), and the size of buckets.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "step/changes/arguments.h"
#include "step/changes/graph_changes.h"
#include "step/changes/task_classes.h"
#include "step/graph/changes.h"
#include "step/simulate/simulate.h"

namespace ridgeline::step {

namespace {

using analysis::Phase;

constexpr double kBucketBytes = 25.0 * 1024 * 1024;  ///< of DistributedDataParallel
constexpr double kSliceBytes = 200'000;              ///< of P3: 50,000 parameters
constexpr double kDefaultGigabytes = 12.5;           ///< a link of 100 Gbit/s
/// The share that gradients get of a bandwidth that is named, and of one that is assumed.
constexpr Guess kNamedBandwidth = {0.7, 0.85, 1.0};
constexpr Guess kAssumedBandwidth = {0.3, 0.8, 2.0};
/// Nanoseconds of one message from a device to the next.
constexpr Guess kMessageNs = {15'000, 8'000, 3'000};
/// When a share of backward is over, how much of the gradients is ready: the layers that end backward have less work
/// for their weights in some models, and more in others. An exponent.
constexpr Guess kReadiness = {2.0, 1.0, 0.5};
/// The share of gradients that deep gradient compression sends: 0.1 % of the values, with indices, from every device.
constexpr Guess kCompressed = {0.02, 0.005, 0.002};
/// What an all-reduce takes however little it sends, at most nanoseconds: what larger buckets save.
constexpr Guess kCollectiveNs = {0, 20'000, 60'000};
/// The share of a recorded all-reduce that sends; the rest, once for a bucket, waits for the other devices to come.
constexpr Guess kSending = {1, 0.6, 0.2};
constexpr std::size_t kMostSlices = 2'000;

struct Network {
  int workers = 2;
  double bytes_per_ns = kDefaultGigabytes;
  double gradients = 0;
};

/// `N[,GBps[,BYTES]]`.
base::Result<Network> network_of(const std::vector<std::string>& parts, const Asked& asked) {
  Network network;
  const auto workers = whole_number_of(parts.front(), 2, 65'536);
  const bool named = parts.size() > 1 && !parts[1].empty();
  const auto speed = named ? number_of(parts[1], 1e-4, 1e5) : std::optional(kDefaultGigabytes);
  const auto bytes = parts.size() > 2 ? bytes_of(parts[2]) : asked.facts.gradients;
  if (parts.size() > 3 || !workers.has_value() || !speed.has_value() || (parts.size() > 2 && !bytes.has_value())) {
    return base::error(
        "expected N, N,GBPS or N,GBPS,BYTES: workers, gigabytes a second between them, and the "
        "bytes of the gradients, as 4,12.5,100MB");
  }
  if (!bytes.has_value() || *bytes <= 0) {
    return base::error("the recording does not say how large the gradients are: name them, as 4,12.5,100MB");
  }
  network.workers = *workers;
  network.bytes_per_ns = *speed * (named ? kNamedBandwidth : kAssumedBandwidth).at(asked.bound);
  network.gradients = *bytes;
  return network;
}

Selection collectives(const Graph& graph) {
  return select(graph, [&](const Task& task) { return is_collective(graph, task); });
}

/// Where gradients become ready, and what waits for them.
struct Step {
  Selection backward;        ///< in the order of time
  std::vector<double> done;  ///< by task of `backward`: share of backward that is over after it
  Selection forward;
  TaskId update = kNoTask;  ///< the first task of the optimizer, or the end
};

/// The first task of the optimizer that starts at `backward_end` or later; else the end; kNoTask: there is neither.
TaskId first_update(const Graph& graph, const Schedule& schedule, std::int64_t backward_end) {
  const bool device = has_device(graph);
  TaskId update = graph.end;
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  for (TaskId id = 0; id < graph.tasks.size(); ++id) {
    const Task& task = graph.tasks[id];
    const bool works =
        device ? task.kind == Kind::kKernel : graph.resources[task.resource].type == Resource::Type::kHost;
    if (works && task.phase == Phase::kOptimizer && schedule.start[id] >= backward_end && schedule.start[id] < first) {
      update = id;
      first = schedule.start[id];
    }
  }
  return update;
}

base::Result<Step> step_of(const Graph& graph) {
  Step step;
  auto schedule = simulate(graph);
  if (!schedule) {
    return schedule.error();
  }
  const auto earlier = [&](TaskId a, TaskId b) { return schedule->start[a] < schedule->start[b]; };
  step.forward = working_tasks(graph, Phase::kForward);
  step.backward = working_tasks(graph, Phase::kBackward);
  std::erase_if(step.backward, [&](TaskId id) { return graph.tasks[id].duration_ns <= 0; });
  if (step.backward.empty()) {
    return base::error("the recording does not show its backward");
  }
  std::ranges::stable_sort(step.backward, earlier);
  std::ranges::stable_sort(step.forward, earlier);
  const double total = total_ns(graph, step.backward);
  double sum = 0;
  std::int64_t backward_end = 0;
  for (const TaskId id : step.backward) {
    sum += static_cast<double>(graph.tasks[id].duration_ns);
    backward_end = std::max(backward_end, schedule->end[id]);
    step.done.push_back(sum / total);
  }
  step.update = first_update(graph, *schedule, backward_end);
  if (step.update == kNoTask) {
    return base::error("the recording shows neither its optimizer nor its end");
  }
  return step;
}

/// The task of backward after which so much (0 to 1) of the gradients is ready.
TaskId ready_after(const Step& step, double share, Bound bound) {
  const double over = std::pow(share, 1 / kReadiness.at(bound));
  const auto found = std::ranges::lower_bound(step.done, std::min(over, 1.0) - 1e-12);
  return found == step.done.end() ? step.backward.back()
                                  : step.backward[static_cast<std::size_t>(found - step.done.begin())];
}

TaskId add_message(Graph& graph, std::uint16_t link, double ns, std::uint32_t name, TaskId after) {
  const TaskId id = add_task(graph, {.duration_ns = std::llround(ns),
                                     .name = name,
                                     .resource = link,
                                     .kind = Kind::kCommunication,
                                     .phase = Phase::kBackward});
  graph.dependencies.push_back({after, id, 0});
  return id;
}

/// By ring: a part of one n-th goes round twice.
double all_reduce_ns(double bytes, int workers, double bytes_per_ns, double message_ns) {
  return 2.0 * (workers - 1) / workers * bytes / bytes_per_ns + 2.0 * (workers - 1) * message_ns;
}

struct Bucket {
  double bytes = 0;
  double share = 0;  ///< of all gradients, with this bucket and those before it
};

/// Buckets or slices of a size; the last has the rest.
std::vector<Bucket> buckets_of(double gradient_bytes, double size) {
  std::vector<Bucket> buckets(static_cast<std::size_t>(std::ceil(gradient_bytes / size)));
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const double sent = static_cast<double>(i) * size;
    const double bytes = std::min(size, gradient_bytes - sent);
    buckets[i] = {bytes, std::min(1.0, (sent + bytes) / gradient_bytes)};
  }
  return buckets;
}

/// One task for each bucket, which gradients fill in the order of backward.
void insert_all_reduces(ChangedGraph& changed, const Step& step, const Network& network, const Asked& asked,
                        double compressed) {
  Graph& graph = changed.graph;
  const std::uint16_t link = add_link(graph, "network");
  const std::uint32_t name = name_index(graph, "all-reduce");
  for (const Bucket& bucket : buckets_of(network.gradients, kBucketBytes)) {
    const double ns =
        all_reduce_ns(bucket.bytes * compressed, network.workers, network.bytes_per_ns, kMessageNs.at(asked.bound));
    const TaskId after = ready_after(step, bucket.share, asked.bound);
    graph.dependencies.push_back({add_message(graph, link, ns, name, after), step.update, 0});
  }
}

/// The network that the argument names, and the step that gets it.
struct Distributed {
  Network network;
  Step step;
};

base::Result<Distributed> distributed(const Graph& graph, const std::vector<std::string>& parts, const Asked& asked) {
  auto network = network_of(parts, asked);
  if (!network) {
    return network.error();
  }
  auto step = step_of(graph);
  if (!step) {
    return step.error();
  }
  return Distributed{*network, std::move(*step)};
}

base::Result<ChangedGraph> on_workers(ChangedGraph changed, const Asked& asked, double compressed) {
  if (!collectives(changed.graph).empty()) {
    return base::error("it is data-parallel already: its device runs collectives");
  }
  const auto made = distributed(changed.graph, split(asked.argument, ','), asked);
  if (!made) {
    return made.error();
  }
  insert_all_reduces(changed, made->step, made->network, asked, compressed);
  changed.samples *= made->network.workers;
  return changed;
}

}  // namespace

base::Result<ChangedGraph> data_parallel(ChangedGraph changed, const Asked& asked) {
  return on_workers(std::move(changed), asked, 1);
}

base::Result<ChangedGraph> p3(ChangedGraph changed, const Asked& asked) {
  const auto made = distributed(changed.graph, split(asked.argument, ','), asked);
  if (!made) {
    return made.error();
  }
  const auto& [network, step] = *made;
  if (step.forward.empty()) {
    return base::error("the recording does not show its forward");
  }
  Graph& graph = changed.graph;
  const std::uint16_t up = add_link(graph, "network, push");
  const std::uint16_t down = add_link(graph, "network, pull");
  const std::uint32_t push = name_index(graph, "push");
  const std::uint32_t pull = name_index(graph, "pull");
  const double size = std::max(kSliceBytes, network.gradients / kMostSlices);
  const std::vector<Bucket> slices = buckets_of(network.gradients, size);
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const auto [bytes, share] = slices[i];
    const double ns = bytes / network.bytes_per_ns;
    const TaskId pushed = add_message(graph, up, ns, push, ready_after(step, share, asked.bound));
    const TaskId pulled = add_message(graph, down, ns, pull, pushed);
    // What backward makes last, forward needs first.
    graph.tasks[pushed].priority = graph.tasks[pulled].priority = static_cast<std::int32_t>(i);
    const auto layer = static_cast<std::size_t>((1 - share) * static_cast<double>(step.forward.size()));
    const TaskId needs = step.forward[std::min(layer, step.forward.size() - 1)];
    const std::int64_t latency = 2 * std::llround(kMessageNs.at(asked.bound));
    changed.into_next.push_back({pulled, needs, latency});
  }
  changed.samples *= network.workers;
  return changed;
}

base::Result<ChangedGraph> blueconnect(ChangedGraph changed, const Asked& asked) {
  std::vector<std::string> parts = split(asked.argument, ',');
  const std::vector<std::string> shape = split(parts.front(), 'x');
  const auto machines = whole_number_of(shape.front(), 2, 65'536);
  const int devices = shape.size() == 2 ? whole_number_of(shape[1], 2, 1024).value_or(0) : 0;
  const auto inside = parts.size() > 2 ? number_of(parts[2], 1e-4, 1e5) : std::optional(100.0);
  if (!machines.has_value() || devices == 0 || !inside.has_value() || parts.size() > 4) {
    return base::error("expected MACHINESxDEVICES[,GBPS[,GBPS inside[,BYTES]]], as 4x8,12.5,200,100MB");
  }
  parts.front() = std::to_string(*machines);
  if (parts.size() > 2) {
    parts.erase(parts.begin() + 2);
  }
  const auto made = distributed(changed.graph, parts, asked);
  if (!made) {
    return made.error();
  }
  const auto& [network, step] = *made;
  Graph& graph = changed.graph;
  const std::uint16_t within = add_link(graph, "within machines");
  const std::uint16_t between = add_link(graph, "between machines");
  const std::uint32_t scatter = name_index(graph, "reduce-scatter");
  const std::uint32_t reduce = name_index(graph, "all-reduce");
  const std::uint32_t gather = name_index(graph, "all-gather");
  const double message = kMessageNs.at(asked.bound);
  const double inner = *inside * kNamedBandwidth.at(asked.bound);
  for (const Bucket& bucket : buckets_of(network.gradients, kBucketBytes)) {
    const TaskId ready = ready_after(step, bucket.share, asked.bound);
    const double half = (devices - 1.0) / devices * bucket.bytes / inner + (devices - 1) * message;
    // Every device of a machine has a part of its own, and all of them share the machine's link.
    const double outer = all_reduce_ns(bucket.bytes, *machines, network.bytes_per_ns, message);
    const TaskId scattered = add_message(graph, within, half, scatter, ready);
    const TaskId reduced = add_message(graph, between, outer, reduce, scattered);
    graph.dependencies.push_back({add_message(graph, within, half, gather, reduced), step.update, 0});
  }
  changed.samples *= static_cast<double>(*machines) * devices;
  return changed;
}

base::Result<ChangedGraph> dgc(ChangedGraph changed, const Asked& asked) {
  Graph& graph = changed.graph;
  const Selection existing = collectives(graph);
  // Values are chosen and put back: as long as the elementwise work of the optimizer, twice.
  Selection update = working_tasks(graph, Phase::kOptimizer);
  std::erase_if(update, [&](TaskId id) { return is_collective(graph, graph.tasks[id]); });
  const double elementwise = total_ns(graph, update);
  if (!existing.empty()) {
    graph = scaled(std::move(graph), existing, kCompressed.at(asked.bound));
  } else {
    auto parallel = on_workers(std::move(changed), asked, kCompressed.at(asked.bound));
    if (!parallel) {
      return parallel;
    }
    changed = std::move(*parallel);
  }
  const auto step = step_of(changed.graph);
  if (!step) {
    return step.error();
  }
  const std::int64_t each = std::llround(elementwise * Guess{1.0, 0.5, 0.2}.at(asked.bound));
  const TaskId last = step->backward.back();
  const Task work = task_like(graph, last, 2 * each, name_index(graph, "compression of gradients"));
  graph.dependencies.push_back({last, insert_after(graph, last, work), 0});
  return changed;
}

base::Result<ChangedGraph> bucket_size(ChangedGraph changed, const Asked& asked) {
  Graph& graph = changed.graph;
  const std::vector<std::string> parts = split(asked.argument, ',');
  const auto wanted = bytes_of(parts.front());
  const auto now = parts.size() > 1 ? bytes_of(parts[1]) : std::optional(kBucketBytes);
  if (parts.size() > 2 || !wanted.has_value() || !now.has_value()) {
    return base::error(
        "expected the size of buckets, and that of the recording where it is not 25MiB: 50MiB or 50MiB,10MiB");
  }
  Selection reduces;
  for (const TaskId id : collectives(graph)) {
    const std::string& name = graph.names[graph.tasks[id].name];
    if (mentions(name, "allreduce") || mentions(name, "all_reduce")) {
      reduces.push_back(id);
    }
  }
  if (reduces.size() < 2) {
    return base::error("its device runs no more than one all-reduce");
  }
  if (*wanted <= *now) {
    return base::error("only larger buckets are predicted: smaller ones start earlier than anything in the recording");
  }
  std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
  for (const TaskId id : reduces) {
    shortest = std::min(shortest, graph.tasks[id].duration_ns);
  }
  const auto saved = std::min(shortest, static_cast<std::int64_t>(kCollectiveNs.at(asked.bound)));
  const auto together = static_cast<std::size_t>(std::floor(*wanted / *now));
  for (std::size_t first = 0; first < reduces.size(); first += together) {
    const std::size_t last = std::min(first + together, reduces.size()) - 1;
    for (std::size_t i = first; i < last; ++i) {
      Task& early = graph.tasks[reduces[i]];
      const double sent = kSending.at(asked.bound) * static_cast<double>(early.duration_ns - saved);
      graph.tasks[reduces[last]].duration_ns += std::llround(sent);
      early.duration_ns = early.gap_ns = 0;
    }
  }
  return changed;
}

}  // namespace ridgeline::step
