#include "jobs/optimize/requested_changes.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "jobs/optimize/fused_operations.h"
#include "jobs/optimize/job_changes.h"
#include "jobs/optimize/sharded_step.h"
#include "jobs/optimize/transfer_time.h"
#include "jobs/record/kinds.h"
#include "jobs/replay/like_others.h"
#include "protocol/shown_text.h"
#include "step/changes/arguments.h"
#include "step/changes/change_table.h"

namespace ridgeline::jobs {

namespace {

constexpr double kLeastFactor = 0.001;
constexpr double kMostFactor = 1e9;
constexpr int kMostParts = 1024;

std::optional<double> factor_of(std::string_view text) { return step::number_of(text, kLeastFactor, kMostFactor); }

struct TargetFactor {
  std::string_view target;
  double factor = 1;
};

/// TARGET=K.
std::optional<TargetFactor> target_factor_of(std::string_view argument) {
  const step::ArgumentAndValue parts = step::split_value(argument);
  const auto factor = parts.value.has_value() ? factor_of(*parts.value) : std::nullopt;
  return factor.has_value() ? std::optional(TargetFactor{parts.argument, *factor}) : std::nullopt;
}

base::Result<RecordedJob> faster_line(RecordedJob job, std::string_view argument) {
  const auto parsed = target_factor_of(argument);
  const std::size_t colon = parsed.has_value() ? parsed->target.rfind(':') : std::string_view::npos;
  if (colon == std::string_view::npos || colon == 0) {
    return base::error("expected FILE:LINE=K, to make it K times as fast");
  }
  const auto line = step::whole_number_of(parsed->target.substr(colon + 1), 1, std::numeric_limits<int>::max());
  if (!line.has_value()) {
    return base::error("expected FILE:LINE=K, and a line is a number from 1");
  }
  analysis::Location location;
  location.file = parsed->target.substr(0, colon);
  location.line = static_cast<decltype(location.line)>(*line);
  return with_faster_line(std::move(job), location, parsed->factor);
}

base::Result<RecordedJob> faster_rank(RecordedJob job, std::string_view argument) {
  const auto parsed = target_factor_of(argument);
  const auto rank = parsed.has_value() ? step::whole_number_of(parsed->target, 0, 1'000'000) : std::nullopt;
  if (!rank.has_value()) {
    return base::error("expected RANK=K, to make it K times as fast");
  }
  return with_faster_rank(std::move(job), *rank, parsed->factor);
}

base::Result<RecordedJob> ranks_like_median(RecordedJob job, std::string_view argument) {
  if (!argument.empty()) {
    return base::error("takes no argument");
  }
  return with_ranks_like_median(std::move(job));
}

base::Result<RecordedJob> rank_like_others(RecordedJob job, std::string_view argument) {
  const auto rank = step::whole_number_of(argument, 0, 1'000'000);
  if (!rank.has_value()) {
    return base::error("expected the number of a rank");
  }
  return with_rank_like_others(std::move(job), *rank);
}

base::Result<double> factor_argument(std::string_view argument) {
  const auto factor = factor_of(argument);
  if (!factor.has_value()) {
    return base::error("expected K, a number such as 2");
  }
  return *factor;
}

base::Result<RecordedJob> faster_communication(RecordedJob job, std::string_view argument) {
  const auto factor = factor_argument(argument);
  if (!factor) {
    return factor.error();
  }
  return with_faster_communication(std::move(job), *factor);
}

/// What the recording leaves open.
enum class Assumption : std::uint8_t {
  kLikely,
  kLatency,
  kSharedCores,
  kFusedIsLongest,
  kFusedIsAll,
  kShardsSlowly,
  kShardsFast
};

TransferAssumption transfer_assumption_of(Assumption assumption) {
  return assumption == Assumption::kLatency ? TransferAssumption::kLatency : TransferAssumption::kTransfer;
}

base::Result<RecordedJob> bandwidth(RecordedJob job, std::string_view argument, Assumption assumption) {
  const auto factor = factor_argument(argument);
  if (!factor) {
    return factor.error();
  }
  return with_bandwidth(std::move(job), *factor, transfer_assumption_of(assumption));
}

base::Result<RecordedJob> compression(RecordedJob job, std::string_view argument, Assumption assumption) {
  const auto factor = factor_argument(argument);
  if (!factor) {
    return factor.error();
  }
  return with_compression(std::move(job), *factor, transfer_assumption_of(assumption));
}

base::Result<RecordedJob> bucket_size(RecordedJob job, std::string_view argument, Assumption assumption) {
  const auto bytes = step::bucket_bytes_of(argument);
  if (!bytes) {
    return bytes.error();
  }
  return with_bucket_size(std::move(job), *bytes, transfer_assumption_of(assumption));
}

base::Result<int> sharding_stage(std::string_view argument) {
  const auto stage = step::whole_number_of(argument, 1, 2);
  if (!stage.has_value()) {
    return base::error(
        "expected the stage of ZeRO, 1 or 2; `ridgeline job predict` predicts stage 3, from one process");
  }
  return *stage;
}

base::Result<RecordedJob> sharding(RecordedJob job, std::string_view argument, Assumption assumption) {
  const auto stage = sharding_stage(argument);
  if (!stage) {
    return stage.error();
  }
  const step::Bound bound = assumption == Assumption::kShardsSlowly ? step::Bound::kPessimistic
                            : assumption == Assumption::kShardsFast ? step::Bound::kOptimistic
                                                                    : step::Bound::kMiddle;
  return with_sharding(std::move(job), *stage, bound);
}

base::Result<RecordedJob> bucket_order(RecordedJob job, std::string_view argument) {
  std::vector<std::size_t> order;
  while (!argument.empty()) {
    const std::size_t comma = std::min(argument.find(','), argument.size());
    const auto place = step::whole_number_of(argument.substr(0, comma), 0, kMostParts * kMostParts);
    if (!place.has_value()) {
      return base::error("expected the numbers of the buckets, such as 1,0,2");
    }
    order.push_back(static_cast<std::size_t>(*place));
    argument.remove_prefix(std::min(comma + 1, argument.size()));
  }
  return with_bucket_order(std::move(job), order);
}

base::Result<RecordedJob> partition(RecordedJob job, std::string_view argument, Assumption assumption) {
  const auto parts = step::whole_number_of(argument, 1, kMostParts);
  if (!parts.has_value()) {
    return base::error("expected K, a whole number up to 1024");
  }
  return with_partition(std::move(job), *parts, transfer_assumption_of(assumption));
}

base::Result<RecordedJob> fuse_pointwise(RecordedJob job, std::string_view argument, Assumption assumption) {
  if (!argument.empty()) {
    return base::error("takes no argument");
  }
  const double share = assumption == Assumption::kFusedIsLongest ? 0 : assumption == Assumption::kFusedIsAll ? 1 : 0.5;
  return with_fused_operations(std::move(job), share);
}

base::Result<RecordedJob> no_overlap(RecordedJob job, std::string_view argument, Assumption assumption) {
  if (!argument.empty()) {
    return base::error("takes no argument");
  }
  if (assumption == Assumption::kSharedCores) {
    return job;
  }
  return without_overlap(std::move(job));
}

using Function = base::Result<RecordedJob> (*)(RecordedJob, std::string_view, Assumption);

/// Of the row of that name in the table of changes. Made in the order of kChanges, whatever was asked for first.
struct JobChange {
  std::string_view name;
  Function function;
  bool needs_transfer_times = false;
  bool makes_buckets = false;
  std::string_view note{};
};

template <base::Result<RecordedJob> (*Change)(RecordedJob, std::string_view)>
base::Result<RecordedJob> ignoring_assumption(RecordedJob job, std::string_view argument, Assumption /*assumption*/) {
  return Change(std::move(job), argument);
}

constexpr JobChange kChanges[] = {
    {"faster", ignoring_assumption<faster_line>},
    {"faster-rank", ignoring_assumption<faster_rank>},
    {"ranks-like-median", ignoring_assumption<ranks_like_median>},
    {"rank-like-others", ignoring_assumption<rank_like_others>},
    {"fuse-pointwise", fuse_pointwise, false, false,
     "What fused operations take is not known: the interval is from what the longest of them takes to what all do."},
    {"bucket-size", bucket_size, true, true, "The host time of more or fewer buckets is not modelled."},
    {"bucket-order", ignoring_assumption<bucket_order>, false, true},
    {"no-overlap", no_overlap, false, true,
     "Where communication takes the cores that compute, hiding it saves nothing: the interval begins at the step as it "
     "is."},
    {"partition", partition, true, true,
     "Concurrent transfers of the parts of a bucket, and their host time, are not modelled."},
    {"faster-communication", ignoring_assumption<faster_communication>},
    {"bandwidth", bandwidth, true},
    {"compression", compression, true, false,
     "The processor time of compression, and its effect on the training, are not modelled."},
    {"zero", sharding, false, false,
     "The optimizer takes its share of the time, at the slow end of the interval all of it. Copies to and from shards "
     "are not in it."},
};

struct RequestedChange {
  const JobChange* change;
  std::string_view argument;
  std::string_view request;
};

base::Result<std::vector<RequestedChange>> requested_changes(const std::vector<std::string>& requests) {
  std::vector<RequestedChange> all;
  for (const std::string_view request : requests) {
    const auto kind = step::find_change_of(step::Subject::kJob, request);
    if (!kind) {
      return kind.error();
    }
    const auto* found = std::ranges::find(kChanges, (*kind)->name, &JobChange::name);
    all.push_back({found, step::argument_of(request), request});
  }
  std::ranges::stable_sort(all, {}, &RequestedChange::change);
  return all;
}

base::Error error_of(std::string_view request, const base::Error& problem) {
  return base::error(protocol::printable(request) + ": " + problem.message());
}

base::Result<RecordedJob> applied(RecordedJob job, const std::vector<RequestedChange>& changes, Assumption assumption) {
  for (const RequestedChange& one : changes) {
    auto changed = one.change->function(std::move(job), one.argument, assumption);
    if (!changed) {
      return error_of(one.request, changed.error());
    }
    job = std::move(*changed);
  }
  return job;
}

/// Kinds of which one size was recorded.
std::string unsplit_kinds(const RecordedJob& job) {
  std::string names;
  for (const auto& [kind, time] : transfer_times(job, TransferAssumption::kTransfer)) {
    if (!time.is_split && time.ns_per_byte > 0) {
      names += (names.empty() ? "" : ", ") + std::string(kind_name(kind));
    }
  }
  return names;
}

/// Searches also with the change of that name, which fits a search.
base::Result<void> add_to_space(StrategySpace& space, std::string_view name, std::string_view argument) {
  const auto add = [](auto& values, const auto& value) -> base::Result<void> {
    if (!value) {
      return value.error();
    }
    values.push_back(*value);
    return {};
  };
  if (name == "bucket-size") {
    return add(space.bucket_bytes, step::bucket_bytes_of(argument));
  }
  if (name == "accumulate") {
    const auto count = step::whole_number_of(argument, 2, kMostParts);
    return add(space.accumulate, count.has_value() ? base::Result<int>(*count)
                                                   : base::error("expected K, a whole number from 2 to 1024"));
  }
  if (name == "compression") {
    const auto times = step::number_of(argument, 1, kMostParts);
    return add(space.compression,
               times.has_value() ? base::Result<double>(*times) : base::error("expected K, a number from 1 to 1024"));
  }
  if (name == "zero") {
    return add(space.sharding, sharding_stage(argument));
  }
  if (!argument.empty()) {
    return base::error("takes no argument");
  }
  space.fuse = true;  // fuse-pointwise
  return {};
}

}  // namespace

base::Result<ChangedJob> changed_job(const RecordedJob& job, const std::vector<std::string>& changes) {
  const auto requested = requested_changes(changes);
  if (!requested) {
    return requested.error();
  }
  std::vector<Assumption> assumptions = {Assumption::kLikely};
  ChangedJob all;
  const auto any = [&](auto matches) {
    return std::ranges::any_of(*requested, [&](const RequestedChange& one) { return matches(*one.change); });
  };
  const std::string unsplit =
      any([](const JobChange& change) { return change.needs_transfer_times; }) ? unsplit_kinds(job) : "";
  if (!unsplit.empty()) {
    assumptions.push_back(Assumption::kLatency);
    all.notes.push_back("Recorded at one size only, or all at the same time: " + unsplit +
                        ". Their latency cannot be told from their bandwidth, so the interval covers both extremes. "
                        "For all-reduces, --network tells them apart.");
  }
  if (any([](const JobChange& change) { return change.function == no_overlap; })) {
    assumptions.push_back(Assumption::kSharedCores);
  }
  if (any([](const JobChange& change) { return change.function == fuse_pointwise; })) {
    assumptions.insert(assumptions.end(), {Assumption::kFusedIsLongest, Assumption::kFusedIsAll});
  }
  if (any([](const JobChange& change) { return change.function == sharding; })) {
    assumptions.insert(assumptions.end(), {Assumption::kShardsSlowly, Assumption::kShardsFast});
  }
  auto unchanged = any([](const JobChange& change) { return change.makes_buckets; }) ? with_recorded_buckets(job)
                                                                                     : base::Result<RecordedJob>(job);
  if (!unchanged) {
    return error_of(changes.front(), unchanged.error());
  }
  all.unchanged = std::move(*unchanged);
  for (const Assumption assumption : assumptions) {
    auto changed = applied(job, *requested, assumption);
    if (!changed) {
      return changed.error();
    }
    all.jobs.push_back(std::move(*changed));
  }
  for (const RequestedChange& one : *requested) {
    if (!one.change->note.empty()) {
      all.notes.emplace_back(one.change->note);
    }
  }
  return all;
}

StrategySpace usual_space() {
  constexpr std::uint64_t kMiB = 1U << 20U;
  return {{kMiB / 4, kMiB / 2, kMiB, 2 * kMiB, 4 * kMiB, 8 * kMiB, 16 * kMiB, 25 * kMiB, 50 * kMiB, 100 * kMiB,
           200 * kMiB, 400 * kMiB},
          {},
          {}};
}

base::Result<StrategySpace> space_of(const std::vector<std::string>& changes) {
  StrategySpace space;
  for (const std::string& change : changes) {
    const auto kind = step::find_change_of(step::Subject::kSearch, change);
    if (!kind) {
      return kind.error();
    }
    if (const auto added = add_to_space(space, (*kind)->name, step::argument_of(change)); !added) {
      return error_of(change, added.error());
    }
  }
  if (space.bucket_bytes.empty()) {
    space.bucket_bytes = usual_space().bucket_bytes;
  }
  return space;
}

}  // namespace ridgeline::jobs
