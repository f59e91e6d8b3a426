#include "editor/line_figures.h"

#include <algorithm>
#include <map>
#include <utility>

#include "report/labels.h"
#include "report/wording.h"

namespace ridgeline::editor {

namespace {

using source::Definition;

/// What lines of one function cost, most of it once: a line's total has what it calls.
struct Sum {
  double ms = 0;
  analysis::ByPhase by_phase{};
  std::uint64_t peak_bytes = 0;
  int lines = 0;
};

/// Lines of the document with their costs, ascending.
std::vector<std::pair<std::size_t, const analysis::LineCost*>> current_lines(const Snapshot& snapshot) {
  std::vector<std::pair<std::size_t, const analysis::LineCost*>> lines;
  for (const auto& [profiled_line, cost] : snapshot.file()->lines) {
    if (const auto now = snapshot.current_line(profiled_line)) {
      lines.emplace_back(*now, cost);
    }
  }
  std::ranges::sort(lines, {}, &std::pair<std::size_t, const analysis::LineCost*>::first);
  return lines;
}

/// By the function's definition, for the innermost one that each line is in.
std::map<const Definition*, Sum> sums_of(const Snapshot& snapshot) {
  std::map<const Definition*, Sum> sums;
  const std::vector<Definition>& definitions = snapshot.source->definitions;
  std::vector<const Definition*> around;  // outer before inner
  auto next = definitions.begin();
  for (const auto& [line, cost] : current_lines(snapshot)) {
    for (; next != definitions.end() && next->first_line <= line; ++next) {
      std::erase_if(around, [&](const Definition* outer) { return outer->last_line < next->first_line; });
      around.push_back(&*next);
    }
    std::erase_if(around, [line = line](const Definition* outer) { return outer->last_line < line; });
    if (around.empty() || around.back()->kind == source::DefinitionKind::kClass || around.back()->name_line == line) {
      continue;
    }
    Sum& sum = sums[around.back()];
    sum.ms += cost->total_ms;
    sum.peak_bytes += cost->peak_bytes;
    sum.lines += cost->total_ms > 0 ? 1 : 0;
    for (std::size_t i = 0; i < analysis::kPhaseCount; ++i) {
      sum.by_phase[i] += cost->total_by_phase[i];
    }
  }
  return sums;
}

}  // namespace

double shown_part(const analysis::LineCost& line, const analysis::Profile& profile) {
  const double memory = report::ratio(static_cast<double>(line.peak_bytes), static_cast<double>(profile.peak_bytes));
  switch (report::shown_time(line, profile)) {
    case report::ShownTime::kSelf:
      return std::max(memory, report::ratio(line.self_ms, profile.iteration.ms.value));
    case report::ShownTime::kTotal:
      return std::max(memory, report::ratio(line.total_ms, profile.iteration.ms.value));
    case report::ShownTime::kNothing:
      break;
  }
  return memory;
}

std::vector<FunctionCost> function_costs(const Snapshot& snapshot) {
  constexpr double kWholeStep = 0.98;
  const double whole = snapshot.figures()->profile().iteration.ms.value;
  std::vector<FunctionCost> functions;
  for (const auto& [definition, sum] : sums_of(snapshot)) {
    if (sum.lines < 2 || sum.ms >= kWholeStep * whole) {
      continue;
    }
    FunctionCost function{definition->name_line, {}};
    function.cost.self_ms = function.cost.total_ms = sum.ms;
    function.cost.self_by_phase = function.cost.total_by_phase = sum.by_phase;
    function.cost.peak_bytes = sum.peak_bytes;
    functions.push_back(std::move(function));
  }
  std::ranges::sort(functions, {}, &FunctionCost::line);
  return functions;
}

}  // namespace ridgeline::editor
