#include "commands/what_if.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "commands/captured_changes.h"
#include "commands/imported_trace.h"
#include "commands/operation_times.h"
#include "commands/options.h"
#include "commands/profile_now.h"
#include "commands/python_changes.h"
#include "commands/terminal.h"
#include "commands/what_if_cluster.h"
#include "commands/what_if_requests.h"
#include "commands/what_if_trace.h"
#include "profiling/what_if.h"
#include "protocol/shown_text.h"
#include "report/what_if.h"
#include "whatif/change_table.h"
#include "worker/interpreter.h"

namespace ridgeline::commands {

namespace {

using protocol::ChangeRequest;
using protocol::Experiment;

/// Changes that a search combines at most.
constexpr std::size_t kMostCombined = 4;
/// Combinations that a search tries.
constexpr std::size_t kMostTried = 3;

struct WhatIfOptions {
  std::shared_ptr<profiling::ProfileRequest> request = std::make_shared<profiling::ProfileRequest>();
  std::shared_ptr<Output> output = std::make_shared<Output>();
  std::vector<std::string> changes;
  std::vector<std::string> widths;  ///< changes too, but for their name, which is "set"
  std::vector<std::string> files;   ///< with changes that the user wrote
  std::optional<std::uint32_t> process;
  std::string step_boundary;  ///< of a trace
  bool attempt = false;       ///< try
  bool search = false;
  std::uint64_t memory_bytes = 0;  ///< 0: no limit
  double measure_seconds = 60;
  double try_seconds = 5;
  ClusterOptions cluster;  ///< without a file: none
};

/// One answer, asked for step by step: each step runs the worker.
class Asking {
 public:
  Asking(const WhatIfOptions& options, const WantedChanges& wanted, EntryRuns& runs, profiling::WhatIfBase base,
         const analysis::Environment& environment)
      : options_(options), wanted_(wanted), runs_(runs), base_(std::move(base)), environment_(environment) {}

  /// Predicts the requests.
  base::Result<analysis::WhatIf, ExitCode> predict(const std::vector<ChangeRequest>& requests) {
    std::vector<ChangeRequest> captured;
    std::vector<ChangeRequest> on_graph;
    for (const ChangeRequest& request : requests) {
      (whatif::parts_of(request).runner.empty() ? on_graph : captured).push_back(request);
    }
    analysis::WhatIf answer = base_.answer;
    if (!captured.empty()) {
      auto predicted = predict_by_capture(captured);
      if (!predicted) {
        return predicted;
      }
      answer = std::move(*predicted);
    }
    for (analysis::ChangeAnswer& row : profiling::answers_on_graph(base_, on_graph, wanted_.user_changes)) {
      answer.changes.push_back(std::move(row));
    }
    if (options_.changes.empty() && options_.widths.empty() && options_.files.empty() && !graph_changes_added_) {
      graph_changes_added_ = true;
      on_graph.clear();
      for (const ChangeRequest& request : whatif::usual_changes_on_traces()) {
        if (whatif::is_on_graph_only(request, {})) {
          on_graph.push_back(request);
        }
      }
      for (analysis::ChangeAnswer& row : profiling::answers_on_graph(base_, on_graph, {})) {
        if (row.reason.empty()) {
          answer.changes.push_back(std::move(row));
        }
      }
    }
    profiling::sort_by_gain(answer);
    return answer;
  }

  /// Predicts requests of which the runner makes at least one change.
  base::Result<analysis::WhatIf, ExitCode> predict_by_capture(const std::vector<ChangeRequest>& requests) {
    const bool shows = options_.output->format == "text";
    auto found = predict_captured({runs_, base_, environment_, options_.measure_seconds}, requests,
                                  wanted_.user_changes, shows ? ShowFirst(show_first) : ShowFirst());
    if (!found) {
      return found.error();
    }
    profiling::judge_predictions(found->answer);
    measured_ += found->answer.operations_measured;
    disturbed_ += found->disturbed;
    found->answer.operations_measured = measured_;
    if (std::string text = disturbed_text(disturbed_, measured_); !text.empty()) {
      found->answer.warnings.push_back(std::move(text));
    }
    return std::move(found->answer);
  }

