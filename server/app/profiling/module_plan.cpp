#include "app/profiling/module_plan.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ridgeline::app {

namespace {

using protocol::Captured;
using protocol::CapturedStep;
using protocol::StepPart;

constexpr std::size_t kMostModules = 1024;
constexpr std::size_t kMostChoices = 4096;  ///< that are kept behind each module; more are thinned out

bool is_inside(std::string_view module, std::string_view outer) {
  return module.starts_with(outer) && (module.size() == outer.size() || module[outer.size()] == '.');
}

/// What a module leaves behind in forward, and how long its operations take.
struct ModuleFigures {
  double kept_bytes = 0;
  double time = 0;
  std::size_t first = 0;  ///< operation; the number of operations: it has none
};

ModuleFigures figures_of(const CapturedStep& step, std::string_view name,
                         const std::function<double(const std::string&)>& time_of) {
  std::vector<bool> inside;
  for (const std::string& module : step.modules) {
    inside.push_back(is_inside(module, name));
  }
  ModuleFigures figures{.first = step.operations.size()};
  std::optional<std::size_t> begin;
  for (std::size_t i = 0; i < step.operations.size(); ++i) {
    const protocol::CapturedOperation& operation = step.operations[i];
    const bool is_of_it = operation.part == StepPart::kForward && inside[static_cast<std::size_t>(operation.module)];
    if (is_of_it) {
      figures.first = std::min(figures.first, i);
      figures.time += operation.key < 0 ? 0 : time_of(step.keys[static_cast<std::size_t>(operation.key)]);
    }
    if (is_of_it && !begin.has_value()) {
      begin = i;
    } else if (!is_of_it && begin.has_value()) {
      figures.kept_bytes += static_cast<double>(step.alive_bytes[i]) - static_cast<double>(step.alive_bytes[*begin]);
      begin.reset();
    }
  }
  return figures;
}

/// Each as a part of their sum; equal parts where that is 0.
std::vector<double> parts_of_whole(std::vector<double> values) {
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  for (double& value : values) {
    value = sum > 0 ? value / sum : 1 / static_cast<double>(values.size());
  }
  return values;
}

/// A choice for the modules so far.
struct Choice {
  double saved = 0;
  double ms = 0;
  std::size_t before = 0;               ///< Choice, of the modules without the last
  std::optional<std::size_t> option{};  ///< of the last module
};

/// Those that no other one is as good as; those that save most first. Of many, the cheapest in each of equal parts of
/// `bytes`.
std::vector<Choice> best_of(std::vector<Choice> choices, double bytes) {
  std::ranges::stable_sort(choices, [](const Choice& a, const Choice& b) {
    return a.saved > b.saved || (a.saved == b.saved && a.ms < b.ms);
  });
  std::vector<Choice> best;
  for (const Choice& choice : choices) {
    if (best.empty() || choice.ms < best.back().ms) {
      best.push_back(choice);
    }
  }
  if (best.size() <= kMostChoices) {
    return best;
  }
  std::vector<Choice> thinned;
  const auto part_of = [&](const Choice& choice) {
    return std::floor(choice.saved / bytes * static_cast<double>(kMostChoices));
  };
  for (const Choice& choice : best) {  // of one part the last is the cheapest
    if (!thinned.empty() && part_of(thinned.back()) == part_of(choice)) {
      thinned.back() = choice;
    } else {
      thinned.push_back(choice);
    }
  }
  return thinned;
}

struct NumberedName {
  std::string_view prefix;
  std::uint64_t number = 0;
};

std::optional<NumberedName> numbered(std::string_view name) {
  const std::size_t last = name.find_last_not_of("0123456789");
  const std::size_t begin = last == std::string_view::npos ? 0 : last + 1;
  const std::string_view digits = name.substr(begin);
  NumberedName found{name.substr(0, begin)};
  const bool is_plain = !digits.empty() && digits.size() <= 6 && (digits.front() != '0' || digits.size() == 1);
  return is_plain && std::from_chars(digits.data(), digits.data() + digits.size(), found.number).ec == std::errc()
             ? std::optional(found)
             : std::nullopt;
}

/// "h.0..3,h.7".
std::string list_of_names(const std::vector<std::string_view>& names) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < names.size();) {
    const auto first = numbered(names[i]);
    std::size_t end = i + 1;
    while (first.has_value() && end < names.size()) {
      const auto next = numbered(names[end]);
      if (!next.has_value() || next->prefix != first->prefix || next->number != first->number + (end - i)) {
        break;
      }
      ++end;
    }
    parts.push_back(end - i > 1 ? fmt::format("{}..{}", names[i], first->number + (end - i) - 1)
                                : std::string(names[i]));
    i = end;
  }
  return fmt::format("{}", fmt::join(parts, ","));
}

}  // namespace

