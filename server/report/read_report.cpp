#include "report/read_report.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <limits>
#include <stdexcept>

#include <nlohmann/json.hpp>

namespace ridgeline::report {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxSamples = 1024;
constexpr std::size_t kMaxParts = 100'000;
constexpr int kMaxBatchSize = 1 << 24;

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument(what); }

double number(const json& object, const char* name) {
  const json& value = object.at(name);
  if (!value.is_number() || value.get<double>() < 0) refuse(std::string(name) + " is no number from 0 on");
  return value.get<double>();
}

template <typename Integer>
Integer integer(const json& object, const char* name, std::uint64_t least, std::uint64_t most) {
  const json& value = object.at(name);
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() < least || value.get<std::uint64_t>() > most) {
    refuse(std::string(name) + " is no such whole number");
  }
  return value.get<Integer>();
}

int batch_size(const json& object) { return integer<int>(object, "batchSize", 1, kMaxBatchSize); }

const json::array_t& array(const json& object, const char* name) {
  const auto& items = object.at(name).get_ref<const json::array_t&>();
  if (items.size() > kMaxSamples) refuse(std::string(name) + " has too many elements");
  return items;
}

analysis::Environment environment_from(const json& object) {
  return {object.at("python").get<std::string>(),
          object.at("torch").get<std::string>(),
          object.at("device").get<std::string>(),
          object.at("deviceName").get<std::string>(),
          integer<int>(object, "threads", 0, 1U << 20U),
          object.at("inPlaceOf").get<std::string>(),
          number(object, "lowMHz"),
          number(object, "highMHz")};
}

analysis::TimeSample time_sample(const json& object) {
  analysis::TimeSample sample{batch_size(object),
                              {number(object, "timeMs"), number(object, "lowMs"), number(object, "highMs")},
                              integer<int>(object, "iterations", 1, 1U << 30U),
                              integer<int>(object, "rounds", 1, 1U << 30U),
                              number(object, "aaNoise"),
                              {}};
  if (sample.ms.value <= 0 || sample.ms.low > sample.ms.value || sample.ms.high < sample.ms.value) {
    refuse("timeMs lies outside of its interval");
  }
  return sample;
}

double finite(const json& object, const char* name) {
  const json& value = object.at(name);
  if (!value.is_number()) refuse(std::string(name) + " is no number");
  return value.get<double>();
}

std::vector<analysis::Piece> pieces(const json& object, const char* name) {
  std::vector<analysis::Piece> pieces;
  for (const json& piece : array(object, name)) {
    pieces.push_back({integer<int>(piece, "fromBatchSize", 1, std::numeric_limits<int>::max()),
                      finite(piece, "slopeBytes"), finite(piece, "interceptBytes")});
    const std::size_t last = pieces.size() - 1;
    const int least = last == 0 ? 1 : pieces[last - 1].from_batch + 1;
    if (pieces[last].from_batch < least || (last == 0 && pieces[0].from_batch != 1)) {
      refuse(std::string(name) + " does not begin at 1 and ascend");
    }
  }
  return pieces;
}

analysis::PeakPart part(const json& object) {
  const auto& name = object.at("category").get_ref<const std::string&>();
  const auto category = std::ranges::find(analysis::kCategoryNames, name);
  if (category == analysis::kCategoryNames.end()) refuse("category is none");
  analysis::PeakPart part{static_cast<analysis::Category>(category - analysis::kCategoryNames.begin()),
                          {},
                          finite(object, "slopeBytes"),
                          finite(object, "interceptBytes")};
  if (const json& location = object.at("location"); !location.is_null()) {
    part.location = {location.at("file").get<std::string>(),
                     integer<std::uint32_t>(location, "line", 0, std::numeric_limits<std::uint32_t>::max())};
  }
  return part;
}

std::vector<analysis::PeakPart> parts(const json& array) {
  std::vector<analysis::PeakPart> parts;
  for (const json& item : array.get_ref<const json::array_t&>()) {
    if (parts.size() == kMaxParts) refuse("parts has too many elements");
    parts.push_back(part(item));
  }
  return parts;
}

/// What is predicted with; what only explains it is left out.
std::optional<analysis::PeakModel> peak_model(const json& object) {
  if (object.is_null()) return std::nullopt;
  analysis::PeakModel model;
  model.value = pieces(object, "value");
  model.low = pieces(object, "low");
  model.high = pieces(object, "high");
  model.checked = object.at("checked").get<bool>();
  for (const json& piece : array(object, "parts")) {
    model.parts.push_back(parts(piece));
  }
  if (model.parts.size() != model.value.size()) refuse("parts are not those of value");
  if (model.value.empty() || model.low.empty() != model.high.empty()) refuse("peak has no pieces");
  return model;
}

analysis::Profile profile_from(const json& report) {
  if (report.at("version") != 1) refuse("its version is not 1");
  analysis::Profile profile;
  profile.id = report.at("id").get<std::string>();
  profile.environment = environment_from(report.at("environment"));
  profile.entry_path = report.at("entry").at("path").get<std::string>();
  profile.project_root = report.at("entry").at("projectRoot").get<std::string>();
  profile.batch_size = batch_size(report.at("entry"));
  profile.capacity_bytes = integer<std::uint64_t>(report.at("memory"), "capacityBytes", 0, ~std::uint64_t{0});
  for (const json& sample : array(report.at("models").at("time"), "samples")) {
    profile.time_samples.push_back(time_sample(sample));
  }
  for (const json& sample : array(report.at("models").at("memory"), "samples")) {
    profile.memory_samples.push_back(
        {batch_size(sample), integer<std::uint64_t>(sample, "peakBytes", 0, ~std::uint64_t{0})});
  }
  profile.peak_model = peak_model(report.at("models").at("memory").at("peak"));
  if (profile.time_samples.empty() || profile.memory_samples.size() != profile.time_samples.size()) {
    refuse("it has no samples, or not as many of time as of memory");
  }
  for (const json& skipped : array(report, "skipped")) {
    profile.skipped.push_back(
        {batch_size(skipped), skipped.at("kind").get<std::string>(), skipped.at("message").get<std::string>()});
  }
  return profile;
}

}  // namespace

std::optional<analysis::Profile> read_report(std::string_view json_text, std::string& error) {
  try {
    return profile_from(json::parse(json_text));
  } catch (const std::exception& problem) {
    error = problem.what();
    return std::nullopt;
  }
}

}  // namespace ridgeline::report
