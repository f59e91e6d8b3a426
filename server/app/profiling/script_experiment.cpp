#include "app/profiling/script_experiment.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "app/profiling/batch_changes.h"
#include "app/profiling/further_run.h"
#include "app/profiling/profile_run.h"
#include "app/profiling/script_sizes.h"

namespace ridgeline::app {

namespace {

using protocol::Experiment;
using protocol::FailureKind;
using worker::ExperimentFindings;

RunFailure what_if_failure(FailureKind kind, const std::string& message, std::string output = {}) {
  return {protocol::failure_of(kind, "what-if", message), std::move(output)};
}

/// One run for some of an experiment's changes, all at one batch size.
struct Part {
  std::optional<int> batch_size;     ///< absent: the script's own
  Experiment experiment;             ///< without the batch size
  std::vector<std::size_t> changes;  ///< of the whole experiment, as the part's are
  std::vector<std::size_t> alone;    ///< those that ask for the batch size and nothing else
};

/// The findings of an experiment on a script, and which of its changes have no answer yet.
class Answers {
 public:
  explicit Answers(Experiment experiment) : experiment_(std::move(experiment)) {
    for (std::size_t i = 0; i < experiment_.changes.size(); ++i) {
      open_.push_back(i);
    }
  }

  /// The next run for what is left: at the script's own batch size, and then at one after another.
  Part next() const {
    Part part{std::nullopt, experiment_, {}, {}};
    part.experiment.changes.clear();
    if (are_known_at_own_size()) {
      part.batch_size = size_of(open_.front());
    }
    for (const std::size_t i : open_) {
      if (size_of(i) != part.batch_size) {
        continue;
      }
      auto rest = part.batch_size.has_value() ? without_batch_size(experiment_.changes[i]) : experiment_.changes[i];
      if (rest.empty()) {
        part.alone.push_back(i);
      } else {
        part.experiment.changes.push_back(std::move(rest));
        part.changes.push_back(i);
      }
    }
    return part;
  }
  /// Adds what a run for a part found; whether that is anything.
  bool add(const Part& part, ExperimentFindings findings) {
    bool found = false;
    for (protocol::Captured& each : findings.captured) {
      if (each.change > 0) {
        const std::size_t index = index_of(each.change - 1, part.changes);
        found = answer(index, at_size(part, std::move(each))) || found;
      } else if (part.batch_size.has_value()) {
        for (const std::size_t index : part.alone) {
          found = answer(index, at_size(part, each)) || found;
        }
      } else if (!knows_unchanged()) {
        found_.captured.push_back(std::move(each));
        found = true;
      }
    }
    for (protocol::Tried& each : findings.tried) {
      if (const std::size_t index = index_of(each.change, part.changes); std::erase(open_, index) > 0) {
        each.change = static_cast<int>(index);
        found_.tried.push_back(std::move(each));
        found = true;
      }
    }
    if (findings.threads > 0 && !part.batch_size.has_value()) {
      found_.threads = findings.threads;
      found_.torch = std::move(findings.torch);
      found_.cuda_device = std::move(findings.cuda_device);
      found_.loader_sizes = std::move(findings.loader_sizes);
      found_.sizes_obstacle = std::move(findings.sizes_obstacle);
    }
    return found;
  }
  /// None of the part's changes can be answered.
  void refuse(const Part& part, const std::string& reason) {
    for (const auto& indices : {part.alone, part.changes}) {
      for (const std::size_t index : indices) {
        protocol::Captured refused;
        refused.reason = reason;
        answer(index, std::move(refused));
      }
    }
  }
  /// What the loaders are given for a part at another batch size; or why they cannot be, as a reason of its changes.
  base::Result<std::vector<protocol::LoaderSize>> loader_sizes(int batch_size) const {
    if (!found_.sizes_obstacle.empty() || found_.loader_sizes.empty()) {
      return base::error(found_.sizes_obstacle.empty() ? "its data loaders are not known" : found_.sizes_obstacle);
    }
    const int own = own_size();
    auto sizes =
        own < 1 ? std::vector<protocol::LoaderSize>() : scaled_loader_sizes(found_.loader_sizes, own, batch_size);
    if (sizes.empty()) {
      return base::error(fmt::format("its data loaders' batches cannot add up to {} samples in a step", batch_size));
    }
    return sizes;
  }
  /// The samples of the script's own step; 0: not known.
  int own_size() const {
    const auto unchanged = std::ranges::find(found_.captured, 0, &protocol::Captured::change);
    return unchanged == found_.captured.end() ? 0 : unchanged->batch_size;
  }
  bool are_complete() const {
    return open_.empty() && (experiment_.kind != Experiment::Kind::kCapture || knows_unchanged());
  }
  bool are_empty() const { return found_.captured.empty() && found_.tried.empty(); }
  ExperimentFindings take() { return std::move(found_); }
  void end_early(protocol::Failure why) { found_.ended_early = std::move(why); }

