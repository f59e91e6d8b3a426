// Records of a job whose machines' clocks are known, from a seeded generator.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "protocol/communication.h"

namespace ridgeline::jobs::testing {

struct Clock {
  std::int64_t offset_ns = 0;
  double drift = 0;  ///< 1e-4: 100 ppm fast

  std::int64_t read(std::int64_t true_ns) const {
    return 1'700'000'000'000'000'000 + true_ns + offset_ns + std::llround(drift * static_cast<double>(true_ns));
  }
};

struct JobOptions {
  int machines = 2;
  int ranks_of_machine = 1;
  int iterations = 200;
  double iteration_s = 0.6;
  bool transfers = true;
  std::uint32_t seed = 1;
};

struct GeneratedJob {
  std::vector<Clock> clocks;
  std::vector<jobs::RankRecord> ranks;
  std::int64_t lasts_ns = 0;
};

class JobGenerator {
 public:
  explicit JobGenerator(const JobOptions& options) : options_(options), random_(options.seed) {}

  GeneratedJob make() {
    for (int machine = 0; machine < options_.machines; ++machine) {
      const bool first = machine == 0;
      job_.clocks.push_back({first ? 0 : static_cast<std::int64_t>(between(-3.6e12, 3.6e12)), between(-1e-4, 1e-4)});
    }
    std::vector<int> all;
    for (int rank = 0; rank < ranks(); ++rank) {
      all.push_back(rank);
    }
    for (int rank = 0; rank < ranks(); ++rank) {
      job_.ranks.push_back({.rank = rank,
                            .world_size = ranks(),
                            .host = "machine" + std::to_string(machine_of(rank)),
                            .groups = {{"default", "gloo", all}}});
    }
    for (int iteration = 0; iteration < options_.iterations; ++iteration) {
      add_iteration(iteration);
    }
    return job_;
  }

 private:
  int ranks() const { return options_.machines * options_.ranks_of_machine; }
  int machine_of(int rank) const { return rank / options_.ranks_of_machine; }
  double between(double low, double high) { return std::uniform_real_distribution(low, high)(random_); }
  double exponential(double mean) { return std::exponential_distribution(1 / mean)(random_); }
  std::int64_t local(int rank, double ns) const {
    return job_.clocks[static_cast<std::size_t>(machine_of(rank))].read(std::llround(ns));
  }

  /// Latency, noise that is worse in one direction, and now and then a queue of milliseconds.
  double delay(int from, int to) {
    return 40e3 + exponential(from < to ? 20e3 : 120e3) + (between(0, 1) < 0.1 ? exponential(3e6) : 0);
  }

  void add_iteration(int iteration) {
    const double begin = options_.iteration_s * 1e9 * iteration;
    std::vector<double> starts;
    for (int rank = 0; rank < ranks(); ++rank) {
      starts.push_back(begin + 3e8 + exponential(4e6));
    }
    const double last = *std::max_element(starts.begin(), starts.end());
    for (int rank = 0; rank < ranks(); ++rank) {
      const double end = last + 60e3 + exponential(100e3);
      job_.ranks[static_cast<std::size_t>(rank)].collectives.push_back(
          {.kind = jobs::CollectiveKind::kAllReduce,
           .sequence = static_cast<std::uint64_t>(iteration),
           .bytes = 1 << 20,
           .dtype = "float32",
           .called_ns = local(rank, starts[static_cast<std::size_t>(rank)]),
           .started_ns = local(rank, starts[static_cast<std::size_t>(rank)]),
           .ended_ns = local(rank, end)});
      job_.lasts_ns = std::max<std::int64_t>(job_.lasts_ns, std::llround(end));
    }
    if (options_.transfers) {
      add_ring(iteration, last);
    }
  }

  void add_ring(int iteration, double at) {
    for (int rank = 0; rank < ranks(); ++rank) {
      const int next = (rank + 1) % ranks();
      const double sent = at + exponential(50e3);
      const double arrived = sent + delay(rank, next);
      const auto collective = static_cast<std::uint32_t>(iteration);
      const auto transaction = static_cast<std::uint64_t>(iteration);
      job_.ranks[static_cast<std::size_t>(rank)].transfers.push_back(
          {collective, true, next, transaction, 1 << 20, local(rank, sent), local(rank, sent + 10e3)});
      job_.ranks[static_cast<std::size_t>(next)].transfers.push_back(
          {collective, false, rank, transaction, 1 << 20, local(next, at - 1e6), local(next, arrived)});
    }
  }

  JobOptions options_;
  std::mt19937 random_;
  GeneratedJob job_;
};

}  // namespace ridgeline::jobs::testing
