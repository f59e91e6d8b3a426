#include "report/json.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

#include "report/allocator_requests.h"

namespace ridgeline::report {
namespace {

using analysis::Location;
using analysis::Node;
using analysis::Profile;
using Json = nlohmann::ordered_json;

Json estimate_json(const std::optional<analysis::Estimate>& estimate) {
  if (!estimate) return nullptr;
  Json interval = nullptr;
  if (estimate->interval) {
    interval = {{"low", number(estimate->interval->low)}, {"high", optional_json(estimate->interval->high)}};
  }
  return {{"value", number(estimate->value)},
          {"interval", std::move(interval)},
          {"certainty", analysis::kCertaintyNames[static_cast<std::size_t>(estimate->certainty)]}};
}

Json measured_json(const std::optional<analysis::Measurement>& measured) {
  static constexpr std::array<const char*, 3> kOrigins = {"sample", "check", "trial"};
  if (!measured) return nullptr;
  return {{"samplesPerSecond", measured->samples_per_second},
          {"timeMs", measured->ms.value},
          {"lowMs", measured->ms.low},
          {"highMs", measured->ms.high},
          {"peakBytes", measured->peak_bytes},
          {"origin", kOrigins[static_cast<std::size_t>(measured->origin)]},
          {"machineSpeed", measured->machine_speed},
          {"machineChanged", measured->machine_changed}};
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

Json location_json(const Location& location) {
  if (location.file.empty()) return nullptr;
  return {{"file", location.file}, {"line", location.line}};
}

Json iteration_json(const analysis::IterationTime& iteration) {
  return {{"timeMs", number(iteration.ms.value)},
          {"lowMs", number(iteration.ms.low)},
          {"highMs", number(iteration.ms.high)},
          {"iterations", iteration.iterations},
          {"warmupIterations", iteration.warmup_iterations},
          {"byPhaseMs", phases_json(iteration.by_phase)},
          {"betweenOperationsMs", number(iteration.between_operations_ms)}};
}

Json memory_json(const Profile& profile) {
  return {{"peakBytes", profile.peak_known ? Json(profile.peak_bytes) : Json(nullptr)},
          {"capacityBytes", profile.capacity_bytes},
          {"byCategory", categories_json(profile.by_category)}};
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

/// Pieces in `unit`.
Json pieces_json(const std::vector<analysis::Piece>& pieces, const std::string& unit) {
  return array_of(pieces, [&](const analysis::Piece& piece) -> Json {
    return {{"fromBatchSize", piece.from_batch},
            {"slope" + unit, number(piece.slope)},
            {"intercept" + unit, number(piece.intercept)}};
  });
}

Json parts_json(const std::vector<analysis::PeakPart>& parts) {
  return array_of(parts, [](const analysis::PeakPart& part) -> Json {
    return {{"category", analysis::kCategoryNames[static_cast<std::size_t>(part.category)]},
            {"location", location_json(part.location)},
            {"slopeBytes", number(part.slope)},
            {"interceptBytes", number(part.intercept)}};
  });
}

Json peak_model_json(const std::optional<analysis::PeakModel>& model) {
  if (!model) return nullptr;
  return {
      {"value", pieces_json(model->value, "Bytes")},
      {"parts", array_of(model->parts, parts_json)},
      {"low", pieces_json(model->low, "Bytes")},
      {"high", pieces_json(model->high, "Bytes")},
      {"checked", model->checked},
      {"allocations", model->allocations},
      {"notLinear", model->not_linear},
      {"largestNotLinear", array_of(model->largest_not_linear, [](const analysis::NotLinear& group) -> Json {
         return {{"operation", group.operation}, {"location", location_json(group.location)}, {"bytes", group.bytes}};
       })}};
}

Json allocator_json(const analysis::AllocatorModel& model) {
  return {{"conf", model.setup.conf},
          {"deviceBytes", model.setup.device_bytes},
          {"availableBytes", model.setup.available_bytes},
          {"alive", model.alive},
          {"requests", requests_text(model)},
          {"first", events_text(model.first)},
          {"later", events_text(model.later)},
          {"largestThatFits", optional_json(model.largest)},
          {"bounded", model.is_bounded}};
}

Json time_sample_json(const analysis::TimeSample& sample) {
  return {{"batchSize", sample.batch_size},
          {"timeMs", number(sample.ms.value)},
          {"lowMs", number(sample.ms.low)},
          {"highMs", number(sample.ms.high)},
          {"iterations", sample.iterations},
          {"rounds", sample.rounds},
          {"aaNoise", number(sample.aa_noise)},
          {"outliers", {{"count", sample.outliers.count}, {"worst", number(sample.outliers.worst)}}}};
}

Json models_json(const Profile& profile) {
  const auto& model = profile.time_model;
  Json time = {{"pieces", pieces_json(model ? model->pieces : std::vector<analysis::Piece>(), "Ms")},
               {"r2", model ? number(model->r2) : Json(nullptr)},
               {"relativeSd", model ? number(model->relative_sd) : Json(nullptr)},
               {"aaNoise", number(profile.aa_noise)},
               {"samples", array_of(profile.time_samples, time_sample_json)},
               {"regimes", array_of(profile.regimes, [](const analysis::Regime& regime) -> Json {
                  return {{"fromBatchSize", regime.from_batch}, {"mostMs", number(regime.ms)}};
                })}};
  Json memory = fit_json(profile.memory_model, "Bytes");
  memory["samples"] = array_of(profile.memory_samples, [](const analysis::MemorySample& sample) -> Json {
    return {{"batchSize", sample.batch_size}, {"peakBytes", sample.peak_bytes}};
  });
  memory["peak"] = peak_model_json(profile.peak_model);
  if (profile.allocator) memory["allocator"] = allocator_json(*profile.allocator);
  return {{"time", std::move(time)}, {"memory", std::move(memory)}};
}

Json line_device_json(const analysis::LineDeviceCost& device) {
  Json json = {{"self", number(device.ms)},
               {"total", number(device.total_ms)},
               {"copies", number(device.copy_ms)},
               {"hostWaits", number(device.wait_ms)}};
  add_phases(json, device.by_phase);
  return json;
}

Json kernel_json(const analysis::Kernel& kernel) {
  return {{"name", kernel.name},
          {"launches", number(kernel.launches)},
          {"timeMs", number(kernel.ms)},
          {"meanMs", number(kernel.mean_ms)},
          {"maxMs", number(kernel.max_ms)},
          {"location", location_json(kernel.location)},
          {"lineMs", number(kernel.line_ms)}};
}

Json device_json(const analysis::DeviceTime& device, double iteration_ms) {
  Json waits = Json::object();
  for (std::size_t i = 0; i < device.waits.size(); ++i) waits[analysis::kWaitNames[i]] = number(device.waits[i]);
  return {{"index", device.device},
          {"kernelMs", number(device.kernel_ms)},
          {"copyMs", number(device.copy_ms)},
          {"idleMs", number(device.idle_ms)},
          {"utilisation", number(iteration_ms > 0 ? device.kernel_ms / iteration_ms : 0)},
          {"launches", number(device.launches)},
          {"scale", number(device.scale)},
          {"byPhaseMs", phases_json(device.by_phase)},
          {"waitsMs", std::move(waits)},
          {"peakReservedBytes", optional_json(device.peak_reserved_bytes)},
          {"kernels", array_of(device.kernels, kernel_json)}};
}

Json line_json(const analysis::LineCost& line) {
  Json time = {{"self", number(line.self_ms)}, {"total", number(line.total_ms)}};
  add_phases(time, line.self_by_phase);
  return {{"file", line.location.file},
          {"line", line.location.line},
          {"calls", optional_json(line.calls)},
          {"timeMs", std::move(time)},
          {"timeModel", pieces_json(line.self_model, "Ms")},
          {"memoryBytes",
           {{"weights", line.weights_bytes},
            {"gradients", line.gradients_bytes},
            {"activations", line.activations_bytes},
            {"atPeak", line.peak_bytes}}}};
}

/// What a node costs on a device is told only where there is one; so are a line's and another item's.
Json node_json(const Node& node, bool device) {
  Json json = {{"name", node.name},
               {"type", node.type},
               {"location", location_json(node.location)},
               {"definition", location_json(node.definition)},
               {"calls", node.calls},
               {"timeMs", number(node.ms)},
               {"bytes", node.peak_bytes},
               {"byPhaseMs", phases_json(node.by_phase)}};
  if (device) json["deviceMs"] = number(node.device_ms);
  json["children"] = array_of(node.children, [&](const Node& child) { return node_json(child, device); });
  return json;
}

Json other_json(const analysis::OtherCost& other) {
  return {{"name", other.name},
          {"timeMs", number(other.ms)},
          {"timeModel", pieces_json(other.model, "Ms")},
          {"bytes", other.peak_bytes}};
}

Json unused_json(const analysis::UnusedGradients& unused) {
  return {{"location", location_json(unused.location)},
          {"parameter", unused.parameter},
          {"parameters", unused.parameters},
          {"bytes", unused.bytes}};
}

Json throughput_json(const Profile& profile) {
  Json maximum = profile.max_samples_per_second ? number(*profile.max_samples_per_second) : Json(nullptr);
  return {{"samplesPerSecond", profile.samples_per_second ? number(*profile.samples_per_second) : Json(nullptr)},
          {"maxSamplesPerSecond", std::move(maximum)}};
}

Json closure_json(const Profile& profile) {
  return {{"scale", number(profile.scale)},
          {"userLineShare", number(profile.user_line_share)},
          {"recordingOverhead", number(profile.recording_overhead)},
          {"recordedIterations", profile.recorded_iterations}};
}

Json check_json(const analysis::Check& check) {
  Json json = time_sample_json(check.time);
  json["peakBytes"] = check.peak_bytes;
  json["extrapolated"] = check.extrapolated;
  json["predicted"] = {{"timeMs", estimate_json(check.predicted_ms)},
                       {"peakBytes", estimate_json(check.predicted_peak_bytes)}};
  if (check.tried) {
    json["tried"] = {{"machineSpeed", check.machine_speed}, {"machineChanged", check.machine_changed}};
  }
  if (check.peak_reserved_bytes) {
    json["peakReservedBytes"] = *check.peak_reserved_bytes;
    json["predicted"]["reservedBytes"] = optional_json(check.predicted_reserved_bytes);
  }
  return json;
}

Json answer_json(const analysis::Answer& answer) {
  return {{"answer", batch_json(answer.batch)}, {"obstacle", obstacle_json(answer.obstacle)}};
}

Json answers_json(const analysis::Outlook& outlook) {
  return {{"now", answer_json(outlook.now)},
          {"twice", answer_json(outlook.twice)},
          {"largestThatFits", answer_json(outlook.fits)},
          {"enoughThroughput", answer_json(outlook.enough)},
          {"activationsEqualWeights", answer_json(outlook.balanced)}};
}

}  // namespace

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json phases_json(const analysis::ByPhase& phases) {
  Json object = Json::object();
  add_phases(object, phases);
  return object;
}

Json environment_json(const analysis::Environment& environment) {
  return {{"python", environment.python},          {"torch", environment.torch},
          {"device", environment.device},          {"deviceName", environment.device_name},
          {"threads", environment.threads},        {"inPlaceOf", environment.in_place_of},
          {"lowMHz", number(environment.low_mhz)}, {"highMHz", number(environment.high_mhz)}};
}

Json entry_json(const Profile& profile) {
  return {{"path", profile.entry_path},
          {"projectRoot", profile.project_root},
          {"batchSize", profile.batch_size_known ? Json(profile.batch_size) : Json(nullptr)}};
}

Json batch_json(const std::optional<analysis::BatchPrediction>& batch) {
  if (!batch) return nullptr;
  Json categories = batch->by_category ? categories_json(*batch->by_category) : Json(nullptr);
  Json json = {{"batchSize", batch->batch_size},
               {"samplesPerSecond", estimate_json(batch->samples_per_second)},
               {"timeMs", estimate_json(batch->ms)},
               {"peakBytes", estimate_json(batch->peak_bytes)},
               {"byCategory", std::move(categories)},
               {"extrapolated", batch->extrapolated},
               {"fits", optional_json(batch->fits)},
               {"measured", measured_json(batch->measured)},
               {"failed", batch->failed ? skipped_json({*batch->failed}).front() : Json(nullptr)}};
  if (batch->reserved_bytes) json["reservedBytes"] = *batch->reserved_bytes;
  return json;
}

Json skipped_json(const std::vector<analysis::Skipped>& skipped) {
  return array_of(skipped, [](const analysis::Skipped& one) -> Json {
    return {{"batchSize", one.batch_size}, {"kind", protocol::name_of(one.kind)}, {"message", one.message}};
  });
}

Json obstacle_json(analysis::Obstacle obstacle) {
  static constexpr std::array<const char*, 7> kNames = {nullptr,       "tooFewSizes",   "tooFast",  "tooLittleMemory",
                                                        "timeUnknown", "memoryUnknown", "noBalance"};
  const char* name = kNames[static_cast<std::size_t>(obstacle)];
  return name == nullptr ? Json(nullptr) : Json(name);
}

Json to_json(const Profile& profile, const analysis::Outlook& outlook) {
  const bool device = profile.device.has_value();
  Json lines = array_of(profile.lines, [&](const analysis::LineCost& line) {
    Json json = line_json(line);
    if (device) json["deviceMs"] = line_device_json(line.device);
    return json;
  });
  Json others = array_of(profile.other, [&](const analysis::OtherCost& other) {
    Json json = other_json(other);
    if (device) json["deviceMs"] = number(other.device_ms);
    return json;
  });
  Json report = {{"version", 1},
                 {"id", profile.id.empty() ? Json(nullptr) : Json(profile.id)},
                 {"environment", environment_json(profile.environment)},
                 {"entry", entry_json(profile)},
                 {"iteration", iteration_json(profile.iteration)}};
  if (device) report["device"] = device_json(*profile.device, profile.iteration.ms.value);
  report["throughput"] = throughput_json(profile);
  report["memory"] = memory_json(profile);
  report["models"] = models_json(profile);
  report["answers"] = answers_json(outlook);
  report["checks"] = array_of(profile.checks, check_json);
  report["skipped"] = skipped_json(profile.skipped);
  report["lines"] = std::move(lines);
  report["other"] = std::move(others);
  report["unusedGradients"] = array_of(profile.unused_gradients, unused_json);
  report["closure"] = closure_json(profile);
  report["warnings"] = profile.warnings;
  report["breakdown"] = node_json(profile.breakdown, device);
  return report;
}

std::string json_report(const Profile& profile, const analysis::Outlook& outlook) {
  return to_json(profile, outlook).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ridgeline::report
