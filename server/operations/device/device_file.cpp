#include "operations/device/device_file.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/json_problem.h"

namespace ridgeline::operations {

namespace {

using nlohmann::json;

constexpr std::array<std::pair<std::string_view, FigureSource>, 3> kSources = {
    {{"measured", FigureSource::kMeasured},
     {"system", FigureSource::kSystem},
     {"data sheet", FigureSource::kDataSheet}}};
constexpr double kMostUnits = 1 << 20;
constexpr double kMost = 1e24;  // of any rate or size
constexpr std::size_t kMaxPeaks = 64;
constexpr std::size_t kMaxLevels = 16;
constexpr std::size_t kMaxText = 256;

/// Thrown within this file: the first thing that is wrong.
struct Problem {
  std::string message;
};

[[noreturn]] void refuse(const std::string& where, std::string_view what) {
  throw Problem{fmt::format("{}: {}", where, what)};
}

const json& field(const json& object, const std::string& where, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) {
    refuse(where.empty() ? key : where + "." + key, "is missing");
  }
  return *found;
}

const json& object_of(const json& value, const std::string& where) {
  if (!value.is_object()) {
    refuse(where, "is no object");
  }
  return value;
}

double number(const json& value, const std::string& where, double least, double most) {
  const double number = value.is_number() ? value.get<double>() : std::nan("");
  if (!(number >= least && number <= most)) {
    refuse(where, fmt::format("write a number from {:g} to {:g}", least, most));
  }
  return number;
}

double positive(const json& value, const std::string& where) { return number(value, where, 1e-6, kMost); }

int count(const json& value, const std::string& where) {
  if (!value.is_number_integer()) {
    refuse(where, "write a whole number");
  }
  return static_cast<int>(number(value, where, 1, kMostUnits));
}

std::string text(const json& value, const std::string& where) {
  if (!value.is_string() || value.get_ref<const std::string&>().empty() ||
      value.get_ref<const std::string&>().size() > kMaxText) {
    refuse(where, fmt::format("write a text of at most {} bytes", kMaxText));
  }
  return value.get<std::string>();
}

FigureSource source_of(const json& value, const std::string& where) {
  const std::string name = text(value, where);
  for (const auto& [known, source] : kSources) {
    if (name == known) {
      return source;
    }
  }
  refuse(where, "write \"measured\", \"system\" or \"data sheet\"");
}

/// A number alone, or {"value": ..., "source": ...}.
Figure figure(const json& value, const std::string& where) {
  if (value.is_number()) {
    return {positive(value, where), FigureSource::kDataSheet};
  }
  object_of(value, where);
  const auto source = value.find("source");
  return {positive(field(value, where, "value"), where + ".value"),
          source == value.end() ? FigureSource::kDataSheet : source_of(*source, where + ".source")};
}

std::optional<Figure> optional_figure(const json& object, const std::string& where, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? std::nullopt : std::optional(figure(*found, where.empty() ? key : where + "." + key));
}

/// A figure, or {"all": ..., "oneUnit": ...}.
Rate rate(const json& value, const std::string& where) {
  if (value.is_object() && value.contains("all")) {
    return {figure(value["all"], where + ".all"), optional_figure(value, where, "oneUnit")};
  }
  return {figure(value, where), {}};
}

MemoryLevel level(const json& value, const std::string& where) {
  object_of(value, where);
  MemoryLevel level;
  level.name = text(field(value, where, "name"), where + ".name");
  level.capacity_bytes = positive(field(value, where, "capacityBytes"), where + ".capacityBytes");
  level.shared_by_units = count(field(value, where, "sharedByUnits"), where + ".sharedByUnits");
  level.transaction_bytes = positive(field(value, where, "transactionBytes"), where + ".transactionBytes");
  if (const auto found = value.find("bytesPerS"); found != value.end()) {
    level.bytes_per_s = rate(*found, where + ".bytesPerS");
  }
  return level;
}

Peak peak(const json& value, const std::string& where) {
  object_of(value, where);
  return {text(field(value, where, "dtype"), where + ".dtype"),
          rate(field(value, where, "flopPerS"), where + ".flopPerS")};
}

const json& list(const json& object, const char* key, std::size_t most) {
  const json& value = field(object, "", key);
  if (!value.is_array() || value.empty() || value.size() > most) {
    refuse(key, fmt::format("write a list of 1 to {}", most));
  }
  return value;
}

Device device(const json& value) {
  object_of(value, "the file");
  Device device;
  device.name = text(field(value, "", "name"), "name");
  const std::string kind = text(field(value, "", "kind"), "kind");
  if (kind != "cpu" && kind != "gpu") {
    refuse("kind", "write \"cpu\" or \"gpu\"");
  }
  device.kind = kind == "cpu" ? DeviceKind::kCpu : DeviceKind::kGpu;
  device.compute_units = count(field(value, "", "computeUnits"), "computeUnits");
  device.vector_bytes = positive(field(value, "", "vectorBytes"), "vectorBytes");
  for (const json& one : list(value, "peaks", kMaxPeaks)) {
    const std::string where = fmt::format("peaks[{}]", device.peaks.size());
    device.peaks.push_back(peak(one, where));
    if (find_peak(device, device.peaks.back().dtype) != &device.peaks.back()) {
      refuse(where, device.peaks.back().dtype + " is there twice; remove one");
    }
  }
  for (const json& one : list(value, "levels", kMaxLevels)) {
    device.levels.push_back(level(one, fmt::format("levels[{}]", device.levels.size())));
  }
  if (!device.levels.back().bytes_per_s) {
    refuse(fmt::format("levels[{}].bytesPerS", device.levels.size() - 1), "the main memory's is needed; add it");
  }
  device.clock_hz = optional_figure(value, "", "clockHz");
  device.memory_capacity_bytes = optional_figure(value, "", "memoryCapacityBytes");
  device.power_w = optional_figure(value, "", "powerW");
  device.launch_ns = optional_figure(value, "", "launchNs");
  device.stream_triad_bytes_per_s = optional_figure(value, "", "streamTriadBytesPerS");
  device.memory_latency_ns = optional_figure(value, "", "memoryLatencyNs");
  return device;
}

json to_json(const Figure& figure) { return {{"value", figure.value}, {"source", source_name(figure.source)}}; }

json to_json(const Rate& rate) {
  json made = {{"all", to_json(rate.all)}};
  if (rate.one_unit) {
    made["oneUnit"] = to_json(*rate.one_unit);
  }
  return made;
}

json to_json(const MemoryLevel& level) {
  json made = {{"name", level.name},
               {"capacityBytes", level.capacity_bytes},
               {"sharedByUnits", level.shared_by_units},
               {"transactionBytes", level.transaction_bytes}};
  if (level.bytes_per_s) {
    made["bytesPerS"] = to_json(*level.bytes_per_s);
  }
  return made;
}

}  // namespace

