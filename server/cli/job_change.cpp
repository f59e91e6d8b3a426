#include "cli/job_change.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "jobs/optimize/fused_operations.h"
#include "jobs/optimize/job_changes.h"
#include "jobs/optimize/transfer_time.h"
#include "jobs/record/kinds.h"
#include "jobs/replay/like_others.h"
#include "protocol/shown_text.h"
#include "step/changes/arguments.h"

namespace ridgeline::cli {

namespace {

constexpr double kLeastTimes = 0.001;
constexpr double kMostTimes = 1e9;
constexpr int kMostParts = 1024;

std::optional<double> times_of(std::string_view text) { return step::number_of(text, kLeastTimes, kMostTimes); }

struct PlaceTimes {
  std::string_view where;
  double times = 1;
};

/// WHERE=K.
std::optional<PlaceTimes> place_of(std::string_view argument) {
  const std::size_t equals = argument.rfind('=');
  if (equals == std::string_view::npos) {
    return std::nullopt;
  }
  const auto times = times_of(argument.substr(equals + 1));
  if (!times.has_value()) {
    return std::nullopt;
  }
  return PlaceTimes{argument.substr(0, equals), *times};
}

base::Result<jobs::RecordedJob> faster_line(jobs::RecordedJob job, std::string_view argument) {
  const auto place = place_of(argument);
  const std::size_t colon = place.has_value() ? place->where.rfind(':') : std::string_view::npos;
  if (colon == std::string_view::npos || colon == 0) {
    return base::error("its argument is FILE:LINE=K: K times as fast");
  }
  const auto line = step::whole_number_of(place->where.substr(colon + 1), 1, std::numeric_limits<int>::max());
  if (!line.has_value()) {
    return base::error("its argument is FILE:LINE=K, and a line is a number from 1");
  }
  analysis::Location location;
  location.file = place->where.substr(0, colon);
  location.line = static_cast<decltype(location.line)>(*line);
  return jobs::with_faster_line(std::move(job), location, place->times);
}

base::Result<jobs::RecordedJob> faster_rank(jobs::RecordedJob job, std::string_view argument) {
  const auto place = place_of(argument);
  const auto rank = place.has_value() ? step::whole_number_of(place->where, 0, 1'000'000) : std::nullopt;
  if (!rank.has_value()) {
    return base::error("its argument is RANK=K: K times as fast");
  }
  return jobs::with_faster_rank(std::move(job), *rank, place->times);
}

base::Result<jobs::RecordedJob> ranks_like_median(jobs::RecordedJob job, std::string_view argument) {
  if (!argument.empty()) {
    return base::error("it has no argument");
  }
  return jobs::with_ranks_like_median(std::move(job));
}

base::Result<jobs::RecordedJob> rank_like_others(jobs::RecordedJob job, std::string_view argument) {
  const auto rank = step::whole_number_of(argument, 0, 1'000'000);
  if (!rank.has_value()) {
    return base::error("its argument is the number of a rank");
  }
  return jobs::with_rank_like_others(std::move(job), *rank);
}

base::Result<double> times_argument(std::string_view argument) {
  const auto times = times_of(argument);
  if (!times.has_value()) {
    return base::error("its argument is K, a number such as 2");
  }
  return *times;
}

base::Result<jobs::RecordedJob> faster_communication(jobs::RecordedJob job, std::string_view argument) {
  const auto times = times_argument(argument);
  if (!times) {
    return times.error();
  }
  return jobs::with_faster_communication(std::move(job), *times);
}

/// What the recording leaves open.
enum class Assumed : std::uint8_t { kLikely, kLatency, kSharedCores, kFusedIsLongest, kFusedIsAll };

jobs::Unsplit unsplit_of(Assumed assumed) {
  return assumed == Assumed::kLatency ? jobs::Unsplit::kLatency : jobs::Unsplit::kTransfer;
}

base::Result<jobs::RecordedJob> bandwidth(jobs::RecordedJob job, std::string_view argument, Assumed assumed) {
  const auto times = times_argument(argument);
  if (!times) {
    return times.error();
  }
  return jobs::with_bandwidth(std::move(job), *times, unsplit_of(assumed));
}

base::Result<jobs::RecordedJob> compression(jobs::RecordedJob job, std::string_view argument, Assumed assumed) {
  const auto times = times_argument(argument);
  if (!times) {
    return times.error();
  }
  return jobs::with_compression(std::move(job), *times, unsplit_of(assumed));
}

base::Result<jobs::RecordedJob> bucket_size(jobs::RecordedJob job, std::string_view argument, Assumed assumed) {
  const auto bytes = step::bytes_of(argument);
  if (!bytes.has_value() || *bytes < 1) {
    return base::error("its argument is a size such as 25MiB");
  }
  return jobs::with_bucket_size(std::move(job), static_cast<std::uint64_t>(*bytes), unsplit_of(assumed));
}

base::Result<jobs::RecordedJob> bucket_order(jobs::RecordedJob job, std::string_view argument) {
  std::vector<std::size_t> order;
  while (!argument.empty()) {
    const std::size_t comma = std::min(argument.find(','), argument.size());
    const auto place = step::whole_number_of(argument.substr(0, comma), 0, kMostParts * kMostParts);
    if (!place.has_value()) {
      return base::error("its argument is the numbers of the buckets, such as 1,0,2");
    }
    order.push_back(static_cast<std::size_t>(*place));
    argument.remove_prefix(std::min(comma + 1, argument.size()));
  }
  return jobs::with_bucket_order(std::move(job), order);
}

base::Result<jobs::RecordedJob> partition(jobs::RecordedJob job, std::string_view argument, Assumed assumed) {
  const auto parts = step::whole_number_of(argument, 1, kMostParts);
  if (!parts.has_value()) {
    return base::error("its argument is K, a whole number up to 1024");
  }
  return jobs::with_partition(std::move(job), *parts, unsplit_of(assumed));
}

base::Result<jobs::RecordedJob> fuse_pointwise(jobs::RecordedJob job, std::string_view argument, Assumed assumed) {
  if (!argument.empty()) {
    return base::error("it has no argument");
  }
  const double share = assumed == Assumed::kFusedIsLongest ? 0 : assumed == Assumed::kFusedIsAll ? 1 : 0.5;
  return jobs::with_fused_operations(std::move(job), share);
}

base::Result<jobs::RecordedJob> no_overlap(jobs::RecordedJob job, std::string_view argument, Assumed assumed) {
  if (!argument.empty()) {
    return base::error("it has no argument");
  }
  if (assumed == Assumed::kSharedCores) {
    return job;
  }
  return jobs::without_overlap(std::move(job));
}

using Function = base::Result<jobs::RecordedJob> (*)(jobs::RecordedJob, std::string_view, Assumed);

/// Made in the order of kChanges, whatever was asked for first.
struct Change {
  std::string_view name;
  std::string_view argument;
  Function function;
  bool needs_transfer_times = false;
  bool makes_buckets = false;
  std::string_view note{};
};

template <base::Result<jobs::RecordedJob> (*Certain)(jobs::RecordedJob, std::string_view)>
base::Result<jobs::RecordedJob> certain(jobs::RecordedJob job, std::string_view argument, Assumed /*assumed*/) {
  return Certain(std::move(job), argument);
}

constexpr Change kChanges[] = {
    {"faster", "FILE:LINE=K", certain<faster_line>},
    {"faster-rank", "RANK=K", certain<faster_rank>},
    {"ranks-like-median", "", certain<ranks_like_median>},
    {"rank-like-others", "RANK", certain<rank_like_others>},
    {"fuse-pointwise", "", fuse_pointwise, false, false,
     "What fused operations take is not known: the interval is from what the longest of them takes to what all do."},
    {"bucket-size", "SIZE", bucket_size, true, true, "What more or fewer buckets take of the host is not in it."},
    {"bucket-order", "I,J,…", certain<bucket_order>, false, true},
    {"no-overlap", "", no_overlap, false, true,
     "Where communication takes the cores that compute, hiding it saves nothing: the interval begins at the step as it "
     "is."},
    {"partition", "K", partition, true, true,
     "That parts of a bucket are on their way at once, and what they take of the host, is not in it."},
    {"faster-communication", "K", certain<faster_communication>},
    {"bandwidth", "K", bandwidth, true},
    {"compression", "K", compression, true, false,
     "What compressing takes of the processors, and what it does to the training, is not in it."},
};

struct Asked {
  std::size_t place = 0;  ///< of kChanges
  std::string_view argument;
  std::string_view text;
};

base::Result<std::vector<Asked>> asked_of(const std::vector<std::string>& changes) {
  std::vector<Asked> all;
  for (const std::string_view change : changes) {
    const std::size_t colon = change.find(':');
    const auto* found = std::ranges::find(kChanges, change.substr(0, colon), &Change::name);
    if (found == std::end(kChanges)) {
      return base::error(protocol::printable(change) + ": a job has no such change: it is " + job_change_names());
    }
    all.push_back({static_cast<std::size_t>(found - kChanges),
                   colon == std::string_view::npos ? "" : change.substr(colon + 1), change});
  }
  std::ranges::stable_sort(all, {}, &Asked::place);
  return all;
}

base::Result<jobs::RecordedJob> applied(jobs::RecordedJob job, const std::vector<Asked>& changes, Assumed assumed) {
  for (const Asked& one : changes) {
    auto changed = kChanges[one.place].function(std::move(job), one.argument, assumed);
    if (!changed) {
      return base::error(protocol::printable(one.text) + ": " + changed.error().message());
    }
    job = std::move(*changed);
  }
  return job;
}

/// Kinds of which one size was recorded.
std::string unsplit_kinds(const jobs::RecordedJob& job) {
  std::string names;
  for (const auto& [kind, time] : jobs::transfer_times(job, jobs::Unsplit::kTransfer)) {
    if (!time.is_split && time.ns_per_byte > 0) {
      names += (names.empty() ? "" : ", ") + std::string(jobs::kind_name(kind));
    }
  }
  return names;
}

}  // namespace

std::string job_change_names() {
  std::string names;
  for (const Change& change : kChanges) {
    const bool is_last = &change == std::end(kChanges) - 1;
    names += (names.empty() ? "" : is_last ? " or " : ", ") + std::string(change.name);
    if (!change.argument.empty()) {
      names += ":" + std::string(change.argument);
    }
  }
  return names;
}

base::Result<ChangedJob> changed_job(const jobs::RecordedJob& job, std::vector<std::string> changes) {
  const auto asked = asked_of(changes);
  if (!asked) {
    return asked.error();
  }
  std::vector<Assumed> assumptions = {Assumed::kLikely};
  ChangedJob all;
  const auto any = [&](auto matches) {
    return std::ranges::any_of(*asked, [&](const Asked& one) { return matches(kChanges[one.place]); });
  };
  const std::string unsplit =
      any([](const Change& change) { return change.needs_transfer_times; }) ? unsplit_kinds(job) : "";
  if (!unsplit.empty()) {
    assumptions.push_back(Assumed::kLatency);
    all.notes.push_back("Of these, one size was recorded, or all at once: " + unsplit +
                        ". How much of their time is latency is not known, and the interval has all of it and none. "
                        "--network tells it of all-reduces.");
  }
  if (any([](const Change& change) { return change.function == no_overlap; })) {
    assumptions.push_back(Assumed::kSharedCores);
  }
  if (any([](const Change& change) { return change.function == fuse_pointwise; })) {
    assumptions.insert(assumptions.end(), {Assumed::kFusedIsLongest, Assumed::kFusedIsAll});
  }
  auto unchanged = any([](const Change& change) { return change.makes_buckets; })
                       ? jobs::with_recorded_buckets(job)
                       : base::Result<jobs::RecordedJob>(job);
  if (!unchanged) {
    return base::error(protocol::printable(changes.front()) + ": " + unchanged.error().message());
  }
  all.unchanged = std::move(*unchanged);
  for (const Assumed assumed : assumptions) {
    auto changed = applied(job, *asked, assumed);
    if (!changed) {
      return changed.error();
    }
    all.jobs.push_back(std::move(*changed));
  }
  for (const Asked& one : *asked) {
    if (!kChanges[one.place].note.empty()) {
      all.notes.emplace_back(kChanges[one.place].note);
    }
  }
  return all;
}

}  // namespace ridgeline::cli
