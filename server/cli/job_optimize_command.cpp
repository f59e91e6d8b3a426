#include "cli/job_optimize_command.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/jobs/job_files.h"
#include "app/jobs/job_replay.h"
#include "base/file.h"
#include "cli/exit_codes.h"
#include "cli/interrupts.h"
#include "cli/measured_network.h"
#include "cli/options.h"
#include "cli/progress_line.h"
#include "cli/python_changes.h"
#include "cli/strategy_edits.h"
#include "cli/terminal.h"
#include "cli/what_if_requests.h"
#include "jobs/clocks/one_clock.h"
#include "jobs/optimize/fused_operations.h"
#include "jobs/optimize/job_changes.h"
#include "jobs/optimize/strategy_memory.h"
#include "jobs/optimize/strategy_search.h"
#include "jobs/optimize/transfer_time.h"
#include "jobs/predict/recomputation.h"
#include "report/rendered_best_strategy.h"
#include "report/units.h"
#include "step/changes/change_file.h"
#include "worker/interpreter.h"

namespace ridgeline::cli {

namespace {

using Clock = std::chrono::steady_clock;
using jobs::Job;

constexpr std::uintmax_t kMostSourceBytes = std::uintmax_t{16} << 20U;
constexpr std::uint64_t kMiB = 1U << 20U;

struct OptimizeRequest {
  std::vector<std::string> files;
  std::uint64_t memory_bytes = 0;  ///< 0: any
  std::string network;             ///< a file; empty: none
  double limit_seconds = 60;
  jobs::StrategySpace space{{kMiB / 4, kMiB / 2, kMiB, 2 * kMiB, 4 * kMiB, 8 * kMiB, 16 * kMiB, 25 * kMiB, 50 * kMiB,
                             100 * kMiB, 200 * kMiB, 400 * kMiB},
                            {},
                            {}};
  std::vector<std::string> own;  ///< files of changes
  std::string python;
  std::shared_ptr<Output> output = std::make_shared<Output>();
};

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
  const auto times = jobs::transfer_times(graph, jobs::Unsplit::kTransfer);
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
    notes.emplace_back("What compressing takes of the processors, and what it does to the training, is not in it.");
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
      "for. `ridgeline job predict --cluster --zero 3` predicts it from one process.");
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
                                                   std::uint64_t limit) {
  if (limit == 0 || peak <= limit) {
    return {};
  }
  auto fitting = jobs::fitting_recomputations(recordings, job.scope, limit);
  std::erase_if(fitting, [&](const jobs::Recomputation& one) { return !jobs::with_recomputation(graph, one.modules); });
  return fitting;
}

/// Whether operations are to be fused; a warning where there are none.
bool fuses(const jobs::RecordedJob& graph, const OptimizeRequest& request, std::vector<std::string>& warnings) {
  if (!request.space.fuse) {
    return false;
  }
  const auto fused = jobs::with_fused_operations(graph, 1);
  if (!fused) {
    warnings.push_back("Nothing is fused: " + fused.error().message() + ".");
  }
  return static_cast<bool>(fused);
}

/// Each file's change, for each rank: one in Python is run with the tasks of each. What is wrong is written to stderr.
base::Result<std::vector<std::vector<step::UserChange>>, ExitCode> own_changes(const jobs::RecordedJob& graph,
                                                                               const OptimizeRequest& request) {
  std::vector<std::vector<step::UserChange>> changes(request.own.size());
  if (request.own.empty()) {
    return changes;
  }
  const auto wanted = wanted_changes({}, request.own, {});
  if (!wanted) {
    return wanted.error();
  }
  const bool runs = std::ranges::any_of(request.own, is_python_change);
  const std::string python = runs ? worker::find_interpreter_here(request.python).path : "";
  for (const jobs::EqualRanks& rank : graph.ranks) {
    WantedChanges of_rank = *wanted;
    if (const auto made = make_python_changes(of_rank, rank.graph, python); !made) {
      return made.error();
    }
    for (std::size_t i = 0; i < request.own.size(); ++i) {
      changes[i].push_back(of_rank.user_changes.at(request.own[i]));
    }
  }
  return changes;
}

base::Result<jobs::BestStrategy> search(const jobs::RecordedJob& job, const OptimizeRequest& request,
                                        const jobs::StrategySpace& space, Interrupts& interrupts,
                                        Clock::time_point begin) {
  ProgressLine line;
  const auto deadline =
      begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(request.limit_seconds));
  return jobs::best_strategy(job, space, [&](std::size_t done, std::size_t most) {
    const protocol::Progress progress{"optimize", static_cast<double>(done) / static_cast<double>(most),
                                      fmt::format("Replaying the job with {} strategies", most)};
    line.show(progress, progress);
    return !interrupts.came() && Clock::now() < deadline;
  });
}

/// A recorded job, and what its search needs.
struct Prepared {
  std::vector<recording::Recording> recordings;
  jobs::RecordedJob graph;
  analysis::JobReplay replay;
};

base::Result<Prepared> prepared(const Job& job, const OptimizeRequest& request) {
  auto aligned = jobs::on_one_clock(app::records_of(job));
  if (!aligned) {
    return aligned.error();
  }
  auto recordings = app::recordings_of(job);
  if (!recordings) {
    return recordings.error();
  }
  auto graph = job_graph(job, aligned->records, *recordings, request.network);
  if (!graph) {
    return graph.error();
  }
  const auto replayed = app::replayed(*graph);
  if (!replayed) {
    return replayed.error();
  }
  return Prepared{std::move(*recordings), std::move(*graph), replayed->replay};
}

