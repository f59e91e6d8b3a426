#include "app/profiling/run_script.h"

#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>
#include <variant>

#include "app/profiling/further_run.h"
#include "app/profiling/kept_profiles.h"
#include "app/profiling/ran_sources.h"
#include "app/profiling/script_sizes.h"
#include "app/profiling/what_if_base.h"
#include "base/path.h"
#include "worker/process.h"

namespace ridgeline::app {

namespace {

using Planned = base::Result<worker::JobOptions, RunFailure>;

bool has_figures(const worker::JobProcess& process) {
  return std::holds_alternative<worker::RunOutput>(process.outcome);
}

bool has_trained(const worker::JobEnd& end) { return std::ranges::any_of(end.processes, has_figures); }

base::Result<RankRun, RunFailure> analysed_rank(worker::JobProcess process, const worker::JobOptions& options,
                                                const store::Moment& began) {
  RankRun rank;
  rank.rank = process.joined.rank;
  rank.world_size = process.joined.ranks;
  rank.interpreter = process.joined.environment.executable;
  if (auto* output = std::get_if<worker::RunOutput>(&process.outcome)) {
    rank.communication = std::move(output->communication);
    const auto users =
        std::ranges::find(output->batches, output->result.batch_size, &worker::MeasuredBatch::batch_size);
    rank.recording = users == output->batches.end() ? nullptr : users->recording;
  }
  auto run = analyse_process(std::move(process), options, began);
  if (!run) {
    return std::move(run).error();
  }
  add_line_texts(run->profile, ran_sources(run->profile, {}, began).texts);
  rank.run = std::move(*run);
  return rank;
}

std::vector<int> missing_ranks(const std::vector<int>& wanted, const worker::JobEnd& end) {
  std::vector<int> missing;
  std::ranges::copy_if(wanted, std::back_inserter(missing), [&](int rank) {
    const auto is_rank = [&](const worker::JobProcess& process) { return process.joined.rank == rank; };
    return std::ranges::none_of(end.processes, is_rank);
  });
  return missing;
}

/// Analyses the processes, or only the first that trained; where none did, the first says why.
ScriptRun analysed_job(worker::JobEnd end, const worker::JobOptions& options, const store::Moment& began,
                       bool only_first) {
  ScriptRun run{end.status, end.joined, std::move(end.output), options.spec.project_root, run_note(end)};
  run.trained = static_cast<std::size_t>(std::ranges::count_if(end.processes, has_figures));
  run.missing = missing_ranks(options.ranks, end);
  if (only_first && !end.processes.empty()) {
    const auto first = std::ranges::find_if(end.processes, has_figures);
    worker::JobProcess one = std::move(first == end.processes.end() ? end.processes.front() : *first);
    end.processes.clear();
    end.processes.push_back(std::move(one));
  }
  for (worker::JobProcess& process : end.processes) {
    auto rank = analysed_rank(std::move(process), options, began);
    if (rank) {
      run.ranks.push_back(std::move(*rank));
    } else {
      run.failures.push_back(std::move(rank).error());
    }
  }
  return run;
}

/// A job that has run to its end, and how it was started.
struct EndedJob {
  std::shared_ptr<worker::JobEnd> end;
  worker::JobOptions options;
  store::Moment began;  ///< before its plan read files
};

/// Runs what `plan`, which reads files, returns.
template <typename Plan>
base::Task<Answer<EndedJob>> run_planned(ScriptRunner& runner, Plan plan, std::string project_root) {
  const store::Moment began;
  auto planning = analysed<worker::JobOptions>(runner, std::move(plan));
  const Planned planned = co_await std::move(planning);
  if (!planned) {
    co_return FailedProjectRun{planned.error(), std::move(project_root)};
  }
  auto running = runner.run(*planned);
  const auto ended = co_await std::move(running);
  if (!ended) {
    co_return FailedProjectRun{{ended.error(), ""}, planned->spec.project_root};
  }
  if (const std::string obstacle = write_obstacle((*ended)->guard); !obstacle.empty() && !has_trained(**ended)) {
    co_return FailedProjectRun{
        {protocol::failure_of(protocol::FailureKind::kNoTrainingStep, "start", "No step was measured: " + obstacle),
         ""},
        planned->spec.project_root};
  }
  co_return EndedJob{*ended, *planned, began};
}

base::Task<base::Result<ScriptRun, RunFailure>> analysed_off_loop(ScriptRunner& runner, EndedJob job, bool only_first) {
  auto analysing = analysed<ScriptRun>(runner, [job = std::move(job), only_first] {
    return base::Result<ScriptRun, RunFailure>(analysed_job(*job.end, job.options, job.began, only_first));
  });
  co_return co_await std::move(analysing);
}

/// Why a job has no process to show.
RunFailure no_figures(ScriptRun& run, const Target& target) {
  const std::string name(base::file_name(target.entry));
  const bool ended_well = WIFEXITED(run.status) && WEXITSTATUS(run.status) == 0;
  const std::string what = ended_well ? "ended" : worker::describe_end(run.status);
  return {
      protocol::failure_of(
          ended_well ? protocol::FailureKind::kNoTrainingStep : protocol::FailureKind::kProcessDied, "iteration",
          name + " " + what + " before it " + (run.joined ? "took a training step." : "imported torch.") + run.note),
      std::move(run.output)};
}

/// What an editor shows of a job in the background.
ProfileOutcome first_profile(ScriptRun run, const Target& target) {
  if (run.ranks.empty()) {
    if (run.failures.empty()) {
      return no_figures(run, target);
    }
    run.failures.front().message += run.note;
    run.failures.front().output = std::move(run.output);
    return std::move(run.failures.front());
  }
  ProfileRun& first = run.ranks.front().run;
  if (run.trained > 1) {
    first.profile.warnings.push_back("These figures are of the first of " + std::to_string(run.trained) +
                                     " processes that train.");
  }
  ProfileRequest request;
  request.keep = false;
  auto what_if = run.trained == 1 ? std::make_shared<const WhatIfBase>(what_if_base(first)) : nullptr;
  ProfileWithSources made = profile_with_sources(keep_with_texts(std::move(first), request, target));
  made.what_if = std::move(what_if);
  return made;
}

base::Task<ProfileOutcome> shown_profile(ScriptRunner& runner, EndedJob job, Target target) {
  auto analysing = analysed_off_loop(runner, std::move(job), true);
  auto run = co_await std::move(analysing);
  if (!run) {
    co_return std::move(run).error();
  }
  const auto shared = std::make_shared<ScriptRun>(std::move(*run));
  auto making =
      analysed<ProfileWithSources>(runner, [shared, target] { return first_profile(std::move(*shared), target); });
  co_return co_await std::move(making);
}

}  // namespace

base::Task<Answer<ScriptRun>> run_script(ScriptRunner& runner, ScriptQuestion question) {
  const auto plan = [question]() -> Planned {
    auto options = plan_job(question.script);
    if (options) {
      options->spec.boundary = question.boundary;
      options->ranks = question.ranks;
    }
    return options;
  };
  const std::string& root = question.script.place.project_root;
  auto running = run_planned(runner, plan, root);
  const auto job = co_await std::move(running);
  if (!job) {
    co_return job.error();
  }
  if (question.script.sizes.has_value()) {
    auto sampling = sample_sizes(runner, *job->end, job->options, *question.script.sizes);
    co_await std::move(sampling);
  }
  auto analysing = analysed_off_loop(runner, *job, false);
  auto run = co_await std::move(analysing);
  if (!run) {
    co_return FailedProjectRun{std::move(run).error(), job->options.spec.project_root};
  }
  co_return std::move(*run);
}

std::string keep_script_profile(RankRun& rank, const ProfileRequest& place) {
  ProfileRequest request = place;
  request.entry = rank.run.profile.entry_path;
  auto target = find_target(request);
  if (!target) {
    return "";
  }
  using std::filesystem::path;
  if (path(target->interpreter.path).parent_path() != path(rank.interpreter).parent_path()) {
    target->interpreter.path = rank.interpreter;
  }
  return keep_profile(rank.run, request, *target, seconds_since_1970());
}

base::Task<ProfileOutcome> make_script_profile(ScriptRunner& runner, ScriptRequest request, Target target,
                                               ProfileHandler show) {
  const std::optional<SizesRequest> sizes = request.sizes;
  const auto plan = [request = std::move(request), target]() { return plan_background_job(request, target); };
  auto running = run_planned(runner, plan, target.project_root);
  const auto job = co_await std::move(running);
  if (!job) {
    co_return std::get<FailedProjectRun>(job.error()).failure;
  }
  auto making = shown_profile(runner, *job, target);
  ProfileOutcome made = co_await std::move(making);
  if (!made || !sizes.has_value() || made->what_if == nullptr) {
    co_return made;
  }
  if (show) {
    show(*made);
  }
  auto sampling = sample_sizes(runner, *job->end, job->options, *sizes);
  co_await std::move(sampling);
  auto again = shown_profile(runner, *job, target);
  ProfileOutcome with_sizes = co_await std::move(again);
  if (!with_sizes) {
    co_return made;
  }
  with_sizes->profile.id = made->profile.id;  // it is the same profile, of which more is known
  with_sizes->what_if = made->what_if;
  co_return with_sizes;
}

}  // namespace ridgeline::app
