#include "step/changes/change_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "step/changes/arguments.h"

namespace ridgeline::step {

namespace {

using nlohmann::json;

constexpr std::size_t kMaxNames = 64;
constexpr std::size_t kMaxTextBytes = 4096;
constexpr double kMaxFactor = 1e6;
constexpr double kMaxMicroseconds = 1e9;
constexpr std::array<std::string_view, kKindCount> kKindNames = {"operation", "python", "call",          "wait",
                                                                 "kernel",    "copy",   "communication", "mark"};
constexpr std::array<std::string_view, 6> kDoNames = {"scale", "set", "insert", "remove", "move", "priority"};

/// What is wrong, where: thrown and caught in this file.
struct Wrong {
  std::string where;
  std::string what;
};

template <typename Names>
std::string listed(const Names& names) {
  std::string text;
  for (const auto& name : names) {
    text += (text.empty() ? "" : ", ") + std::string(name);
  }
  return text;
}

class Reader {
 public:
  Reader(const json& object, std::string where, std::initializer_list<std::string_view> keys)
      : object_(object), where_(std::move(where)) {
    if (!object.is_object()) {
      throw Wrong{where_, "must be an object"};
    }
    for (const auto& [key, value] : object.items()) {
      if (std::ranges::find(keys, key) == keys.end()) {
        throw Wrong{where_ + "/" + key, "is not known here; known are " + listed(keys)};
      }
    }
  }

  bool has(const char* key) const { return object_.contains(key); }
  std::string at(const char* key) const { return where_ + "/" + key; }
  const json& value(const char* key) const {
    if (!has(key)) {
      throw Wrong{where_, fmt::format("needs \"{}\"", key)};
    }
    return object_.at(key);
  }

  static std::string text_of(const json& value, const std::string& where) {
    if (!value.is_string() || value.get_ref<const std::string&>().size() > kMaxTextBytes) {
      throw Wrong{where, "must be a text of at most 4096 bytes"};
    }
    return value.get<std::string>();
  }
  std::string text(const char* key) const { return text_of(value(key), at(key)); }
  std::string text_or_empty(const char* key) const { return has(key) ? text(key) : ""; }

  std::vector<std::string> texts(const char* key) const {
    if (!has(key)) {
      return {};
    }
    const json& list = value(key);
    if (!list.is_array()) {
      return {text(key)};
    }
    if (list.empty() || list.size() > kMaxNames) {
      throw Wrong{at(key), "must have 1 to 64 texts"};
    }
    std::vector<std::string> found;
    for (std::size_t i = 0; i < list.size(); ++i) {
      found.push_back(text_of(list[i], at(key) + "/" + std::to_string(i)));
    }
    return found;
  }

  std::optional<std::vector<TaskId>> tasks(const char* key) const {
    if (!has(key)) {
      return std::nullopt;
    }
    const auto is_id = [](const json& each) {
      return each.is_number_unsigned() && each.get<std::uint64_t>() < kNoTask;
    };
    const json& list = value(key);
    if (!list.is_array() || list.empty() || list.size() > kMaxListedTasks || !std::ranges::all_of(list, is_id)) {
      throw Wrong{at(key), "must have 1 to 500000 ids of tasks"};
    }
    auto ids = list.get<std::vector<TaskId>>();
    std::ranges::sort(ids);
    return ids;
  }

  template <std::size_t N>
  std::optional<std::size_t> one_of(const char* key, const std::array<std::string_view, N>& names) const {
    if (!has(key)) {
      return std::nullopt;
    }
    const auto found = std::ranges::find(names, text(key));
    if (found == names.end()) {
      throw Wrong{at(key), "must be one of " + listed(names)};
    }
    return static_cast<std::size_t>(found - names.begin());
  }

  /// A number, or three: slowest, middle, fastest.
  Guess guess(const char* key, double most) const {
    const json& given = value(key);
    const json list = given.is_array() ? given : json::array({given, given, given});
    const auto fits = [&](const json& each) {
      return each.is_number() && each.get<double>() >= 0 && each.get<double>() <= most;
    };
    if (list.size() != 3 || !std::ranges::all_of(list, fits)) {
      throw Wrong{at(key), fmt::format("must be a number from 0 to {:.0f}, or three: slowest, middle, fastest", most)};
    }
    return {list[0].get<double>(), list[1].get<double>(), list[2].get<double>()};
  }