base::Result<analysis::OptimizedJob> optimized(const Job& job, const Prepared& known, jobs::StrategySpace space,
                                               const OptimizeRequest& request, Interrupts& interrupts,
                                               Clock::time_point begin) {
  analysis::OptimizedJob shown;
  shown.command = job.command;
  shown.replay = known.replay;
  shown.warnings = job.warnings;
  auto memory = jobs::strategy_memory(known.recordings, job.scope, known.graph, space.sharding);
  shown.peak_bytes = memory.peak_bytes;
  memory.recomputations =
      recomputations_of(job, known.recordings, known.graph, memory.peak_bytes, request.memory_bytes);
  space.fuse = fuses(known.graph, request, shown.warnings);
  for (const jobs::Recomputation& one : memory.recomputations) {
    space.recompute.push_back(one.modules);
  }
  if (request.memory_bytes > 0) {
    shown.memory_bytes = request.memory_bytes;
    space.fits = [&](const jobs::Strategy& one) { return memory.peak_of(one) <= request.memory_bytes; };
  }
  const auto best = search(known.graph, request, space, interrupts, begin);
  if (!best) {
    return best.error();
  }
  for (const jobs::ReplayedStrategy& one : best->replayed) {
    shown.strategies.push_back(step_of(one, memory, space));
  }
  shown.space = best->strategies;
  shown.is_complete = best->is_complete;
  shown.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  shown.notes = notes_of(shown, known.graph);
  return shown;
}

std::optional<std::string> text_of(const std::string& file) {
  auto text = base::read_text(file, kMostSourceBytes);
  return text ? std::optional(std::move(*text)) : std::nullopt;
}

int optimize(const OptimizeRequest& request) {
  auto job = app::read_jobs(request.files);
  if (!job) {
    print_error(job.error().message());
    return kExitUsage;
  }
  const auto begin = Clock::now();
  const auto refused = [](const base::Error& error) {
    print_error("The job cannot be optimised: " + error.message() + ".");
    return kExitUsage;
  };
  Interrupts interrupts;
  const auto known = prepared(*job, request);
  if (!known) {
    return refused(known.error());
  }
  jobs::StrategySpace space = request.space;
  auto own = own_changes(known->graph, request);
  if (!own) {
    return own.error().value;
  }
  space.own = std::move(*own);
  auto shown = optimized(*job, *known, std::move(space), request, interrupts, begin);
  if (!shown) {
    return refused(shown.error());
  }
  if (!shown->strategies.empty()) {
    if (analysis::pays(*shown)) {
      shown->edits = strategy_edits(shown->strategies.front(), files_of(*job), text_of);
    }
  } else {
    shown->warnings.emplace_back(
        "No recomputation of modules of one class, which the model has twice or more, is predicted to fit either. "
        "Smaller micro-batches and sharding (--zero) need less.");
  }
  const int code =
      write_out(request.output->format == "json" ? report::json_optimized_job(*shown)
                                                 : report::text_optimized_job(*shown, request.output->warnings),
                *request.output);
  if (code != kExitOk) {
    return code;
  }
  return interrupts.came() ? kExitCancelled : shown->strategies.empty() ? kExitOverBudget : kExitOk;
}

/// What is searched besides the usual bucket sizes.
void add_space_options(CLI::App& command, OptimizeRequest& request) {
  command
      .add_option("--bucket-size", request.space.bucket_bytes,
                  "bucket_cap_mb of DistributedDataParallel to search, such as 25MiB; may be repeated")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::PositiveNumber);
  command
      .add_option("--accumulate", request.space.accumulate,
                  "Also send gradients only after this many micro-batches, such as 2,4")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024));
  command
      .add_option("--compression", request.space.compression,
                  "Also compress gradients by this factor, such as 2 for fp16; may be repeated")
      ->check(number_in(1, 1024));
  command
      .add_option("--zero", request.space.sharding,
                  "Also shard by these stages of ZeRO, such as 1,2: the optimizer, and gradients")
      ->delimiter(',')
      ->check(CLI::Range(1, 2));
  command.add_option("--change-file", request.own,
                     "Also search with a change of your own, as JSON or as Python, which is executed: "
                     "docs/user/change-files.md; may be repeated");
  command.add_option("--python", request.python, "Interpreter for a --change-file in Python")->default_str("detected");
  command.add_flag("--fuse-pointwise", request.space.fuse,
                   "Also fuse pointwise operations that follow each other, as torch.compile does");
}

}  // namespace

void add_job_optimize_command(CLI::App& job, int& exit_code) {
  auto request = std::make_shared<OptimizeRequest>();
  CLI::App* command = job.add_subcommand(
      "optimize", "Search for the fastest strategy of a recorded job by simulation; the training code is not run.");
  command->add_option("FILES", request->files, "Written by `ridgeline profile --job`: one, or one of each machine")
      ->required();
  command
      ->add_option("--memory", request->memory_bytes, "Only what needs at most this much on each rank, such as 16GiB")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::PositiveNumber);
  command->add_option("--seconds", request->limit_seconds, "How long to search at most")
      ->transform(CLI::AsNumberWithUnit(std::map<std::string, double>{{"s", 1}, {"min", 60}}))
      ->check(number_in(0.1, 86400))
      ->capture_default_str();
  add_space_options(*command, *request);
  add_network_option(*command, request->network);
  add_output_options(*command, request->output);
  add_warnings_option(*command, request->output);
  command->footer(
      "Examples:\n"
      "  ridgeline job optimize mine.ridgeline-job --network cluster.toml --memory 16GiB\n"
      "  ridgeline job optimize mine.ridgeline-job --accumulate 2,4 --format json");
  command->callback([request, &exit_code] { exit_code = optimize(*request); });
}

}  // namespace ridgeline::cli
