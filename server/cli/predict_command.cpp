#include "cli/predict_command.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/prediction/answers.h"
#include "app/experiment_runner.h"
#include "app/fit_batch.h"
#include "app/predict_changes.h"
#include "app/profiling/batch_changes.h"
#include "app/profiling/entry_check.h"
#include "app/profiling/find_profile.h"
#include "app/profiling/kept_profiles.h"
#include "app/traces/import_file.h"
#include "cli/entry_runs.h"
#include "cli/failure_text.h"
#include "cli/named_entry.h"
#include "cli/options.h"
#include "cli/script_runs.h"
#include "cli/terminal.h"
#include "cli/wait_for.h"
#include "report/make_fit.h"
#include "report/rendered_prediction.h"
#include "store/fingerprint.h"

namespace ridgeline::cli {

namespace {

struct PredictOptions {
  std::shared_ptr<app::ProfileRequest> request = std::make_shared<app::ProfileRequest>();
  std::shared_ptr<Output> output = std::make_shared<Output>();
  int batch_size = 0;             ///< 0: not asked for
  double throughput = 0;          ///< likewise
  double percent_of_maximum = 0;  ///< likewise
  bool balanced = false;
  bool fits = false;               ///< the question when there is no other
  int make_fit = 0;                ///< another kind of question; 0: not asked for
  std::uint64_t memory_bytes = 0;  ///< of --fits and --make-fit; 0: the capacity
  bool refine = false;
  double measure_seconds = 60;
  std::shared_ptr<ScriptOptions> script = std::make_shared<ScriptOptions>();

