#include "assistant/measure_tools.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "assistant/answer_text.h"
#include "base/text.h"

namespace ridgeline::assistant {

namespace {

constexpr int kMostPauses = 20;  ///< for a kept profile that is being read
constexpr int kMostRows = 15;
constexpr std::size_t kMostRanks = 16;

std::string by_phase_text(const Json& phases) {
  std::string text;
  for (const auto& [name, ms] : phases.items()) {
    if (ms.get<double>() > 0) {
      text += (text.empty() ? "" : " · ") + name + " " + ms_text(ms);
    }
  }
  return text;
}

std::string by_category_text(const Json& categories) {
  std::string text;
  for (const auto& [name, bytes] : categories.items()) {
    if (bytes.get<double>() > 0) {
      text += (text.empty() ? "" : " · ") + name + " " + bytes_text(bytes);
    }
  }
  return text;
}

Json step_of(const Json& summary) {
  return figure(summary.at("timeMs"), summary.at("lowMs"), summary.at("highMs"), "ms", "measured");
}

/// Where a row is, as the project names it.
std::string file_of(const ToolContext& context, const Json& place) {
  return place.is_null() ? "" : context.relative(place.at("uri"));
}

Json row_json(const ToolContext& context, const Json& row) {
  const Json& place = row.at("location");
  return {{"name", row.at("name")},
          {"file", place.is_null() ? Json() : Json(file_of(context, place))},
          {"line", place.is_null() ? Json() : Json(place.at("line").get<int>() + 1)},
          {"ms", row.at("timeMs")},
          {"share", row.at("share")},
          {"peakBytes", row.at("peakBytes")},
          {"calls", row.at("calls")}};
}

std::string row_text(const ToolContext& context, const Json& row, bool by_memory) {
  const Json& place = row.at("location");
  const std::string where = place.is_null() ? "" : place_text(file_of(context, place), place.at("line")) + " ";
  const std::string time = ms_text(row.at("timeMs")) + " (" + share_text(row.at("share")) + ")";
  const std::string memory = bytes_text(row.at("peakBytes")) + " at the peak";
  return fmt::format("- {}{}: {}\n", where, in_quotes(row.at("name").get<std::string>(), 80),
                     by_memory ? memory + ", " + time : time + ", " + memory);
}

/// Rows by time, or by memory; the rest of the list is not among them. With a phase, the time is that of the phase.
Json sorted_rows(const Json& list, bool by_memory, const std::string& phase = "") {
  Json rows = Json::array();
  for (Json row : list) {
    if (row.at("location").is_null() && row.at("node").is_null()) {
      continue;
    }
    if (!phase.empty()) {
      const double whole = row.at("timeMs").get<double>();
      const double part = row.at("byPhaseMs").is_null() ? 0 : row["byPhaseMs"].at(phase).get<double>();
      if (part <= 0) {
        continue;
      }
      row["share"] = row["share"].get<double>() * part / whole;
      row["timeMs"] = part;
    }
    rows.push_back(std::move(row));
  }
  const char* key = by_memory ? "peakBytes" : "timeMs";
  std::stable_sort(rows.begin(), rows.end(), [key](const Json& a, const Json& b) { return a.at(key) > b.at(key); });
  return rows;
}

/// "own 3 ms, waiting for others 1 ms", of those that are known.
std::string rank_text(const Json& rank) {
  std::string text = fmt::format("- rank {}", rank.at("rank").get<int>());
  if (const auto machine = rank.at("machine").get<std::string>(); !machine.empty()) {
    text += " on " + in_quotes(machine, 60);
  }
  std::vector<std::pair<const char*, std::string>> parts;
  if (const Json& step = rank.at("step"); !step.is_null()) {
    parts = {{"step", step.at("text")},
             {"own work", step.at("ownText")},
             {"exposed communication", step.at("exposedText")},
             {"waiting for other ranks", step.at("waitingText")},
             {"hidden communication", step.at("hiddenText")}};
  }
  parts.emplace_back("step without recording", rank.at("bareStepText"));
  parts.emplace_back("data loading", rank.at("dataLoadingText"));
  for (std::size_t i = 0, shown = 0; i < parts.size(); ++i) {
    if (!parts[i].second.empty()) {
      text += fmt::format("{}{} {}", shown++ == 0 ? ": " : ", ", parts[i].first, parts[i].second);
    }
  }
  return text + "\n";
}

std::string job_text(const Json& job) {
  std::string text = "Recorded job " + in_quotes(job.at("command").get<std::string>());
  if (const auto steps = job.at("stepsText").get<std::string>(); !steps.empty()) {
    text += ", steps " + steps;
  }
  text += fmt::format(", {} ranks (measured):\n", job.at("ranks").size());
  for (std::size_t i = 0; i < std::min(kMostRanks, job.at("ranks").size()); ++i) {
    text += rank_text(job["ranks"][i]);
  }
  if (job["ranks"].size() > kMostRanks) {
    text += fmt::format("- {} more\n", job["ranks"].size() - kMostRanks);
  }
  if (!job.at("slower").is_null()) {
    text += "Slower: " + in_quotes(job["slower"].at("text").get<std::string>(), 400) + "\n";
  }
  if (const auto replay = job.at("replayText").get<std::string>(); !replay.empty()) {
    text += "Replay: " + in_quotes(replay, 400) + "\n";
  }
  for (const Json& part : job.at("path")) {
    text += fmt::format("- on the critical path: {} {} ({})\n", in_quotes(part.at("text").get<std::string>(), 120),
                        part.at("timeText").get<std::string>(), part.at("shareText").get<std::string>());
  }
  for (const Json& warning : job.at("warnings")) {
    text += "Warning: " + in_quotes(warning.get<std::string>(), 300) + "\n";
  }
  return text;
}

base::Task<ToolAnswer> summary_answer(ToolContext& context, Json summary, std::string path) {
  auto asking = context.ask("ridgeline/costliest", {{"profileId", summary.at("profileId")}});
  const Json costs = co_await std::move(asking);
  const Json& answers = summary.at("answers");
  ToolAnswer answer;
  std::string& text = answer.text;
  text = fmt::format("Step of {} at batch size {} on {}: {}", in_quotes(context.relative(path)),
                     summary.at("batchSize").get<int>(), summary.at("device").get<std::string>(),
                     milliseconds_text(summary.at("timeMs"), summary.at("lowMs"), summary.at("highMs"), "measured"));
  text += fmt::format("; {} samples/s (measured).\n", number_text(summary.at("samplesPerSecond")));
  text += "Phases (measured): " + by_phase_text(summary.at("byPhaseMs")) + ".\n";
  text += fmt::format("Peak memory (measured): {} of {}: {}.\n", bytes_text(summary.at("peakBytes")),
                      bytes_text(summary.at("capacityBytes")), by_category_text(summary.at("byCategory")));
  if (const std::string change = summary.at("change"); !change.empty()) {
    text += "Against the profile before (measured): " + change + ".\n";
  }
  if (const std::string conclusion = answers.at("conclusion"); !conclusion.empty()) {
    text += "Batch size (predicted): " + conclusion + "\n";
  }
  if (const std::string fits = answers.at("fits"); !fits.empty()) {
    text += "Fits (predicted): " + fits + "\n";
  }
  if (const std::string uncertainty = summary.at("uncertainty"); !uncertainty.empty()) {
    text += "Uncertain: " + uncertainty + "\n";
  }
  if (summary.at("stale").get<bool>()) {
    text += "Stale: " + in_quotes(summary.at("staleReason").get<std::string>()) +
            ". Call profile for figures of the present text.\n";
  }
  text += "Costliest lines, own time (measured):\n";
  const Json rows = sorted_rows(costs.at("lines"), false);
  Json lines = Json::array();
  for (std::size_t i = 0; i < std::min<std::size_t>(rows.size(), 6); ++i) {
    text += row_text(context, rows[i], false);
    lines.push_back(row_json(context, rows[i]));
  }
  for (const Json& warning : summary.at("warnings")) {
    text += "Warning: " + in_quotes(warning.get<std::string>(), 300) + "\n";
  }
  text += "Next: costliest, explain_line or memory_at_peak for detail; what_if for changes.\n";
  text += kQuotedNote;
  const Json& largest = answers.at("largestThatFits");
  answer.structured = {{"profileId", summary.at("profileId")},
                       {"file", context.relative(path)},
                       {"batchSize", summary.at("batchSize")},
                       {"device", summary.at("device")},
                       {"step", step_of(summary)},
                       {"samplesPerSecond", summary.at("samplesPerSecond")},
                       {"peakBytes", figure(summary.at("peakBytes"), nullptr, nullptr, "bytes", "measured")},
                       {"largestBatchSizeThatFits", largest.is_null() ? Json() : largest.at("batchSize")},
                       {"stale", summary.at("stale")},
                       {"costliestLines", std::move(lines)}};
  co_return answer;
}

}  // namespace

NamedDocument document_of(ToolContext& context, const Json& arguments) {
  std::string path = context.path_of(arguments.value("file", "entry.py"));
  std::string uri = context.open(path);
  return {std::move(path), {{"textDocument", {{"uri", std::move(uri)}}}}};
}

base::Task<Profiled> profiled(ToolContext& context, const Json& arguments) {
  Profiled found;
  found.path = context.path_of(arguments.value("file", "entry.py"));
  found.uri = context.open(found.path);
  for (int i = 0; i < kMostPauses; ++i) {
    auto asking = context.ask("ridgeline/summary", {{"textDocument", {{"uri", found.uri}}}});
    found.summary = co_await std::move(asking);
    if (!found.summary.is_null()) {
      co_return found;
    }
    auto pause = context.pause();
    co_await std::move(pause);
  }
  throw ToolFailure{"There is no profile of " + in_quotes(context.relative(found.path)) +
                    ". Call profile (of an entry point) or run_script (of a training script) first."};
}

base::Task<ToolAnswer> profile(ToolContext& context, Json arguments) {
  auto [path, params] = document_of(context, arguments);
  for (const auto& [name, member] : {std::pair("batch_sizes", "batchSizes"), std::pair("code", "code"),
                                     std::pair("time_budget_seconds", "timeBudget")}) {
    if (arguments.contains(name)) {
      params[member] = arguments[name];
    }
  }
  auto asking = context.ask("ridgeline/profile", std::move(params));
  Json summary = co_await std::move(asking);
  auto answer = summary_answer(context, std::move(summary), path);
  co_return co_await std::move(answer);
}

base::Task<ToolAnswer> run_script(ToolContext& context, Json arguments) {
  auto [path, params] = document_of(context, arguments);
  if (arguments.contains("arguments")) {
    params["arguments"] = arguments["arguments"];
  }
  if (arguments.contains("folder")) {
    params["folder"] = context.path_of(arguments["folder"]);
  }
  auto asking = context.ask("ridgeline/run", std::move(params));
  Json summary = co_await std::move(asking);
  auto answer = summary_answer(context, std::move(summary), path);
  co_return co_await std::move(answer);
}

base::Task<ToolAnswer> costliest(ToolContext& context, Json arguments) {
  auto finding = profiled(context, arguments);
  const Profiled found = co_await std::move(finding);
  const std::string of = arguments.value("of", "lines");
  const bool by_memory = arguments.value("by", "time") == "memory";
  auto asking = context.ask("ridgeline/costliest", {{"profileId", found.summary.at("profileId")}});
  const Json costs = co_await std::move(asking);
  const std::string phase = arguments.value("phase", "");
  const Json rows = sorted_rows(costs.at(of == "modules" ? "moduleTypes" : of), by_memory, phase);
  const int limit = std::clamp(arguments.value("limit", kMostRows), 1, 200);
  ToolAnswer answer;
  answer.text = fmt::format("{} of the step{}, most {} first (measured, one iteration of {}):\n", of,
                            phase.empty() ? "" : ", their " + phase + " alone", by_memory ? "memory" : "time",
                            ms_text(found.summary.at("timeMs")));
  Json listed = Json::array();
  for (std::size_t i = 0; i < std::min<std::size_t>(rows.size(), static_cast<std::size_t>(limit)); ++i) {
    answer.text += row_text(context, rows[i], by_memory);
    if (i < kMostRows) {
      listed.push_back(row_json(context, rows[i]));
    }
  }
  answer.text += std::string(kQuotedNote);
  answer.structured = {
      {"of", of},           {"by", by_memory ? "memory" : "time"}, {"phase", phase.empty() ? Json() : Json(phase)},
      {"kind", "measured"}, {"step", step_of(found.summary)},      {"rows", std::move(listed)}};
  co_return answer;
}

base::Task<ToolAnswer> explain_line(ToolContext& context, Json arguments) {
  const std::string path = context.path_of(arguments.at("file"));
  const int line = arguments.at("line").get<int>();
  Json of = Json::object();
  of["file"] = arguments.value("entry", arguments.at("file").get<std::string>());
  auto finding = profiled(context, of);
  const Profiled found = co_await std::move(finding);
  const std::string uri = context.open(path);
  auto asking = context.ask("ridgeline/lineCosts",
                            {{"textDocument", {{"uri", uri}}}, {"profileId", found.summary.at("profileId")}});
  const Json costs = co_await std::move(asking);
  const Json& lines = costs.at("lines");
  const auto cost = std::ranges::find_if(lines, [&](const Json& one) { return one.at("line") == line - 1; });
  if (cost == lines.end()) {
    std::string nearest;
    for (const Json& one : lines) {
      nearest += fmt::format("{}{}", nearest.empty() ? "" : ", ", one.at("line").get<int>() + 1);
    }
    throw ToolFailure{fmt::format("Line {} of {} has no figures. Lines with figures: {}.", line,
                                  in_quotes(context.relative(path)),
                                  nearest.empty() ? "none" : nearest.substr(0, 400))};
  }
  auto hovering = context.ask("textDocument/hover",
                              {{"textDocument", {{"uri", uri}}}, {"position", {{"line", line - 1}, {"character", 0}}}});
  const Json hover = co_await std::move(hovering);
  ToolAnswer answer;
  answer.text =
      fmt::format("{}:{} (measured): own time {} ({}), with what it calls {} ({}), {} at the peak.\n",
                  in_quotes(context.relative(path)), line, ms_text(cost->at("timeMs")), share_text(cost->at("share")),
                  ms_text(cost->at("totalMs")), share_text(cost->at("totalShare")), bytes_text(cost->at("peakBytes")));
  if (hover.is_object() && hover.contains("contents")) {
    const Json& contents = hover["contents"];
    answer.text += quoted_lines(contents.is_object() ? contents.value("value", "") : contents.dump(), 4000);
  }
  answer.text += kQuotedNote;
  answer.structured = {{"file", context.relative(path)},
                       {"line", line},
                       {"kind", "measured"},
                       {"ownMs", cost->at("timeMs")},
                       {"totalMs", cost->at("totalMs")},
                       {"share", cost->at("share")},
                       {"peakBytes", cost->at("peakBytes")}};
  co_return answer;
}

base::Task<ToolAnswer> memory_at_peak(ToolContext& context, Json arguments) {
  auto finding = profiled(context, arguments);
  const Profiled found = co_await std::move(finding);
  auto asking = context.ask("ridgeline/costliest", {{"profileId", found.summary.at("profileId")}});
  const Json costs = co_await std::move(asking);
  ToolAnswer answer;
  answer.text =
      fmt::format("Alive at the peak (measured): {} of {}: {}.\nBy line:\n", bytes_text(found.summary.at("peakBytes")),
                  bytes_text(found.summary.at("capacityBytes")), by_category_text(found.summary.at("byCategory")));
  Json listed = Json::array();
  const Json rows = sorted_rows(costs.at("lines"), true);
  for (std::size_t i = 0; i < std::min<std::size_t>(rows.size(), kMostRows); ++i) {
    answer.text += row_text(context, rows[i], true);
    listed.push_back(row_json(context, rows[i]));
  }
  answer.text += "Next: what_if with changes checkpoint, bf16-autocast, or memory_bytes and search.\n";
  answer.text += kQuotedNote;
  answer.structured = {{"peakBytes", figure(found.summary.at("peakBytes"), nullptr, nullptr, "bytes", "measured")},
                       {"capacityBytes", found.summary.at("capacityBytes")},
                       {"byCategory", found.summary.at("byCategory")},
                       {"rows", std::move(listed)}};
  co_return answer;
}

base::Task<ToolAnswer> compare(ToolContext& context, Json arguments) {
  auto finding = profiled(context, arguments);
  Profiled found = co_await std::move(finding);
  if (found.summary.at("stale").get<bool>()) {
    auto asking = context.ask("ridgeline/profile", {{"textDocument", {{"uri", found.uri}}}});
    found.summary = co_await std::move(asking);
  }
  const Json& summary = found.summary;
  ToolAnswer answer;
  const std::string change = summary.at("change");
  answer.text = change.empty() ? "There is no profile before this one at the same batch size to compare with.\n"
                               : "Against the profile before (both measured): " + change + ".\n";
  answer.text +=
      "Now: " + milliseconds_text(summary.at("timeMs"), summary.at("lowMs"), summary.at("highMs"), "measured") +
      fmt::format(", peak {} (measured).\n", bytes_text(summary.at("peakBytes")));
  if (const Json& applied = summary.at("applied"); applied.is_object()) {
    answer.text +=
        fmt::format("Written change: {}. Predicted: {}. Tried: {}. Measured: {}.\n",
                    in_quotes(applied.at("title").get<std::string>()), applied.at("predictedText").get<std::string>(),
                    applied.at("triedText").get<std::string>(), applied.at("measuredText").get<std::string>());
  }
  answer.text += "A difference within the noise is none: stop there.\n";
  answer.text += kQuotedNote;
  answer.structured = {{"change", change},
                       {"applied", summary.at("applied")},
                       {"step", step_of(summary)},
                       {"peakBytes", figure(summary.at("peakBytes"), nullptr, nullptr, "bytes", "measured")}};
  co_return answer;
}

base::Task<ToolAnswer> report_file(ToolContext& context, Json arguments) {
  auto finding = profiled(context, arguments);
  const Profiled found = co_await std::move(finding);
  auto asking = context.ask("workspace/executeCommand",
                            {{"command", "ridgeline.openReport"}, {"arguments", Json::array({found.uri})}});
  const Json opened = co_await std::move(asking);
  const std::string path = context.relative(opened.at("uri"));
  ToolAnswer answer;
  answer.text = "The whole report, as text, is in " + in_quotes(path, 400) +
                ". For a page in a browser, the person runs: ridgeline report --html\n";
  answer.structured = {{"path", path}, {"profileId", found.summary.at("profileId")}};
  co_return answer;
}

base::Task<ToolAnswer> job(ToolContext& context, Json arguments) {
  const std::string path = context.path_of(arguments.at("file"));
  auto asking = context.ask("ridgeline/job", {{"uri", context.uri_of(path)}});
  const Json found = co_await std::move(asking);
  ToolAnswer answer;
  answer.text = job_text(found) + kQuotedNote;
  Json slower = found.at("slower");
  if (!slower.is_null()) {
    slower = {{"rank", slower.at("rank")},
              {"file", slower.at("place").is_null() ? Json() : Json(context.relative(slower["place"].at("uri")))},
              {"line", slower.at("place").is_null() ? Json() : Json(slower["place"].at("line").get<int>() + 1)}};
  }
  answer.structured = {{"file", context.relative(path)}, {"ranks", found.at("ranks").size()}, {"slower", slower}};
  co_return answer;
}

}  // namespace ridgeline::assistant
