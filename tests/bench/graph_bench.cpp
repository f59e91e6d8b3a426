// How fast graphs are simulated, and how well those of recordings replay them. Prints JSON.
//
// `ridgeline_graph_bench simulate`: a million tasks on a host and two streams. `ridgeline_graph_bench replay TRACE...`:
// traces of torch.profiler, and reports of Nsight Systems in SQLite.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "app/traces/trace_file.h"
#include "ingest/import_trace.h"
#include "step/graph/from_recording.h"
#include "step/simulate/simulate.h"

namespace {

using namespace ridgeline;
using step::Graph;
using step::Task;
using step::TaskId;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// A host that launches kernels on two streams in turn, and waits for every thousandth.
Graph launches(std::size_t tasks, unsigned seed) {
  std::mt19937 random(seed);
  Graph graph;
  graph.names = {""};
  graph.lines = {{}};
  graph.modules = {""};
  graph.resources = {
      {"thread 0"}, {"stream 0", step::Resource::Type::kDevice}, {"stream 1", step::Resource::Type::kDevice}};
  std::optional<TaskId> last[3];
  const auto append = [&](std::uint16_t resource) {
    const auto id = static_cast<TaskId>(graph.tasks.size());
    graph.tasks.push_back(
        Task{.duration_ns = static_cast<std::int64_t>(1'000 + random() % 20'000), .resource = resource});
    if (last[resource].has_value()) {
      graph.tasks[*last[resource]].next = id;
    }
    last[resource] = id;
    return id;
  };
  while (graph.tasks.size() < tasks) {
    const TaskId call = append(0);
    const TaskId kernel = append(static_cast<std::uint16_t>(1 + graph.tasks.size() / 2 % 2));
    graph.dependencies.push_back({call, kernel, 3'000});
    if (graph.tasks.size() % 1'000 == 0) {
      graph.dependencies.push_back({kernel, append(0), 0});
    }
  }
  return graph;
}

int bench_simulate() {
  std::printf("[");
  for (const std::size_t count : {125'000U, 250'000U, 500'000U, 1'000'000U}) {
    const Graph graph = launches(count, 1);
    const auto start = std::chrono::steady_clock::now();
    const Graph copy = graph;
    const double copied = seconds_since(start);
    const auto begin = std::chrono::steady_clock::now();
    const auto schedule = step::simulate(copy);
    std::printf("%s{\"tasks\": %zu, \"copyS\": %.4f, \"simulateS\": %.4f, \"totalMs\": %.3f}",
                count == 125'000U ? "" : ", ", copy.tasks.size(), copied, seconds_since(begin),
                static_cast<double>(schedule->total_ns) / 1e6);
  }
  std::printf("]\n");
  return 0;
}

void replay(const std::string& path) {
  ingest::ImportOptions options;
  options.trace_path = path;
  options.current = "/";
  options.exists = [](const std::string&) { return false; };
  const analysis::RunInput input = ingest::import_trace(app::read_trace_file(path), options);
  const recording::Recording& recording = input.runs.front().recording;
  const auto start = std::chrono::steady_clock::now();
  const Graph graph = step::graph_of(recording, input.scope, 0);
  const double built = seconds_since(start);
  const auto schedule = step::simulate(graph);
  const double recorded_ms = static_cast<double>(graph.recorded_ns) / 1e6;
  const double replayed_ms = schedule ? static_cast<double>(schedule->total_ns) / 1e6 : 0;
  std::printf(
      "{\"tasks\": %zu, \"resources\": %zu, \"recordedMs\": %.4f, \"replayedMs\": %.4f, \"errorPercent\": %.3f, "
      "\"buildS\": %.4f}",
      graph.tasks.size(), graph.resources.size(), recorded_ms, replayed_ms, 100 * (replayed_ms / recorded_ms - 1),
      built);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments == std::vector<std::string>{"simulate"}) {
    return bench_simulate();
  }
  if (arguments.size() < 2 || arguments.front() != "replay") {
    std::fprintf(stderr, "usage: ridgeline_graph_bench simulate | replay TRACE...\n");
    return 2;
  }
  std::printf("[");
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    std::printf("%s", i == 1 ? "" : ",\n");
    try {
      replay(arguments[i]);
    } catch (const std::exception& error) {
      std::printf("{\"error\": \"%s\"}", error.what());
    }
    std::fflush(stdout);
  }
  std::printf("]\n");
  return 0;
}
