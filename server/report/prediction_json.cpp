#include "report/prediction.h"

#include <array>
#include <cstddef>
#include <ctime>
#include <optional>
#include <utility>

#include <fmt/chrono.h>
#include <nlohmann/json.hpp>

#include "report/json.h"

namespace ridgeline::report {
namespace {

using analysis::Answer;
using analysis::BatchPrediction;
using Json = nlohmann::ordered_json;

constexpr std::array<const char*, 3> kQuantityNames = {"batchSize", "samplesPerSecond", "bytes"};
constexpr std::array<const char*, 6> kObstacleNames = {nullptr,           "tooFewSizes", "tooFast",
                                                       "tooLittleMemory", "timeUnknown", "memoryUnknown"};

template <typename Value>
Json optional(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json estimate_json(const std::optional<analysis::Estimate>& estimate) {
  if (!estimate) return nullptr;
  Json interval = nullptr;
  if (estimate->interval) interval = {{"low", estimate->interval->low}, {"high", optional(estimate->interval->high)}};
  return {{"value", estimate->value}, {"interval", std::move(interval)}};
}

Json measured_json(const std::optional<analysis::Measurement>& measured) {
  if (!measured) return nullptr;
  return {{"samplesPerSecond", measured->samples_per_second},
          {"timeMs", measured->ms.value},
          {"lowMs", measured->ms.low},
          {"highMs", measured->ms.high},
          {"peakBytes", measured->peak_bytes}};
}

Json batch_json(const std::optional<BatchPrediction>& batch) {
  if (!batch) return nullptr;
  return {{"batchSize", batch->batch_size},
          {"samplesPerSecond", estimate_json(batch->samples_per_second)},
          {"timeMs", estimate_json(batch->ms)},
          {"peakBytes", estimate_json(batch->peak_bytes)},
          {"extrapolated", batch->extrapolated},
          {"fits", optional(batch->fits)},
          {"measured", measured_json(batch->measured)}};
}

Json failed_json(const std::vector<analysis::Skipped>& failed) {
  Json array = Json::array();
  for (const analysis::Skipped& skipped : failed) {
    array.push_back({{"batchSize", skipped.batch_size}, {"kind", skipped.kind}, {"message", skipped.message}});
  }
  return array;
}

}  // namespace

std::string json_prediction(const Answer& answer, const analysis::Profile& profile, const Origin& origin) {
  Json report = to_json(profile);
  const char* obstacle = kObstacleNames[static_cast<std::size_t>(answer.obstacle)];
  const Json json = {
      {"version", 1},
      {"profile",
       {{"id", report["id"]},
        {"stored", origin.stored},
        {"createdAt", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(origin.created_s)))}}},
      {"environment", std::move(report["environment"])},
      {"entry", std::move(report["entry"])},
      {"question",
       {{"quantity", kQuantityNames[static_cast<std::size_t>(answer.question.quantity)]},
        {"value", answer.question.value}}},
      {"answer", batch_json(answer.batch)},
      {"obstacle", obstacle == nullptr ? Json(nullptr) : Json(obstacle)},
      {"least", batch_json(answer.least)},
      {"limits",
       {{"maxSamplesPerSecond", optional(answer.max_samples_per_second)},
        {"capacityBytes", answer.capacity_bytes},
        {"sampledBatchSizes", answer.sampled}}},
      {"failed", failed_json(answer.failed)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ridgeline::report
