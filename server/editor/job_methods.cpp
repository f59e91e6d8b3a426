#include "editor/job_methods.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "app/jobs/job_files.h"
#include "app/jobs/make_job_report.h"
#include "app/optimize_job.h"
#include "base/file.h"
#include "base/line_index.h"
#include "base/path.h"
#include "protocol/shown_text.h"
#include "report/rendered_best_strategy.h"
#include "report/rendered_job.h"
#include "report/units.h"

namespace ridgeline::editor {

namespace {

using protocol::Json;

constexpr std::size_t kMostSourceBytes = std::size_t{16} << 20U;
constexpr std::size_t kMostPathParts = 10;
constexpr double kSearchSeconds = 20;

std::string words(const std::optional<double>& ms) { return ms.has_value() ? report::duration(*ms) : ""; }

std::string file_of(const analysis::Location& line, const std::string& project_root) {
  return line.file.starts_with("/") ? line.file : project_root + "/" + line.file;
}

std::optional<SlowLine> slow_line(const analysis::SlowerRank& slower, const std::string& project_root,
                                  const std::string& job) {
  if (slower.line.file.empty() || slower.line.line == 0) {
    return std::nullopt;
  }
  SlowLine slow{file_of(slower.line, project_root), slower.line.line - 1, "", ""};
  const auto text = base::read_text(slow.path, kMostSourceBytes);
  if (!text) {
    return std::nullopt;
  }
  const base::LineIndex lines(*text);
  if (slow.line >= lines.count()) {
    return std::nullopt;
  }
  slow.text = lines.line_in(*text, slow.line);
  slow.message = fmt::format("{} Recorded in {}.", report::slower_rank_text(slower), protocol::printable(job));
  return slow;
}

Json slow_place(const SlowLine& slow, const UriOf& uri_of) { return {{"uri", uri_of(slow.path)}, {"line", slow.line}}; }

Json rank_json(const analysis::RecordedRankFigures& rank) {
  Json json = {{"rank", rank.rank},
               {"machine", protocol::printable(rank.machine)},
               {"bareStepText", words(rank.bare_step_ms)},
               {"dataLoadingText", words(rank.data_loading_ms)},
               {"step", nullptr}};
  if (!rank.communication.has_value()) {
    return json;
  }
  const analysis::Communication& one = *rank.communication;
  const double own_ms = one.step_ms - one.exposed_ms;
  const double waiting_ms = one.waiting_ms.value_or(0);
  json["step"] = {{"text", words(one.step_ms)},
                  {"ownText", words(own_ms)},
                  {"exposedText", words(one.exposed_ms)},
                  {"waitingText", words(one.waiting_ms)},
                  {"hiddenText", words(one.hidden_ms)},
                  {"ms", one.step_ms},
                  {"ownMs", own_ms},
                  {"waitingMs", waiting_ms},
                  {"networkMs", one.exposed_ms - waiting_ms}};
  return json;
}

Json slower_json(const ShownJob& job, const UriOf& uri_of) {
  if (!job.report.slower.has_value()) {
    return nullptr;
  }
  return {{"rank", job.report.slower->rank},
          {"text", report::slower_rank_text(*job.report.slower)},
          {"place", job.slow_line.has_value() ? slow_place(*job.slow_line, uri_of) : Json()}};
}

Json path_json(const analysis::JobReport& job) {
  Json parts = Json::array();
  if (!job.replay.has_value()) {
    return parts;
  }
  for (std::size_t i = 0; i < std::min(kMostPathParts, job.replay->path.size()); ++i) {
    const analysis::PathPart& part = job.replay->path[i];
    parts.push_back({{"text", report::path_part_text(part)},
                     {"timeText", report::duration(part.ms)},
                     {"shareText", report::share(part.share)}});
  }
  return parts;
}

}  // namespace

base::Result<ShownJob> shown_job(const std::string& path, const std::vector<std::string>& changes) {
  auto job = app::read_jobs({path});
  if (!job) {
    return job.error();
  }
  const std::string project_root = job->scope.project_root;
  auto report = app::whole_report(std::move(*job), {changes, ""});
  if (!report) {
    return report.error();
  }
  ShownJob shown{std::move(*report), {}};
  if (shown.report.slower.has_value()) {
    shown.slow_line = slow_line(*shown.report.slower, project_root, std::string(base::file_name(path)));
  }
  return shown;
}

base::Result<std::string> optimized_job_text(const std::string& path, const std::vector<std::string>& changes,
                                             base::FunctionRef<bool()> is_cancelled) {
  const auto job = app::read_jobs({path});
  if (!job) {
    return job.error();
  }
  app::OptimizeQuestion question;
  question.changes = changes;
  question.seconds = kSearchSeconds;
  const auto answer = app::optimize_job(*job, question, [&](std::size_t, std::size_t) { return !is_cancelled(); });
  if (!answer) {
    return answer.error();
  }
  return report::text_optimized_job(*answer, report::ShownWarnings::kAll);
}

Json job_json(const ShownJob& job, const UriOf& uri_of) {
  Json ranks = Json::array();
  for (const analysis::RecordedRankFigures& rank : job.report.ranks) {
    ranks.push_back(rank_json(rank));
  }
  Json warnings = Json::array();
  for (const std::string& warning : job.report.warnings) {
    warnings.push_back(protocol::printable(warning));
  }
  const std::vector<std::int64_t>& steps = job.report.steps;
  return {{"command", protocol::printable(job.report.command)},
          {"stepsText", steps.empty() ? "" : fmt::format("{} to {}", steps.front(), steps.back())},
          {"ranks", std::move(ranks)},
          {"slower", slower_json(job, uri_of)},
          {"replayText", job.report.replay.has_value() ? report::replayed_text(*job.report.replay) : ""},
          {"path", path_json(job.report)},
          {"warnings", std::move(warnings)}};
}

void add_slow_line(const Snapshot& snapshot, const SlowLine& slow, std::vector<protocol::Diagnostic>& diagnostics) {
  const lsp::Text& text = snapshot.document.text();
  if (slow.path != snapshot.document.path() || slow.line >= text.line_count() || text.line(slow.line) != slow.text) {
    return;
  }
  protocol::Diagnostic diagnostic;
  diagnostic.range = snapshot.line_range(slow.line);
  diagnostic.severity = protocol::DiagnosticSeverity::kWarning;
  diagnostic.code = "slower-rank";
  diagnostic.source = "ridgeline";
  diagnostic.message = slow.message;
  diagnostics.push_back(std::move(diagnostic));
}

}  // namespace ridgeline::editor
