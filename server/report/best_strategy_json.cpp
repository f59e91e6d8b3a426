#include <nlohmann/json.hpp>

#include "report/measured_json.h"
#include "report/rendered_best_strategy.h"

namespace ridgeline::report {

namespace {

using Json = nlohmann::ordered_json;

Json strategy_json(const analysis::StrategyStep& one) {
  Json own = Json::array();
  for (const analysis::OwnChange& change : one.own) {
    own.push_back(change.title);
  }
  return {{"bucketBytes", value_or_null(one.bucket_bytes)},
          {"accumulate", one.accumulate},
          {"compression", one.compression},
          {"recompute",
           one.recompute.modules.empty()
               ? Json(nullptr)
               : Json{{"class", one.recompute.type}, {"of", one.recompute.of}, {"modules", one.recompute.modules}}},
          {"fused", one.fuse},
          {"sharding", one.sharding},
          {"own", std::move(own)},
          {"stepMs", measured_json(one.step_ms)},
          {"speedUp", measured_json(one.speed_up)},
          {"peakBytes", one.peak_bytes}};
}

Json edit_json(const analysis::StrategyEdit& edit) {
  Json place = nullptr;
  if (!edit.path.empty()) {
    place = {{"file", edit.path}, {"line", edit.line}, {"before", edit.before}};
  }
  return {{"place", std::move(place)}, {"text", edit.after}};
}

}  // namespace

std::string json_optimized_job(const analysis::OptimizedJob& job) {
  Json strategies = Json::array();
  for (const analysis::StrategyStep& one : job.strategies) {
    strategies.push_back(strategy_json(one));
  }
  Json edits = Json::array();
  for (const analysis::StrategyEdit& one : job.edits) {
    edits.push_back(edit_json(one));
  }
  const Json json = {{"version", 1},
                     {"command", job.command},
                     {"recordedMs", job.replay.recorded_ms},
                     {"replayedMs", job.replay.replayed_ms},
                     {"peakBytes", job.peak_bytes},
                     {"memoryBytes", value_or_null(job.memory_bytes)},
                     {"predicted", std::move(strategies)},
                     {"space", job.space},
                     {"complete", job.is_complete},
                     {"seconds", job.seconds},
                     {"edits", std::move(edits)},
                     {"notes", job.notes},
                     {"warnings", job.warnings}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ridgeline::report