  /// Tries those of the answer that apply, at most `most` of them, best first.
  base::Result<void, ExitCode> attempt(analysis::WhatIf& answer, std::size_t most) {
    std::vector<ChangeRequest> requests;
    for (const analysis::ChangeAnswer& row : answer.changes) {
      if (row.reason.empty() && runs(row.change) && requests.size() < most) {
        requests.push_back(row.change);
      }
    }
    if (requests.empty()) {
      return {};
    }
    auto findings =
        run_experiment(runs_, {.kind = Experiment::Kind::kTry, .changes = requests, .seconds = options_.try_seconds});
    if (!findings) {
      return findings.error();
    }
    profiling::add_trials(answer, requests, findings->tried);
    if (findings->ended_early.has_value()) {
      answer.warnings.push_back("Not every change was tried: " + findings->ended_early->message);
    }
    return {};
  }

  /// The best combinations: one change more as long as that is predicted to gain.
  base::Result<analysis::WhatIf, ExitCode> search() {
    auto answer = predict(wanted_.requests);
    if (!answer) {
      return answer;
    }
    std::vector<analysis::ChangeAnswer> alone = answer->changes;
    std::erase_if(alone, [](const analysis::ChangeAnswer& row) { return !runs(row.change); });
    std::optional<analysis::ChangeAnswer> best = best_of(alone);
    while (best.has_value() && best->change.size() < kMostCombined) {
      std::vector<ChangeRequest> more;
      for (const analysis::ChangeAnswer& row : alone) {
        if (is_predicted(row) && std::ranges::find(best->change, row.change.front()) == best->change.end()) {
          more.push_back(best->change);
          more.back().push_back(row.change.front());
        }
      }
      if (more.empty()) {
        break;
      }
      auto combined = predict(more);
      if (!combined) {
        return combined;
      }
      std::optional<analysis::ChangeAnswer> better = best_of(combined->changes);
      answer->changes.insert(answer->changes.end(), combined->changes.begin(), combined->changes.end());
      answer->operations = std::max(answer->operations, combined->operations);
      answer->operations_measured = measured_;
      const bool fits_now = !best->predicted->peak_bytes.has_value() || fits(*best);
      if (!better.has_value() || (fits_now && better->predicted->speed_up.value <= best->predicted->speed_up.value)) {
        break;
      }
      best = std::move(better);
    }
    std::erase_if(answer->changes, [&](const analysis::ChangeAnswer& row) { return row.predicted && !fits(row); });
    profiling::sort_by_gain(*answer);
    return answer;
  }

 private:
  /// To stderr, before the whole answer is there.
  static void show_first(const analysis::ChangeAnswer& row) {
    const std::string text = !row.reason.empty()         ? "left out: " + row.reason
                             : row.predicted.has_value() ? "predicted " + report::predicted_text(row)
                                                         : "not predicted: " + row.not_predicted;
    write_to_error(protocol::printable(fmt::format("{}: {}", fmt::join(row.change, " + "), text)) + "\n");
  }

  /// Whether the runner makes all of it.
  static bool runs(const ChangeRequest& request) {
    return std::ranges::all_of(request, [](const std::string& change) {
      const whatif::ChangeKind* kind = whatif::find_change(change);
      return kind != nullptr && kind->on_step;
    });
  }

  static bool is_predicted(const analysis::ChangeAnswer& row) {
    return row.reason.empty() && row.predicted.has_value();
  }

  bool fits(const analysis::ChangeAnswer& row) const {
    return options_.memory_bytes == 0 || !row.predicted->peak_bytes.has_value() ||
           *row.predicted->peak_bytes <= options_.memory_bytes;
  }