 private:
  /// The number of no change where there is none.
  std::size_t index_of(int change, const std::vector<std::size_t>& asked) const {
    const bool is_asked = change >= 0 && static_cast<std::size_t>(change) < asked.size();
    return is_asked ? asked[static_cast<std::size_t>(change)] : experiment_.changes.size();
  }
  /// Steps of different batch sizes cannot be timed in turns: a trial is of the script's own.
  std::optional<int> size_of(std::size_t change) const {
    return experiment_.kind == Experiment::Kind::kCapture ? requested_batch_size(experiment_.changes[change])
                                                          : std::nullopt;
  }
  static protocol::Captured at_size(const Part& part, protocol::Captured captured) {
    if (!part.batch_size.has_value() || !captured.reason.empty() || captured.batch_size == part.batch_size) {
      return captured;
    }
    protocol::Captured refused;
    refused.reason = fmt::format("the data loaders gave a step {} samples", captured.batch_size);
    return refused;
  }
  bool answer(std::size_t index, protocol::Captured captured) {
    if (std::erase(open_, index) == 0) {
      return false;
    }
    captured.change = static_cast<int>(index) + 1;
    found_.captured.push_back(std::move(captured));
    return true;
  }
  bool knows_unchanged() const {
    return std::ranges::any_of(found_.captured, [](const protocol::Captured& each) { return each.change == 0; });
  }
  bool are_known_at_own_size() const {
    return knows_unchanged() &&
           std::ranges::all_of(open_, [this](std::size_t change) { return size_of(change).has_value(); });
  }

  Experiment experiment_;
  std::vector<std::size_t> open_;
  ExperimentFindings found_;
};

/// Has the command run at another batch size; why it cannot, as a reason of changes, else empty. `options` outlive it.
base::Task<std::string> give_size(ScriptRunner& runner, worker::JobOptions& options, const Answers& answers, int size) {
  auto sizes = answers.loader_sizes(size);
  if (sizes) {
    options.spec.loader_sizes = std::move(*sizes);
    co_return "";
  }
  auto reading = read_script_number(runner, options.command, answers.own_size());
  const std::optional<ScriptNumber> number = co_await std::move(reading);
  if (!number.has_value()) {
    co_return sizes.error().message();
  }
  set_batch_size(options, *number, size);
  co_return "";
}

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
  if (experiment.kind == Experiment::Kind::kReplica) {
    co_return what_if_failure(FailureKind::kProviderMissing,
                              "What a script's step takes on several devices is not known without one: an entry point "
                              "made from it can be asked.");
  }
  command.spec.stop = true;
  command.guarded = !allow_writes;
  command.discards_output = true;
  command.spec.memory_limit_bytes = memory_for_user_code();
  Answers answers(std::move(experiment));
  while (!answers.are_complete()) {
    const Part part = answers.next();
    worker::JobOptions options = command;
    options.spec.experiment = part.experiment;
    if (part.batch_size.has_value()) {
      auto sizing = give_size(runner, options, answers, *part.batch_size);
      if (const std::string obstacle = co_await std::move(sizing); !obstacle.empty()) {
        answers.refuse(part, obstacle);
        continue;
      }
    }
    auto running = runner.run(std::move(options));
    const auto ended = co_await std::move(running);
    if (!ended) {
      co_return RunFailure{ended.error(), ""};
    }
    worker::JobEnd& end = **ended;
    bool found = false;
    for (worker::JobProcess& process : end.processes) {
      if (!process.findings.captured.empty() || !process.findings.tried.empty()) {
        found = answers.add(part, std::move(process.findings)) || found;
      }
    }
    if (found && !end.interrupted) {
      continue;
    }
    RunFailure why = why_nothing(end);
    if (part.batch_size.has_value() && !end.interrupted) {
      answers.refuse(part, why.message);
      continue;
    }
    if (answers.are_empty()) {
      co_return why;
    }
    answers.end_early(std::move(why));
    break;
  }
  co_return answers.take();
}

}  // namespace ridgeline::app
