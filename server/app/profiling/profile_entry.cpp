#include "app/profiling/profile_entry.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <variant>

#include "app/profiling/tried_change.h"
#include "app/profiling/what_if_base.h"

namespace ridgeline::app {

namespace {

using Took = std::optional<std::chrono::duration<double>>;

struct MeasuredEntry {
  PlannedRun plan;
  worker::Finished finished;
  Took took;  ///< nothing: it did not begin
};

struct EntryPlan {
  LastDuration last;
  PlannedRun plan;
};

base::Task<MeasuredEntry> measure(EntryRunner& runner, ProfileRequest request, Target target) {
  const auto planned = std::make_shared<EntryPlan>();
  auto planning = runner.off_loop([planned, request = std::move(request), target = std::move(target)] {
    planned->last = last_duration(request, target);
    planned->plan = plan_run(request, target);
  });
  co_await std::move(planning);
  runner.warn(planned->last.warning);
  RemainingTime remaining(planned->last.seconds);
  auto running = runner.run(planned->plan, remaining);
  const std::shared_ptr<worker::Finished> finished = co_await std::move(running);
  const auto now = RemainingTime::Clock::now();
  const Took took = remaining.elapsed(now);
  if (std::holds_alternative<worker::RunOutput>(finished->outcome)) {
    const protocol::Progress step{"analyse", 0.95, "Analysing"};
    runner.show(step, remaining.of(step, now));
  }
  co_return MeasuredEntry{std::move(planned->plan), std::move(*finished), took};
}

base::Result<ProfiledEntry, RunFailure> finish(MeasuredEntry measured, const ProfileRequest& request,
                                               const Target& target) {
  auto run = analyse_run(std::move(measured.finished), measured.plan);
  if (!run) {
    return std::move(run).error();
  }
  ProfiledEntry profiled = keep_with_texts(std::move(*run), request, target);
  if (request.keep && profiled.warning.empty() && measured.took.has_value()) {
    profiled.warning = keep_duration(request, target, *measured.took);
  }
  return profiled;
}

}  // namespace

base::Task<base::Result<ProfiledEntry, RunFailure>> profile_entry(EntryRunner& runner, ProfileRequest request,
                                                                  Target target) {
  auto measuring = measure(runner, request, target);
  MeasuredEntry measured = co_await std::move(measuring);
  auto finishing = analysed<ProfiledEntry>(
      runner, [measured = std::move(measured), request = std::move(request), target = std::move(target)]() mutable {
        return finish(std::move(measured), request, target);
      });
  auto profiled = co_await std::move(finishing);
  if (profiled) {
    runner.warn(profiled->warning);
  }
  co_return std::move(profiled);
}

base::Task<ProfileOutcome> make_profile(EntryRunner& runner, ProfileRequest request, Target target) {
  auto profiling = profile_entry(runner, std::move(request), std::move(target));
  auto profiled = co_await std::move(profiling);
  if (!profiled) {
    co_return std::move(profiled).error();
  }
  auto making = analysed<ProfileWithSources>(runner, [entry = std::move(*profiled)]() mutable -> ProfileOutcome {
    auto what_if = std::make_shared<const WhatIfBase>(what_if_base(entry.run));
    ProfileWithSources made = profile_with_sources(std::move(entry));
    made.what_if = std::move(what_if);
    return made;
  });
  co_return co_await std::move(making);
}

std::optional<ProfileWithSources> first_profile(worker::RunOutput measured, ProfileRequest request,
                                                const Target& target, const PlannedRun& plan) {
  request.keep = false;
  measured.result.warnings.resize(std::min(measured.result.warnings.size(), protocol::kMaxWarnings - 1));
  measured.result.warnings.emplace_back(
      "These are the first figures. Timing goes on, and other batch sizes are measured.");
  auto run = analyse_run({std::move(measured), {}, std::nullopt}, plan);
  if (!run) {
    return std::nullopt;
  }
  return profile_with_sources(keep_with_texts(std::move(*run), request, target));
}

base::Task<ProfileOutcome> try_batch_size(EntryRunner& runner, ProfileRequest request, Target target,
                                          std::shared_ptr<const ProfileWithSources> held) {
  auto measuring = measure(runner, request, target);
  MeasuredEntry measured = co_await std::move(measuring);
  auto trying = analysed<ProfileWithSources>(runner, [measured = std::move(measured), request = std::move(request),
                                                      target = std::move(target), held = std::move(held)]() mutable {
    return make_trial(std::move(measured.finished), request, target, measured.plan, *held);
  });
  ProfileOutcome made = co_await std::move(trying);
  if (made) {
    runner.warn(made->warning);
  }
  co_return std::move(made);
}

}  // namespace ridgeline::app
