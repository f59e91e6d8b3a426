#include "commands/job_change.h"

#include <limits>
#include <optional>
#include <utility>

#include "cluster/job_changes.h"
#include "whatif/arguments.h"

namespace ridgeline::commands {

namespace {

constexpr double kLeastTimes = 0.001;
constexpr double kMostTimes = 1e9;

std::optional<double> times_of(std::string_view text) { return whatif::number_of(text, kLeastTimes, kMostTimes); }

struct Place {
  std::string_view where;
  double times = 1;
};

/// WHERE=K.
std::optional<Place> place_of(std::string_view argument) {
  const std::size_t equals = argument.rfind('=');
  if (equals == std::string_view::npos) return std::nullopt;
  const auto times = times_of(argument.substr(equals + 1));
  if (!times.has_value()) return std::nullopt;
  return Place{argument.substr(0, equals), *times};
}

base::Result<cluster::RecordedJob> faster_line(cluster::RecordedJob job, std::string_view argument) {
  const auto place = place_of(argument);
  const std::size_t colon = place.has_value() ? place->where.rfind(':') : std::string_view::npos;
  if (colon == std::string_view::npos || colon == 0) return base::error("its argument is FILE:LINE=K: K times as fast");
  const auto line = whatif::whole_number_of(place->where.substr(colon + 1), 1, std::numeric_limits<int>::max());
  if (!line.has_value()) return base::error("its argument is FILE:LINE=K, and a line is a number from 1");
  analysis::Location location;
  location.file = place->where.substr(0, colon);
  location.line = static_cast<decltype(location.line)>(*line);
  return cluster::with_faster_line(std::move(job), location, place->times);
}

base::Result<cluster::RecordedJob> faster_rank(cluster::RecordedJob job, std::string_view argument) {
  const auto place = place_of(argument);
  const auto rank = place.has_value() ? whatif::whole_number_of(place->where, 0, 1'000'000) : std::nullopt;
  if (!rank.has_value()) return base::error("its argument is RANK=K: K times as fast");
  return cluster::with_faster_rank(std::move(job), *rank, place->times);
}

base::Result<cluster::RecordedJob> faster_communication(cluster::RecordedJob job, std::string_view argument) {
  const auto times = times_of(argument);
  if (!times.has_value()) return base::error("its argument is K: K times as fast");
  return cluster::with_faster_communication(std::move(job), *times);
}

}  // namespace

std::string job_change_names() { return "faster:FILE:LINE=K, faster-rank:RANK=K or faster-communication:K"; }

base::Result<cluster::RecordedJob> changed_job(cluster::RecordedJob job, std::string_view change) {
  const std::size_t colon = change.find(':');
  const std::string_view name = change.substr(0, colon);
  const std::string_view argument = colon == std::string_view::npos ? "" : change.substr(colon + 1);
  if (name == "faster") return faster_line(std::move(job), argument);
  if (name == "faster-rank") return faster_rank(std::move(job), argument);
  if (name == "faster-communication") return faster_communication(std::move(job), argument);
  return base::error("a job has no such change: it is " + job_change_names());
}

}  // namespace ridgeline::commands
