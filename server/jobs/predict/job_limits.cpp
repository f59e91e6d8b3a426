#include "jobs/predict/job_limits.h"

#include <cstdint>
#include <string>

namespace ridgeline::jobs {

namespace {

std::string of_sharded_units(bool on_host) {
  return on_host ? "units of FSDP: they are taken to be as large as the buckets; what its own Python takes, how long "
                   "ranks wait for each other at each unit, and padding of shards"
                 : "units of FSDP: they are taken to be as large as the buckets, and the next one's weights to be "
                   "gathered meanwhile; the time of copies to and from shards, and their padding";
}

void add_of_hosts(const JobBasis& basis, std::vector<std::string>& texts) {
  if (!basis.process.replica.ddp_backward_ns.has_value()) {
    texts.emplace_back("what DistributedDataParallel itself takes of the host");
  }
  if (!basis.times.is_measured()) {
    texts.emplace_back("what collectives take of the processor: the file has no [all_reduce]");
  } else if (basis.cores.cores == Cores::kUnknown) {
    texts.emplace_back("cores that communication shares with the ranks: the file has no cores of its machines");
  }
}

}  // namespace

std::vector<std::string> not_modelled(const JobBasis& basis) {
  std::vector<std::string> texts = {"tensor parallel training"};
  if (basis.pipelines) {
    texts.emplace_back(
        "of pipelines: the memory of a stage, weights that two stages share, several pipelines of the same stages, and "
        "what the schedule's own Python takes");
  }
  if (basis.shards) {
    texts.push_back(of_sharded_units(basis.process.on_host));
  }
  if (basis.process.on_host) {
    add_of_hosts(basis, texts);
  } else {
    texts.emplace_back(
        "what collectives and the copies of gradients to buckets take of the device: only the upper end of the step "
        "has collectives that take a fifth of it");
  }
  if (basis.cores.takes_turns) {
    texts.emplace_back(
        "cores that one rank leaves to another while it waits: ranks take turns on cores here, and all are taken to "
        "compute at the same time, as the copies of the step did");
  }
  if (!basis.knows_slow_down && ranks_of_a_machine(basis.cluster) > 1) {
    texts.emplace_back("how ranks on one machine slow each other down");
  }
  texts.emplace_back("data loaders that share a disk or cores, and ranks with less or other data");
  return texts;
}

std::vector<std::string> warnings(const JobBasis& basis) {
  std::vector<std::string> texts;
  const std::int64_t ranks = basis.cluster.ranks();
  if (basis.times.is_measured() && !basis.times.is_of_these_ranks() && ranks > 1) {
    texts.push_back("The all-reduces of the file are of " + std::to_string(basis.cluster.measured_ranks) +
                    " ranks, and the job has " + std::to_string(ranks) +
                    ": what they take may be a quarter of that, or four times as much. Measure them with as many "
                    "ranks.");
  }
  if (basis.process.replica.disturbed) {
    texts.emplace_back(
        "Other processes ran while copies of the step were timed: the prediction is less certain. Ask again on a quiet "
        "machine.");
  }
  if (basis.process.replica.unused_parameters > 0) {
    texts.push_back(std::to_string(basis.process.replica.unused_parameters) +
                    " parameters get no gradient: DistributedDataParallel needs find_unused_parameters=True, and what "
                    "that takes is not predicted");
  }
  return texts;
}

}  // namespace ridgeline::jobs
