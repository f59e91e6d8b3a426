#include "report/read_report.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <limits>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "report/allocator_requests.h"

namespace ridgeline::report {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxSamples = 1024;
constexpr std::size_t kMaxParts = 100'000;
constexpr int kMaxDepth = 256;  // of the breakdown: modules in modules
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

const json::array_t& array(const json& object, const char* name, std::size_t most = kMaxSamples) {
  const auto& items = object.at(name).get_ref<const json::array_t&>();
  if (items.size() > most) refuse(std::string(name) + " has too many elements");
  return items;
}

std::uint64_t unsigned_value(const json& object, const char* name) {
  return integer<std::uint64_t>(object, name, 0, ~std::uint64_t{0});
}

/// Nothing for null.
template <typename Read>
auto optional(const json& object, const char* name, Read read) -> std::optional<decltype(read(object, name))> {
  if (object.at(name).is_null()) return std::nullopt;
  return read(object, name);
}

analysis::ByPhase phases(const json& object) {
  analysis::ByPhase phases{};
  for (std::size_t i = 0; i < phases.size(); ++i) phases[i] = number(object, analysis::kPhaseNames[i]);
  return phases;
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
  analysis::TimeSample sample{
      batch_size(object),
      {number(object, "timeMs"), number(object, "lowMs"), number(object, "highMs")},
      integer<int>(object, "iterations", 1, 1U << 30U),
      integer<int>(object, "rounds", 1, 1U << 30U),
      number(object, "aaNoise"),
      {integer<int>(object.at("outliers"), "count", 0, 1U << 30U), number(object.at("outliers"), "worst")}};
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

std::vector<analysis::Piece> pieces(const json& object, const char* name, const std::string& unit) {
  std::vector<analysis::Piece> pieces;
  for (const json& piece : array(object, name)) {
    pieces.push_back({integer<int>(piece, "fromBatchSize", 1, std::numeric_limits<int>::max()),
                      finite(piece, ("slope" + unit).c_str()), finite(piece, ("intercept" + unit).c_str())});
    const std::size_t last = pieces.size() - 1;
    const int least = last == 0 ? 1 : pieces[last - 1].from_batch + 1;
    if (pieces[last].from_batch < least || (last == 0 && pieces[0].from_batch != 1)) {
      refuse(std::string(name) + " does not begin at 1 and ascend");
    }
  }
  return pieces;
}

analysis::Location location(const json& object, const char* name) {
  const json& place = object.at(name);
  if (place.is_null()) return {};
  return {place.at("file").get<std::string>(),
          integer<std::uint32_t>(place, "line", 0, std::numeric_limits<std::uint32_t>::max())};
}

analysis::PeakPart part(const json& object) {
  const auto& name = object.at("category").get_ref<const std::string&>();
  const auto category = std::ranges::find(analysis::kCategoryNames, name);
  if (category == analysis::kCategoryNames.end()) refuse("category is none");
  return {static_cast<analysis::Category>(category - analysis::kCategoryNames.begin()), location(object, "location"),
          finite(object, "slopeBytes"), finite(object, "interceptBytes")};
}

std::vector<analysis::PeakPart> parts(const json& array) {
  std::vector<analysis::PeakPart> parts;
  for (const json& item : array.get_ref<const json::array_t&>()) {
    if (parts.size() == kMaxParts) refuse("parts has too many elements");
    parts.push_back(part(item));
  }
  return parts;
}

std::optional<analysis::PeakModel> peak_model(const json& object) {
  if (object.is_null()) return std::nullopt;
  analysis::PeakModel model;
  model.value = pieces(object, "value", "Bytes");
  model.low = pieces(object, "low", "Bytes");
  model.high = pieces(object, "high", "Bytes");
  model.checked = object.at("checked").get<bool>();
  model.allocations = integer<int>(object, "allocations", 0, 1U << 30U);
  model.not_linear = integer<int>(object, "notLinear", 0, 1U << 30U);
  for (const json& group : array(object, "largestNotLinear")) {
    model.largest_not_linear.push_back({group.at("operation").get<std::string>(), location(group, "location"),
                                        group.at("bytes").get<std::vector<std::uint64_t>>()});
  }
  for (const json& piece : array(object, "parts")) {
    model.parts.push_back(parts(piece));
  }
  if (model.parts.size() != model.value.size()) refuse("parts are not those of value");
  if (model.value.empty() || model.low.empty() != model.high.empty()) refuse("peak has no pieces");
  return model;
}

std::shared_ptr<const analysis::AllocatorModel> allocator(const json& object,
                                                          const std::vector<analysis::MemorySample>& samples) {
  analysis::AllocatorModel model;
  for (const analysis::MemorySample& sample : samples) {
    if (!model.sizes.empty() && sample.batch_size <= model.sizes.back()) refuse("samples are not by batch size");
    model.sizes.push_back(sample.batch_size);
  }
  if (model.sizes.size() < 2) refuse("allocator has too few samples");
  model.setup.conf = object.at("conf").get<std::string>();
  model.setup.device_bytes = unsigned_value(object, "deviceBytes");
  model.setup.available_bytes = integer<std::uint64_t>(object, "availableBytes", 0, model.setup.device_bytes);
  const auto text = [&](const char* name) -> const std::string& {
    return object.at(name).get_ref<const std::string&>();
  };
  if (!read_requests(text("requests"), model)) refuse("requests are none");
  model.alive = integer<std::size_t>(object, "alive", 0, model.requests.size());
  if (!read_events(text("first"), text("later"), model)) refuse("the allocator's events make no sense");
  model.largest = optional(object, "largestThatFits", [](const json& from, const char* name) {
    return integer<int>(from, name, 1, kMaxBatchSize);
  });
  model.is_bounded = object.at("bounded").get<bool>();
  return std::make_shared<const analysis::AllocatorModel>(std::move(model));
}

analysis::IterationTime iteration(const json& object) {
  return {{number(object, "timeMs"), number(object, "lowMs"), number(object, "highMs")},
          integer<int>(object, "iterations", 0, 1U << 30U),
          integer<int>(object, "warmupIterations", 0, 1U << 30U),
          phases(object.at("byPhaseMs")),
          number(object, "betweenOperationsMs")};
}

/// 0 where the member is absent: there was no device.
double device_ms(const json& object) { return object.contains("deviceMs") ? number(object, "deviceMs") : 0; }

analysis::LineDeviceCost line_device(const json& object) {
  return {number(object, "self"), number(object, "total"), number(object, "copies"), number(object, "hostWaits"),
          phases(object)};
}

analysis::Kernel kernel(const json& object) {
  return {object.at("name").get<std::string>(),
          number(object, "launches"),
          number(object, "timeMs"),
          number(object, "meanMs"),
          number(object, "maxMs"),
          location(object, "location"),
          number(object, "lineMs")};
}

analysis::DeviceTime device(const json& object) {
  analysis::DeviceTime device;
  device.device = integer<std::uint32_t>(object, "index", 0, std::numeric_limits<std::uint32_t>::max());
  device.kernel_ms = number(object, "kernelMs");
  device.copy_ms = number(object, "copyMs");
  device.idle_ms = number(object, "idleMs");
  device.scale = number(object, "scale");
  device.launches = number(object, "launches");
  device.by_phase = phases(object.at("byPhaseMs"));
  for (std::size_t i = 0; i < analysis::kWaitCount; ++i) {
    device.waits[i] = number(object.at("waitsMs"), analysis::kWaitNames[i]);
  }
  for (const json& one : array(object, "kernels", kMaxParts)) {
    device.kernels.push_back(kernel(one));
  }
  device.peak_reserved_bytes = optional(object, "peakReservedBytes", unsigned_value);
  return device;
}

analysis::LineCost line(const json& object) {
  const json& time = object.at("timeMs");
  const json& memory = object.at("memoryBytes");
  analysis::LineCost line;
  line.location = {object.at("file").get<std::string>(),
                   integer<std::uint32_t>(object, "line", 0, std::numeric_limits<std::uint32_t>::max())};
  line.calls = optional(object, "calls", unsigned_value);
  line.self_ms = number(time, "self");
  line.total_ms = number(time, "total");
  line.self_by_phase = phases(time);
  line.self_model = pieces(object, "timeModel", "Ms");
  line.weights_bytes = unsigned_value(memory, "weights");
  line.gradients_bytes = unsigned_value(memory, "gradients");
  line.activations_bytes = unsigned_value(memory, "activations");
  line.peak_bytes = unsigned_value(memory, "atPeak");
  if (object.contains("deviceMs")) line.device = line_device(object.at("deviceMs"));
  return line;
}

/// The breakdown, `depth` levels below its root.
analysis::Node node(const json& object, int depth) {
  if (depth > kMaxDepth) refuse("breakdown is too deep");
  analysis::Node node{object.at("name").get<std::string>(),
                      object.at("type").get<std::string>(),
                      location(object, "location"),
                      location(object, "definition"),
                      unsigned_value(object, "calls"),
                      number(object, "timeMs"),
                      phases(object.at("byPhaseMs")),
                      unsigned_value(object, "bytes"),
                      {},
                      device_ms(object)};
  for (const json& child : array(object, "children", kMaxParts)) {
    node.children.push_back(report::node(child, depth + 1));
  }
  return node;
}

analysis::Estimate estimate(const json& object, const char* name) {
  const json& value = object.at(name);
  analysis::Estimate estimate{finite(value, "value"), std::nullopt};
  if (const json& interval = value.at("interval"); !interval.is_null()) {
    estimate.interval = analysis::Interval{finite(interval, "low"), optional(interval, "high", finite)};
  }
  if (value.contains("certainty")) {
    const auto word = std::ranges::find(analysis::kCertaintyNames, value.at("certainty").get<std::string>());
    if (word == analysis::kCertaintyNames.end()) refuse("certainty is none");
    estimate.certainty = static_cast<analysis::Certainty>(word - analysis::kCertaintyNames.begin());
  }
  return estimate;
}

analysis::Check check(const json& object) {
  const json& predicted = object.at("predicted");
  analysis::Check check{time_sample(object),
                        unsigned_value(object, "peakBytes"),
                        object.at("extrapolated").get<bool>(),
                        optional(predicted, "timeMs", estimate),
                        optional(predicted, "peakBytes", estimate),
                        {},
                        {}};
  if (object.contains("peakReservedBytes")) {
    check.peak_reserved_bytes = unsigned_value(object, "peakReservedBytes");
    check.predicted_reserved_bytes = optional(predicted, "reservedBytes", number);
  }
  if (object.contains("tried")) {
    check.tried = true;
    check.machine_speed = number(object.at("tried"), "machineSpeed");
    if (check.machine_speed <= 0) refuse("machineSpeed is 0");
    check.machine_changed = object.at("tried").at("machineChanged").get<bool>();
  }
  return check;
}

/// Of the user's batch size.
void read_figures(const json& report, analysis::Profile& profile) {
  profile.iteration = iteration(report.at("iteration"));
  if (report.contains("device")) profile.device = device(report.at("device"));
  const json& throughput = report.at("throughput");
  profile.samples_per_second = optional(throughput, "samplesPerSecond", number);
  profile.max_samples_per_second = optional(throughput, "maxSamplesPerSecond", number);
  const json& memory = report.at("memory");
  profile.peak_known = !memory.at("peakBytes").is_null();
  profile.peak_bytes = profile.peak_known ? unsigned_value(memory, "peakBytes") : 0;
  for (std::size_t i = 0; i < analysis::kCategoryCount; ++i) {
    profile.by_category[i] = unsigned_value(memory.at("byCategory"), analysis::kCategoryNames[i]);
  }
  for (const json& one : array(report, "lines", kMaxParts)) {
    profile.lines.push_back(line(one));
  }
  for (const json& other : array(report, "other")) {
    profile.other.push_back({other.at("name").get<std::string>(), number(other, "timeMs"),
                             unsigned_value(other, "bytes"), pieces(other, "timeModel", "Ms"), device_ms(other)});
  }
  for (const json& unused : array(report, "unusedGradients")) {
    profile.unused_gradients.push_back({location(unused, "location"), unused.at("parameter").get<std::string>(),
                                        integer<int>(unused, "parameters", 1, 1U << 30U),
                                        unsigned_value(unused, "bytes")});
  }
  const json& closure = report.at("closure");
  profile.scale = number(closure, "scale");
  profile.user_line_share = number(closure, "userLineShare");
  profile.recording_overhead = finite(closure, "recordingOverhead");
  profile.recorded_iterations = integer<int>(closure, "recordedIterations", 0, 1U << 30U);
  profile.breakdown = node(report.at("breakdown"), 0);
}

analysis::Profile profile_from(const json& report) {
  if (report.at("version") != 1) refuse("its version is not 1");
  analysis::Profile profile;
  profile.id = report.at("id").get<std::string>();
  profile.environment = environment_from(report.at("environment"));
  profile.entry_path = report.at("entry").at("path").get<std::string>();
  profile.project_root = report.at("entry").at("projectRoot").get<std::string>();
  profile.batch_size_known = !report.at("entry").at("batchSize").is_null();
  profile.batch_size = profile.batch_size_known ? batch_size(report.at("entry")) : 1;
  profile.capacity_bytes = unsigned_value(report.at("memory"), "capacityBytes");
  read_figures(report, profile);
  for (const json& sample : array(report.at("models").at("time"), "samples")) {
    profile.time_samples.push_back(time_sample(sample));
  }
  if (report.at("models").at("time").contains("regimes")) {
    for (const json& regime : array(report.at("models").at("time"), "regimes")) {
      profile.regimes.push_back(
          {integer<int>(regime, "fromBatchSize", 1, std::numeric_limits<int>::max()), number(regime, "mostMs")});
    }
  }
  for (const json& sample : array(report.at("models").at("memory"), "samples")) {
    profile.memory_samples.push_back({batch_size(sample), unsigned_value(sample, "peakBytes")});
  }
  const json& memory = report.at("models").at("memory");
  profile.peak_model = peak_model(memory.at("peak"));
  if (memory.contains("allocator")) profile.allocator = allocator(memory.at("allocator"), profile.memory_samples);
  const bool has_samples = !profile.memory_samples.empty() || !profile.batch_size_known;
  if (!has_samples || !std::ranges::all_of(profile.memory_samples, [&](const analysis::MemorySample& sample) {
        return std::ranges::find(profile.time_samples, sample.batch_size, &analysis::TimeSample::batch_size) !=
               profile.time_samples.end();
      })) {
    refuse("it has no samples, or some of memory without a time");
  }
  for (const json& skipped : array(report, "skipped")) {
    const auto kind = protocol::failure_kind_named(skipped.at("kind").get<std::string>());
    if (!kind) refuse("a batch size was skipped for a reason that is none");
    profile.skipped.push_back({batch_size(skipped), *kind, skipped.at("message").get<std::string>()});
  }
  for (const json& checked : array(report, "checks")) {
    profile.checks.push_back(check(checked));
  }
  for (const json& warning : array(report, "warnings")) {
    profile.warnings.push_back(warning.get<std::string>());
  }
  profile.aa_noise = number(report.at("models").at("time"), "aaNoise");
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
