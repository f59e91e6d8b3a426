#include "editor/settings.h"

#include <chrono>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "analysis/prediction/predictor.h"
#include "app/profiling/code_names.h"

namespace ridgeline::editor {

namespace {

using protocol::Json;

constexpr double kMostSeconds = 24 * 3600;

/// "8GiB", "512 MiB", "1.5GB" or a number of bytes.
std::optional<std::uint64_t> read_bytes(const Json& value) {
  if (value.is_number_integer()) {
    return value >= 0 ? std::optional(value.get<std::uint64_t>()) : std::nullopt;
  }
  if (!value.is_string()) {
    return std::nullopt;
  }
  const auto text = value.get<std::string>();
  std::size_t end = 0;
  double number = 0;
  try {
    number = std::stod(text, &end);
  } catch (const std::exception&) {
    return text.empty() ? std::optional<std::uint64_t>(0) : std::nullopt;
  }
  const std::string unit = text.substr(std::min(text.find_first_not_of(' ', end), text.size()));
  static constexpr std::array<std::pair<std::string_view, double>, 7> kUnits = {
      {{"", 1}, {"B", 1}, {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"MB", 1e6}, {"GB", 1e9}}};
  for (const auto& [name, factor] : kUnits) {
    if (unit == name && number >= 0 && number * factor < 9e18) {
      return static_cast<std::uint64_t>(number * factor);
    }
  }
  return std::nullopt;
}

/// Reads members of one object and collects what is wrong with them.
class Reader {
 public:
  Reader(const Json& object, std::string path, std::vector<std::string>& problems)
      : object_(object), path_(std::move(path)), problems_(problems) {}

  void text(const char* name, std::string& value) const {
    with(name, "a text", [&](const Json& found) {
      if (!found.is_string()) {
        return false;
      }
      value = found.get<std::string>();
      return true;
    });
  }
  void flag(const char* name, bool& value) const {
    with(name, "true or false", [&](const Json& found) {
      if (!found.is_boolean()) {
        return false;
      }
      value = found.get<bool>();
      return true;
    });
  }
  void number(const char* name, double low, double high, double& value) const {
    with(name, "a number in its range", [&](const Json& found) {
      if (!found.is_number() || !(found.get<double>() >= low && found.get<double>() <= high)) {
        return false;
      }
      value = found.get<double>();
      return true;
    });
  }
  template <typename Take>
  void with(const char* name, const char* wanted, Take take) const {
    const auto found = object_.is_object() ? object_.find(name) : object_.end();
    if (found != object_.end() && !found->is_null() && !take(*found)) {
      problems_.push_back("The setting " + path_ + name + " must be " + wanted + ", and is " +
                          found->dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 60) + ".");
    }
  }

 private:
  const Json& object_;
  std::string path_;
  std::vector<std::string>& problems_;
};

/// One of three names.
template <typename Choice>
bool read_choice(const Json& value, const std::array<std::pair<const char*, Choice>, 3>& names, Choice& choice) {
  for (const auto& [name, known] : names) {
    if (value == name) {
      choice = known;
      return true;
    }
  }
  return false;
}

constexpr std::array<std::pair<const char*, report::LabelFormat>, 3> kFormats = {
    {{"time", report::LabelFormat::kTime},
     {"memory", report::LabelFormat::kMemory},
     {"both", report::LabelFormat::kBoth}}};
constexpr std::array<std::pair<const char*, ShownHints>, 3> kShownHints = {
    {{"all", ShownHints::kAll}, {"hot", ShownHints::kHot}, {"none", ShownHints::kNone}}};

/// The section's settings that are in no group.
void read_ungrouped(const Reader& reader, Settings& settings) {
  reader.text("python", settings.python);
  reader.text("projectRoot", settings.project_root);
  reader.with("code", "a list of packages as they are imported, such as [\"transformers\"]", [&](const Json& value) {
    const auto names = code_in(value);
    settings.code = names.value_or(std::vector<std::string>{});
    return names.has_value();
  });
  reader.with("device", "\"\" or \"cpu\"", [&](const Json& value) {
    const std::string device = value.is_string() ? value.get<std::string>() : "?";
    if (!device.empty() && device != "cpu") {
      return false;
    }
    settings.device = device;
    return true;
  });
  reader.with("batchSizes", "a list of at most 16 batch sizes", [&](const Json& value) {
    const auto sizes = batch_sizes_in(value);
    settings.batch_sizes = sizes.value_or(std::vector<int>{});
    return sizes.has_value();
  });
  reader.number("timeBudget", 0.01, kMostSeconds, settings.time_budget_seconds);
  reader.number("timeLimit", 1, kMostSeconds, settings.time_limit_seconds);
  reader.with("memoryLimit", "bytes, or a text such as \"8GiB\"", [&](const Json& value) {
    const auto bytes = read_bytes(value);
    settings.memory_limit_bytes = bytes.value_or(0);
    return bytes.has_value();
  });
  reader.flag("profileOnSave", settings.profile_on_save);
  reader.number("saveTimeBudget", 0.01, kMostSeconds, settings.save_time_budget_seconds);
  reader.number("saveTimeLimit", 1, kMostSeconds, settings.save_time_limit_seconds);
  reader.flag("tryBatchSizes", settings.try_batch_sizes);
}

}  // namespace

