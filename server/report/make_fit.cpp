#include "report/make_fit.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "report/page.h"
#include "report/rendered_what_if.h"
#include "report/units.h"

namespace ridgeline::report {
namespace {

using analysis::FittingChange;
using analysis::MakeFit;
using Json = nlohmann::ordered_json;

constexpr int kPeakColumns = 24;
constexpr int kReservedColumns = 34;
constexpr int kTimeColumns = 36;

std::string name_of(const FittingChange& row) {
  std::string name;
  for (const std::string& one : row.change) {
    name += (name.empty() ? "" : " + ") + one;
  }
  return name.empty() ? "the batch size alone" : printable(name);
}

std::string answer_text(const MakeFit& made) {
  const std::string limit = bytes(static_cast<double>(made.limit_bytes));
  if (!made.changes.empty() && made.changes.front().fits) {
    return fmt::format("A batch of {} fits into {} as it is.", made.batch_size, limit);
  }
  const bool any = std::ranges::any_of(made.changes, [](const FittingChange& row) { return row.fits; });
  return any ? fmt::format(
                   "A batch of {} does not fit into {} as it is. These changes are predicted to make it fit, "
                   "the fastest first.",
                   made.batch_size, limit)
             : fmt::format("A batch of {} does not fit into {}, and none of these changes is predicted to make it fit.",
                           made.batch_size, limit);
}

void row_of(Page& page, const FittingChange& row, int name_width, int peak_width) {
  const std::string peak = bytes(static_cast<double>(row.reserved_bytes.value_or(row.peak_bytes))) +
                           (row.reserved_bytes ? " reserved" : "") + (row.fits ? ": fits" : ": does not fit");
  const std::string time = duration(row.step_ms) + (row.change.empty() ? "" : ", " + speed_up_text(row.speed_up));
  page.line("  " + left(clip(name_of(row), name_width - 2), name_width) + left(peak, peak_width) + time);
  std::string note = printable(row.takes);
  if (analysis::is_wide(row.speed_up) && !row.largest_error.empty()) {
    note += (note.empty() ? "" : "; ") + ("wide, since " + row.largest_error);
  }
  page.prose("", note, 6);
}

/// Why changes do not apply, and which: each reason once.
std::vector<std::pair<std::string, std::vector<std::string>>> left_out_by_reason(const MakeFit& made) {
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (const FittingChange& row : made.changes) {
    if (row.reason.empty()) {
      continue;
    }
    auto same = std::ranges::find(reasons, row.reason, [](const auto& each) { return each.first; });
    if (same == reasons.end()) {
      same = reasons.insert(same, {row.reason, {}});
    }
    same->second.push_back(name_of(row));
  }
  return reasons;
}

/// Options for the fastest change that makes it fit; empty: there is none, or none is needed.
std::string to_try(const MakeFit& made) {
  const auto found = std::ranges::find_if(made.changes, &FittingChange::fits);
  std::string options;
  if (found != made.changes.end()) {
    for (const std::string& change : found->change) {
      options += " --change " + change;
    }
  }
  return options;
}

Json row_json(const FittingChange& row) {
  const bool applies = row.reason.empty();
  const Json speed_up = {{"value", row.speed_up.value}, {"low", row.speed_up.low}, {"high", row.speed_up.high}};
  return {{"change", row.change},
          {"title", row.title},
          {"takes", row.takes},
          {"applies", applies},
          {"reason", row.reason},
          {"peakBytes", applies ? Json(row.peak_bytes) : Json(nullptr)},
          {"reservedBytes", applies && row.reserved_bytes ? Json(*row.reserved_bytes) : Json(nullptr)},
          {"fits", row.fits},
          {"stepMs", applies ? Json(row.step_ms) : Json(nullptr)},
          {"speedUp", applies ? speed_up : Json(nullptr)},
          {"wideBecause", analysis::is_wide(row.speed_up) ? row.largest_error : ""}};
}

}  // namespace

std::string text_make_fit(const MakeFit& made, const TextOptions& options) {
  Page page(std::clamp(options.width, kLeastWidth, 140), options.color);
  const std::string entry = made.entry_path.substr(made.entry_path.rfind('/') + 1);
  page.line(page.bold(printable(entry)) +
            page.dim(fmt::format(" · batch {} in {} · {}", made.batch_size,
                                 bytes(static_cast<double>(made.limit_bytes)), printable(made.device))));
  page.line();
  page.prose("", answer_text(made), 2);
  page.line();
  const bool on_device =
      std::ranges::any_of(made.changes, [](const FittingChange& row) { return row.reserved_bytes.has_value(); });
  const int peak_width = on_device ? kReservedColumns : kPeakColumns;
  const int name_width = page.width() - 2 - peak_width - kTimeColumns;
  page.line("  " + page.bold(left("CHANGE", name_width) +
                             left(on_device ? "PREDICTED MEMORY" : "PREDICTED PEAK", peak_width) + "PREDICTED STEP"));
  for (const FittingChange& row : made.changes) {
    if (row.reason.empty()) {
      row_of(page, row, name_width, peak_width);
    }
  }
  for (const auto& [reason, names] : left_out_by_reason(made)) {
    page.prose(
        "",
        fmt::format("{} {} left out: {}", fmt::join(names, ", "), names.size() == 1 ? "is" : "are", printable(reason)),
        2);
  }
  page.line();
  page.prose(
      "",
      fmt::format("No step was timed at this batch size. Its own peak is from {}; speeds are relative to the batch "
                  "size alone, with 95 % intervals.",
                  made.by_fitted_model ? "the memory model of the profile, and each change's is that with what "
                                         "its tensors need less or more"
                                       : "the operations of the step"),
      2);
  if (const std::string change = to_try(made); !change.empty()) {
    page.prose("",
               fmt::format("To be certain of one, try it: `ridgeline what-if {} --change batch-size:{}{} --try`.",
                           printable(entry), made.batch_size, printable(change)),
               2);
  }
  for (const std::string& warning : shown_warnings(made.warnings, options.warnings)) {
    page.prose("warning", warning, kBeside);
  }
  return page.take();
}

std::string json_make_fit(const MakeFit& made) {
  Json changes = Json::array();
  for (const FittingChange& row : made.changes) {
    changes.push_back(row_json(row));
  }
  const Json json = {{"version", 1},
                     {"entry", {{"path", made.entry_path}, {"projectRoot", made.project_root}}},
                     {"device", made.device},
                     {"batchSize", made.batch_size},
                     {"limitBytes", made.limit_bytes},
                     {"byFittedModel", made.by_fitted_model},
                     {"changes", changes},
                     {"warnings", made.warnings}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ridgeline::report
