#include "commands/optimize.h"

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

#include "analysis/attribution/attribution.h"
#include "analysis/memory/memory.h"
#include "base/file.h"
#include "cluster/best_strategy.h"
#include "cluster/fused_operations.h"
#include "cluster/job_changes.h"
#include "cluster/one_clock.h"
#include "cluster/recomputation.h"
#include "cluster/transfer_time.h"
#include "commands/exit_codes.h"
#include "commands/interrupts.h"
#include "commands/job_replay.h"
#include "commands/options.h"
#include "commands/progress_line.h"
#include "commands/strategy_edits.h"
#include "commands/terminal.h"
#include "jobs/job_files.h"
#include "jobs/job_replay.h"
#include "report/best_strategy.h"
#include "report/units.h"

namespace ridgeline::commands {

namespace {

using Clock = std::chrono::steady_clock;
using communication::Job;

constexpr std::uintmax_t kMostSourceBytes = std::uintmax_t{16} << 20U;
constexpr std::uint64_t kMiB = 1U << 20U;

struct OptimizeRequest {
  std::vector<std::string> files;
  std::uint64_t memory_bytes = 0;  ///< 0: any
  std::string network;             ///< a file; empty: none
  double limit_seconds = 60;
  cluster::StrategySpace space{{kMiB / 4, kMiB / 2, kMiB, 2 * kMiB, 4 * kMiB, 8 * kMiB, 16 * kMiB, 25 * kMiB, 50 * kMiB,
                                100 * kMiB, 200 * kMiB, 400 * kMiB},
                               {},
                               {}};
  std::shared_ptr<Output> output = std::make_shared<Output>();
};

/// The largest peak of a rank while it was recorded.
std::uint64_t peak_bytes(const std::vector<recording::Recording>& recordings, const analysis::SourceScope& scope) {
  std::uint64_t most = 0;
  for (const recording::Recording& recording : recordings) {
    const analysis::Attribution attribution = analysis::attribute(recording, scope);
    most = std::max(most, analysis::analyse_memory(recording, attribution, attribution.tree).peak_bytes);
  }
  return most;
}

/// Those that call the all-reduces of buckets: DistributedDataParallel is likely to be constructed there.
std::vector<std::string> files_of(const Job& job) {
  std::vector<std::string> files;
  for (const communication::Collective& one : job.ranks.front().record.collectives) {
    if (one.bucket >= 0 && std::ranges::find(files, one.file) == files.end()) files.push_back(one.file);
  }
  return files;
}

/// Parts of a bucket are never faster.
std::string partition_note(const cluster::RecordedJob& graph) {
  const auto times = cluster::transfer_times(graph, cluster::Unsplit::kTransfer);
  const auto all_reduce = times.find(communication::Kind::kAllReduce);
  const double ms = all_reduce == times.end() ? 0 : all_reduce->second.latency_ns / 1e6;
  return fmt::format(
      "Buckets are not sent in parts: of each all-reduce {} are latency, which every part would have again, and none "
      "would begin sooner.",
      report::duration(ms));
}

std::vector<std::string> notes_of(const analysis::OptimizedJob& job, const cluster::RecordedJob& graph) {
  std::vector<std::string> notes;
  const auto any = [&](auto matches) { return std::ranges::any_of(job.strategies, matches); };
  if (any([](const analysis::StrategyStep& one) { return one.accumulate > 1; })) {
    notes.emplace_back("Several micro-batches train with a batch so many times as large: the training is another one.");
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
  notes.push_back(partition_note(graph));
  notes.emplace_back("Not searched: sharding, whose times the file does not have.");
  return notes;
}

/// `gradient_bytes`: of which a compressed copy is there beside the gradients, at the most.
analysis::StrategyStep step_of(const cluster::ReplayedStrategy& one, std::uint64_t peak, std::uint64_t gradient_bytes,
                               const std::vector<cluster::Recomputation>& recomputations) {
  const cluster::Strategy& strategy = one.strategy;
  analysis::RecomputedModules recompute;
  for (const cluster::Recomputation& other : recomputations) {
    if (other.modules != strategy.recompute) continue;
    peak = other.peak_bytes;
    recompute = {other.type, other.of, other.modules};
  }
  const double compressed = strategy.compression > 1 ? static_cast<double>(gradient_bytes) / strategy.compression : 0;
  return {
      strategy.bucket_bytes, strategy.compression, strategy.accumulate, std::move(recompute),
      strategy.fuse,         one.step.step_ms,     one.step.speed_up,   peak + static_cast<std::uint64_t>(compressed)};
}

/// Those that are searched: where the job as it is does not fit, those with which it does.
std::vector<cluster::Recomputation> recomputations_of(const Job& job,
                                                      const std::vector<recording::Recording>& recordings,
                                                      const cluster::RecordedJob& graph, std::uint64_t peak,
                                                      std::uint64_t limit) {
  if (limit == 0 || peak <= limit) return {};
  auto fitting = cluster::fitting_recomputations(recordings, job.scope, limit);
  std::erase_if(fitting,
                [&](const cluster::Recomputation& one) { return !cluster::with_recomputation(graph, one.modules); });
  return fitting;
}

/// Whether operations are to be fused; a warning where there are none.
bool fuses(const cluster::RecordedJob& graph, const OptimizeRequest& request, std::vector<std::string>& warnings) {
  if (!request.space.fuse) return false;
  const auto fused = cluster::with_fused_operations(graph, 1);
  if (!fused) warnings.push_back("Nothing is fused: " + fused.error().message() + ".");
  return static_cast<bool>(fused);
}

base::Result<cluster::BestStrategy> search(const cluster::RecordedJob& job, const OptimizeRequest& request,
                                           const std::vector<cluster::Recomputation>& recomputations, bool fuse,
                                           Interrupts& interrupts, Clock::time_point begin) {
  cluster::StrategySpace space = request.space;
  space.fuse = fuse;
  for (const cluster::Recomputation& one : recomputations) space.recompute.push_back(one.modules);
  ProgressLine line;
  const auto deadline =
      begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(request.limit_seconds));
  return cluster::best_strategy(job, space, [&](std::size_t done, std::size_t most) {
    const protocol::Progress progress{"optimize", static_cast<double>(done) / static_cast<double>(most),
                                      fmt::format("Replaying the job with {} strategies", most)};
    line.show(progress, progress);
    return !interrupts.came() && Clock::now() < deadline;
  });
}

base::Result<analysis::OptimizedJob> optimized(Job& job, const OptimizeRequest& request, Interrupts& interrupts) {
  const auto begin = Clock::now();
  auto aligned = cluster::on_one_clock(jobs::records_of(job));
  if (!aligned) return aligned.error();
  const auto recordings = jobs::recordings_of(job);
  if (!recordings) return recordings.error();
  const auto graph = job_graph(job, aligned->records, *recordings, request.network);
  if (!graph) return graph.error();
  const auto replayed = jobs::replayed(*graph);
  if (!replayed) return replayed.error();
  analysis::OptimizedJob shown;
  shown.command = job.command;
  shown.replay = replayed->replay;
  shown.peak_bytes = peak_bytes(*recordings, job.scope);
  const auto recomputations = recomputations_of(job, *recordings, *graph, shown.peak_bytes, request.memory_bytes);
  shown.warnings = job.warnings;
  const bool fuse = fuses(*graph, request, shown.warnings);
  const auto best = search(*graph, request, recomputations, fuse, interrupts, begin);
  if (!best) return best.error();
  if (request.memory_bytes > 0) shown.memory_bytes = request.memory_bytes;
  std::uint64_t gradient_bytes = 0;
  for (const std::uint64_t bytes : graph->gradient_bytes) gradient_bytes += bytes;
  for (const cluster::ReplayedStrategy& one : best->replayed) {
    const analysis::StrategyStep step = step_of(one, shown.peak_bytes, gradient_bytes, recomputations);
    if (step.peak_bytes <= shown.memory_bytes.value_or(step.peak_bytes)) shown.strategies.push_back(step);
  }
  shown.space = best->strategies;
  shown.is_complete = best->is_complete;
  shown.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  shown.notes = notes_of(shown, *graph);
  return shown;
}

std::optional<std::string> text_of(const std::string& file) {
  auto text = base::read_text(file, kMostSourceBytes);
  return text ? std::optional(std::move(*text)) : std::nullopt;
}

int optimize(const OptimizeRequest& request) {
  auto job = jobs::read_jobs(request.files);
  if (!job) {
    print_error(job.error().message());
    return kExitUsage;
  }
  Interrupts interrupts;
  auto shown = optimized(*job, request, interrupts);
  if (!shown) {
    print_error("The job cannot be optimised: " + shown.error().message() + ".");
    return kExitUsage;
  }
  if (!shown->strategies.empty()) {
    shown->edits = strategy_edits(shown->strategies.front(), files_of(*job), text_of);
  } else {
    shown->warnings.push_back(
        "No recomputation of modules of one class, which the model has twice or more, is predicted to fit either. "
        "Smaller micro-batches and sharding need less.");
  }
  const int code = write_out(
      request.output->format == "json" ? report::json_optimized_job(*shown) : report::text_optimized_job(*shown),
      *request.output);
  if (code != kExitOk) return code;
  return interrupts.came() ? kExitCancelled : shown->strategies.empty() ? kExitOverBudget : kExitOk;
}

}  // namespace

void add_optimize_command(CLI::App& app, int& exit_code) {
  auto request = std::make_shared<OptimizeRequest>();
  CLI::App* command = app.add_subcommand(
      "optimize", "Find the bucket size with which a recorded job would be fastest, by replays; nothing is run.");
  command->add_option("FILES", request->files, "Written by `ridgeline run --job`: one, or one of each machine")
      ->required();
  command
      ->add_option("--memory", request->memory_bytes, "Only what needs at most this much on each rank, such as 16GiB")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::PositiveNumber);
  command->add_option("--limit", request->limit_seconds, "Seconds for the search")
      ->transform(CLI::AsNumberWithUnit(std::map<std::string, double>{{"s", 1}, {"min", 60}}))
      ->check(number_in(0.1, 86400))
      ->capture_default_str();
  command
      ->add_option("--bucket-size", request->space.bucket_bytes,
                   "bucket_cap_mb of DistributedDataParallel to search, such as 25MiB; may be repeated")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--accumulate", request->space.accumulate,
                   "Also send gradients only after so many micro-batches, such as 2,4")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024));
  command
      ->add_option("--compression", request->space.compression,
                   "Also send so many times fewer bytes, such as 2 for fp16; may be repeated")
      ->check(number_in(1, 1024));
  command->add_flag("--fuse-pointwise", request->space.fuse,
                    "Also fuse pointwise operations that follow each other, as torch.compile does");
  add_network_option(*command, request->network);
  add_output_options(*command, request->output);
  command->footer(
      "Examples:\n"
      "  ridgeline optimize mine.ridgeline-job --network cluster.toml --memory 16GiB\n"
      "  ridgeline optimize mine.ridgeline-job --accumulate 2,4 --format json");
  command->callback([request, &exit_code] { exit_code = optimize(*request); });
}

}  // namespace ridgeline::commands
