// Small profiles to compare.
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "analysis/values/profile.h"

namespace ridgeline::analysis::testing {

/// A line of net.py with time in forward only.
inline analysis::LineCost line(std::uint32_t number, std::string text, double ms, std::uint64_t bytes = 0,
                               std::string file = "net.py") {
  analysis::LineCost cost;
  cost.location = {std::move(file), number};
  cost.text = std::move(text);
  cost.self_ms = cost.total_ms = ms;
  cost.self_by_phase[0] = ms;
  cost.peak_bytes = bytes;
  cost.self_spread = 0.02;
  return cost;
}

/// The sum of its lines, within ± 1 % of the step. Each line is the one operation of a module.
inline analysis::Profile profile_of(std::vector<analysis::LineCost> lines) {
  analysis::Profile profile;
  profile.project_root = "/project";
  profile.entry_path = "/project/entry.py";
  profile.batch_size = 8;
  profile.environment.device = "cpu";
  profile.recorded_iterations = 9;
  profile.breakdown.name = "iteration";
  for (const analysis::LineCost& one : lines) {
    profile.iteration.ms.value += one.self_ms;
    profile.peak_bytes += one.peak_bytes;
    analysis::Node module;
    module.name = "module" + std::to_string(one.location.line);
    module.type = "Module";
    module.ms = one.self_ms;
    module.peak_bytes = one.peak_bytes;
    analysis::Node operation = module;
    operation.name = "operation";
    operation.type.clear();
    operation.location = one.location;
    module.children = {operation};
    profile.breakdown.children.push_back(module);
  }
  const double ms = profile.iteration.ms.value;
  profile.iteration.ms = {ms, 0.99 * ms, 1.01 * ms};
  profile.iteration.by_phase[0] = ms;
  profile.by_category[0] = profile.peak_bytes;
  profile.lines = std::move(lines);
  profile.time_samples = {{8, profile.iteration.ms, 60, 6, 0.01}};
  return profile;
}

/// The same code in another run: all times together, and each line by itself, vary by so much (standard deviations).
inline analysis::Profile again(const analysis::Profile& profile, std::mt19937_64& random, double of_run,
                               double of_line) {
  std::normal_distribution<double> normal;
  const double speed = std::exp(of_run * normal(random));
  std::vector<analysis::LineCost> lines = profile.lines;
  for (analysis::LineCost& one : lines) {
    const double ms = one.self_ms * speed * std::exp(of_line * normal(random));
    one.self_ms = one.total_ms = one.self_by_phase[0] = ms;
  }
  return profile_of(std::move(lines));
}

}  // namespace ridgeline::analysis::testing