std::vector<PlannedModule> planned_modules(const Captured& unchanged, std::span<const ChangedStep> steps,
                                           const std::function<double(const std::string& key)>& time_of) {
  const auto was_observed = [](const Captured& captured) {
    return captured.step.has_value() && !captured.step->alive_bytes.empty();
  };
  if (steps.empty() || !was_observed(unchanged)) {
    return {};
  }
  const std::vector<std::string>& names = steps.front().captured->changed_modules;
  const bool is_alike = std::ranges::all_of(steps, [&](const ChangedStep& step) {
    return was_observed(*step.captured) && step.captured->changed_modules == names;
  });
  if (!is_alike || names.size() > kMostModules) {
    return {};
  }
  std::vector<std::pair<std::size_t, PlannedModule>> modules;
  std::vector<ModuleFigures> figures;
  std::vector<double> times;
  for (const std::string& name : names) {
    figures.push_back(figures_of(*unchanged.step, name, time_of));
    times.push_back(figures.back().time);
    modules.emplace_back(figures.back().first, PlannedModule{name, {}});
  }
  for (const ChangedStep& step : steps) {
    std::vector<double> saved;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const double kept = figures_of(*step.captured->step, names[i], time_of).kept_bytes;
      saved.push_back(std::max(0.0, figures[i].kept_bytes - kept));
    }
    const std::vector<double> parts = parts_of_whole(step.is_of_copying ? saved : times);
    for (std::size_t i = 0; i < names.size(); ++i) {
      modules[i].second.options.push_back({step.change, saved[i], std::max(0.0, step.more_ms) * parts[i]});
    }
  }
  std::ranges::stable_sort(modules, {}, [](const auto& each) { return each.first; });
  std::vector<PlannedModule> in_order;
  for (auto& [first, module] : modules) {
    in_order.push_back(std::move(module));
  }
  return in_order;
}

std::optional<ModulePlan> cheapest_plan(std::span<const PlannedModule> modules, double bytes) {
  std::vector<std::vector<Choice>> layers = {{Choice{}}};
  // From the last module to the first, and with each option before without: of equal choices the first one stays.
  for (std::size_t i = modules.size(); i-- > 0;) {
    std::vector<Choice> choices;
    const std::vector<Choice>& before = layers.back();
    for (std::size_t option = 0; option <= modules[i].options.size(); ++option) {
      const bool is_left = option == modules[i].options.size();
      for (std::size_t k = 0; k < before.size(); ++k) {
        const double saved = before[k].saved + (is_left ? 0 : modules[i].options[option].saved_bytes);
        const double ms = before[k].ms + (is_left ? 0 : modules[i].options[option].ms);
        choices.push_back(
            {std::min(saved, std::max(bytes, 0.0)), ms, k, is_left ? std::nullopt : std::optional(option)});
      }
    }
    layers.push_back(best_of(std::move(choices), bytes));
  }
  const Choice* choice = &layers.back().front();
  if (choice->saved < bytes) {
    return std::nullopt;
  }
  ModulePlan plan;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    plan.option.push_back(choice->option);
    if (choice->option.has_value()) {
      plan.saved_bytes += modules[i].options[*choice->option].saved_bytes;
      plan.ms += modules[i].options[*choice->option].ms;
    }
    choice = &layers[layers.size() - 2 - i][choice->before];
  }
  return plan;
}

std::vector<ModulePlan> cheaper_by_one(std::span<const PlannedModule> modules, const ModulePlan& plan,
                                       std::size_t most) {
  std::vector<ModulePlan> cheaper;
  const auto add = [&](std::size_t module, std::optional<std::size_t> option) {
    const std::vector<ModuleOption>& options = modules[module].options;
    const ModuleOption& now = options[*plan.option[module]];
    ModulePlan one = plan;
    one.option[module] = option;
    one.saved_bytes += (option.has_value() ? options[*option].saved_bytes : 0) - now.saved_bytes;
    one.ms += (option.has_value() ? options[*option].ms : 0) - now.ms;
    cheaper.push_back(std::move(one));
  };
  for (std::size_t i = modules.size(); i-- > 0;) {
    if (!plan.option[i].has_value()) {
      continue;
    }
    add(i, std::nullopt);
    for (std::size_t option = 0; option < modules[i].options.size(); ++option) {
      if (modules[i].options[option].ms < modules[i].options[*plan.option[i]].ms) {
        add(i, option);
      }
    }
  }
  std::ranges::stable_sort(cheaper, {}, &ModulePlan::ms);
  cheaper.resize(std::min(cheaper.size(), most));
  return cheaper;
}

protocol::ChangeRequest request_of(std::span<const PlannedModule> modules, const ModulePlan& plan) {
  std::map<std::string, std::vector<std::string_view>> by_change;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    if (plan.option[i].has_value()) {
      by_change[modules[i].options[*plan.option[i]].change].push_back(modules[i].name);
    }
  }
  protocol::ChangeRequest request;
  for (const auto& [change, names] : by_change) {
    request.push_back(change + ":" + list_of_names(names));
  }
  return request;
}

}  // namespace ridgeline::app
