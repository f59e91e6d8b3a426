#include "app/optimize_job.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "app/change_requests.h"
#include "app/jobs/changed_steps.h"
#include "app/jobs/job_files.h"
#include "app/jobs/job_replay.h"
#include "app/python_changes.h"
#include "app/strategy_edits.h"
#include "base/file.h"
#include "jobs/clocks/one_clock.h"
#include "jobs/optimize/fused_operations.h"
#include "jobs/optimize/job_changes.h"
#include "jobs/optimize/requested_changes.h"
#include "jobs/optimize/strategy_memory.h"
#include "jobs/optimize/transfer_time.h"
#include "jobs/predict/recomputation.h"
#include "report/units.h"
#include "step/changes/change_file.h"
#include "worker/interpreter.h"

namespace ridgeline::app {

namespace {

using Clock = std::chrono::steady_clock;
using jobs::Job;

constexpr std::uintmax_t kMostSourceBytes = std::uintmax_t{16} << 20U;

base::Error cannot(const base::Error& problem) {
  return base::error("The job cannot be optimised: " + problem.message() + ".");
}

/// Those that call the all-reduces of buckets: DistributedDataParallel is likely to be constructed there.
std::vector<std::string> files_of(const Job& job) {
  std::vector<std::string> files;
  for (const jobs::Collective& one : job.ranks.front().record.collectives) {
    if (one.bucket >= 0 && std::ranges::find(files, one.file) == files.end()) {
      files.push_back(one.file);
    }
  }
  return files;
}

/// Parts of a bucket are never faster.
std::string partition_note(const jobs::RecordedJob& graph) {
  const auto times = jobs::transfer_times(graph, jobs::TransferAssumption::kTransfer);
  const auto all_reduce = times.find(jobs::CollectiveKind::kAllReduce);
  const double ms = all_reduce == times.end() ? 0 : all_reduce->second.latency_ns / 1e6;
  return fmt::format(
      "Buckets are not sent in parts: of each all-reduce {} are latency, which every part would have again, and none "
      "would begin sooner.",
      report::duration(ms));
}

std::vector<std::string> notes_of(const analysis::OptimizedJob& job, const jobs::RecordedJob& graph) {
  std::vector<std::string> notes;
  const auto any = [&](auto matches) { return std::ranges::any_of(job.strategies, matches); };
  if (any([](const analysis::StrategyStep& one) { return one.accumulate > 1; })) {
    notes.emplace_back(
        "Several micro-batches train with a batch that is larger by their number, which changes the training.");
  }
  if (any([](const analysis::StrategyStep& one) { return one.compression > 1; })) {
    notes.emplace_back("The processor time of compression, and its effect on the training, are not modelled.");
  }
  notes.emplace_back(
      "Not modelled: cores that ranks and their communication share, and what buckets take of the host.");
  if (any([](const analysis::StrategyStep& one) { return !one.recompute.modules.empty(); })) {
    notes.emplace_back(
        "The peak with recomputation is predicted from the blocks that forward kept, its time from forward's: what "
        "torch.utils.checkpoint itself takes, and what the allocator rounds, is not in it.");
  }
  if (any([](const analysis::StrategyStep& one) { return one.fuse; })) {
    notes.emplace_back(
        "What fused operations take is not known: the interval is from what the longest of them takes to what all do, "
        "the prediction is between. Whether they work on the same tensors was not recorded.");
  }
  if (any([](const analysis::StrategyStep& one) { return one.sharding > 0; })) {
    notes.emplace_back(
        "Sharding: the optimizer takes its share of the time, at the slow end of the interval all of it; weights are "
        "gathered behind it, in half of the time of an all-reduce. Copies to and from shards are not in it.");
  }
  if (any([](const analysis::StrategyStep& one) { return !one.own.empty(); })) {
    notes.emplace_back(
        "What the changes of your own do to the peak is not modelled: it is that of the same strategy without them.");
  }
  notes.push_back(partition_note(graph));
  notes.emplace_back(
      "Other orders of the buckets are not searched: none is faster than that in which gradients are ready, as the end "
      "of backward waits for all of them.");
  notes.emplace_back(
      "Not modelled: stage 3 of ZeRO, as the recording does not tell which weights forward and backward would wait "
      "for. `ridgeline job predict --change zero:3` predicts it from one process.");
  return notes;
}

analysis::StrategyStep step_of(const jobs::ReplayedStrategy& one, const jobs::StrategyMemory& memory,
                               const jobs::StrategySpace& space) {
  const jobs::Strategy& strategy = one.strategy;
  analysis::StrategyStep step{.bucket_bytes = strategy.bucket_bytes,
                              .compression = strategy.compression,
                              .accumulate = strategy.accumulate,
                              .fuse = strategy.fuse,
                              .sharding = strategy.sharding,
                              .step_ms = one.step.step_ms,
                              .speed_up = one.step.speed_up,
                              .peak_bytes = memory.peak_of(strategy)};
  for (const jobs::Recomputation& other : memory.recomputations) {
    if (other.modules == strategy.recompute) {
      step.recompute = {other.type, other.of, other.modules};
    }
  }
  for (const std::size_t own : strategy.own) {
    const step::UserChange& change = space.own[own].front();
    step.own.push_back({change.title, change.takes});
  }
  return step;
}

/// Those that are searched: where the job as it is does not fit, those with which it does.
std::vector<jobs::Recomputation> recomputations_of(const Job& job, const std::vector<recording::Recording>& recordings,
                                                   const jobs::RecordedJob& graph, std::uint64_t peak,
                                                   std::optional<std::uint64_t> limit) {
  if (!limit.has_value() || peak <= *limit) {
    return {};
  }
  auto fitting = jobs::fitting_recomputations(recordings, job.scope, *limit);
  std::erase_if(fitting, [&](const jobs::Recomputation& one) { return !jobs::with_recomputation(graph, one.modules); });
  return fitting;
}

/// Whether operations are to be fused; a warning where there are none.
bool can_fuse(const jobs::RecordedJob& graph, std::vector<std::string>& warnings) {
  const auto fused = jobs::with_fused_operations(graph, 1);
  if (!fused) {
    warnings.push_back("Nothing is fused: " + fused.error().message() + ".");
  }
  return static_cast<bool>(fused);
}

/// Each file's change, for each rank: one in Python is run with the tasks of each.
base::Result<std::vector<std::vector<step::UserChange>>> own_changes(const jobs::RecordedJob& graph,
                                                                     const OptimizeQuestion& question) {
  const std::vector<std::string>& files = question.change_files;
  std::vector<std::vector<step::UserChange>> changes(files.size());
  if (files.empty()) {
    return changes;
  }
  const auto wanted = wanted_changes(step::Subject::kSearch, {}, files, {});
  if (!wanted) {
    return wanted.error();
  }
  const bool runs = std::ranges::any_of(files, is_python_change);
  const std::string python = runs ? worker::find_interpreter_here(question.python).path : "";
  for (const jobs::EqualRanks& rank : graph.ranks) {
    WantedChanges of_rank = *wanted;
    if (const auto made = make_python_changes(of_rank, rank.graph, python); !made) {
      return made.error();
    }
    for (std::size_t i = 0; i < files.size(); ++i) {
      changes[i].push_back(of_rank.user_changes.at(files[i]));
    }
  }
  return changes;
}

/// A recorded job, and what its search needs.
struct Prepared {
  std::vector<recording::Recording> recordings;
  jobs::RecordedJob graph;
  analysis::JobReplay replay;
};

base::Result<Prepared> prepared(const Job& job, const OptimizeQuestion& question) {
  auto aligned = jobs::on_one_clock(records_of(job));
  if (!aligned) {
    return aligned.error();
  }
  auto recordings = recordings_of(job);
  if (!recordings) {
    return recordings.error();
  }
  auto graph = job_graph(job, aligned->records, *recordings, question.network);
  if (!graph) {
    return graph.error();
  }
  const auto replay = replayed(*graph);
  if (!replay) {
    return replay.error();
  }
  return Prepared{std::move(*recordings), std::move(*graph), replay->replay};
}

std::optional<std::string> text_of(const std::string& file) {
  auto text = base::read_text(file, kMostSourceBytes);
  return text ? std::optional(std::move(*text)) : std::nullopt;
}

base::Result<analysis::OptimizedJob> optimized(const Job& job, const Prepared& known, jobs::StrategySpace space,
                                               const OptimizeQuestion& question, GoOn go_on) {
  analysis::OptimizedJob shown;
  shown.command = job.command;
  shown.replay = known.replay;
  shown.warnings = job.warnings;
  shown.memory_bytes = question.memory_bytes;
  auto memory = jobs::strategy_memory(known.recordings, job.scope, known.graph, space.sharding);
  shown.peak_bytes = memory.peak_bytes;
  memory.recomputations =
      recomputations_of(job, known.recordings, known.graph, memory.peak_bytes, question.memory_bytes);
  space.fuse = space.fuse && can_fuse(known.graph, shown.warnings);
  for (const jobs::Recomputation& one : memory.recomputations) {
    space.recompute.push_back(one.modules);
  }
  if (question.memory_bytes.has_value()) {
    space.fits = [&](const jobs::Strategy& one) { return memory.peak_of(one) <= *question.memory_bytes; };
  }
  const auto best = jobs::best_strategy(known.graph, space, go_on);
  if (!best) {
    return cannot(best.error());
  }
  for (const jobs::ReplayedStrategy& one : best->replayed) {
    shown.strategies.push_back(step_of(one, memory, space));
  }
  shown.space = best->strategies;
  shown.is_complete = best->is_complete;
  shown.notes = notes_of(shown, known.graph);
  if (shown.strategies.empty()) {
    shown.warnings.emplace_back(
        "No recomputation of modules of one class, which the model has twice or more, is predicted to fit either. "
        "Smaller micro-batches and sharding (--change zero:1) need less.");
  } else if (analysis::pays(shown)) {
    shown.edits = strategy_edits(shown.strategies.front(), files_of(job), text_of);
  }
  return shown;
}

}  // namespace

base::Result<analysis::OptimizedJob> optimize_job(const Job& job, const OptimizeQuestion& question, GoOn go_on) {
  const auto begin = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  auto space = jobs::space_of(question.changes);
  if (!space) {
    return space.error();
  }
  const auto known = prepared(job, question);
  if (!known) {
    return cannot(known.error());
  }
  auto own = own_changes(known->graph, question);
  if (!own) {
    return own.error();
  }
  space->own = std::move(*own);
  auto answer = optimized(job, *known, std::move(*space), question, [&](std::size_t done, std::size_t most) {
    return go_on(done, most) && seconds() < question.seconds;
  });
  if (answer) {
    answer->seconds = seconds();
  }
  return answer;
}

}  // namespace ridgeline::app
