#include "jobs/predict/requested_trainings.h"

#include <cstdint>
#include <optional>
#include <string_view>

#include "protocol/shown_text.h"
#include "step/changes/arguments.h"
#include "step/changes/change_table.h"

namespace ridgeline::jobs {

namespace {

constexpr int kMostMicroBatches = 4096;

/// What is asked for, before it is combined.
struct ClusterChanges {
  std::vector<std::optional<std::uint64_t>> bucket_bytes;
  bool no_overlap = false;
  std::vector<int> stages;
  std::vector<int> micro_batches;
};

/// Adds the change of that name, which fits a cluster.
base::Result<void> add_to(ClusterChanges& changes, std::string_view name, std::string_view argument) {
  if (name == "bucket-size") {
    const auto bytes = step::bucket_bytes_of(argument);
    if (!bytes) {
      return bytes.error();
    }
    changes.bucket_bytes.emplace_back(*bytes);
    return {};
  }
  if (name == "zero") {
    const auto stage = step::whole_number_of(argument, 1, 3);
    if (!stage.has_value()) {
      return base::error("expected the stage of ZeRO, 1 to 3; 3 is what FSDP does");
    }
    changes.stages.push_back(*stage);
    return {};
  }
  if (name == "pipeline") {
    const auto count = step::whole_number_of(argument, 1, kMostMicroBatches);
    if (!count.has_value()) {
      return base::error("expected the number of micro-batches, from 1 to 4096");
    }
    changes.micro_batches.push_back(*count);
    return {};
  }
  if (!argument.empty()) {
    return base::error("takes no argument");
  }
  changes.no_overlap = true;
  return {};
}

}  // namespace

base::Result<RequestedTrainings> requested_trainings(const std::vector<std::string>& changes) {
  ClusterChanges wanted;
  for (const std::string& change : changes) {
    const auto kind = step::find_change_of(step::Subject::kCluster, change);
    if (!kind) {
      return kind.error();
    }
    if (const auto added = add_to(wanted, (*kind)->name, step::argument_of(change)); !added) {
      return base::error(protocol::printable(change) + ": " + added.error().message());
    }
  }
  if (wanted.bucket_bytes.empty()) {
    wanted.bucket_bytes.emplace_back();
  }
  RequestedTrainings trainings;
  for (const auto& bytes : wanted.bucket_bytes) {
    trainings.data_parallel.push_back({bytes});
  }
  for (const auto& bytes : wanted.bucket_bytes) {
    if (wanted.no_overlap) {
      trainings.data_parallel.push_back({bytes, false});
    }
  }
  for (const auto& bytes : wanted.bucket_bytes) {
    for (const int stage : wanted.stages) {
      trainings.data_parallel.push_back({bytes, true, stage});
    }
  }
  for (const int micro_batches : wanted.micro_batches) {
    trainings.pipelines.push_back({micro_batches});
  }
  return trainings;
}

}  // namespace ridgeline::jobs
