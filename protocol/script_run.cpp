#include "protocol/script_run.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "protocol/json_fields.h"

namespace ridgeline::protocol {

namespace {

using nlohmann::json;

constexpr std::size_t kMaxTextBytes = 4096;

const json::array_t& bounded(const json& value, const char* name, std::size_t most) {
  const auto& items = value.at(name).get_ref<const json::array_t&>();
  if (items.size() > most) {
    throw std::invalid_argument(std::string(name) + " has too many elements");
  }
  return items;
}

std::string text_at(const json& value, const char* name) {
  return value.at(name).get_ref<const std::string&>().substr(0, kMaxTextBytes);
}

double time_at(const json& value, const char* name) {
  const auto ns = value.at(name).get<double>();
  if (!std::isfinite(ns) || ns < 0) {
    throw std::invalid_argument(std::string(name) + " is not a time");
  }
  return ns;
}

int count_at(const json& value, const char* name) {
  const int count = member<int>(value, name);
  if (count < 0) {
    throw std::invalid_argument(std::string(name) + " is negative");
  }
  return count;
}

int positive(const json& value) {
  const int number = value_as<int>(value);
  if (number < 1) {
    throw std::invalid_argument("not a positive number");
  }
  return number;
}

StepBoundary boundary_from(const json& value) {
  StepBoundary boundary;
  const std::string kind = text_at(value, "kind");
  const auto* const name = std::ranges::find(kStepEndNames, kind);
  if (name == kStepEndNames.end()) {
    throw std::invalid_argument("no step boundary is called \"" + kind + "\"");
  }
  boundary.end = static_cast<StepEnd>(name - kStepEndNames.begin());
  value.at("requested").get_to(boundary.requested);
  for (const json& number : bounded(value, "optimizers", kMaxOptimizerSteps)) {
    boundary.optimizers.push_back(positive(number));
  }
  boundary.file = text_at(value, "file");
  boundary.line = count_at(value, "line");
  return boundary;
}

LoadedBatches loaded_from(const json& value) { return {member<std::uint64_t>(value, "batches"), time_at(value, "ns")}; }

LoaderUse loading_from(const json& value) {
  LoaderUse loading;
  loading.steps = member<std::uint64_t>(value, "steps");
  loading.steps_ns = time_at(value, "stepsNs");
  loading.wait_ns = time_at(value, "waitNs");
  loading.batches = member<std::uint64_t>(value, "batches");
  loading.workers = count_at(value, "workers");
  loading.by_workers = {member<std::uint64_t>(value, "workerBatches"), time_at(value, "workerNs")};
  loading.worker_wall_ns = time_at(value, "workerWallNs");
  loading.threads = count_at(value, "threads");
  loading.processors = count_at(value, "processors");
  loading.first_pass = loaded_from(value.at("firstPass"));
  loading.later_passes = loaded_from(value.at("laterPasses"));
  return loading;
}

ScriptPhase phase_from(const json& phase) {
  return {text_at(phase, "name"), member<std::uint64_t>(phase, "count"), time_at(phase, "ns")};
}

StepSamples samples_from(const json& value) {
  StepSamples samples{count_at(value, "batchSize"), member<std::uint64_t>(value, "steps"),
                      time_at(value, "mean"),       count_at(value, "least"),
                      count_at(value, "most"),      text_at(value, "doubt")};
  if (samples.least > samples.most || (samples.steps > 0) != (samples.batch_size > 0)) {
    throw std::invalid_argument("the samples of the steps contradict each other");
  }
  return samples;
}

WholeTime whole_from(const json& value) {
  WholeTime whole{member<std::uint64_t>(value, "steps"),
                  time_at(value, "ns"),
                  time_at(value, "samples"),
                  time_at(value, "usualNs"),
                  time_at(value, "usualSamples"),
                  value.at("isWhole").get<bool>(),
                  {}};
  for (const json& part : bounded(value, "parts", kMaxScriptItems)) {
    whole.parts.push_back(phase_from(part));
  }
  return whole;
}

}  // namespace

ScriptRun script_run_from(const json& value) {
  ScriptRun run;
  run.boundary = boundary_from(value.at("boundary"));
  for (const json& phase : bounded(value, "phases", kMaxScriptItems)) {
    run.phases.push_back(phase_from(phase));
  }
  run.samples = samples_from(value.at("samples"));
  if (const json& whole = value.at("whole"); !whole.is_null()) {
    run.whole = whole_from(whole);
  }
  for (const json& steps : bounded(value, "leftOut", kMaxScriptItems)) {
    run.left_out.push_back({text_at(steps, "reason"), member<std::uint64_t>(steps, "count"), time_at(steps, "ns"),
                            member<std::uint64_t>(steps, "peakBytes")});
  }
  const json& largest = value.at("largest");
  run.largest = {member<std::uint64_t>(largest, "steps"), member<std::uint64_t>(largest, "bytes"),
                 count_at(largest, "samples"), text_at(largest, "reason")};
  if (const json& loading = value.at("loading"); !loading.is_null()) {
    run.loading = loading_from(loading);
  }
  for (const json& size : bounded(value, "loaderSizes", kMaxScriptItems)) {
    run.loader_sizes.push_back(positive(size));
  }
  run.sizes_obstacle = text_at(value, "sizesObstacle");
  return run;
}

}  // namespace ridgeline::protocol
