#include "cli/what_if_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/change_requests.h"
#include "app/predict_changes.h"
#include "app/profiling/entry_check.h"
#include "app/profiling/what_if_base.h"
#include "app/python_changes.h"
#include "app/search_changes.h"
#include "app/traces/import_file.h"
#include "app/traces/traced_what_if.h"
#include "cli/entry_runs.h"
#include "cli/failure_text.h"
#include "cli/named_entry.h"
#include "cli/options.h"
#include "cli/script_runs.h"
#include "cli/terminal.h"
#include "cli/wait_for.h"
#include "protocol/shown_text.h"
#include "report/rendered_what_if.h"
#include "step/changes/change_list.h"
#include "step/changes/change_table.h"
#include "worker/interpreter.h"

namespace ridgeline::cli {

namespace {

using protocol::ChangeRequest;

struct WhatIfOptions {
  std::shared_ptr<app::ProfileRequest> request = std::make_shared<app::ProfileRequest>();
  std::shared_ptr<Output> output = std::make_shared<Output>();
  std::vector<std::string> changes;
  std::vector<std::string> files;  ///< with changes that the user wrote
  std::optional<std::uint32_t> process;
  std::string step_boundary;  ///< of a trace
  bool attempt = false;       ///< try
  std::shared_ptr<ScriptOptions> script = std::make_shared<ScriptOptions>();
  bool search = false;
  std::uint64_t memory_bytes = 0;  ///< 0: no limit
  double measure_seconds = 60;
  double try_seconds = 5;
};

/// To stderr, before the whole answer is there.
void show_first(const analysis::ChangeAnswer& row) {
  const std::string text = !row.reason.empty()         ? "left out: " + row.reason
                           : row.predicted.has_value() ? "predicted " + report::predicted_text(row)
                                                       : "not predicted: " + row.not_predicted;
  write_to_error(protocol::printable(fmt::format("{}: {}", fmt::join(row.change, " + "), text)) + "\n");
}

std::string rendered_what_if(const analysis::WhatIf& answer, const Output& output) {
  return output.format == "json"   ? report::json_what_if(answer)
         : output.format == "html" ? report::html_what_if(answer)
                                   : report::text_what_if(answer, text_options(output));
}

int run_on_trace(const WhatIfOptions& options, app::WantedChanges wanted) {
  if (options.attempt || options.search) {
    return fail("A trace can only be predicted: --try and --search need an entry point.", kExitUsage);
  }
  const app::ProfileRequest& request = *options.request;
  const auto traced = app::what_if_of_trace({.trace = request.entry,
                                             .project_root = request.project_root,
                                             .process = options.process,
                                             .code = request.code,
                                             .step_boundary = options.step_boundary},
                                            wanted.requests.size());
  if (!traced) {
    return report_failure(traced.error());
  }
  const std::string python = worker::find_interpreter_here(request.python).path;
  if (const auto ran = app::make_python_changes(wanted, traced->base.graph, python); !ran) {
    return fail(ran.error(), kExitUsage);
  }
  return write_out(
      rendered_what_if(app::answer_from_trace(*traced, wanted.requests, wanted.user_changes), *options.output),
      *options.output);
}

using AnswerOrExit = base::Result<analysis::WhatIf, ExitCode>;

AnswerOrExit searched(const WhatIfOptions& options, app::ExperimentRunner& runs, const app::Target& target,
                      const app::PredictedStep& step, app::ChangeQuestion question, const app::ShowFirst& show) {
  const auto limit = options.memory_bytes > 0 ? std::optional(options.memory_bytes) : std::nullopt;
  return wait_for(target, app::search_changes(runs, step, std::move(question), limit, show));
}

AnswerOrExit predicted(app::ExperimentRunner& runs, const app::Target& target, const app::PredictedStep& step,
                       app::ChangeQuestion question, const app::ShowFirst& show) {
  auto predicted = wait_for(target, app::predict_changes(runs, step, std::move(question), show));
  if (!predicted) {
    return predicted.error();
  }
  return std::move(predicted->answer);
}

/// `made`: the unchanged step, just now. `runs`: of its code.
int answer(const WhatIfOptions& options, app::WantedChanges wanted, const app::ProfileRun& made,
           app::ExperimentRunner& runs, const app::Target& target) {
  app::WhatIfBase base = app::what_if_base(made);
  if (const auto problem = app::fit_problem(base); options.memory_bytes > 0 && !problem.empty()) {
    return fail(
        fmt::format("--memory is not kept to for this step: {}. Without it, --search says what the peak was of what "
                    "it tried.",
                    problem),
        kExitUsage);
  }
  if (const auto ran = app::make_python_changes(wanted, base.graph, target.interpreter.path); !ran) {
    return fail(ran.error(), kExitUsage);
  }
  const bool is_usual = options.changes.empty() && options.files.empty();
  app::ChangeQuestion question = is_usual ? app::usual_question() : app::ChangeQuestion{wanted.requests};
  const app::ShowFirst show = options.output->format == "text" ? app::ShowFirst(show_first) : app::ShowFirst();
  const app::PredictedStep step{std::make_shared<const app::WhatIfBase>(std::move(base)),
                                app::no_times(made.profile.environment), std::move(wanted.user_changes),
                                options.measure_seconds};
  auto answer = options.search ? searched(options, runs, target, step, std::move(question), show)
                               : predicted(runs, target, step, std::move(question), show);
  if (answer && (options.attempt || options.search)) {
    const std::size_t most = options.search ? app::kMostTried : protocol::kMaxChanges;
    answer = wait_for(target, app::try_changes(runs, std::move(*answer), most, options.try_seconds));
  }
  if (!answer) {
    return answer.error();
  }
  answer->try_seconds = app::seconds_to_try(*answer, options.try_seconds);
  return write_out(rendered_what_if(*answer, *options.output), *options.output);
}

int run_on_entry(const WhatIfOptions& options, app::WantedChanges wanted) {
  const auto opened = open_entry_runs(*options.request);
  if (!opened) {
    return opened.error();
  }
  const auto made = profile_now(**opened);
  return made ? answer(options, std::move(wanted), *made, **opened, (*opened)->target()) : made.error();
}

int run_on_script(const WhatIfOptions& options, app::WantedChanges wanted) {
  const auto opened = ScriptRuns::open({*options.request, *options.script});
  if (!opened) {
    return opened.error();
  }
  const auto made = (*opened)->profile(false);
  return made ? answer(options, std::move(wanted), *made, **opened, (*opened)->target()) : made.error();
}

int run(const WhatIfOptions& options) {
  if (const auto named = find_named_entry(*options.request); !named) {
    return named.error();
  }
  const bool trace = app::looks_like_trace(options.request->entry);
  if (!trace && !options.step_boundary.empty()) {
    return fail("--step-boundary needs a trace: an entry point says itself what a step is.", kExitUsage);
  }
  auto wanted = app::wanted_changes(step::Subject::kStep, options.changes, options.files,
                                    trace ? step::usual_changes_on_traces() : step::usual_changes());
  if (!wanted) {
    return fail(wanted.error(), kExitUsage);
  }
  if (trace) {
    return run_on_trace(options, std::move(*wanted));
  }
  const bool is_script = app::is_training_script(options.request->entry);
  if (const auto problem = script_options_problem(*options.script, options.request->entry);
      !is_script && !problem.empty()) {
    return fail(problem, kExitUsage);
  }
  return is_script ? run_on_script(options, std::move(*wanted)) : run_on_entry(options, std::move(*wanted));
}

}  // namespace

void add_what_if_command(CLI::App& app, int& exit_code, const std::vector<std::string>& after_dashes) {
  auto options = std::make_shared<WhatIfOptions>();
  CLI::App* command = app.add_subcommand(
      "what-if",
      "Predict the effect of changes to a training step, from an entry point, a training script, or another profiler's "
      "trace.");
  command->add_option(
      "--change", options->changes,
      "A change from --list, such as checkpoint or set:fc1:out_features=1024; may be repeated: predicts each change "
      "alone, then all together in order. Default: the changes that most often help");
  command->add_option("--change-file", options->files,
                      "A change of your own, as JSON or as Python, which is run: docs/user/change-files.md; may be "
                      "repeated");
  command->add_option("--process", options->process, "Process to analyse, if the Nsight Systems report has several");
  add_step_boundary_option(*command, options->step_boundary);
  command->add_flag("--try", options->attempt,
                    "Also run each change that applies, in turns with the unchanged step; no file is changed");
  command->add_flag("--search", options->search, "Search for the best combination of changes, and try the best three");
  command
      ->add_option("--memory", options->memory_bytes,
                   "With --search: only combinations whose peak memory is at most this, such as 8GiB")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--measure-seconds", options->measure_seconds, "How long to time operations that are not known yet")
      ->check(number_in(1, 3600))
      ->capture_default_str();
  command->add_option("--try-seconds", options->try_seconds, "How long to try each change")
      ->check(number_in(0.5, 600))
      ->capture_default_str();
  add_profile_options(*command, options->request);
  may_be_left_out(*command,
                  "An entry point, a training script whose arguments follow --, the id of a profile of one, or a trace "
                  "of torch.profiler or Nsight Systems");
  add_script_options(*command, options->script);
  add_output_options(*command, options->output, {"text", "json", "html"});
  add_warnings_option(*command, options->output);
  command->add_flag_callback(
      "--list",
      [] {
        write_out(step::list_of_changes(), {});
        throw CLI::Success();
      },
      "List all changes and what they apply to, and exit");
  command->footer(
      "Examples:\n"
      "  ridgeline what-if train.py --try -- --epochs 1\n"
      "  ridgeline what-if trace.json.gz --change loader-workers:4 --change amp");
  command->callback([options, after_dashes, &exit_code] {
    options->script->arguments = after_dashes;
    exit_code = run(*options);
  });
}

}  // namespace ridgeline::cli
