#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "report/page.h"
#include "report/units.h"
#include "report/what_if.h"

namespace ridgeline::report {
namespace {

using analysis::ChangeAnswer;
using analysis::SpeedUp;
using analysis::WhatIf;

constexpr int kSpeedColumns = 23;
constexpr int kMemoryColumns = 22;

std::string times(double value) { return fmt::format("{:.2f}×", value); }

std::string speed_cell(const SpeedUp& speed_up) {
  return fmt::format("{} ({:.2f}–{:.2f})", times(speed_up.value), speed_up.low, speed_up.high);
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

void applicable(Page& page, const WhatIf& answer, bool any_tried) {
  const int name_width = page.width() - 2 - kSpeedColumns * (any_tried ? 2 : 1) - kMemoryColumns;
  page.line("  " + page.bold(left("CHANGE", name_width) + left("PREDICTED SPEED-UP", kSpeedColumns) +
                             (any_tried ? left("TRIED", kSpeedColumns) : "") + "PEAK MEMORY"));
  for (const ChangeAnswer& row : answer.changes) {
    if (!row.reason.empty()) {
      continue;
    }
    const std::string predicted = row.predicted.has_value() ? speed_cell(row.predicted->speed_up) : "–";
    const std::string tried = row.tried.has_value() ? speed_cell(row.tried->speed_up) : "–";
    const std::string peak = peak_text(answer, row);
    page.line("  " + left(clip(joined(row.change), name_width - 2), name_width) + left(predicted, kSpeedColumns) +
              (any_tried ? left(tried, kSpeedColumns) : "") + (peak.empty() ? "–" : peak));
    std::string note = printable(row.takes);
    for (const std::string& more : {loss_text(row), printable(row.not_tried), certainty_text(answer, row)}) {
      note += (note.empty() || more.empty() ? "" : "; ") + more;
    }
    page.prose("", note, 6);
  }
}

}  // namespace

std::string speed_up_text(double value) {
  if (std::abs(value - 1) < 0.005) {
    return "no change";
  }
  return value > 1 ? times(value) + " faster" : times(1 / value) + " slower";
}

std::string speed_up_text(const SpeedUp& speed_up) {
  const bool slower = speed_up.value < 1 && std::abs(speed_up.value - 1) >= 0.005;
  return fmt::format("{} ({:.2f} to {:.2f})", speed_up_text(speed_up.value), slower ? 1 / speed_up.high : speed_up.low,
                     slower ? 1 / speed_up.low : speed_up.high);
}

std::string peak_text(const WhatIf& answer, const ChangeAnswer& row) {
  if (row.tried.has_value()) {
    return memory_cell(row.tried->changed_peak_bytes, row.tried->unchanged_peak_bytes);
  }
  return row.predicted.has_value() && row.predicted->peak_bytes.has_value()
             ? memory_cell(*row.predicted->peak_bytes, answer.peak_bytes)
             : "";
}

std::string loss_text(const ChangeAnswer& row) {
  if (!row.tried.has_value() || !row.tried->loss_drift.has_value()) {
    return row.tried.has_value() ? "losses could not be compared" : "";
  }
  const double drift = *row.tried->loss_drift;
  if (!std::isfinite(drift)) {
    return "the loss is not a number any more";
  }
  return drift == 0 ? "losses are equal" : "losses differ by up to " + share(drift);
}

std::string certainty_text(const WhatIf& answer, const ChangeAnswer& row) {
  if (!row.predicted.has_value()) {
    return row.reason.empty() && !row.tried.has_value() ? "what it does is not known before it runs: try it" : "";
  }
  if (row.predicted->by_rule && row.predicted->measured_share <= 0) {
    return answer.from_trace ? "" : "by rule, on the graph of the step";
  }
  if (row.predicted->by_rule) {
    return "partly by rule, on the graph of the changed step";
  }
  return row.predicted->measured_share < 0.9
             ? share(1 - row.predicted->measured_share) + " of what changes was not measured"
             : "";
}

std::string basis_text(const WhatIf& answer) {
  if (answer.from_trace || answer.operations == 0) {
    return "Predicted by rules on the graph of the recorded step: no change was run. The intervals are between the "
           "ends "
           "of what the rules guess.";
  }
  const bool any_tried = std::ranges::any_of(answer.changes, [](const auto& row) { return row.tried.has_value(); });
  return fmt::format(
      "Predicted from the recorded step and the times of {} operations alone ({} measured now); intervals are 95 %.{}",
      answer.operations, answer.operations_measured,
      any_tried ? " Tried: timed in turns with the unchanged step." : "");
}

std::string text_what_if(const WhatIf& answer, const TextOptions& options) {
  Page page(std::clamp(options.width, 80, 140), options.color);
  const std::string entry = answer.entry_path.substr(answer.entry_path.rfind('/') + 1);
  const std::string batch = answer.batch_size > 0 ? fmt::format(" · batch {}", answer.batch_size) : "";
  const std::string peak =
      answer.peak_bytes > 0 ? " · peak " + bytes(static_cast<double>(answer.peak_bytes)) : std::string();
  page.line(page.bold(printable(entry)) + page.dim(fmt::format("{} · {} a step{} · {}", batch, duration(answer.step_ms),
                                                               peak, printable(answer.device))));
  page.line();
  const bool any_tried = std::ranges::any_of(answer.changes, [](const auto& row) { return row.tried.has_value(); });
  if (std::ranges::any_of(answer.changes, [](const auto& row) { return row.reason.empty(); })) {
    applicable(page, answer, any_tried);
  }
  for (const ChangeAnswer& row : answer.changes) {
    if (!row.reason.empty()) {
      page.prose("", joined(row.change) + " is left out: " + printable(row.reason), 2);
    }
  }
  page.line();
  page.prose("", basis_text(answer), 2);
  for (const std::string& warning : shown_warnings(answer.warnings, options.warnings)) {
    page.prose("warning", warning, kBeside);
  }
  return page.take();
}

}  // namespace ridgeline::report