  /// The fastest of those that fit; where none fits, the one that needs the least memory.
  std::optional<analysis::ChangeAnswer> best_of(const std::vector<analysis::ChangeAnswer>& rows) const {
    std::optional<analysis::ChangeAnswer> best;
    for (const analysis::ChangeAnswer& row : rows) {
      if (!is_predicted(row)) {
        continue;
      }
      const auto rank = [&](const analysis::ChangeAnswer& each) {
        const bool fit = fits(each);
        return std::pair(
            fit, fit ? each.predicted->speed_up.value : -static_cast<double>(each.predicted->peak_bytes.value_or(0)));
      };
      if (!best.has_value() || rank(row) > rank(*best)) {
        best = row;
      }
    }
    return best;
  }

  const WhatIfOptions& options_;
  const WantedChanges& wanted_;
  EntryRuns& runs_;
  profiling::WhatIfBase base_;
  const analysis::Environment& environment_;
  int measured_ = 0;
  int disturbed_ = 0;
  bool graph_changes_added_ = false;  ///< the usual ones, to the first answer
};

/// What does not go with a cluster is refused.
int run_on_cluster(const WhatIfOptions& options, bool trace) {
  if (trace) {
    print_error("A trace does not tell when its gradients are ready: --cluster needs an entry point.");
    return kExitUsage;
  }
  if (!options.changes.empty() || !options.widths.empty() || !options.files.empty() || options.attempt ||
      options.search || options.output->format == "html") {
    print_error(
        "--cluster predicts the step as it is, as text or JSON: leave out --change, --set, --change-file, --try, "
        "--search and --format html.");
    return kExitUsage;
  }
  return what_if_cluster(*options.request, options.cluster, *options.output);
}

int run_on_trace(const WhatIfOptions& options, WantedChanges wanted) {
  if (options.attempt || options.search) {
    print_error("A trace can only be predicted: --try and --search need an entry point.");
    return kExitUsage;
  }
  return what_if_trace({.trace = options.request->entry,
                        .project_root = options.request->project_root,
                        .process = options.process,
                        .code = options.request->code,
                        .step_boundary = options.step_boundary},
                       std::move(wanted), worker::find_interpreter_here(options.request->python).path, *options.output);
}

int run_on_entry(const WhatIfOptions& options, WantedChanges wanted) {
  const auto target = find_target_or_report(*options.request);
  if (!target) {
    return target.error().value;
  }
  EntryRuns runs(*options.request, *target);
  const auto made = profile_now(runs);
  if (!made) {
    return made.error().value;
  }
  profiling::WhatIfBase base = profiling::what_if_base(*made);
  if (const auto problem = profiling::fit_problem(base); options.memory_bytes > 0 && !problem.empty()) {
    print_error(
        fmt::format("--memory is not kept to for this step: {}. Without it, --search says what the peak was of what "
                    "it tried.",
                    problem));
    return kExitUsage;
  }
  if (const auto ran = make_python_changes(wanted, base.graph, target->interpreter.path); !ran) {
    return ran.error().value;
  }
  Asking asking(options, wanted, runs, std::move(base), made->profile.environment);
  auto answer = options.search ? asking.search() : asking.predict(wanted.requests);
  if (!answer) {
    return answer.error().value;
  }
  if (options.attempt || options.search) {
    if (const auto tried = asking.attempt(*answer, options.search ? kMostTried : protocol::kMaxChanges); !tried) {
      return tried.error().value;
    }
  }
  answer->try_seconds = profiling::seconds_to_try(*answer, options.try_seconds);
  return write_out(rendered_what_if(*answer, *options.output), *options.output);
}

int run(const WhatIfOptions& options) {
  const bool trace = looks_like_trace(options.request->entry);
  if (!trace && !options.step_boundary.empty()) {
    print_error("--step-boundary needs a trace: an entry point says itself what a step is.");
    return kExitUsage;
  }
  if (!options.cluster.file.empty()) return run_on_cluster(options, trace);
  if (!options.cluster.bucket_bytes.empty() || options.cluster.no_overlap) {
    print_error("--bucket-size and --no-overlap need --cluster.");
    return kExitUsage;
  }
  std::vector<std::string> changes = options.changes;
  for (const std::string& width : options.widths) {
    changes.push_back("set:" + width);
  }
  auto wanted =
      wanted_changes(changes, options.files, trace ? whatif::usual_changes_on_traces() : whatif::usual_changes());
  if (!wanted) {
    return wanted.error().value;
  }
  return trace ? run_on_trace(options, std::move(*wanted)) : run_on_entry(options, std::move(*wanted));
}

std::string list_of_changes() {
  std::string text;
  for (const whatif::ChangeKind& kind : whatif::change_table()) {
    std::string name(kind.name);
    if (!kind.argument.empty()) {
      name += ":" + std::string(kind.argument);
    }
    name.resize(std::max<std::size_t>(name.size() + 1, 36), ' ');
    text += name + std::string(kind.title) + (kind.predictable ? "" : " (only by trying)") +
            (kind.on_step ? "" : " (by rule)") + "\n";
  }
  return text;
}

}  // namespace

void add_what_if_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<WhatIfOptions>();
  CLI::App* command = app.add_subcommand(
      "what-if",
      "Predict what changes of a training step would bring: of an entry point, or of a trace of another profiler.");
  command->add_option("--change", options->changes,
                      "A change, as NAME or NAME:ARGUMENT; may be repeated: each alone, and all together in order. "
                      "Without it, those that most often pay");
  command->add_option("--set", options->widths,
                      "Another width of a layer, as MODULE:ATTRIBUTE=N, such as fc1:out_features=1024: the same as "
                      "--change set:MODULE:ATTRIBUTE=N; may be repeated");
  command->add_option("--change-file", options->files,
                      "A change of your own, as JSON or as Python, which is run: docs/user/what-if-traces.md; may be "
                      "repeated");
  command->add_option("--process", options->process, "Of a report of Nsight Systems with several: which process");
  add_step_boundary_option(*command, options->step_boundary);
  command->add_flag("--try", options->attempt,
                    "Also run each change that applies, in turns with the unchanged step; no file is changed");
  command->add_flag("--search", options->search, "Find the best combination, and try the best three");
  command
      ->add_option("--memory", options->memory_bytes, "With --search: only what needs at most this much, such as 8GiB")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--measure-time", options->measure_seconds, "Seconds for timing operations that are not known yet")
      ->check(number_in(1, 3600))
      ->capture_default_str();
  command->add_option("--try-time", options->try_seconds, "Seconds for trying each change")
      ->check(number_in(0.5, 600))
      ->capture_default_str();
  command->add_option("--cluster", options->cluster.file,
                      "Instead of changes: data-parallel training on the cluster of this file "
                      "(docs/user/cluster.md; `ridgeline network` writes one)");
  command
      ->add_option("--bucket-size", options->cluster.bucket_bytes,
                   "With --cluster: bucket_cap_mb of DistributedDataParallel, such as 25MiB; may be repeated")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::PositiveNumber);
  command->add_flag("--no-overlap", options->cluster.no_overlap,
                    "With --cluster: also all-reduces that begin when backward is over");
  command
      ->add_option("--zero", options->cluster.zero,
                   "With --cluster: also these stages of ZeRO, such as 1,2,3; 3 is what FSDP does")
      ->delimiter(',')
      ->check(CLI::Range(1, 3));
  command
      ->add_option(
          "--pipeline", options->cluster.pipeline,
          "With --cluster: also a pipeline with a stage on each rank and so many micro-batches, such as 4,8; the "
          "profile's batch is one")
      ->delimiter(',')
      ->check(CLI::Range(1, 4096));
  add_profile_options(*command, options->request);
  add_output_options(*command, options->output, {"text", "json", "html"});
  add_warnings_option(*command, options->output);
  command->footer("Changes:\n" + list_of_changes() +
                  "\nExamples:\n"
                  "  ridgeline what-if entry.py --try\n"
                  "  ridgeline what-if trace.json.gz --change loader-workers:4 --change amp");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace ridgeline::commands
