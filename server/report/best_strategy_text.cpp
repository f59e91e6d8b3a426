#include <algorithm>

#include <fmt/format.h>

#include "report/rendered_best_strategy.h"
#include "report/units.h"
#include "report/wording.h"

namespace ridgeline::report {

namespace {

using analysis::OptimizedJob;
using analysis::StrategyEdit;
using analysis::StrategyStep;

constexpr std::size_t kMostStrategies = 10;

std::string speed_interval(const analysis::Measured& times) {
  return fmt::format("{:.2f}x ({:.2f} to {:.2f})", times.value, times.low, times.high);
}

std::string name_of(const StrategyStep& strategy) {
  std::string name = strategy.bucket_bytes.has_value()
                         ? "buckets of " + bytes(static_cast<double>(*strategy.bucket_bytes))
                         : "buckets as recorded";
  if (strategy.accumulate > 1) {
    name += fmt::format(", {} micro-batches", strategy.accumulate);
  }
  if (strategy.compression > 1) {
    name += fmt::format(", compressed {}x", figure(strategy.compression));
  }
  const analysis::RecomputedModules& recompute = strategy.recompute;
  if (!recompute.modules.empty()) {
    name += fmt::format(", recomputing {} of {} {}", recompute.modules.size(), recompute.of, printable(recompute.type));
  }
  if (strategy.fuse) {
    name += ", pointwise fused";
  }
  if (strategy.sharding > 0) {
    name += fmt::format(", ZeRO {}", strategy.sharding);
  }
  for (const analysis::OwnChange& own : strategy.own) {
    name += ", " + printable(own.title);
  }
  return name;
}

std::string edit_text(const StrategyEdit& edit) {
  if (edit.path.empty()) {
    return "  " + printable(edit.after) + "\n";
  }
  const auto marked = [](const std::string& lines, char mark) {
    std::string text;
    for (std::size_t at = 0; at <= lines.size();) {
      const std::size_t end = std::min(lines.find('\n', at), lines.size());
      text += fmt::format("  {}{}\n", mark, printable(lines.substr(at, end - at)));
      at = end + 1;
    }
    return text;
  };
  return fmt::format("  {}:{}\n", printable(edit.path), edit.line) + marked(edit.before, '-') + marked(edit.after, '+');
}

std::string best_text(const OptimizedJob& job) {
  const StrategyStep& best = job.strategies.front();
  const bool is_as_recorded = !best.bucket_bytes.has_value() && best.accumulate == 1 && best.compression == 1 &&
                              best.recompute.modules.empty() && !best.fuse && best.sharding == 0 && best.own.empty();
  if (is_as_recorded || !pays(job)) {
    return "\nNo strategy that was searched is faster than the job as it is.\n";
  }
  std::string text = fmt::format("\nPredicted: {}\n  for each micro-batch  {}, {}\n  peak of a rank        {}\n",
                                 name_of(best), duration_interval(best.step_ms), speed_interval(best.speed_up),
                                 bytes(static_cast<double>(best.peak_bytes)));
  if (best.speed_up.low <= 1) {
    text += "  It may not be faster: the interval includes the time of the job as it is.\n";
  }
  text += "\nThe edit\n";
  for (const StrategyEdit& edit : job.edits) {
    text += edit_text(edit);
  }
  return text;
}

}  // namespace

std::string text_optimized_job(const OptimizedJob& job, ShownWarnings warnings) {
  std::string text = fmt::format(
      "{}\n\nAs it is, recorded in steps {} to {}\n  step                  {}, replayed {}\n  peak of a rank        "
      "{}\n",
      printable(job.command), job.replay.first_step, job.replay.last_step, duration(job.replay.recorded_ms),
      duration(job.replay.replayed_ms), bytes(static_cast<double>(job.peak_bytes)));
  if (job.strategies.empty()) {
    text += fmt::format("\nNo strategy that was searched fits in {}.\n", bytes(static_cast<double>(*job.memory_bytes)));
  } else {
    text += best_text(job);
    text +=
        fmt::format("\nReplayed: {} of {} strategies, in {}{}\n  {:<44}{:>34}  {}\n", job.strategies.size(), job.space,
                    duration(job.seconds * 1e3), job.is_complete ? "; no other one is faster" : ", when it was ended",
                    "", "for each micro-batch", "speed-up");
  }
  for (std::size_t i = 0; i < std::min(kMostStrategies, job.strategies.size()); ++i) {
    const StrategyStep& one = job.strategies[i];
    text +=
        fmt::format("  {:<44}{:>34}  {}\n", name_of(one), duration_interval(one.step_ms), speed_interval(one.speed_up));
  }
  for (const std::string& note : job.notes) {
    text += "  " + printable(note) + "\n";
  }
  for (const std::string& warning : shown_warnings(job.warnings, warnings)) {
    text += "! " + warning + "\n";
  }
  return text;
}

}  // namespace ridgeline::report
