#include "app/profiling/script_experiment.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "app/profiling/further_run.h"
#include "app/profiling/profile_run.h"

namespace ridgeline::app {

namespace {

using protocol::Experiment;
using protocol::FailureKind;
using worker::ExperimentFindings;

RunFailure what_if_failure(FailureKind kind, const std::string& message, std::string output = {}) {
  return {protocol::failure_of(kind, "what-if", message), std::move(output)};
}

/// The findings of an experiment on a script, and which of its changes have no answer yet.
class Answers {
 public:
  explicit Answers(Experiment experiment) : experiment_(std::move(experiment)) {
    for (std::size_t i = 0; i < experiment_.changes.size(); ++i) {
      open_.push_back(i);
    }
  }

  /// What is left of the experiment.
  Experiment rest() const {
    Experiment rest = experiment_;
    rest.changes.clear();
    for (const std::size_t i : open_) {
      rest.changes.push_back(experiment_.changes[i]);
    }
    return rest;
  }
  /// Adds what a run for rest() found; whether that is anything.
  bool add(ExperimentFindings findings) {
    const std::size_t before = open_.size();
    const bool knew_unchanged = knows_unchanged();
    const std::vector<std::size_t> asked = open_;
    for (protocol::Captured& each : findings.captured) {
      if (each.change == 0 && !knew_unchanged) {
        found_.captured.push_back(std::move(each));
      } else if (const auto index = index_of(each.change - 1, asked); each.change > 0 && index < asked.size()) {
        each.change = static_cast<int>(asked[index]) + 1;
        std::erase(open_, asked[index]);
        found_.captured.push_back(std::move(each));
      }
    }
    for (protocol::Tried& each : findings.tried) {
      if (const auto index = index_of(each.change, asked); index < asked.size()) {
        each.change = static_cast<int>(asked[index]);
        std::erase(open_, asked[index]);
        found_.tried.push_back(std::move(each));
      }
    }
    if (findings.threads > 0) {
      found_.threads = findings.threads;
      found_.torch = std::move(findings.torch);
      found_.cuda_device = std::move(findings.cuda_device);
    }
    return open_.size() < before || (!knew_unchanged && knows_unchanged());
  }
  bool are_complete() const {
    return open_.empty() && (experiment_.kind != Experiment::Kind::kCapture || knows_unchanged());
  }
  bool are_empty() const { return found_.captured.empty() && found_.tried.empty(); }
  ExperimentFindings take() { return std::move(found_); }
  void end_early(protocol::Failure why) { found_.ended_early = std::move(why); }

 private:
  static std::size_t index_of(int change, const std::vector<std::size_t>& asked) {
    return change < 0 ? asked.size() : static_cast<std::size_t>(change);
  }
  bool knows_unchanged() const {
    return std::ranges::any_of(found_.captured, [](const protocol::Captured& each) { return each.change == 0; });
  }

  Experiment experiment_;
  std::vector<std::size_t> open_;
  ExperimentFindings found_;
};

/// Why a run found nothing more.
RunFailure why_nothing(worker::JobEnd& end) {
  if (const std::string obstacle = write_obstacle(end.guard); !obstacle.empty()) {
    return what_if_failure(FailureKind::kNoTrainingStep, "The script could not be run again: " + obstacle);
  }
  for (const worker::JobProcess& process : end.processes) {
    const auto* failure = std::get_if<protocol::Failure>(&process.outcome);
    if (failure != nullptr && !failure->message.empty()) {
      protocol::Failure told = *failure;
      told.message += run_note(end);
      return {std::move(told), std::move(end.output)};
    }
  }
  return what_if_failure(FailureKind::kNoTrainingStep,
                         "The script ended before enough steps were taken." + run_note(end), std::move(end.output));
}

}  // namespace

base::Task<ExperimentOutcome> run_script_experiment(ScriptRunner& runner, worker::JobOptions command, bool allow_writes,
                                                    Experiment experiment) {
  if (experiment.for_cuda) {
    co_return what_if_failure(FailureKind::kProviderMissing,
                              "What a script's step takes on a device is not known without one: an entry point made "
                              "from it can be asked.");
  }
  command.spec.stop = true;
  command.guarded = !allow_writes;
  command.discards_output = true;
  command.spec.memory_limit_bytes = memory_for_user_code();
  Answers answers(std::move(experiment));
  while (!answers.are_complete()) {
    command.spec.experiment = answers.rest();
    auto running = runner.run(command);
    const auto ended = co_await std::move(running);
    if (!ended) {
      co_return RunFailure{ended.error(), ""};
    }
    worker::JobEnd& end = **ended;
    bool found = false;
    for (worker::JobProcess& process : end.processes) {
      if (!process.findings.captured.empty() || !process.findings.tried.empty()) {
        found = answers.add(std::move(process.findings)) || found;
      }
    }
    if (!found || end.interrupted) {
      RunFailure why = why_nothing(end);
      if (answers.are_empty()) {
        co_return why;
      }
      answers.end_early(std::move(why));
      break;
    }
  }
  co_return answers.take();
}

}  // namespace ridgeline::app
