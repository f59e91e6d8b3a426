#include "app/profiling/batch_changes.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "step/changes/change_table.h"

namespace ridgeline::app {

namespace {

using analysis::ChangeAnswer;
using analysis::FittingChange;
using analysis::SpeedUp;

constexpr std::string_view kBatchSize = "batch-size:";

const ChangeAnswer* find(std::span<const ChangeAnswer> answers, const protocol::ChangeRequest& change) {
  const auto found = std::ranges::find(answers, change, &ChangeAnswer::change);
  return found == answers.end() || !found->predicted.has_value() ? nullptr : &*found;
}

/// As independent errors.
SpeedUp ratio_of(const SpeedUp& changed, const SpeedUp& unchanged) {
  const double value = changed.value / unchanged.value;
  const double down = std::hypot(std::log(changed.value / changed.low), std::log(unchanged.high / unchanged.value));
  const double up = std::hypot(std::log(changed.high / changed.value), std::log(unchanged.value / unchanged.low));
  return {value, value * std::exp(-down), value * std::exp(up)};
}

}  // namespace

protocol::ChangeRequest batch_size_change(int batch_size) {
  return {std::string(kBatchSize) + std::to_string(batch_size)};
}

std::optional<int> requested_batch_size(const protocol::ChangeRequest& request) {
  std::optional<int> size;
  for (const std::string& change : request) {
    if (change.starts_with(kBatchSize)) {
      int number = 0;
      const char* end = change.data() + change.size();
      if (size.has_value() || std::from_chars(change.data() + kBatchSize.size(), end, number).ptr != end) {
        return std::nullopt;
      }
      size = number;
    }
  }
  return size;
}

protocol::ChangeRequest without_batch_size(protocol::ChangeRequest request) {
  std::erase_if(request, [](const std::string& change) { return change.starts_with(kBatchSize); });
  return request;
}

std::optional<analysis::RefinedBatch> refined_batch(const analysis::WhatIf& answer, int batch_size) {
  const ChangeAnswer* row = find(answer.changes, batch_size_change(batch_size));
  if (row == nullptr || answer.batch_size < 1 || answer.step_ms <= 0) {
    return std::nullopt;
  }
  const SpeedUp& speed_up = row->predicted->speed_up;
  const double now = answer.batch_size / answer.step_ms * 1e3;  // samples per second
  const double ms = batch_size * 1e3 / now;                     // at the unchanged throughput
  analysis::RefinedBatch refined;
  refined.batch_size = batch_size;
  refined.samples_per_second = {now * speed_up.value, now * speed_up.low, now * speed_up.high};
  refined.ms = {ms / speed_up.value, ms / speed_up.high, ms / speed_up.low};
  refined.measured_share = row->predicted->measured_share;
  refined.operations = answer.operations;
  refined.operations_measured = answer.operations_measured;
  return refined;
}

std::vector<protocol::ChangeRequest> fitting_requests(int batch_size, bool on_host) {
  static const std::vector<protocol::ChangeRequest> kChanges = {
      {},
      {"checkpoint"},
      {"selective-checkpoint"},
      {"bf16-autocast"},
      {"accumulate:2"},
      {"accumulate:4"},
      {"accumulate:8"},
      {"bf16-autocast", "checkpoint"},
      {"bf16-autocast", "selective-checkpoint"},
      {"bf16-autocast", "accumulate:2"},
      {"checkpoint", "accumulate:2"},
      {"checkpoint", "accumulate:4"},
      {"selective-checkpoint", "accumulate:2"},
      {"offload"},
      {"bf16-autocast", "offload"},
  };
  std::vector<protocol::ChangeRequest> requests;
  for (const protocol::ChangeRequest& changes : kChanges) {
    if (on_host && std::ranges::find(changes, "offload") != changes.end()) {
      continue;
    }
    requests.push_back(batch_size_change(batch_size));
    requests.back().insert(requests.back().end(), changes.begin(), changes.end());
  }
  return requests;
}

std::optional<analysis::MakeFit> make_fit(const analysis::WhatIf& answer, std::span<const ChangeAnswer> over_batch,
                                          int batch_size, std::uint64_t limit_bytes,
                                          std::optional<double> fitted_peak_bytes) {
  const ChangeAnswer* alone = find(answer.changes, batch_size_change(batch_size));
  if (alone == nullptr || !needed_bytes(*alone->predicted).has_value()) {
    return std::nullopt;
  }
  const auto captured = static_cast<double>(*needed_bytes(*alone->predicted));
  const double above = fitted_peak_bytes.value_or(captured) - captured;
  analysis::MakeFit made{.entry_path = answer.entry_path,
                         .project_root = answer.project_root,
                         .device = answer.device,
                         .batch_size = batch_size,
                         .limit_bytes = limit_bytes,
                         .by_fitted_model = fitted_peak_bytes.has_value(),
                         .changes = {},
                         .warnings = answer.warnings};
  for (const ChangeAnswer& row : answer.changes) {
    const protocol::ChangeRequest change(row.change.begin() + 1, row.change.end());
    FittingChange fitting{.change = change,
                          .title = step::title_of(change),
                          .takes = step::takes_of(change),
                          .reason = row.reason,
                          .speed_up = {}};
    if (row.predicted.has_value() && needed_bytes(*row.predicted).has_value()) {
      const auto needed = static_cast<std::uint64_t>(
          std::llround(std::max(0.0, static_cast<double>(*needed_bytes(*row.predicted)) + above)));
      const ChangeAnswer* const over = find(over_batch, change);
      const analysis::PredictedChange& of_time = over != nullptr ? *over->predicted : *row.predicted;
      fitting.step_ms = of_time.step_ms;
      if (&row != alone) {
        fitting.speed_up = over != nullptr ? of_time.speed_up : ratio_of(of_time.speed_up, alone->predicted->speed_up);
        fitting.largest_error = of_time.largest_error;
      }
      fitting.fits = needed <= limit_bytes;
      fitting.peak_bytes = needed;
      if (row.predicted->reserved_bytes.has_value()) {
        fitting.reserved_bytes = needed;
        fitting.peak_bytes = row.predicted->peak_bytes.value_or(0);
      }
    }
    made.changes.push_back(std::move(fitting));
  }
  std::ranges::stable_sort(made.changes, {}, [](const FittingChange& row) {
    const auto needed = static_cast<double>(row.reserved_bytes.value_or(row.peak_bytes));
    const double order = row.fits ? -row.speed_up.value : needed;
    return std::tuple(!row.change.empty(), !row.reason.empty(), !row.fits, order);
  });
  return made;
}

}  // namespace ridgeline::app
