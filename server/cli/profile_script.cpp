#include "cli/profile_script.h"

#include <sys/wait.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/script_job.h"
#include "cli/blocking_script.h"
#include "cli/exit_codes.h"
#include "cli/failure_text.h"
#include "cli/job_options.h"
#include "cli/options.h"
#include "cli/rendered_profile.h"
#include "cli/script_options.h"
#include "cli/terminal.h"
#include "cli/wait_for.h"
#include "report/rendered_job.h"
#include "report/units.h"
#include "report/wording.h"

namespace ridgeline::cli {

namespace {

/// "report.json" of rank 3: "report.rank3.json".
Output output_of(Output output, int rank) {
  if (rank > 0 && !output.file.empty()) {
    const std::filesystem::path path(output.file);
    output.file =
        (path.parent_path() / fmt::format("{}.rank{}{}", path.stem().string(), rank, path.extension().string()))
            .string();
  }
  return output;
}

std::string loading_text(const analysis::Profile& profile) {
  const bool known = profile.script.has_value() && profile.script->loading.has_value();
  return known ? report::duration(profile.script->loading->wait_ms) : "–";
}

/// A line for each process, and what keeps the ranks of a job apart: below the report of the first.
std::string ranks_text(const app::ScriptJob& script, report::ShownWarnings warnings) {
  std::string text = script.numbered ? "\nRanks\n" : "\nProcesses, in the order in which they imported torch\n";
  text += fmt::format("  {:<6}{:>12}{:>20}{:>14}{:>14}\n", "", "step", "throughput", "peak memory", "data loading");
  for (const app::RankRun& one : script.run.ranks) {
    const analysis::Profile& profile = one.run.profile;
    text += fmt::format("  {:<6}{:>12}{:>20}{:>14}{:>14}\n", one.rank, report::duration(profile.iteration.ms.value),
                        report::throughput_text(profile), report::peak_text(profile), loading_text(profile));
  }
  if (!script.job.ranks.empty() && script.numbered) {
    text += report::communication_text(app::compared_ranks(script), 0);
  }
  for (const std::string& warning : report::shown_warnings(script.job.warnings, warnings)) {
    text += "! " + warning + "\n";
  }
  return text;
}

int write_reports(const app::ScriptJob& script, const Output& output) {
  const std::vector<app::RankRun>& ranks = script.run.ranks;
  int code = kExitOk;
  for (const app::RankRun& one : ranks) {
    if (one.rank != ranks.front().rank && output.file.empty()) {
      break;
    }
    std::string text = rendered_profile(one.run.profile, one.run.outlook, &one.run.recorded, output);
    if (ranks.size() > 1 && one.rank == ranks.front().rank && output.format == "text") {
      text += printable_lines(ranks_text(script, output.warnings));
    }
    if (output.file.empty()) {
      write_to_error("\n" + text);  // standard output is the script's
    } else {
      code = std::max(code, write_out(text, output_of(output, one.rank)));
    }
  }
  return code;
}

/// Why there is nothing to report, where no process says so itself.
std::string nothing_text(const app::ScriptRun& run, const protocol::BoundaryRequest& boundary) {
  if (!run.joined) {
    return "no Python process of the command imported torch: there is nothing to report";
  }
  if (boundary.end == protocol::StepEnd::kLine) {
    return fmt::format("line {} of {} did not run: there is nothing to report", boundary.line, boundary.file);
  }
  return "no process of the command took a step: there is nothing to report. A step ends where an optimizer of "
         "torch.optim steps, where weights change after a backward pass, or, where no gradients are computed, with the "
         "next call of the model; --step-boundary names another place, such as forward, or a line as FILE:LINE";
}

/// The ranks that `--ranks` names, ascending; none: all.
base::Result<std::vector<int>> parse_ranks(const std::string& text) {
  std::vector<int> ranks;
  if (text == "all") {
    return ranks;
  }
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    int rank = 0;
    const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), rank);
    if (problem != std::errc() || end != word.data() + word.size() || rank < 0) {
      return base::error("--ranks: \"" + word + "\" is not a rank. Give all, or numbers such as 0,3.");
    }
    ranks.push_back(rank);
  }
  if (ranks.empty()) {
    return base::error("--ranks: no rank is named. Give all, or numbers such as 0,3.");
  }
  std::ranges::sort(ranks);
  const auto repeated = std::ranges::unique(ranks);
  ranks.erase(repeated.begin(), repeated.end());
  return ranks;
}

/// Says why processes have no profile, or that nothing was recorded. The exit code of a command that succeeded, but
/// none of whose processes has a profile.
int report_failures(const app::ScriptRun& run, const protocol::BoundaryRequest& boundary) {
  for (const int rank : run.missing) {
    print_error(fmt::format("no process of the command that was recorded had rank {}", rank));
  }
  int code = run.joined ? kExitEntryFailed : kExitOk;  // without torch there was nothing to find
  std::set<std::string> shown;                         // of several processes that fail alike, one is shown
  for (const app::RunFailure& failure : run.failures) {
    code = std::max(code, exit_code_of(failure).value);
    if (const std::string text = failure_text(failure, run.project_root); shown.insert(text).second) {
      write_to_error(text);
    }
  }
  if (run.ranks.empty() && run.failures.empty()) {
    print_error(nothing_text(run, boundary));
  }
  return code;
}

int exit_code_of_status(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

}  // namespace

int profile_script(const ScriptProfile& request) {
  if (request.output.format != "text" && request.output.file.empty()) {
    return fail("standard output is the script's: name a file for the report with --output", kExitUsage);
  }
  const auto boundary = parse_step_boundary(request.step_boundary);
  const auto sizes = parse_batch_sizes(request.batch_sizes);
  const auto wanted = parse_ranks(request.ranks);
  if (!boundary || !sizes || !wanted) {
    return fail(!boundary ? boundary.error() : !sizes ? sizes.error() : wanted.error(), kExitUsage);
  }
  app::ScriptQuestion question{request.script, *boundary, *wanted};
  if (!request.batch_sizes.empty()) {
    question.script.sizes = app::SizesRequest{*sizes, request.allow_writes};
  }
  BlockingScript runner;
  const auto script = answer_of(app::profile_script(runner, std::move(question)));
  if (!script) {
    return script.error();
  }
  const int without_report = report_failures(script->run, *boundary);
  warn(script->warning);
  int written = write_reports(*script, request.output);
  if (!request.job_file.empty()) {
    written = std::max(written, write_job(script->job, request.job_file));
  }
  if (const int code = exit_code_of_status(script->run.status); code != 0) {
    return code;
  }
  return script->run.ranks.empty() ? without_report : written;
}

}  // namespace ridgeline::cli
