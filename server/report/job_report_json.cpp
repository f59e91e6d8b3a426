#include <nlohmann/json.hpp>

#include "report/measured_json.h"
#include "report/rendered_job.h"

namespace ridgeline::report {

namespace {

using Json = nlohmann::ordered_json;

Json location_json(const analysis::Location& line) {
  return line.file.empty() ? Json(nullptr) : Json{{"file", line.file}, {"line", line.line}};
}

Json communication_json(const std::optional<analysis::Communication>& communication) {
  if (!communication.has_value()) {
    return nullptr;
  }
  Json lines = Json::array();
  for (const analysis::CommunicationLine& line : communication->lines) {
    lines.push_back({{"line", location_json(line.line)},
                     {"exposedMs", line.exposed_ms},
                     {"waitingMs", value_or_null(line.waiting_ms)},
                     {"hiddenMs", line.hidden_ms}});
  }
  return {{"steps", communication->steps},          {"stepMs", communication->step_ms},
          {"exposedMs", communication->exposed_ms}, {"waitingMs", value_or_null(communication->waiting_ms)},
          {"hiddenMs", communication->hidden_ms},   {"lines", std::move(lines)}};
}

Json computing_json(const std::vector<analysis::LineTime>& computing) {
  Json lines = Json::array();
  for (const analysis::LineTime& line : computing) {
    lines.push_back({{"line", location_json(line.line)}, {"ms", line.ms}});
  }
  return lines;
}

Json replay_json(const std::optional<analysis::JobReplay>& replay) {
  if (!replay.has_value()) {
    return nullptr;
  }
  Json path = Json::array();
  for (const analysis::PathPart& part : replay->path) {
    path.push_back({{"rank", value_or_null(part.rank)},
                    {"line", location_json(part.line)},
                    {"collective", part.collective.empty() ? Json(nullptr) : Json(part.collective)},
                    {"bucket", value_or_null(part.bucket)},
                    {"ms", part.ms},
                    {"share", part.share}});
  }
  return {{"firstStep", replay->first_step},
          {"lastStep", replay->last_step},
          {"recordedMs", replay->recorded_ms},
          {"replayedMs", replay->replayed_ms},
          {"error", replay->replayed_ms / replay->recorded_ms - 1},
          {"criticalPath", std::move(path)}};
}

}  // namespace

std::string json_job_report(const analysis::JobReport& job) {
  Json ranks = Json::array();
  for (const analysis::RecordedRankFigures& rank : job.ranks) {
    ranks.push_back({{"rank", rank.rank},
                     {"machine", rank.machine},
                     {"bareStepMs", value_or_null(rank.bare_step_ms)},
                     {"dataLoadingMs", value_or_null(rank.data_loading_ms)},
                     {"communication", communication_json(rank.communication)},
                     {"computing", computing_json(rank.computing)}});
  }
  Json clocks = Json::array();
  for (const analysis::MachineClock& clock : job.clocks) {
    clocks.push_back({{"machine", clock.machine},
                      {"offsetS", clock.offset_s},
                      {"lowS", clock.low_s},
                      {"highS", clock.high_s},
                      {"driftPpm", value_or_null(clock.drift_ppm)}});
  }
  Json changes = Json::array();
  for (const analysis::ChangedStep& change : job.changes) {
    changes.push_back({{"change", change.change},
                       {"stepMs", measured_json(change.step_ms)},
                       {"speedUp", measured_json(change.speed_up)},
                       {"notes", change.notes}});
  }
  Json slower = nullptr;
  if (job.slower.has_value()) {
    slower = {{"rank", job.slower->rank},
              {"slower", job.slower->slower},
              {"line", location_json(job.slower->line)},
              {"dataLoading", job.slower->is_data_loading}};
  }
  const Json json = {{"version", 1},
                     {"command", job.command},
                     {"ranks", std::move(ranks)},
                     {"slower", std::move(slower)},
                     {"clocks", std::move(clocks)},
                     {"replay", replay_json(job.replay)},
                     {"predicted", std::move(changes)},
                     {"warnings", job.warnings}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ridgeline::report