  analysis::Question question(std::uint64_t capacity_bytes) const {
    if (batch_size > 0) {
      return {analysis::Quantity::kBatchSize, static_cast<double>(batch_size)};
    }
    if (throughput > 0) {
      return {analysis::Quantity::kThroughput, throughput};
    }
    if (percent_of_maximum > 0) {
      return {analysis::Quantity::kThroughputShare, percent_of_maximum / 100};
    }
    if (balanced) {
      return {analysis::Quantity::kBalance, 1};
    }
    return {analysis::Quantity::kMemory, static_cast<double>(memory_bytes > 0 ? memory_bytes : capacity_bytes)};
  }
};

/// Of an entry point or of a script.
struct Runs {
  app::ExperimentRunner& runner;
  const app::Target& target;
};

/// The step for predictions whose operations are captured and timed after the profile.
app::PredictedStep predicted_step(const PredictOptions& options, const analysis::Environment& environment,
                                  app::WhatIfBase base) {
  app::PredictedStep step{std::make_shared<const app::WhatIfBase>(std::move(base)), app::no_times(environment)};
  step.measure_seconds = options.measure_seconds;
  step.is_judged = false;  // the batch size is no change whose predictions other models were compared with
  return step;
}

base::Result<analysis::WhatIf, ExitCode> changes_predicted(const PredictOptions& options, const Runs& runs,
                                                           const analysis::Environment& environment,
                                                           app::WhatIfBase base,
                                                           std::vector<protocol::ChangeRequest> requests) {
  app::PredictedStep step = predicted_step(options, environment, std::move(base));
  auto predicted = wait_for(runs.target, app::predict_changes(runs.runner, std::move(step), {std::move(requests)}, {}));
  if (!predicted) {
    return predicted.error();
  }
  return std::move(predicted->answer);
}

/// Nothing, with a warning, where it cannot be predicted.
std::optional<analysis::RefinedBatch> refined_or_warn(const analysis::WhatIf& found, int size,
                                                      report::ShownWarnings shown) {
  auto refined = app::refined_batch(found, size);
  if (!refined.has_value()) {
    warn(fmt::format("A batch of {} cannot be predicted from its operations: {}.", size, found.changes.front().reason));
  }
  for (const std::string& warning : report::shown_warnings(found.warnings, shown)) {
    warn(warning);
  }
  return refined;
}

int answer_make_fit(const PredictOptions& options, const Runs& runs, const app::ProfileRun& made) {
  app::WhatIfBase base = app::what_if_base(made);
  if (const auto problem = app::fit_problem(base); !problem.empty()) {
    return fail(fmt::format("--make-fit is not answered for this step: {}.", problem), kExitUsage);
  }
  const int size = options.make_fit;
  const analysis::Predictor predictor = analysis::make_predictor(made.profile);
  analysis::BatchPrediction fitted = analysis::predict_batch(predictor, size);
  analysis::add_reserved(predictor, fitted);
  const auto& allocator = made.profile.allocator;
  const std::uint64_t capacity = allocator != nullptr ? allocator->setup.available_bytes : made.profile.capacity_bytes;
  const std::uint64_t limit = options.memory_bytes > 0 ? options.memory_bytes : capacity;
  const app::FitQuestion question{size, limit,
                                  base.on_host ? analysis::best_peak_bytes(fitted) : fitted.reserved_bytes};
  const auto found = wait_for(
      runs.target,
      app::predict_fitting(runs.runner, predicted_step(options, made.profile.environment, std::move(base)), question));
  if (!found) {
    return found.error();
  }
  const auto answer = app::make_fit(found->answer, found->over_batch, size, limit, question.fitted_peak_bytes);
  if (!answer.has_value()) {
    return fail(
        fmt::format("The memory of a batch of {} cannot be predicted: {}.", size, found->answer.changes.back().reason),
        kExitEntryFailed);
  }
  return write_out(options.output->format == "json" ? report::json_make_fit(*answer)
                                                    : report::text_make_fit(*answer, text_options(*options.output)),
                   *options.output);
}

analysis::Answer answer_from(const PredictOptions& options, const analysis::Profile& profile) {
  return analysis::answer(analysis::make_predictor(profile), options.question(profile.capacity_bytes));
}

int write_answer(const PredictOptions& options, const analysis::Answer& answer, const analysis::Profile& profile,
                 const report::Origin& origin, const std::optional<analysis::RefinedBatch>& refined) {
  return write_out(options.output->format == "json"
                       ? report::json_prediction(answer, profile, origin, refined)
                       : report::text_prediction(answer, profile, origin, text_options(*options.output), refined),
                   *options.output);
}

int answer_from_stored(const PredictOptions& options, const app::StoredProfile& stored) {
  const std::int64_t age = app::seconds_since_1970() - stored.created_s;
  return write_answer(options, answer_from(options, stored.profile), stored.profile,
                      {true, stored.created_s, std::max(std::int64_t{0}, age)}, std::nullopt);
}

/// `made`: a profile, just now.
int answer_from_new(const PredictOptions& options, const Runs& runs, const app::ProfileRun& made) {
  if (options.make_fit > 0) {
    return answer_make_fit(options, runs, made);
  }
  const analysis::Answer answer = answer_from(options, made.profile);
  std::optional<analysis::RefinedBatch> refined;
  if (options.refine && answer.batch.has_value()) {
    const int size = answer.batch->batch_size;
    const auto found = changes_predicted(options, runs, made.profile.environment, app::what_if_base(made),
                                         {app::batch_size_change(size)});
    if (!found) {
      return found.error();
    }
    refined = refined_or_warn(*found, size, options.output->warnings);
  }
  return write_answer(options, answer, made.profile, {false, app::seconds_since_1970(), 0}, refined);
}

/// The stored profile that answers; nothing, with a warning where an option is why.
std::optional<app::StoredProfile> stored_profile(const PredictOptions& options, const app::Target& target,
                                                 bool is_explained) {
  auto [found, warning] = app::find_kept_profile(*options.request, target);
  warn(warning);
  if (!found.has_value() && !is_explained) {
    warn(app::unused_profile_warning(*options.request, target));
  }
  return std::move(found);
}

/// The kept profile of a training script answers, where there is one of its code as it is and no arguments say that
/// another run is meant; else the script runs, and again at other batch sizes.
int answer_of_script(const PredictOptions& options) {
  const std::string& script = options.request->entry;
  if (!options.refine && options.make_fit == 0 && options.script->arguments.empty()) {
    const auto last = app::last_profile_of(script);
    if (!last) {
      return fail(last.error(), kExitUsage);
    }
    store::FileReader reader;
    if (last->has_value() && store::is_unchanged((*last)->profile.fingerprint, reader)) {
      const auto profile = app::find_profile((*last)->profile.id);
      return profile ? answer_from_stored(options, {*profile, (*last)->profile.created_s})
                     : fail(profile.error(), kExitUsage);
    }
  }
  const auto opened = ScriptRuns::open({*options.request, *options.script});
  if (!opened) {
    return opened.error();
  }
  ScriptRuns& runs = **opened;
  const auto made = runs.profile(true);
  return made ? answer_from_new(options, {runs, runs.target()}, *made) : static_cast<int>(made.error());
}

int run(const PredictOptions& options) {
  const auto named = find_named_entry(*options.request);
  if (!named) {
    return named.error();
  }
  const bool may_be_stored = !options.refine && options.make_fit == 0;
  if (may_be_stored && named->has_value()) {
    const auto [found, warning] = app::find_named_profile(*options.request, **named);
    warn(warning);
    if (found.has_value()) {
      return answer_from_stored(options, *found);
    }
  }
  if (app::looks_like_trace(options.request->entry)) {
    return fail(
        "A trace has one batch size. `ridgeline devices` predicts it for other devices, and `ridgeline what-if` what "
        "changes would bring; other batch sizes need an entry point.",
        kExitUsage);
  }
  if (app::is_training_script(options.request->entry)) {
    return answer_of_script(options);
  }
  if (const auto problem = script_options_problem(*options.script, options.request->entry); !problem.empty()) {
    return fail(problem, kExitUsage);
  }
  const auto opened = open_entry_runs(*options.request);
  if (!opened) {
    return opened.error();
  }
  EntryRuns& runs = **opened;
  if (may_be_stored) {
    if (const auto stored = stored_profile(options, runs.target(), named->has_value())) {
      return answer_from_stored(options, *stored);
    }
  }
  const auto made = profile_now(runs);
  return made ? answer_from_new(options, {runs, runs.target()}, *made) : static_cast<int>(made.error());
}

/// At most one of them may be given; --fits and --make-fit are the last.
std::vector<CLI::Option*> add_questions(CLI::App& command, PredictOptions& options) {
  std::vector<CLI::Option*> questions = {
      command.add_option("--batch-size", options.batch_size, "The throughput and memory of this batch size")
          ->check(CLI::Range(1, analysis::kMaxBatchSize)),
      command
          .add_option("--throughput", options.throughput,
                      "The smallest batch size with at least this many samples per second")
          ->check(number_in(1e-9, 1e12)),
      command
          .add_option("--of-maximum", options.percent_of_maximum,
                      "The smallest batch size with at least this percentage of the greatest throughput")
          ->check(number_in(0.1, 100)),
      command.add_flag("--balanced", options.balanced,
                       "The smallest batch size with as many bytes of activations as of weights"),
      command.add_flag("--fits", options.fits, "The largest batch size that fits into the memory"),
      command
          .add_option("--make-fit", options.make_fit,
                      "Which changes make this batch size fit into the memory, and what they cost in time")
          ->check(CLI::Range(1, analysis::kMaxBatchSize)),
  };
  for (CLI::Option* question : questions) {
    question->group("What to predict (one of)");
  }
  return questions;
}

/// Refuses none and several of the questions, and --memory without one that it is for.
void check_questions(const std::vector<CLI::Option*>& questions, const CLI::Option& memory) {
  const auto is_given = [](const CLI::Option* option) { return option->count() > 0; };
  const auto count = std::ranges::count_if(questions, is_given);
  if (count == 0 && memory.count() == 0) {
    throw CLI::RequiredError(
        "what to predict: --batch-size, --throughput, --of-maximum, --balanced, --fits or --make-fit");
  }
  if (count > 1) {
    throw CLI::ValidationError("what to predict", "only one can be asked for at a time");
  }
  if (count == 1 && memory.count() > 0 && std::ranges::none_of(questions.end() - 2, questions.end(), is_given)) {
    throw CLI::ValidationError("--memory", "it is for --fits and --make-fit");
  }
}

}  // namespace

void add_predict_command(CLI::App& app, int& exit_code, const std::vector<std::string>& after_dashes) {
  auto options = std::make_shared<PredictOptions>();
  CLI::App* command = app.add_subcommand("predict", "Predict throughput and memory at another batch size.");
  const std::vector<CLI::Option*> questions = add_questions(*command, *options);
  CLI::Option* memory = command
                            ->add_option("--memory", options->memory_bytes,
                                         "Memory to fit into, such as 8GiB, in place of the device's, for --make-fit "
                                         "and --fits; without either of them it implies --fits")
                            ->transform(CLI::AsSizeValue(false))
                            ->check(CLI::PositiveNumber);
  command->add_flag("--refine", options->refine,
                    "Also predict by timing the operations at the new batch size's shapes; takes a new profile");
  command
      ->add_option("--measure-seconds", options->measure_seconds,
                   "With --refine and --make-fit: how long to time operations that are not known yet")
      ->check(number_in(1, 3600))
      ->capture_default_str();
  add_profile_options(*command, options->request);
  may_be_left_out(*command, "An entry point, a training script whose arguments follow --, or the id of a kept profile");
  add_script_options(*command, options->script);
  add_output_options(*command, options->output);
  add_warnings_option(*command, options->output);
  command->footer(
      "Examples:\n"
      "  ridgeline predict --batch-size 64\n"
      "  ridgeline predict entry.py --fits --memory 8GiB");
  command->callback([options, questions, memory, after_dashes, &exit_code] {
    check_questions(questions, *memory);
    options->script->arguments = after_dashes;
    exit_code = run(*options);
  });
}

}  // namespace ridgeline::cli