 private:
  const json& object_;
  std::string where_;
};

std::array<std::string_view, analysis::kPhaseCount> phase_names() {
  std::array<std::string_view, analysis::kPhaseCount> names;
  std::ranges::copy(analysis::kPhaseNames, names.begin());
  return names;
}

Selector selector_from(const json& object, const std::string& where) {
  const Reader read(object, where, {"name", "notName", "kind", "phase", "module", "line", "tasks"});
  if (object.empty()) {
    throw Wrong{where, "must say what is selected"};
  }
  Selector selector;
  selector.names = read.texts("name");
  selector.not_names = read.texts("notName");
  if (const auto kind = read.one_of("kind", kKindNames)) {
    selector.kind = static_cast<Kind>(*kind);
  }
  if (const auto phase = read.one_of("phase", phase_names())) {
    selector.phase = static_cast<analysis::Phase>(*phase);
  }
  selector.module = read.text_or_empty("module");
  selector.tasks = read.tasks("tasks");
  if (read.has("line")) {
    const std::string line = read.text("line");
    const std::size_t colon = line.rfind(':');
    const auto number = colon == std::string::npos
                            ? std::nullopt
                            : whole_number_of(std::string_view(line).substr(colon + 1), 1, 1'000'000'000);
    if (!number.has_value() || colon == 0) {
      throw Wrong{read.at("line"), "must be FILE:LINE"};
    }
    selector.file = line.substr(0, colon);
    selector.line = static_cast<std::uint32_t>(*number);
  }
  return selector;
}

UserStep step_from(const json& object, const std::string& where) {
  const Reader read(object, where, {"select", "do", "factor", "microseconds", "name", "on", "to", "before", "value"});
  UserStep step;
  step.select = selector_from(read.value("select"), read.at("select"));
  read.value("do");
  step.what = static_cast<UserStep::Do>(*read.one_of("do", kDoNames));
  switch (step.what) {
    case UserStep::Do::kScale:
      step.amount = read.guess("factor", kMaxFactor);
      break;
    case UserStep::Do::kSet:
      step.amount = read.guess("microseconds", kMaxMicroseconds);
      break;
    case UserStep::Do::kInsert:
      step.amount = read.guess("microseconds", kMaxMicroseconds);
      step.name = read.text("name");
      step.resource = read.text_or_empty("on");
      if (read.has("before")) {
        step.before = selector_from(read.value("before"), read.at("before"));
      }
      break;
    case UserStep::Do::kMove:
      step.resource = read.text("to");
      break;
    case UserStep::Do::kPriority: {
      const json& value = read.value("value");
      if (!value.is_number_integer() || std::abs(value.get<double>()) > 1e6) {
        throw Wrong{read.at("value"), "must be a whole number from -1000000 to 1000000"};
      }
      step.priority = value.get<std::int32_t>();
      break;
    }
    case UserStep::Do::kRemove:
      break;
  }
  return step;
}

}  // namespace

base::Result<UserChange> parse_change(std::string_view text) {
  if (text.size() > kMaxChangeFileBytes) {
    return base::error("it is larger than 1 MiB");
  }
  const json document = json::parse(text, nullptr, false);
  if (document.is_discarded()) {
    return base::error("it is not JSON");
  }
  return change_from(document);
}

base::Result<UserChange> change_from(const json& document) {
  try {
    const Reader read(document, "", {"title", "takes", "steps"});
    UserChange change{read.text("title"), read.text_or_empty("takes"), {}};
    const json& steps = read.value("steps");
    if (!steps.is_array() || steps.empty() || steps.size() > kMaxUserSteps) {
      throw Wrong{"/steps", "must have 1 to 256 steps"};
    }
    for (std::size_t i = 0; i < steps.size(); ++i) {
      change.steps.push_back(step_from(steps[i], "/steps/" + std::to_string(i)));
    }
    return change;
  } catch (const Wrong& wrong) {
    return base::error((wrong.where.empty() ? "the file" : wrong.where) + " " + wrong.what);
  }
}

base::Result<std::string> tasks_json(const Graph& graph) {
  if (graph.tasks.size() > kMaxListedTasks) {
    return base::error(fmt::format("the step has {} tasks, and a change written in Python gets {} at most",
                                   graph.tasks.size(), kMaxListedTasks));
  }
  json rows = json::array();
  for (std::size_t id = 0; id < graph.tasks.size(); ++id) {
    const Task& task = graph.tasks[id];
    if (task.kind == Kind::kMark) {
      continue;
    }
    const analysis::Location& line = graph.lines[task.line];
    rows.push_back({{"id", id},
                    {"name", graph.names[task.name]},
                    {"operation", graph.names[graph.operations[task.operation].name]},
                    {"kind", kKindNames[static_cast<std::size_t>(task.kind)]},
                    {"phase", analysis::kPhaseNames[static_cast<std::size_t>(task.phase)]},
                    {"module", graph.modules[task.module]},
                    {"file", line.file},
                    {"line", task.line == 0 ? 0 : line.line},
                    {"resource", graph.resources[task.resource].name},
                    {"microseconds", static_cast<double>(task.duration_ns) / 1e3}});
  }
  return rows.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace ridgeline::step
