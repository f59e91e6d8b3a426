#include "editor/answers_json.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/breakdown/totals.h"
#include "analysis/prediction/answers.h"
#include "analysis/time/noise.h"
#include "editor/batch_size_method.h"
#include "editor/setting_names.h"
#include "protocol/shown_text.h"
#include "report/json.h"
#include "report/labels.h"
#include "report/outlook_text.h"
#include "report/rendered_prediction.h"
#include "report/rendered_what_if.h"
#include "report/wording.h"

namespace ridgeline::editor {

namespace {

using protocol::Json;
using report::number;
using report::ratio;

Json trial_json(const Entry& entry) {
  if (!entry.trial.has_value()) {
    return nullptr;
  }
  return {{"batchSize", entry.trial->batch_size},
          {"running", entry.trial->active.has_value()},
          {"message", protocol::label_text(entry.trial->message)}};
}

Json measured_json(const analysis::TimeSample& sample, const Json& peak_bytes) {
  return {{"batchSize", sample.batch_size},
          {"timeMs", number(sample.ms.value)},
          {"lowMs", number(sample.ms.low)},
          {"highMs", number(sample.ms.high)},
          {"peakBytes", peak_bytes}};
}

/// The edit that writes a batch size into the entry file; null when it is there, or with the reason.
Json edit_json(int batch_size, const Snapshot* snapshot, std::string& no_edit_reason) {
  if (snapshot == nullptr) {
    no_edit_reason = "The entry file is not open: open it to edit its batch size.";
    return nullptr;
  }
  if (batch_size_in_code(*snapshot->source, snapshot->own.get()) == batch_size) {
    return nullptr;
  }
  const auto edit = batch_size_edit(*snapshot, batch_size);
  if (!edit) {
    no_edit_reason = edit.error().message();
    return nullptr;
  }
  return snapshot->client.workspace.document_changes ? Json(*edit) : protocol::plain_changes(*edit);
}

std::vector<std::string> names_of(const std::vector<analysis::CodePackage>& code) {
  std::vector<std::string> names;
  for (const analysis::CodePackage& package : code) {
    names.push_back(package.name);
  }
  return names;
}

std::vector<std::string> warnings_of(const Figures& figures) {
  std::vector<std::string> warnings = figures.profile().warnings;
  for (std::string& warning : warnings) {
    warning = with_setting_names(std::move(warning));
  }
  if (const auto at = figures.predictor().carried_at) {
    warnings.push_back("What is predicted for batch sizes other than " + std::to_string(*at) +
                       " is from a profile before the save. At that size, the step takes as long as it did then.");
  }
  return warnings;
}

Json applied_json(const std::optional<AppliedChange>& applied) {
  if (!applied.has_value()) {
    return nullptr;
  }
  const analysis::ChangeAnswer& answer = applied->answer;
  return {{"title", answer.title},
          {"predictedText", report::predicted_text(answer)},
          {"triedText", report::tried_text(answer)},
          {"measuredText", report::measured_text(applied->measured)}};
}

using LineCosts = std::map<std::uint32_t, analysis::LineCost>;  ///< by line of the profile

const char* shown_name(report::ShownTime shown) {
  switch (shown) {
    case report::ShownTime::kSelf:
      return "self";
    case report::ShownTime::kTotal:
      return "total";
    case report::ShownTime::kNothing:
      break;
  }
  return "nothing";
}

/// The costs of the file's lines in the whole step.
LineCosts costs_of_file(const Snapshot& snapshot) {
  LineCosts costs;
  if (snapshot.file() != nullptr) {
    for (const auto& [number_of_line, line] : snapshot.file()->lines) {
      costs[number_of_line] = *line;
    }
  }
  return costs;
}

/// The costs of the parts of `node`, on the document's lines that call them.
LineCosts costs_below(const Snapshot& snapshot, const analysis::Node& node) {
  LineCosts costs;
  const auto add = [&](const analysis::Location& place, double ms, std::uint64_t bytes) {
    if (snapshot.figures()->path_of(place) == snapshot.document.path()) {
      analysis::LineCost& cost = costs[place.line];
      cost.self_ms += ms;
      cost.total_ms += ms;
      cost.peak_bytes += bytes;
    }
  };
  for (const analysis::Node& child : node.children) {
    for (const analysis::Caller& caller : child.callers) {
      add(caller.location, caller.ms, caller.peak_bytes);
    }
    if (child.callers.empty()) {
      add(child.location, child.ms, child.peak_bytes);
    }
  }
  return costs;
}

/// Time of a module in which no operation runs, which has a node for each line.
bool is_python(const analysis::Node& node) {
  return node.type.empty() && node.children.empty() && node.name == analysis::kPythonNode;
}

/// The costliest child of `node` that has one row with `child`: itself, but for Python.
const analysis::Node* first_alike(const analysis::Node& node, const analysis::Node& child) {
  return is_python(child) ? &*std::ranges::find_if(node.children, is_python) : &child;
}

/// Rows of its children.
std::size_t row_count(const analysis::Node& node) {
  const auto python = static_cast<std::size_t>(std::ranges::count_if(node.children, is_python));
  return node.children.size() - (python > 1 ? python - 1 : 0);
}

std::size_t position_of(const Json& rows, const std::string& node) {
  const auto found = std::ranges::find_if(rows, [&](const Json& row) { return row["node"] == node; });
  return static_cast<std::size_t>(found - rows.begin());
}

/// The children are in the order of their time, and so the first has the most: its place stands for all.
void add_to_row(Json& row, const analysis::Node& node, const analysis::Profile& profile) {
  const double ms = row["timeMs"].get<double>() + node.ms;
  const auto bytes = row["peakBytes"].get<std::uint64_t>() + node.peak_bytes;
  row["timeMs"] = number(ms);
  row["share"] = number(ratio(ms, profile.iteration.ms.value));
  for (std::size_t i = 0; i < analysis::kPhaseCount; ++i) {
    Json& phase = row["byPhaseMs"][analysis::kPhaseNames[i]];
    phase = number(phase.get<double>() + node.by_phase[i]);
  }
  row["calls"] = row["calls"].get<std::uint64_t>() + node.calls;
  row["peakBytes"] = bytes;
  row["peakShare"] = number(ratio(static_cast<double>(bytes), static_cast<double>(profile.peak_bytes)));
}

/// The operation that takes most time inside of `node`, over all its calls; null where it is one part alone.
Json costliest_operation_json(const Figures& figures, const analysis::Node& node) {
  const std::vector<analysis::Total> totals = analysis::operation_totals(node);
  if (totals.empty() || node.children.empty() || totals.front().ms <= 1.01 * totals.front().costliest->ms) {
    return nullptr;
  }
  const analysis::Total& most = totals.front();
  return {{"node", figures.id_of(*most.costliest)},
          {"name", most.name},
          {"calls", most.calls},
          {"timeMs", number(most.ms)},
          {"share", number(ratio(most.ms, figures.profile().iteration.ms.value))}};
}

}  // namespace

Json summary_json(const Entry& entry, const std::string& uri, std::optional<int> in_code,
                  const std::optional<AppliedChange>& applied) {
  const Figures& figures = *entry.figures;
  const analysis::Profile& profile = figures.profile();
  Json measured = Json::array();
  for (const analysis::TimeSample& sample : profile.time_samples) {
    const auto memory =
        std::ranges::find(profile.memory_samples, sample.batch_size, &analysis::MemorySample::batch_size);
    measured.push_back(
        measured_json(sample, memory == profile.memory_samples.end() ? Json(nullptr) : Json(memory->peak_bytes)));
  }
  for (const analysis::Check& check : profile.checks) {
    measured.push_back(measured_json(check.time, check.peak_bytes));
  }
  const auto range = analysis::sampled_range(figures.predictor());
  const std::optional<analysis::TimeModel>& time = figures.predictor().time;
  const std::optional<analysis::PeakModel>& peaks = figures.predictor().peaks;
  const analysis::Answer& fits = figures.outlook().fits;
  const analysis::BatchConclusion& conclusion = figures.outlook().conclusion;
  const bool is_largest_known =
      fits.obstacle == analysis::Obstacle::kNone || fits.obstacle == analysis::Obstacle::kRanOut;
  return {{"uri", uri},
          {"profileId", profile.id},
          {"revision", entry.trials},
          {"trial", trial_json(entry)},
          {"createdSeconds", figures.created_s()},
          {"stale", entry.is_stale()},
          {"staleReason", entry.stale_reason()},
          {"change", entry.change},
          {"applied", applied_json(applied)},
          {"uncertainty", analysis::uncertainty(profile)},
          {"batchSize", profile.batch_size},
          {"batchSizeInCode", in_code ? Json(*in_code) : Json(nullptr)},
          {"timeMs", number(profile.iteration.ms.value)},
          {"lowMs", number(profile.iteration.ms.low)},
          {"highMs", number(profile.iteration.ms.high)},
          {"byPhaseMs", report::phases_json(profile.iteration.by_phase)},
          {"samplesPerSecond", report::optional_json(profile.samples_per_second)},
          {"maxSamplesPerSecond", report::optional_json(profile.max_samples_per_second)},
          {"peakBytes", profile.peak_bytes},
          {"byCategory", report::categories_json(profile.by_category)},
          {"capacityBytes", profile.capacity_bytes},
          {"device", profile.environment.device},
          {"inPlaceOf", profile.environment.in_place_of},
          {"userLineShare", number(profile.user_line_share)},
          {"code", names_of(profile.code)},
          {"libraries", analysis::packages_of(profile.library_call)},
          {"sampledBatchSizes", {{"low", range.low}, {"high", range.high}}},
          {"measured", std::move(measured)},
          {"models",
           {{"timeMs", time ? Json(report::time_pieces_json(time->pieces)) : Json(nullptr)},
            {"peakBytes", peaks ? Json(report::peak_pieces_json(peaks->value)) : Json(nullptr)}}},
          {"answers",
           {{"largestThatFits", report::batch_json(is_largest_known ? fits.batch : std::nullopt)},
            {"enoughThroughput", report::batch_json(conclusion.verdict == analysis::BatchVerdict::kUnsure
                                                        ? std::nullopt
                                                        : figures.outlook().enough.batch)},
            {"activationsEqualWeights", report::batch_json(figures.outlook().balanced.batch)},
            {"recommended", report::batch_json(conclusion.better)},
            {"conclusion", report::sentence(report::conclusion_text(profile, figures.outlook()))},
            {"balance", report::sentence(report::balance_text(figures.outlook().balanced))},
            {"fits", report::largest_unknown_text(fits)}}},
          {"warnings", warnings_of(figures)}};
}

Json place_json(const Figures& figures, const analysis::Location& location, const UriOf& uri_of) {
  if (location.file.empty()) {
    return nullptr;
  }
  return {{"uri", uri_of(figures.path_of(location))}, {"line", location.line > 0 ? location.line - 1 : 0}};
}

Json breakdown_json(const Figures& figures, const analysis::Node& node, const UriOf& uri_of) {
  const analysis::Profile& profile = figures.profile();
  const auto place = [&](const analysis::Location& location) { return place_json(figures, location, uri_of); };
  const auto one = [&](const analysis::Node& which) -> Json {
    return {
        {"node", figures.id_of(which)},
        {"name", which.name},
        {"type", which.type},
        {"calls", which.calls},
        {"timeMs", number(which.ms)},
        {"share", number(ratio(which.ms, profile.iteration.ms.value))},
        {"byPhaseMs", report::phases_json(which.by_phase)},
        {"peakBytes", which.peak_bytes},
        {"peakShare", number(ratio(static_cast<double>(which.peak_bytes), static_cast<double>(profile.peak_bytes)))},
        {"location", place(which.location)},
        {"definition", place(which.definition)},
        {"forward", place(figures.forward_of(which).value_or(analysis::Location()))},
        {"childCount", row_count(which)}};
  };
  Json children = Json::array();
  for (const analysis::Node& child : node.children) {
    if (const analysis::Node* first = first_alike(node, child); first == &child) {
      children.push_back(one(child));
    } else {
      add_to_row(children[position_of(children, figures.id_of(*first))], child, profile);
    }
  }
  const auto path = [&](analysis::Resource resource) {
    Json steps = Json::array();
    for (const analysis::CostliestStep& step : analysis::costliest_path(node, resource)) {
      steps.push_back({{"node", figures.id_of(*step.node)}, {"name", step.node->name}, {"label", step.label}});
    }
    return steps;
  };
  Json result = one(node);
  const analysis::Node* parent = figures.parent_of(node);
  result["profileId"] = profile.id;
  result["parent"] = parent == nullptr ? Json(nullptr) : Json(figures.id_of(*parent));
  result["children"] = std::move(children);
  result["costliest"] = {{"time", path(analysis::Resource::kTime)},
                         {"memory", path(analysis::Resource::kMemory)},
                         {"operation", costliest_operation_json(figures, node)}};
  return result;
}

Json line_costs_json(const Snapshot& snapshot, const analysis::Node* node) {
  const analysis::Profile& profile = snapshot.figures()->profile();
  // The step's figures, also for a part of it: a share means the same wherever it is shown.
  const double step = profile.iteration.ms.value;
  const auto peak = static_cast<double>(profile.peak_bytes);
  Json lines = Json::array();
  for (const auto& [profiled_line, cost] : node == nullptr ? costs_of_file(snapshot) : costs_below(snapshot, *node)) {
    if (const auto now = snapshot.current_line(profiled_line)) {
      lines.push_back({{"line", *now},
                       {"timeMs", number(cost.self_ms)},
                       {"totalMs", number(cost.total_ms)},
                       {"share", number(ratio(cost.self_ms, step))},
                       {"totalShare", number(ratio(cost.total_ms, step))},
                       {"peakBytes", cost.peak_bytes},
                       {"peakShare", number(ratio(static_cast<double>(cost.peak_bytes), peak))},
                       {"shows", shown_name(report::shown_time(cost, profile))},
                       {"label", report::line_label(cost, profile, snapshot.settings->inlay_hint_format)}});
    }
  }
  return {{"profileId", profile.id},
          {"version", snapshot.document.version()},
          {"stale", snapshot.entry->is_stale()},
          {"node", node == nullptr ? "" : snapshot.figures()->id_of(*node)},
          {"timeMs", number(node == nullptr ? step : node->ms)},
          {"peakBytes", node == nullptr ? profile.peak_bytes : node->peak_bytes},
          {"lines", std::move(lines)}};
}

Json prediction_json(const Figures& figures, const analysis::Question& question, const Snapshot* snapshot) {
  const analysis::Answer answer = analysis::answer(figures.predictor(), question);
  std::string no_edit_reason;
  Json edit = answer.batch ? edit_json(answer.batch->batch_size, snapshot, no_edit_reason) : Json(nullptr);
  const auto arguments = edit.is_null() && answer.batch.has_value() && snapshot != nullptr
                             ? batch_size_arguments(*snapshot, answer.batch->batch_size)
                             : std::nullopt;
  return {{"profileId", figures.profile().id},
          {"batch", report::batch_json(answer.batch)},
          {"obstacle", report::obstacle_json(answer.obstacle)},
          {"message", report::obstacle_text(answer)},
          {"maxSamplesPerSecond", report::optional_json(answer.max_samples_per_second)},
          {"capacityBytes", answer.capacity_bytes},
          {"edit", std::move(edit)},
          {"noEditReason", no_edit_reason},
          {"arguments", arguments.has_value() ? Json(*arguments) : Json(nullptr)}};
}

Json predictions_json(const Figures& figures) {
  Json batches = Json::array();
  for (const int batch_size : analysis::batch_size_ladder(figures.predictor())) {
    batches.emplace_back(report::batch_json(analysis::predict_batch(figures.predictor(), batch_size)));
  }
  return {{"profileId", figures.profile().id}, {"batches", std::move(batches)}};
}

Json changed_json(const Entry& entry) {
  const std::string state = entry.failed.has_value()   ? "failed"
                            : entry.figures == nullptr ? "none"
                            : entry.is_stale()         ? "stale"
                                                       : "ready";
  Json json = {{"state", state},
               {"profiling", entry.active.has_value()},
               {"reason", entry.stale_reason()},
               {"profileId", nullptr},
               {"revision", entry.trials},
               {"trial", trial_json(entry)},
               {"failure", nullptr}};
  if (entry.figures != nullptr) {
    json["profileId"] = entry.figures->profile().id;
  }
  if (entry.failed.has_value()) {
    json["failure"] = failure_json(*entry.failed);
  }
  return json;
}

Json failure_json(const app::RunFailure& failure) {
  Json frames = Json::array();
  for (const protocol::TraceFrame& frame : failure.frames) {
    frames.push_back({{"file", frame.file}, {"line", frame.line}, {"function", frame.function}, {"text", frame.text}});
  }
  return {{"kind", protocol::name_of(failure.kind)},
          {"stage", failure.stage},
          {"message", failure.message},
          {"frames", std::move(frames)},
          {"output", failure.output},
          {"interpreter", failure.interpreter}};
}

}  // namespace ridgeline::editor