std::string_view source_name(FigureSource source) {
  for (const auto& [name, known] : kSources) {
    if (known == source) {
      return name;
    }
  }
  return "data sheet";
}

base::Result<Device> parse_device(std::string_view text, const std::string& name) {
  if (text.size() > kMaxDeviceFileBytes) {
    return base::error(name + ": is too large for the description of a device");
  }
  try {
    return device(json::parse(text));
  } catch (const Problem& problem) {
    return base::error(name + ": " + problem.message);
  } catch (const json::parse_error& problem) {
    return base::error(name + ": is not valid JSON: " + base::json_problem(problem.what()));
  } catch (const json::exception&) {  // such as a number that is out of range
    return base::error(name + ": is not a description of a device");
  }
}

std::string device_json(const Device& device) {
  json made = {{"name", device.name},
               {"kind", device.kind == DeviceKind::kCpu ? "cpu" : "gpu"},
               {"computeUnits", device.compute_units},
               {"vectorBytes", device.vector_bytes},
               {"peaks", json::array()},
               {"levels", json::array()}};
  for (const Peak& peak : device.peaks) {
    made["peaks"].push_back({{"dtype", peak.dtype}, {"flopPerS", to_json(peak.flop_per_s)}});
  }
  for (const MemoryLevel& level : device.levels) {
    made["levels"].push_back(to_json(level));
  }
  const std::array<std::pair<const char*, const std::optional<Figure>*>, 6> figures = {
      {{"clockHz", &device.clock_hz},
       {"memoryCapacityBytes", &device.memory_capacity_bytes},
       {"powerW", &device.power_w},
       {"launchNs", &device.launch_ns},
       {"streamTriadBytesPerS", &device.stream_triad_bytes_per_s},
       {"memoryLatencyNs", &device.memory_latency_ns}}};
  for (const auto& [key, value] : figures) {
    if (*value) {
      made[key] = to_json(**value);
    }
  }
  return made.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace ridgeline::operations
