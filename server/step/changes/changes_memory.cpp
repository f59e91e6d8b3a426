// Changes for memory: vDNN, Gist (Daydream, section 5.2), and ZeRO.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
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

/// Smaller blocks stay where they are.
constexpr std::int64_t kLeastBytes = 1 << 20;
/// Between a host and a device, bytes per nanosecond: PCI Express 3 and 4.
constexpr Guess kHostLink = {6, 11, 22};
/// How many stashes ahead of its use one is fetched.
constexpr std::size_t kAhead = 2;
/// The share of a stash that is left once it is encoded: half of float32, with what ReLU needs in a bit.
constexpr double kEncoded = 0.5;

/// A block that forward allocates and backward frees.
struct Stash {
  std::size_t birth = 0;  ///< of Graph::memory
  std::size_t death = 0;
  std::int64_t bytes = 0;
  TaskId made_by = kNoTask;  ///< on the device: what runs when it is allocated
  TaskId used_by = kNoTask;  ///< what ran last before it is freed
};

/// By change of Graph::memory: when it happens, nanoseconds.
std::vector<double> times_of_memory(const Graph& graph, const Schedule& schedule) {
  std::vector<double> times;
  for (const MemoryChange& change : graph.memory) {
    const auto start = static_cast<double>(schedule.start[change.task]);
    const auto end = static_cast<double>(schedule.end[change.task]);
    times.push_back(start + (end - start) * static_cast<double>(change.at));
  }
  return times;
}

/// A large block: the changes of Graph::memory that allocate and free it.
struct Block {
  std::size_t birth;
  std::size_t death;
};

/// Blocks that are freed, in the order of that. They are matched by their size, the youngest first: autograd frees in
/// the reverse order. `times`: times_of_memory().
std::vector<Block> freed_blocks(const Graph& graph, const std::vector<double>& times) {
  std::vector<std::size_t> order(graph.memory.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return times[i]; });
  std::vector<Block> freed;
  std::map<std::int64_t, std::vector<std::size_t>> alive;  // by size
  for (const std::size_t i : order) {
    const std::int64_t bytes = graph.memory[i].bytes;
    if (bytes >= kLeastBytes) {
      alive[bytes].push_back(i);
    } else if (auto& blocks = alive[-bytes]; bytes <= -kLeastBytes && !blocks.empty()) {
      freed.push_back({blocks.back(), i});
      blocks.pop_back();
    }
  }
  return freed;
}

/// Kernels by when they are launched.
std::vector<std::pair<std::int64_t, TaskId>> launched_kernels(const Graph& graph, const Schedule& schedule) {
  std::vector<std::pair<std::int64_t, TaskId>> launched;
  const std::vector<TaskId> launches = launches_of(graph);
  for (TaskId id = 0; id < graph.tasks.size(); ++id) {
    if (graph.tasks[id].kind == Kind::kKernel && launches[id] != kNoTask) {
      launched.emplace_back(schedule.start[launches[id]], id);
    }
  }
  std::ranges::sort(launched);
  return launched;
}

/// In the order of their use.
std::vector<Stash> stashes_of(const Graph& graph, const Schedule& schedule) {
  const std::vector<double> times = times_of_memory(graph, schedule);
  const auto launched = launched_kernels(graph, schedule);
  const auto phase_at = [&](std::size_t memory) { return graph.tasks[graph.memory[memory].task].phase; };
  const auto launched_after = [&](std::size_t memory) {
    return std::ranges::lower_bound(launched, std::pair(static_cast<std::int64_t>(times[memory]), TaskId{0}));
  };
  std::vector<Stash> found;
  for (const auto& [birth, death] : freed_blocks(graph, times)) {
    if (phase_at(birth) != Phase::kForward || phase_at(death) != Phase::kBackward) {
      continue;
    }
    const auto maker = launched_after(birth);
    const auto user = launched_after(death);
    if (maker == launched.end() || user == launched.begin()) {
      continue;
    }
    const Stash stash{birth, death, graph.memory[birth].bytes, maker->second, std::prev(user)->second};
    if (schedule.start[stash.used_by] > schedule.end[stash.made_by]) {
      found.push_back(stash);
    }
  }
  std::ranges::stable_sort(found, {}, [&](const Stash& stash) { return schedule.start[stash.used_by]; });
  return found;
}

