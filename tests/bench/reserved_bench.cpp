// What the model of a step's requests says that CUDA's caching allocator would reserve, against the same allocator
// serving all that a training run really asked for.
//
// ridgeline_reserved_bench SIZE=RECORDING... -- SIZE=WHOLE_RECORDING... prints JSON. The requests are those of the
// CPU's allocator; only how they are served is modelled, on both sides by the same rules.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "analysis/memory/allocator_model.h"
#include "analysis/memory/ledger.h"
#include "analysis/memory/step_replay.h"
#include "protocol/recording.h"

namespace {

using namespace ridgeline;
using analysis::CachingAllocator;
using analysis::MemoryUsage;

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(1);
}

struct Run {
  int batch_size = 0;
  recording::Recording recording;
};

Run read(const std::string& argument) {
  const std::size_t equals = argument.find('=');
  std::ifstream file(argument.substr(equals + 1), std::ios::binary);
  auto recording = recording::Recording::parse(std::string(std::istreambuf_iterator<char>(file), {}));
  if (!recording) {
    fail(argument + ": " + recording.error().message());
  }
  return {static_cast<int>(std::strtol(argument.c_str(), nullptr, 10)), std::move(*recording)};
}

struct Served {
  MemoryUsage peak;
  bool fits = true;
};

/// Every request of the run, from its first on.
Served serve(const recording::Recording& recording, const analysis::DeviceMemory& device) {
  CachingAllocator allocator({}, device);
  bool fits = true;
  for (std::size_t i = 0; i < recording.memory_time().size(); ++i) {
    const std::uint64_t address = recording.memory_address()[i];
    if (recording.memory_bytes()[i] > 0) {
      fits = allocator.allocate(address, recording.memory_bytes()[i]) && fits;
    } else {
      allocator.free(address);
    }
  }
  return {allocator.peak(), fits};
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

nlohmann::json check(const analysis::AllocatorModel& model, const Run& run, const analysis::DeviceMemory& device) {
  const auto start = std::chrono::steady_clock::now();
  const analysis::AllocatorNeed need = replay_step(model, run.batch_size, {});
  const double replay_ms = milliseconds_since(start);
  const MemoryUsage real = serve(run.recording, {}).peak;
  return {{"batchSize", run.batch_size}, {"predicted", need.reserved},
          {"real", real.reserved},       {"realAllocated", real.allocated},
          {"settled", need.settled},     {"fits", serve(run.recording, device).fits},
          {"replayMs", replay_ms}};
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<Run> sampled;
  std::vector<Run> whole;
  bool after = false;
  const std::uint64_t limit = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 0;
  const analysis::DeviceMemory device{limit, limit};
  for (int i = 2; i < count; ++i) {
    const std::string argument = arguments[i];
    if (argument == "--") {
      after = true;
    } else {
      (after ? whole : sampled).push_back(read(argument));
    }
  }
  std::vector<int> sizes;
  std::vector<const recording::Recording*> views;
  for (const Run& run : sampled) {
    sizes.push_back(run.batch_size);
    views.push_back(&run.recording);
  }
  const auto ledger = analysis::match_allocations(views);
  if (!ledger) {
    fail(ledger.error().message());
  }
  const auto model = analysis::make_allocator_model(*ledger, sizes, views, {});
  if (!model) {
    fail(model.error().message());
  }
  nlohmann::json checks = nlohmann::json::array();
  for (const Run& run : whole) {
    checks.push_back(check(*model, run, device));
  }
  const auto start = std::chrono::steady_clock::now();
  const auto largest = largest_that_fits(*model, device, 1 << 24);
  const nlohmann::json result = {{"events", model->later.size()},
                                 {"checks", checks},
                                 {"largest", largest.batch_size.value_or(0)},
                                 {"largestMs", milliseconds_since(start)}};
  std::printf("%s\n", result.dump().c_str());
  return 0;
}
