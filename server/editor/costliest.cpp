#include "editor/costliest.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/breakdown/totals.h"
#include "base/text.h"
#include "editor/answers_json.h"
#include "protocol/shown_text.h"
#include "report/json.h"
#include "report/labels.h"
#include "report/wording.h"

namespace ridgeline::editor {

namespace {

using protocol::Json;

struct CostRow {
  std::string name;
  std::optional<std::uint64_t> calls;
  double ms = 0;
  std::uint64_t peak_bytes = 0;
  analysis::Location location{};
  const analysis::Node* node = nullptr;
  std::optional<analysis::ByPhase> by_phase{};  ///< absent: not known
};

/// Each line by its own time, and what is on no line.
std::vector<CostRow> line_rows(const Figures& figures) {
  std::vector<CostRow> rows;
  for (const analysis::LineCost& line : figures.profile().lines) {
    rows.push_back({std::string(base::trimmed(figures.line_text(line.location))), line.calls, line.self_ms,
                    line.peak_bytes, line.location, nullptr, line.self_by_phase});
  }
  for (const analysis::OtherCost& other : figures.profile().other) {
    rows.push_back({other.name, std::nullopt, other.ms, other.peak_bytes});
  }
  std::ranges::stable_sort(rows, std::greater{}, &CostRow::ms);
  return rows;
}

std::vector<CostRow> total_rows(const std::vector<analysis::Total>& totals, analysis::Location analysis::Node::*place) {
  std::vector<CostRow> rows;
  for (const analysis::Total& total : totals) {
    rows.push_back({total.name, total.calls, total.ms, total.peak_bytes, total.costliest->*place, total.costliest,
                    total.by_phase});
  }
  return rows;
}

void fold_rest(std::vector<CostRow>& rows) {
  if (rows.size() <= kMostRows) {
    return;
  }
  CostRow rest{fmt::format("… {} more", rows.size() - kMostRows + 1), std::nullopt};
  for (auto row = rows.begin() + kMostRows - 1; row != rows.end(); ++row) {
    rest.ms += row->ms;
    rest.peak_bytes += row->peak_bytes;
  }
  rows.resize(kMostRows - 1);
  rows.push_back(std::move(rest));
}

Json change_json(const Entry& entry, const CostRow& row) {
  const bool is_line = row.node == nullptr && !row.location.file.empty();
  const analysis::TimeChange* change = is_line ? entry.change_of(row.location) : nullptr;
  if (change == nullptr) {
    return nullptr;
  }
  std::string label = report::line_change_label(*change);
  if (label.empty()) {
    return nullptr;
  }
  return {{"part", report::number(change->change)},
          {"label", std::move(label)},
          {"explanation", report::line_change_explanation(*change)}};
}

}  // namespace

Json costliest_json(const Entry& entry, const UriOf& uri_of) {
  const Figures& figures = *entry.figures;
  const analysis::Profile& profile = figures.profile();
  const auto list = [&](std::vector<CostRow> rows) {
    fold_rest(rows);
    Json json = Json::array();
    for (const CostRow& row : rows) {
      json.push_back({{"name", protocol::label_text(row.name)},
                      {"calls", row.calls ? Json(*row.calls) : Json(nullptr)},
                      {"timeMs", report::number(row.ms)},
                      {"byPhaseMs", row.by_phase ? Json(report::phases_json(*row.by_phase)) : Json(nullptr)},
                      {"share", report::number(report::ratio(row.ms, profile.iteration.ms.value))},
                      {"peakBytes", row.peak_bytes},
                      {"peakShare", report::number(report::ratio(static_cast<double>(row.peak_bytes),
                                                                 static_cast<double>(profile.peak_bytes)))},
                      {"location", place_json(figures, row.location, uri_of)},
                      {"node", row.node != nullptr ? Json(figures.id_of(*row.node)) : Json(nullptr)},
                      {"change", change_json(entry, row)}});
    }
    return json;
  };
  return {
      {"profileId", profile.id},
      {"lines", list(line_rows(figures))},
      {"operations", list(total_rows(analysis::operation_totals(profile.breakdown), &analysis::Node::location))},
      {"moduleTypes", list(total_rows(analysis::module_type_totals(profile.breakdown), &analysis::Node::definition))}};
}

}  // namespace ridgeline::editor
