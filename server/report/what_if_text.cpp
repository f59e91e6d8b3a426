#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "report/page.h"
#include "report/rendered_what_if.h"
#include "report/units.h"

namespace ridgeline::report {
namespace {

using analysis::ChangeAnswer;
using analysis::Direction;
using analysis::SpeedUp;
using analysis::WhatIf;

constexpr int kSpeedColumns = 23;
constexpr int kMemoryColumns = 22;
/// Seconds below which trying is offered before what is predicted.
constexpr double kShortTrial = 60;
constexpr const char* kTryOption = " Add `--try`.";
/// Times the difference that another seed makes, of the few that are tried: below that, a change is not to blame.
constexpr double kAsBySeed = 1.5;
/// Of losses: what is less is not told apart.
constexpr double kLeastShown = 0.001;

std::string times(double value) { return fmt::format("{:.2f}×", value); }

std::string speed_cell(const SpeedUp& speed_up) {
  return fmt::format("{} ({:.2f}–{:.2f})", times(speed_up.value), speed_up.low, speed_up.high);
}

bool may_be_tried(const ChangeAnswer& row) {
  return row.can_be_tried && !row.tried.has_value() && row.not_tried.empty();
}

bool is_unclear(const ChangeAnswer& row) {
  return row.predicted.has_value() && direction_of(row.predicted->speed_up) == Direction::kUnclear;
}

/// Nothing to gain, however wide the interval is.
bool is_about_one(const SpeedUp& speed_up) { return std::abs(speed_up.value - 1) < analysis::kLeastGain - 1; }

std::string predicted_cell(const ChangeAnswer& row) {
  if (!is_unclear(row) || is_about_one(row.predicted->speed_up)) {
    return row.predicted.has_value() ? speed_cell(row.predicted->speed_up) : "–";
  }
  return may_be_tried(row)
             ? "unclear: try it"
             : fmt::format("unclear ({:.2f}–{:.2f})", row.predicted->speed_up.low, row.predicted->speed_up.high);
}

std::string unclear_text(std::string_view what, const SpeedUp& speed_up) {
  return fmt::format("{} ({:.2f}–{:.2f})", what, speed_up.low, speed_up.high);
}

/// In a table, rather than in the list of what is not predicted.
bool has_figures(const ChangeAnswer& row) {
  return row.reason.empty() && (row.predicted.has_value() || row.tried.has_value());
}

/// The interval, where the cell has no room for it.
std::string unclear_note(const ChangeAnswer& row) {
  return is_unclear(row) && may_be_tried(row)
             ? fmt::format("predicted {:.2f}–{:.2f}", row.predicted->speed_up.low, row.predicted->speed_up.high)
             : "";
}

std::string memory_cell(std::uint64_t peak, std::uint64_t before) {
  const double difference = static_cast<double>(peak) - static_cast<double>(before);
  const std::string sign = difference < 0 ? "−" : "+";
  const std::string change = difference == 0 ? "same" : sign + bytes(std::abs(difference));
  return bytes(static_cast<double>(peak)) + " (" + change + ")";
}

std::string joined(const std::vector<std::string>& change) {
  std::string text;
  for (const std::string& request : change) {
    text += (text.empty() ? "" : " + ") + request;
  }
  return printable(text);
}

std::string calibration_text(const WhatIf& answer) {
  return answer.calibration_models == 0
             ? " Intervals are 95 %."
             : fmt::format(" On {} other models, {:.0f} % of what was measured lay in intervals this wide.",
                           answer.calibration_models, 100 * answer.calibration_level);
}

void applicable(Page& page, const WhatIf& answer, bool any_tried) {
  const int name_width = page.width() - 2 - kSpeedColumns * (any_tried ? 2 : 1) - kMemoryColumns;
  page.line("  " + page.bold(left("CHANGE", name_width) + left("PREDICTED SPEED-UP", kSpeedColumns) +
                             (any_tried ? left("TRIED", kSpeedColumns) : "") + "PEAK MEMORY"));
  for (const ChangeAnswer& row : answer.changes) {
    if (!has_figures(row) || brings_nothing(row, answer.peak_bytes)) {
      continue;
    }
    const std::string predicted = predicted_cell(row);
    const std::string tried = row.tried.has_value() ? speed_cell(row.tried->speed_up) : "–";
    const std::string peak = peak_text(answer, row);
    page.line("  " + left(clip(joined(row.change), name_width - 2), name_width) + left(predicted, kSpeedColumns) +
              (any_tried ? left(tried, kSpeedColumns) : "") + (peak.empty() ? "–" : peak));
    std::string note = printable(row.takes);
    for (const std::string& more :
         {unclear_note(row), loss_text(row), printable(row.not_tried), certainty_text(answer, row)}) {
      note += (note.empty() || more.empty() ? "" : "; ") + more;
    }
    page.prose("", note, 6);
  }
}

/// "1.01× (0.87–1.17) predicted, 0.99× (0.98–1.00) tried".
std::string nothing_text(const ChangeAnswer& row) {
  std::string text = row.predicted.has_value() ? speed_cell(row.predicted->speed_up) + " predicted" : "";
  if (row.tried.has_value()) {
    text += (text.empty() ? "" : ", ") + speed_cell(row.tried->speed_up) + " tried";
  }
  return text;
}

/// What a prediction is made of, where that is less than times of all operations.
std::string basis_of_prediction(const WhatIf& answer, const ChangeAnswer& row) {
  if (row.predicted->by_rule && row.predicted->measured_share <= 0) {
    return answer.from_trace ? "" : "by rule, on the graph of the step";
  }
  if (row.predicted->by_rule) {
    return "partly by rule, on the graph of the changed step";
  }
  return row.predicted->measured_share < 0.9 ? share(1 - row.predicted->measured_share) +
                                                   " of the changed time is of operations that could not be timed alone"
                                             : "";
}

}  // namespace

std::string speed_up_text(double value) {
  if (std::abs(value - 1) < 0.005) {
    return "no change";
  }
  return times(value) + (value > 1 ? " faster" : " as fast");
}

std::string speed_up_text(const SpeedUp& speed_up) {
  if (direction_of(speed_up) == Direction::kUnclear) {
    return unclear_text("unclear", speed_up);
  }
  return fmt::format("{} ({:.2f}–{:.2f})", speed_up_text(speed_up.value), speed_up.low, speed_up.high);
}

std::string predicted_text(const ChangeAnswer& row) {
  if (!is_unclear(row)) {
    return row.predicted.has_value() ? speed_up_text(row.predicted->speed_up) : "";
  }
  if (is_about_one(row.predicted->speed_up)) {
    return unclear_text("no change", row.predicted->speed_up);
  }
  return unclear_text(may_be_tried(row) ? "unclear: try it" : "unclear", row.predicted->speed_up);
}

std::string measured_text(const SpeedUp& speed_up) {
  return direction_of(speed_up) == Direction::kUnclear ? unclear_text("no clear change", speed_up)
                                                       : speed_up_text(speed_up);
}

std::string tried_text(const ChangeAnswer& row) {
  return row.tried.has_value() ? measured_text(row.tried->speed_up) : "";
}

std::string not_predicted_text(const WhatIf& answer, const ChangeAnswer& row) {
  const std::string peak = peak_text(answer, row);
  return row.not_predicted + (row.not_tried.empty() ? "" : ", and it could not be tried: " + row.not_tried) +
         (peak.empty() ? "" : "; peak memory " + peak);
}

std::string try_text(const WhatIf& answer) {
  const auto is_left = [](const ChangeAnswer& row) { return row.reason.empty() && may_be_tried(row); };
  if (!answer.try_seconds.has_value() || std::ranges::none_of(answer.changes, is_left)) {
    return "";
  }
  const bool compiles = std::ranges::any_of(answer.changes, [&](const ChangeAnswer& row) {
    return is_left(row) && std::ranges::find(row.change, "compile") != row.change.end();
  });
  return "To be certain, try them: about " + duration(std::ceil(*answer.try_seconds) * 1e3) +
         (compiles ? ", and the time that torch.compile takes." : ".");
}

std::string peak_text(const WhatIf& answer, const ChangeAnswer& row) {
  if (row.tried.has_value()) {
    return memory_cell(row.tried->changed_peak_bytes, row.tried->unchanged_peak_bytes);
  }
  if (row.predicted.has_value() && row.predicted->reserved_bytes.has_value()) {
    return bytes(static_cast<double>(*row.predicted->reserved_bytes)) + " reserved";
  }
  const auto peak = row.predicted.has_value() ? row.predicted->peak_bytes : row.peak_bytes;
  return peak.has_value() ? memory_cell(*peak, answer.peak_bytes) : "";
}

std::string loss_text(const ChangeAnswer& row) {
  if (!row.tried.has_value() || !row.tried->loss_drift.has_value()) {
    return row.tried.has_value() ? "losses could not be compared" : "";
  }
  const double drift = *row.tried->loss_drift;
  if (!std::isfinite(drift)) {
    return "the loss is not a number any more";
  }
  if (drift == 0) {
    return "losses are equal";
  }
  const double by_seed = row.tried->seed_drift.value_or(0);
  if (drift <= kAsBySeed * by_seed) {
    return "losses differ about as much as with another random seed (" + share(by_seed) + ")";
  }
  return (drift < kLeastShown ? "losses differ by less than " + share(kLeastShown)
                              : "losses differ by up to " + share(drift)) +
         (by_seed > 0 ? ", and by " + share(by_seed) + " with another random seed" : "");
}

std::string certainty_text(const WhatIf& answer, const ChangeAnswer& row) {
  if (!row.predicted.has_value()) {
    return row.reason.empty() && may_be_tried(row) ? row.not_predicted + ": try it" : "";
  }
  const std::string basis = basis_of_prediction(answer, row);
  if (row.tried.has_value() || !analysis::is_wide(row.predicted->speed_up) || row.predicted->largest_error.empty()) {
    return basis;
  }
  return basis + (basis.empty() ? "" : "; ") + "wide, since " + row.predicted->largest_error +
         (may_be_tried(row) ? ": try it" : "");
}

std::string basis_text(const WhatIf& answer) {
  if (answer.from_trace || answer.operations == 0) {
    return "Predicted by rules on the graph of the recorded step: no change was run. The intervals are between the "
           "ends "
           "of what the rules guess.";
  }
  const bool any_tried = std::ranges::any_of(answer.changes, [](const auto& row) { return row.tried.has_value(); });
  return fmt::format("Predicted from the recorded step and {} operations, each timed by itself.{}{}", answer.operations,
                     calibration_text(answer),
                     any_tried ? " Tried: timed in turns with the unchanged step; intervals of 95 %." : "");
}

std::string text_what_if(const WhatIf& answer, const TextOptions& options) {
  Page page(std::clamp(options.width, kLeastWidth, 140), options.color);
  const std::string entry = answer.entry_path.substr(answer.entry_path.rfind('/') + 1);
  const std::string batch = answer.batch_size > 0 ? fmt::format(" · batch {}", answer.batch_size) : "";
  const std::string peak =
      answer.peak_bytes > 0 ? " · peak " + bytes(static_cast<double>(answer.peak_bytes)) : std::string();
  page.line(page.bold(printable(entry)) + page.dim(fmt::format("{} · {} a step{} · {}", batch, duration(answer.step_ms),
                                                               peak, printable(answer.device))));
  page.line();
  const bool any_tried = std::ranges::any_of(answer.changes, [](const auto& row) { return row.tried.has_value(); });
  const std::string offer = try_text(answer);
  const bool offer_first = answer.try_seconds.value_or(0) < kShortTrial;
  if (!offer.empty() && offer_first) {
    page.prose("", offer + kTryOption, 2);
    page.line();
  }
  const auto pays = [&](const ChangeAnswer& row) {
    return has_figures(row) && !brings_nothing(row, answer.peak_bytes);
  };
  if (std::ranges::any_of(answer.changes, pays)) {
    applicable(page, answer, any_tried);
  }
  for (const ChangeAnswer& row : answer.changes) {
    if (has_figures(row) && brings_nothing(row, answer.peak_bytes)) {
      page.prose("", joined(row.change) + " brings no gain: " + nothing_text(row), 2);
    }
  }
  for (const ChangeAnswer& row : answer.changes) {
    if (row.reason.empty() && !has_figures(row)) {
      page.prose("", joined(row.change) + " is not predicted: " + printable(not_predicted_text(answer, row)), 2);
    }
  }
  for (const ChangeAnswer& row : answer.changes) {
    if (!row.reason.empty()) {
      page.prose("", joined(row.change) + " is left out: " + printable(row.reason), 2);
    }
  }
  page.line();
  if (!offer.empty() && !offer_first) {
    page.prose("", offer + kTryOption, 2);
  }
  page.prose("", basis_text(answer), 2);
  for (const std::string& warning : shown_warnings(answer.warnings, options.warnings)) {
    page.prose("warning", warning, kBeside);
  }
  return page.take();
}

}  // namespace ridgeline::report
