#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "report/page.h"
#include "report/places.h"
#include "report/rendered_prediction.h"
#include "report/units.h"
#include "report/wording.h"

namespace ridgeline::report {
namespace {

using analysis::Answer;
using analysis::BatchPrediction;
using analysis::Estimate;
using analysis::Obstacle;
using analysis::Quantity;

/// "12 minutes", in the largest unit that has one.
std::string age(std::int64_t seconds) {
  struct Unit {
    const char* name;
    std::int64_t seconds;
  };
  static constexpr Unit kUnits[] = {{"day", 86400}, {"hour", 3600}, {"minute", 60}, {"second", 1}};
  for (const Unit& unit : kUnits) {
    const std::int64_t count = seconds / unit.seconds;
    if (count > 0) {
      return plural(static_cast<double>(count), unit.name);
    }
  }
  return plural(1, "second");
}

std::string sampled_text(const Answer& answer) {
  if (answer.sampled.empty()) {
    return "no batches";
  }
  if (answer.sampled.size() == 1) {
    return fmt::format("a batch of {}", answer.sampled.front());
  }
  return fmt::format("batches of {} to {}", answer.sampled.front(), answer.sampled.back());
}

void title(Page& page, const analysis::Profile& profile, const Origin& origin) {
  const std::string rest =
      clip(fmt::format(" · {} · torch {} · {}", device_label(profile.environment), printable(profile.environment.torch),
                       origin.stored ? "from the profile of " + age(origin.age_s) + " ago" : "profiled now"),
           page.width() - 20);
  page.line(page.bold(clip_front(entry_name(profile), page.width() - columns(rest))) + page.dim(rest));
  page.line();
}

/// The sentence that answers what was asked for.
std::string answer_sentence(const Answer& answer) {
  if (!answer.batch) {
    return {};
  }
  const int size = answer.batch->batch_size;
  if (answer.question.quantity == Quantity::kThroughput) {
    return fmt::format("A batch of {} is the smallest that gives {} samples/s.", size, figure(answer.question.value));
  }
  if (answer.question.quantity == Quantity::kMemory && answer.obstacle == Obstacle::kNone) {
    const bool is_checked = !analysis::is_beyond_checked_memory(answer);
    return fmt::format("A batch of {} is the largest that {} at most {}{}", size,
                       is_checked ? "needs" : "is predicted to need", bytes(answer.question.value),
                       is_checked ? "." : ": a bound, " + not_checked_text(answer) + ".");
  }
  if (answer.question.quantity == Quantity::kThroughputShare) {
    return fmt::format("A batch of {} is the smallest that gives {} of the greatest throughput.", size,
                       share(answer.question.value));
  }
  if (answer.question.quantity == Quantity::kBalance) {
    return sentence(balance_text(answer));
  }
  return {};
}

std::string origin_text(const analysis::Measurement& measured) {
  switch (measured.origin) {
    case analysis::Origin::kSampled:
      return "the profile sampled this batch size";
    case analysis::Origin::kChecked:
      return "the profile ran this batch size to check its models";
    case analysis::Origin::kTried:
      break;
  }
  return "this batch size was tried after the profile" +
         (measured.machine_changed ? "; " + machine_text(measured.machine_speed) : "");
}

std::string bound_text(const BatchPrediction& batch) {
  const bool bound = batch.ms && batch.ms->certainty == analysis::Certainty::kAtLeast;
  return bound ? ": a bound" : "";
}

struct FigureRow {
  const char* label;
  std::string value;
  std::string interval;
  std::string note;
};

FigureRow figure_row(const char* label, const std::optional<Estimate>& estimate,
                     const std::function<std::string(double)>& format, const std::string& unit = {}) {
  if (!estimate) {
    return {label, "unknown", "", ""};
  }
  const auto& interval = estimate->interval;
  std::string range = "unknown";
  if (interval && !interval->high && interval->low > 0) {
    range = format(interval->low) + " or more";
  } else if (interval && interval->high && interval->low == *interval->high) {
    range = estimate->certainty == analysis::Certainty::kKnown ? "exact" : "unchecked";
  } else if (interval && interval->high) {
    range = interval->low > 0 ? format(interval->low) + " to " + format(*interval->high)
                              : "up to " + format(*interval->high);
  }
  return {label, estimated(*estimate, format) + unit, std::move(range), ""};
}

/// A figure that was measured, as one that is known.
Estimate known(double value, std::optional<analysis::Interval> interval) {
  return {value, interval, analysis::Certainty::kKnown};
}

/// What is stated of a batch size: as it was measured where it ran, else what the models say.
struct Stated {
  std::optional<Estimate> samples_per_second;
  std::optional<Estimate> ms;
  std::optional<Estimate> peak_bytes;
};

Stated stated(const BatchPrediction& batch) {
  if (!batch.measured) {
    return {batch.samples_per_second, batch.ms, batch.peak_bytes};
  }
  const analysis::Measurement& measured = *batch.measured;
  const double samples_ms = 1000.0 * batch.batch_size;
  analysis::Interval rate{measured.ms.high > 0 ? samples_ms / measured.ms.high : 0, std::nullopt};
  if (measured.ms.low > 0) {
    rate.high = samples_ms / measured.ms.low;
  }
  const auto peak = static_cast<double>(measured.peak_bytes);
  return {known(measured.samples_per_second, rate),
          known(measured.ms.value, analysis::Interval{measured.ms.low, measured.ms.high}),
          known(peak, analysis::Interval{peak, peak})};
}

std::vector<FigureRow> figure_rows(const Answer& answer, const BatchPrediction& batch) {
  const Stated figures = stated(batch);
  FigureRow rate = figure_row("throughput", figures.samples_per_second, figure, " samples/s");
  const bool bound =
      figures.samples_per_second && figures.samples_per_second->certainty == analysis::Certainty::kAtMost;
  if (const auto maximum = answer.max_samples_per_second; maximum && figures.samples_per_second && !bound) {
    rate.note = share(ratio(figures.samples_per_second->value, *maximum)) + " of the maximum " + figure(*maximum);
  }
  std::vector<FigureRow> rows = {std::move(rate), figure_row("iteration", figures.ms, duration),
                                 figure_row("peak memory", figures.peak_bytes, bytes)};
  if (batch.reserved_bytes) {
    rows.push_back(figure_row("reserved", Estimate{*batch.reserved_bytes, std::nullopt}, bytes));
  }
  if (const auto needed = analysis::needed_bytes(batch); batch.fits && needed) {
    const auto capacity = static_cast<double>(answer.capacity_bytes);
    rows.back().note = fmt::format("{} of {}: {}", share(ratio(*needed, capacity)), bytes(capacity),
                                   *batch.fits ? "fits" : "does not fit");
  }
  return rows;
}

/// "measured", or from which samples it is extrapolated.
std::string batch_note(const Answer& answer, const BatchPrediction& batch) {
  if (batch.measured) {
    return "measured";
  }
  return batch.extrapolated ? "extrapolated from " + sampled_text(answer) + bound_text(batch) : "";
}

void figures(Page& page, const Answer& answer, const BatchPrediction& batch) {
  const std::vector<FigureRow> rows = figure_rows(answer, batch);
  int value_width = 14;
  int interval_width = 13;
  for (const FigureRow& row : rows) {
    value_width = std::max(value_width, columns(row.value));
    interval_width = std::max(interval_width, columns(row.interval));
  }
  const auto row = [&](std::string_view label, std::string_view value, std::string_view interval,
                       std::string_view note) {
    page.line("  " + page.bold(left(label, kBeside - 2)) + right(value, value_width) + "  " +
              left(interval, interval_width) + "  " + page.dim(note));
  };
  page.line(left("", kBeside + value_width + 2) + page.dim("95 % INTERVAL"));
  row("batch size", std::to_string(batch.batch_size), "", batch_note(answer, batch));
  for (const FigureRow& line : rows) {
    row(line.label, line.value, line.interval, line.note);
  }
  if (batch.by_category) {
    std::vector<Item> items;
    for (std::size_t i = 0; i < analysis::kCategoryCount; ++i) {
      const double size = (*batch.by_category)[i];
      if (size >= 1) {
        items.push_back({analysis::kCategoryLabels[i], bytes(size)});
      }
    }
    page.flow("  " + page.bold(left("at the peak", kBeside - 2)), kBeside, items);
  }
  if (batch.measured) {
    page.prose("measured", origin_text(*batch.measured), kBeside);
  }
}

std::string refined_text(const analysis::RefinedBatch& refined, bool measured) {
  const auto interval = [](const analysis::Measured& value, const auto& format) {
    return fmt::format("{} ({} to {})", format(value.value), format(value.low), format(value.high));
  };
  std::string text = fmt::format(
      "{} samples/s, iteration {}: from the recorded step and {} operations timed alone, {} of them now. The figures "
      "above {}.",
      interval(refined.samples_per_second, [](double value) { return figure(value); }),
      interval(refined.ms, [](double value) { return duration(value); }), refined.operations,
      refined.operations_measured, measured ? "were measured" : "are those of the fitted models");
  if (refined.measured_share < 0.9) {
    text += fmt::format(" {} of what changes could not be timed and is scaled with its data.",
                        share(1 - refined.measured_share));
  }
  return text;
}

/// What to do about an obstacle, on the command line.
std::string_view way_out(Obstacle obstacle) {
  switch (obstacle) {
    case Obstacle::kTooFewSizes:
      return " Name more with --batch-sizes.";
    case Obstacle::kTimeUnknown:
      return " Sample more with --batch-sizes, or measure longer with --seconds.";
    case Obstacle::kTooFar:
      return " Sample larger ones with --batch-sizes.";
    case Obstacle::kMemoryUnknown:
      return " Sample more with --batch-sizes.";
    default:
      return "";
  }
}

}  // namespace

std::string not_checked_text(const Answer& answer) {
  return fmt::format("not checked beyond a batch of {}", answer.memory_checked_up_to.value_or(0));
}

std::string balance_text(const Answer& balance) {
  if (balance.batch) {
    return balance.batch->batch_size == 1
               ? "activations take as much memory as weights at batch size 1 already, or more"
               : fmt::format("activations take as much memory as weights from batch size {} on",
                             balance.batch->batch_size);
  }
  return balance.obstacle == Obstacle::kNoBalance ? "at no batch size do activations take as much memory as weights"
                                                  : "";
}

std::string largest_unknown_text(const Answer& largest) {
  if (largest.obstacle == Obstacle::kNone) {
    return analysis::is_beyond_checked_memory(largest) ? "a prediction, " + not_checked_text(largest) : "";
  }
  if (!largest.batch) {
    return largest.obstacle == Obstacle::kTooLittleMemory ? "No batch size is known to fit."
                                                          : "The largest batch size that fits is unknown.";
  }
  const std::string bound = analysis::is_beyond_checked_memory(largest) ? " by prediction, " : "";
  if (largest.obstacle == Obstacle::kRanOut) {
    return fmt::format("{} fits; {} ran out of memory.", largest.batch->batch_size, largest.failed.front().batch_size);
  }
  return fmt::format("{} fits{}; {}.", largest.batch->batch_size,
                     bound.empty() ? bound : bound + not_checked_text(largest),
                     largest.obstacle == Obstacle::kTooFar ? "larger ones are too far from what was measured"
                                                           : "of larger ones the memory is unknown");
}

std::string obstacle_text(const Answer& answer) {
  const double wanted = answer.question.value;
  switch (answer.obstacle) {
    case Obstacle::kNone:
      return {};
    case Obstacle::kTooFewSizes:
      return fmt::format("The profile sampled {} only, and a prediction needs two.", sampled_text(answer));
    case Obstacle::kNoBalance:
      return "At no batch size do the activations at the peak take as many bytes as the weights.";
    case Obstacle::kTooFar:
      return fmt::format(
          "A batch of {} is predicted to need at most {}. Larger ones are not answered for: the profile sampled {}, "
          "which "
          "is too far away.",
          answer.batch ? answer.batch->batch_size : 0, bytes(wanted), sampled_text(answer));
    case Obstacle::kRanOut:
      return fmt::format(
          "A batch of {} is the largest that is known to need at most {}: by the models more would fit, but a batch of "
          "{} "
          "ran out of memory.",
          answer.batch ? answer.batch->batch_size : 0, bytes(wanted), answer.failed.front().batch_size);
    case Obstacle::kTooFast:
      return fmt::format("No batch size gives {} samples/s{}.", figure(wanted),
                         answer.max_samples_per_second
                             ? ": the maximum is " + figure(*answer.max_samples_per_second) + " samples/s"
                             : "");
    case Obstacle::kTooLittleMemory: {
      const int least = answer.least ? answer.least->batch_size : 0;
      const double needs = answer.least ? needed_bytes(*answer.least).value_or(0) : 0;
      return fmt::format("No batch size is known to need at most {}: a batch of {} needs {}{}.", bytes(wanted), least,
                         bytes(needs), least > 1 ? ", and what others need is not known" : " already");
    }
    case Obstacle::kTimeUnknown:
      return fmt::format(
          "The time model holds for {} only: the time does not grow from a fixed cost there, so it is not "
          "extrapolated{}.",
          sampled_text(answer),
          answer.question.quantity == Quantity::kThroughput
              ? fmt::format(", and none of them gives {} samples/s", figure(wanted))
              : "");
    case Obstacle::kMemoryUnknown:
      return fmt::format(
          "The memory model holds for {} only: the memory does not grow from a fixed amount there, so it is not "
          "extrapolated.",
          sampled_text(answer));
  }
  return {};
}

std::string text_prediction(const Answer& answer, const analysis::Profile& profile, const Origin& origin,
                            const TextOptions& options, const std::optional<analysis::RefinedBatch>& refined) {
  Page page(std::clamp(options.width, kLeastWidth, 140), options.color);
  title(page, profile, origin);
  if (const std::string text = answer_sentence(answer); !text.empty()) {
    page.prose("", text, 2);
    page.line();
  }
  if (answer.batch) {
    figures(page, answer, *answer.batch);
  }
  if (refined) {
    page.prose("refined", refined_text(*refined, answer.batch && answer.batch->measured), kBeside);
  }
  if (std::string text = obstacle_text(answer); !text.empty()) {
    page.prose("", text.append(way_out(answer.obstacle)), 2);
  }
  for (const analysis::Skipped& failed : answer.failed) {
    page.prose("failed", fmt::format("batch {}, in the profile: {}", failed.batch_size, printable(failed.message)),
               kBeside);
  }
  return page.take();
}

}  // namespace ridgeline::report
