#include "app/profiling/kept_recordings.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <stdexcept>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/json_problem.h"
#include "protocol/json_fields.h"
#include "store/recording_files.h"
#include "worker/cache.h"

namespace ridgeline::app {

namespace {

using nlohmann::json;
using protocol::member;

json about(const analysis::RecordedRun& recorded) {
  const analysis::BatchRun& run = recorded.run;
  json code = json::array();
  for (const analysis::CodePackage& package : recorded.scope.code) {
    code.push_back({{"name", package.name}, {"places", package.places}});
  }
  return {{"batchSize", run.batch_size},
          {"warmupIterations", run.warmup_iterations},
          {"timesNs", run.times_ns},
          {"perRound", run.per_round},
          {"projectRoot", recorded.scope.project_root},
          {"environmentRoots", recorded.scope.environment_roots},
          {"code", std::move(code)}};
}

/// Without the recording. Throws what json_fields.h does.
std::pair<analysis::SourceScope, std::vector<double>> scope_and_times(const json& value) {
  analysis::SourceScope scope{member<std::string>(value, "projectRoot"),
                              member<std::vector<std::string>>(value, "environmentRoots")};
  for (const json& package : member<json::array_t>(value, "code")) {
    scope.code.push_back({member<std::string>(package, "name"), member<std::vector<std::string>>(package, "places")});
  }
  auto times = member<std::vector<double>>(value, "timesNs");
  if (!std::ranges::all_of(times, [](double ns) { return std::isfinite(ns) && ns >= 0; })) {
    throw protocol::InvalidValue("timesNs is out of range");
  }
  return {std::move(scope), std::move(times)};
}

}  // namespace

/// The bytes of the recording, and a last line of JSON.
std::string recorded_run_text(const analysis::RecordedRun& recorded) {
  std::string text(recorded.run.recording.bytes());
  text += '\n';
  return text += about(recorded).dump(-1, ' ', false, json::error_handler_t::replace);
}

base::Result<analysis::RecordedRun> parse_recorded_run(std::string text) {
  const std::size_t end = std::min(text.rfind('\n'), text.size());
  try {
    const json value = json::parse(text.begin() + static_cast<std::ptrdiff_t>(end), text.end());
    text.resize(end);
    auto recording = recording::Recording::parse(std::move(text));
    if (!recording) {
      return recording.error();
    }
    auto [scope, times] = scope_and_times(value);
    const auto per_round = member<int>(value, "perRound");
    if (per_round < 1) {
      return base::error("perRound is out of range");
    }
    return analysis::RecordedRun{{member<int>(value, "batchSize"), member<int>(value, "warmupIterations"),
                                  std::move(times), std::move(*recording), per_round},
                                 std::move(scope)};
  } catch (const std::exception& problem) {
    return base::error(base::json_problem(problem.what()));
  }
}

std::string keep_recording(const std::string& cache, const std::string& id, const analysis::RecordedRun& recorded) {
  if (recorded.run.recording.bytes().empty()) {
    return "";  // a profile that was made of none
  }
  const auto added = store::add_recording(cache, id, recorded_run_text(recorded));
  return added ? "" : "the recording was not kept: " + added.error().message();
}

base::Result<std::optional<analysis::RecordedRun>> find_recording(const std::string& id) {
  const auto cache = worker::cache_folder();
  if (!cache) {
    return base::error(cache.error().message());
  }
  auto text = store::read_recording(*cache, id);
  if (!text) {
    return text.error();
  }
  if (!text->has_value()) {
    return std::optional<analysis::RecordedRun>();
  }
  auto recorded = parse_recorded_run(std::move(**text));
  if (!recorded) {
    return base::error("the recording of the profile " + id + " cannot be read: " + recorded.error().message());
  }
  return std::optional(std::move(*recorded));
}

}  // namespace ridgeline::app
