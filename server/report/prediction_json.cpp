#include "report/rendered_prediction.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "report/json.h"

namespace ridgeline::report {
namespace {

using analysis::Answer;
using Json = nlohmann::ordered_json;

constexpr std::array<const char*, 5> kQuantityNames = {"batchSize", "samplesPerSecond", "bytes", "throughputShare",
                                                       "balance"};

/// As ISO 8601 writes it; `seconds` since 1970.
std::string utc_time(std::int64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  std::array<char, 40> text{};
  ::gmtime_r(&time, &parts);
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

Json refined_json(const analysis::RefinedBatch& refined) {
  const auto measured = [](const analysis::Measured& value) {
    return Json{{"value", value.value}, {"low", value.low}, {"high", value.high}};
  };
  return {{"batchSize", refined.batch_size},
          {"timeMs", measured(refined.ms)},
          {"samplesPerSecond", measured(refined.samples_per_second)},
          {"measuredShare", refined.measured_share},
          {"operations", refined.operations},
          {"operationsMeasured", refined.operations_measured}};
}

}  // namespace

std::string json_prediction(const Answer& answer, const analysis::Profile& profile, const Origin& origin,
                            const std::optional<analysis::RefinedBatch>& refined) {
  const Json json = {
      {"version", 1},
      {"profile",
       {{"id", profile.id.empty() ? Json(nullptr) : Json(profile.id)},
        {"stored", origin.stored},
        {"createdAt", utc_time(origin.created_s)}}},
      {"environment", environment_json(profile.environment)},
      {"entry", entry_json(profile)},
      {"question",
       {{"quantity", kQuantityNames[static_cast<std::size_t>(answer.question.quantity)]},
        {"value", answer.question.value}}},
      {"answer", batch_json(answer.batch)},
      {"obstacle", obstacle_json(answer.obstacle)},
      {"least", batch_json(answer.least)},
      {"refined", refined ? refined_json(*refined) : Json(nullptr)},
      {"limits",
       {{"maxSamplesPerSecond", optional_json(answer.max_samples_per_second)},
        {"capacityBytes", answer.capacity_bytes},
        {"sampledBatchSizes", answer.sampled},
        {"memoryCheckedUpTo", answer.memory_checked_up_to ? Json(*answer.memory_checked_up_to) : Json(nullptr)}}},
      {"failed", skipped_json(answer.failed)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ridgeline::report