std::optional<std::vector<int>> batch_sizes_in(const Json& value) {
  constexpr std::size_t kMostSizes = 16;
  if (!value.is_array() || value.size() > kMostSizes) {
    return std::nullopt;
  }
  std::vector<int> sizes;
  for (const Json& size : value) {
    if (!size.is_number_integer() || size < 1 || size > analysis::kMaxBatchSize) {
      return std::nullopt;
    }
    sizes.push_back(size.get<int>());
  }
  return sizes;
}

std::optional<std::vector<std::string>> texts_in(const Json& value) {
  constexpr std::size_t kMostTexts = 1024;
  if (!value.is_array() || value.size() > kMostTexts) {
    return std::nullopt;
  }
  std::vector<std::string> texts;
  for (const Json& one : value) {
    if (!one.is_string() || one.get_ref<const std::string&>().find('\0') != std::string::npos) {
      return std::nullopt;
    }
    texts.push_back(one.get<std::string>());
  }
  return texts;
}

std::optional<std::vector<std::string>> code_in(const Json& value) {
  if (!value.is_array() || value.size() > protocol::kMaxPackages) {
    return std::nullopt;
  }
  std::vector<std::string> names;
  for (const Json& name : value) {
    if (!name.is_string() || !app::code_name_problem(name.get_ref<const std::string&>()).empty()) {
      return std::nullopt;
    }
    names.push_back(name.get<std::string>());
  }
  return names;
}

app::ProfileRequest Settings::request(const std::string& entry) const {
  app::ProfileRequest request;
  request.entry = entry;
  request.python = python;
  request.project_root = project_root;
  request.code = code;
  request.device = device;
  request.batch_sizes = batch_sizes;
  request.time_budget_seconds = time_budget_seconds;
  request.time_limit = std::chrono::seconds(static_cast<std::int64_t>(std::ceil(time_limit_seconds)));
  request.memory_limit_bytes = memory_limit_bytes;
  return request;
}

Settings read_settings(const Json& section, std::vector<std::string>& problems) {
  Settings settings;
  settings.advice.fill(true);
  read_ungrouped(Reader(section, "ridgeline.", problems), settings);
  const Json none;
  const auto part = [&](const char* name) -> const Json& {
    return section.is_object() && section.contains(name) ? section[name] : none;
  };
  const Reader run(part("run"), "ridgeline.run.", problems);
  run.with("arguments", "a list of texts", [&](const Json& value) {
    const auto arguments = texts_in(value);
    settings.run_arguments = arguments.value_or(std::vector<std::string>{});
    return arguments.has_value();
  });
  run.text("folder", settings.run_folder);
  run.flag("allowWrites", settings.run_allow_writes);
  const Reader hints(part("inlayHints"), "ridgeline.inlayHints.", problems);
  hints.with("show", "\"all\", \"hot\" or \"none\"",
             [&](const Json& value) { return read_choice(value, kShownHints, settings.inlay_hints); });
  hints.number("threshold", 0, 1, settings.inlay_hint_threshold);
  hints.with("format", "\"time\", \"memory\" or \"both\"",
             [&](const Json& value) { return read_choice(value, kFormats, settings.inlay_hint_format); });
  const Reader advice(part("advice"), "ridgeline.advice.", problems);
  for (std::size_t i = 0; i < analysis::kAdviceCount; ++i) {
    advice.flag(analysis::kAdviceCodes[i], settings.advice[i]);
  }
  return settings;
}

}  // namespace ridgeline::editor