base::Result<std::vector<Stash>> stashes_to_move(const Graph& graph) {
  if (!has_device(graph)) {
    return base::error("nothing of the step ran on a device");
  }
  if (graph.memory.empty()) {
    return base::error("the recording has no events of the allocator");
  }
  auto schedule = simulate(graph);
  if (!schedule) {
    return schedule.error();
  }
  std::vector<Stash> stashes = stashes_of(graph, *schedule);
  if (stashes.empty()) {
    return base::error("no block of 1 MiB or more is kept from forward to backward");
  }
  return stashes;
}

}  // namespace

base::Result<ChangedGraph> vdnn(ChangedGraph changed, const Asked& asked) {
  Graph& graph = changed.graph;
  const auto stashes = stashes_to_move(graph);
  if (!stashes) {
    return stashes.error();
  }
  Task offload{.name = name_index(graph, "offload"), .kind = Kind::kCopy, .phase = Phase::kForward};
  Task fetch{.name = name_index(graph, "prefetch"), .kind = Kind::kCopy, .phase = Phase::kBackward};
  offload.resource = add_link(graph, "device to host");
  fetch.resource = add_link(graph, "host to device");
  const double speed = kHostLink.at(asked.bound);
  for (std::size_t i = 0; i < stashes->size(); ++i) {
    const Stash& stash = (*stashes)[i];
    offload.duration_ns = fetch.duration_ns = std::llround(static_cast<double>(stash.bytes) / speed);
    fetch.priority = -static_cast<std::int32_t>(i);
    const TaskId away = add_task(graph, offload);
    const TaskId back = add_task(graph, fetch);
    graph.dependencies.push_back({stash.made_by, away, 0});
    graph.dependencies.push_back({away, back, 0});
    graph.dependencies.push_back({back, stash.used_by, 0});
    const TaskId waits_for = i >= kAhead ? (*stashes)[i - kAhead].used_by : kNoTask;
    if (waits_for != kNoTask && waits_for != stash.used_by) {
      graph.dependencies.push_back({waits_for, back, 0});
    }
    graph.memory.push_back({away, 1, -stash.bytes});
    graph.memory.push_back({back, 0, stash.bytes});
  }
  return changed;
}

base::Result<ChangedGraph> gist(ChangedGraph changed, const Asked& asked) {
  Graph& graph = changed.graph;
  const auto stashes = stashes_to_move(graph);
  if (!stashes) {
    return stashes.error();
  }
  const std::uint32_t encode = name_index(graph, "encode");
  // Within a device: the memory of a V100 to that of an H100, half of a stash more to write than to read.
  const double speed = Guess{500, 900, 2500}.at(asked.bound);
  for (const Stash& stash : *stashes) {
    const std::int64_t ns = std::llround((1 + kEncoded) * static_cast<double>(stash.bytes) / speed);
    const TaskId encoded = insert_after(graph, stash.made_by, task_like(graph, stash.made_by, ns, encode));
    graph.dependencies.push_back({stash.made_by, encoded, 0});
    // Before its use: the user takes as much longer, which is the same on one stream.
    graph.tasks[stash.used_by].duration_ns += ns;
    const auto saved = std::llround(static_cast<double>(stash.bytes) * (1 - kEncoded));
    graph.memory.push_back({encoded, 1, -saved});
    graph.memory.push_back({stash.used_by, 0, saved});
  }
  return changed;
}

base::Result<ChangedGraph> zero(ChangedGraph changed, const Asked& asked) {
  const ArgumentAndValue argument = split_value(asked.argument);
  const std::vector<std::string> parts = split(argument.value.value_or(""), ',');
  const auto workers = whole_number_of(parts.front(), 2, 65'536);
  const auto state = parts.size() > 1 ? bytes_of(parts[1]) : asked.facts.optimizer_state;
  if (argument.argument != "1" || !workers.has_value() || parts.size() > 2 ||
      (parts.size() > 1 && !state.has_value())) {
    return base::error(
        "expected stage 1 of ZeRO, the number of workers, and the bytes of the optimizer's state: 1=8 or "
        "1=8,400MB");
  }
  if (!state.has_value() || *state <= 0) {
    return base::error("the recording shows no state of an optimizer: name it, as 1=8,400MB");
  }
  changed.peak_bytes -= std::llround(*state * (1 - 1.0 / *workers));
  // Each worker updates its share of the parameters, and gets the others' from them.
  const Selection update = working_tasks(changed.graph, Phase::kOptimizer);
  changed.graph = scaled(std::move(changed.graph), update, Guess{1, 1.0 / *workers, 1.0 / *workers}.at(asked.bound));
  return changed;
}

}  // namespace ridgeline::step
