#include "profiling/profile_queue.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <exception>
#include <utility>

#include "profiling/size_chooser.h"
#include "profiling/trial.h"

namespace ridgeline::profiling {

namespace asio = boost::asio;

namespace {

/// After which an idle worker gives its memory back: a quarter of an hour of editing without a profile.
constexpr std::chrono::minutes kIdle{15};

/// Nothing that is thrown leaves the pool: a daemon that ends loses everyone's profiles.
ProfileOutcome make_or_fail(worker::Finished finished, const ProfileRequest& request, const Target& target,
                            const PlannedRun& plan, const MadeProfile* held) {
  try {
    return held == nullptr ? make_profile(std::move(finished), request, target, plan)
                           : make_trial(std::move(finished), request, target, plan, *held);
  } catch (const std::exception& error) {
    return RunFailure{protocol::failure_of(protocol::FailureKind::kInternalError, "analyse",
                                           std::string("The analysis failed: ") + error.what() + ". Please report it."),
                      ""};
  }
}

}  // namespace

struct ProfileQueue::Job {
  enum class State { kWaiting, kRunning, kAnalysing };

  Ticket ticket = 0;
  ProfileRequest request;
  Target target;
  std::shared_ptr<const MadeProfile> held;  ///< of a trial: what it adds to; null for a profile
  JobEvents events;
  PlannedRun plan;
  State state = State::kWaiting;
  std::optional<protocol::FailureKind> ended_as;  ///< kCancelled or kSuperseded while its run is being ended
};

ProfileQueue::ProfileQueue(asio::io_context& loop, asio::thread_pool& pool, worker::Reaper& reaper)
    : loop_(loop), pool_(pool), reaper_(reaper), idle_(loop) {}

ProfileQueue::~ProfileQueue() = default;

void ProfileQueue::post(std::function<void()> work) { asio::post(loop_, lifetime_.guard(std::move(work))); }

ProfileQueue::Ticket ProfileQueue::add(ProfileRequest request, Target target, JobEvents events) {
  for (const auto& job : jobs_) {
    if (job->target.entry == target.entry || job->held != nullptr) {
      post([this, ticket = job->ticket] { end(ticket, protocol::FailureKind::kSuperseded); });
    }
  }
  return push(std::make_unique<Job>(Job{++last_ticket_,
                                        std::move(request),
                                        std::move(target),
                                        nullptr,
                                        std::move(events),
                                        {},
                                        Job::State::kWaiting,
                                        std::nullopt}));
}

ProfileQueue::Ticket ProfileQueue::add_trial(ProfileRequest request, Target target,
                                             std::shared_ptr<const MadeProfile> held, JobEvents events) {
  for (const auto& job : jobs_) {
    if (job->held != nullptr) {
      post([this, ticket = job->ticket] { end(ticket, protocol::FailureKind::kSuperseded); });
    }
  }
  return push(std::make_unique<Job>(Job{++last_ticket_,
                                        std::move(request),
                                        std::move(target),
                                        std::move(held),
                                        std::move(events),
                                        {},
                                        Job::State::kWaiting,
                                        std::nullopt}));
}

ProfileQueue::Ticket ProfileQueue::push(std::unique_ptr<Job> job) {
  jobs_.push_back(std::move(job));
  post([this] { start_next(); });
  return last_ticket_;
}

ProfileQueue::Job* ProfileQueue::find(Ticket ticket) {
  const auto found = std::ranges::find(jobs_, ticket, [](const auto& job) { return job->ticket; });
  return found == jobs_.end() ? nullptr : found->get();
}

void ProfileQueue::end(Ticket ticket, protocol::FailureKind kind) {
  Job* job = find(ticket);
  if (job == nullptr || job->ended_as.has_value()) {
    return;
  }
  job->ended_as = kind;
  if (job->state == Job::State::kRunning) {
    worker_->cancel();
  } else {
    finish(ticket, RunFailure{});
  }
}

void ProfileQueue::start_next() {
  const auto busy = [](const auto& job) { return job->state == Job::State::kRunning; };
  if (std::ranges::any_of(jobs_, busy)) {
    return;
  }
  const auto profile = [](const auto& job) { return job->state == Job::State::kWaiting && job->held == nullptr; };
  auto next = std::ranges::find_if(jobs_, profile);
  if (next == jobs_.end() && std::ranges::none_of(jobs_, [](const auto& job) { return job->held == nullptr; })) {
    next = std::ranges::find(jobs_, Job::State::kWaiting, [](const auto& job) { return job->state; });
  }
  if (next != jobs_.end()) {
    start(**next);
  } else {
    idle_.expires_after(kIdle);
    idle_.async_wait(lifetime_.guard([this](const auto& error) {
      if (!error && jobs_.empty()) {
        worker_.reset();
      }
    }));
  }
}

void ProfileQueue::start(Job& job) {
  idle_.cancel();
  // It may have waited for long, and what was agreed to may be gone.
  if (!job.events.may_run || !job.events.may_run()) {
    job.state = Job::State::kAnalysing;  // nothing of it runs
    post([this, ticket = job.ticket] {
      finish(ticket,
             RunFailure{protocol::failure_of(protocol::FailureKind::kNotTrusted, "start",
                                             "The code did not run: its project was replaced since you agreed."),
                        ""});
    });
    return;
  }
  if (worker_ == nullptr || interpreter_ != job.target.interpreter.path) {
    interpreter_ = job.target.interpreter.path;
    worker_ = std::make_unique<worker::Worker>(loop_, reaper_, worker::WorkerOptions{interpreter_, job.target.cache});
  }
  job.state = Job::State::kRunning;
  job.plan = plan_run(job.request, job.target);
  const auto handle = [this, ticket = job.ticket](worker::Event event) {
    Job* running = find(ticket);
    if (const auto* step = std::get_if<protocol::Progress>(&event)) {
      if (!running->ended_as.has_value()) {
        running->events.progress(*step);
      }
    } else {
      // Not from within the worker's call: what follows may start its next run.
      auto finished = std::make_shared<worker::Finished>(std::move(std::get<worker::Finished>(event)));
      post([this, ticket, finished] {
        if (Job* ended = find(ticket)) {
          analyse(*ended, std::move(*finished));
        }
      });
    }
  };
  worker_->run(job.plan.spec, job.plan.limits, handle, {asio::make_strand(pool_.get_executor()), chooser_of(job.plan)});
}

void ProfileQueue::analyse(Job& job, worker::Finished finished) {
  if (job.ended_as.has_value()) {
    finish(job.ticket, RunFailure{});
    return;
  }
  job.state = Job::State::kAnalysing;
  job.events.progress({"analyse", 1, "Analysing"});
  auto work = std::make_shared<worker::Finished>(std::move(finished));
  const auto done =
      lifetime_.guard([this, ticket = job.ticket](ProfileOutcome outcome) { finish(ticket, std::move(outcome)); });
  asio::post(pool_,
             [work, request = job.request, target = job.target, plan = job.plan, held = job.held, &loop = loop_, done] {
               auto outcome = make_or_fail(std::move(*work), request, target, plan, held.get());
               asio::post(loop, [done, outcome = std::move(outcome)]() mutable { done(std::move(outcome)); });
             });
  start_next();
}

void ProfileQueue::finish(Ticket ticket, ProfileOutcome outcome) {
  const auto found = std::ranges::find(jobs_, ticket, [](const auto& job) { return job->ticket; });
  if (found == jobs_.end()) {
    return;  // it was ended while it was analysed
  }
  const std::unique_ptr<Job> job = std::move(*found);
  jobs_.erase(found);
  if (job->ended_as.has_value()) {
    outcome =
        RunFailure{job->ended_as == protocol::FailureKind::kCancelled
                       ? protocol::failure_of(protocol::FailureKind::kCancelled, "start", "The profile was cancelled.")
                       : protocol::failure_of(protocol::FailureKind::kSuperseded, "start",
                                              "A newer profile of the same file replaced it."),
                   ""};
  }
  start_next();
  job->events.finished(std::move(outcome));
}

}  // namespace ridgeline::profiling
