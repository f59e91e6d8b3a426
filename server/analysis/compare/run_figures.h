// The figures of one run that are compared, each with the error that it has within the run. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "analysis/values/profile.h"

namespace ridgeline::analysis {

struct RunFigure {
  double ms = 0;
  std::uint64_t bytes = 0;
  std::optional<double> relative_error;  ///< standard error of `ms` within the run, as a part of it
};

/// A line's place in its own profile.
using Place = std::pair<std::string, std::uint32_t>;

struct RunFigures {
  RunFigure step;
  std::array<RunFigure, kPhaseCount> phases{};
  std::map<std::string, RunFigure> modules;  ///< by the names from the breakdown's root down, with dots between
  std::map<Place, RunFigure> lines;
};

/// The error of the step is the largest of that of its interval, half of the A/A noise, and what the recorded
/// iterations differ by from the timed ones, the cost of recording taken out. Above 3 % the machine was not quiet: no
/// figure of the run has an error then, and the run says nothing by itself. A line has besides what its share varies by
/// from one recorded iteration to the next; phases and modules have the variation of the lines in them, weighted by
/// time, as if those varied together.
RunFigures figures_of(const Profile& profile);

}  // namespace ridgeline::analysis
