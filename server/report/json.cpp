#include "report/json.h"

#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

namespace ridgeline::report {
namespace {

using analysis::Location;
using analysis::Node;
using analysis::Profile;
using Json = nlohmann::ordered_json;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

template <typename Value>
Json optional(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

template <typename Container, typename Function>
Json array_of(const Container& items, Function&& to_item) {
  Json array = Json::array();
  for (const auto& item : items) array.push_back(to_item(item));
  return array;
}

void add_phases(Json& object, const analysis::ByPhase& phases) {
  for (std::size_t i = 0; i < phases.size(); ++i) object[analysis::kPhaseNames[i]] = number(phases[i]);
}

Json phases_json(const analysis::ByPhase& phases) {
  Json object = Json::object();
  add_phases(object, phases);
  return object;
}

Json location_json(const Location& location) {
  if (location.file.empty()) return nullptr;
  return {{"file", location.file}, {"line", location.line}};
}

Json environment_json(const analysis::Environment& environment) {
  return {{"python", environment.python},   {"torch", environment.torch},
          {"device", environment.device},   {"deviceName", environment.device_name},
          {"threads", environment.threads}, {"inPlaceOf", environment.in_place_of}};
}

Json iteration_json(const analysis::IterationTime& iteration) {
  return {{"timeMs", number(iteration.ms.value)},
          {"lowMs", number(iteration.ms.low)},
          {"highMs", number(iteration.ms.high)},
          {"iterations", iteration.iterations},
          {"warmupIterations", iteration.warmup_iterations},
          {"byPhaseMs", phases_json(iteration.by_phase)}};
}

Json memory_json(const Profile& profile) {
  Json categories = Json::object();
  for (std::size_t i = 0; i < profile.by_category.size(); ++i) {
    categories[analysis::kCategoryNames[i]] = profile.by_category[i];
  }
  return {{"peakBytes", profile.peak_bytes},
          {"capacityBytes", profile.capacity_bytes},
          {"byCategory", std::move(categories)}};
}

/// The figures of a fitted line, named with `unit`; null each when there is no line.
Json fit_json(const std::optional<analysis::Line>& line, const std::string& unit) {
  const auto figure = [&](double analysis::Line::*field) { return line ? number(*line.*field) : Json(nullptr); };
  const auto width = [&](std::optional<double> analysis::Line::*field) {
    return line && (*line.*field).has_value() ? number(*(*line.*field)) : Json(nullptr);
  };
  return {{"slope" + unit, figure(&analysis::Line::slope)},
          {"slopeHalfWidth" + unit, width(&analysis::Line::slope_half_width)},
          {"intercept" + unit, figure(&analysis::Line::intercept)},
          {"interceptHalfWidth" + unit, width(&analysis::Line::intercept_half_width)},
          {"r2", figure(&analysis::Line::r2)},
          {"residual" + unit, figure(&analysis::Line::residual_sd)}};
}

Json pieces_json(const std::vector<analysis::PeakPiece>& pieces) {
  return array_of(pieces, [](const analysis::PeakPiece& piece) -> Json {
    return {{"fromBatchSize", piece.from_batch},
            {"slopeBytes", number(piece.slope)},
            {"interceptBytes", number(piece.intercept)}};
  });
}

Json peak_model_json(const std::optional<analysis::PeakModel>& model) {
  if (!model) return nullptr;
  return {
      {"value", pieces_json(model->value)},
      {"low", pieces_json(model->low)},
      {"high", pieces_json(model->high)},
      {"checked", model->checked},
      {"allocations", model->allocations},
      {"notLinear", model->not_linear},
      {"largestNotLinear", array_of(model->largest_not_linear, [](const analysis::NotLinear& group) -> Json {
         return {{"operation", group.operation}, {"location", location_json(group.location)}, {"bytes", group.bytes}};
       })}};
}

Json models_json(const Profile& profile) {
  Json time = fit_json(profile.time_model, "Ms");
  time["samples"] = array_of(profile.time_samples, [](const analysis::TimeSample& sample) -> Json {
    return {{"batchSize", sample.batch_size},
            {"timeMs", number(sample.ms.value)},
            {"lowMs", number(sample.ms.low)},
            {"highMs", number(sample.ms.high)},
            {"iterations", sample.iterations}};
  });
  Json memory = fit_json(profile.memory_model, "Bytes");
  memory["samples"] = array_of(profile.memory_samples, [](const analysis::MemorySample& sample) -> Json {
    return {{"batchSize", sample.batch_size}, {"peakBytes", sample.peak_bytes}};
  });
  memory["peak"] = peak_model_json(profile.peak_model);
  return {{"time", std::move(time)}, {"memory", std::move(memory)}};
}

Json line_json(const analysis::LineCost& line) {
  Json time = {{"self", number(line.self_ms)}, {"total", number(line.total_ms)}};
  add_phases(time, line.self_by_phase);
  return {{"file", line.location.file},
          {"line", line.location.line},
          {"calls", optional(line.calls)},
          {"timeMs", std::move(time)},
          {"memoryBytes",
           {{"weights", line.weights_bytes},
            {"gradients", line.gradients_bytes},
            {"activations", line.activations_bytes},
            {"atPeak", line.peak_bytes}}}};
}

Json node_json(const Node& node) {
  return {{"name", node.name},
          {"type", node.type},
          {"location", location_json(node.location)},
          {"definition", location_json(node.definition)},
          {"calls", node.calls},
          {"timeMs", number(node.ms)},
          {"bytes", node.peak_bytes},
          {"byPhaseMs", phases_json(node.by_phase)},
          {"children", array_of(node.children, node_json)}};
}

Json skipped_json(const analysis::Skipped& skipped) {
  return {{"batchSize", skipped.batch_size}, {"kind", skipped.kind}, {"message", skipped.message}};
}

Json other_json(const analysis::OtherCost& other) {
  return {{"name", other.name}, {"timeMs", number(other.ms)}, {"bytes", other.peak_bytes}};
}

Json throughput_json(const Profile& profile) {
  Json maximum = profile.max_samples_per_second ? number(*profile.max_samples_per_second) : Json(nullptr);
  return {{"samplesPerSecond", number(profile.samples_per_second)}, {"maxSamplesPerSecond", std::move(maximum)}};
}

Json closure_json(const Profile& profile) {
  return {{"scale", number(profile.scale)},
          {"userLineShare", number(profile.user_line_share)},
          {"recordingOverhead", number(profile.recording_overhead)},
          {"recordedIterations", profile.recorded_iterations}};
}

}  // namespace

Json to_json(const Profile& profile) {
  Json entry = {{"path", profile.entry_path}, {"projectRoot", profile.project_root}, {"batchSize", profile.batch_size}};
  return {{"version", 1},
          {"id", profile.id.empty() ? Json(nullptr) : Json(profile.id)},
          {"environment", environment_json(profile.environment)},
          {"entry", std::move(entry)},
          {"iteration", iteration_json(profile.iteration)},
          {"throughput", throughput_json(profile)},
          {"memory", memory_json(profile)},
          {"models", models_json(profile)},
          {"skipped", array_of(profile.skipped, skipped_json)},
          {"lines", array_of(profile.lines, line_json)},
          {"other", array_of(profile.other, other_json)},
          {"closure", closure_json(profile)},
          {"warnings", profile.warnings},
          {"breakdown", node_json(profile.breakdown)}};
}

std::string json_report(const Profile& profile) {
  return to_json(profile).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ridgeline::report
