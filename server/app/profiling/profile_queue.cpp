#include "app/profiling/profile_queue.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <chrono>
#include <optional>
#include <utility>

#include "app/profiling/entry_lock.h"
#include "app/profiling/kept_profiles.h"
#include "app/profiling/profile_entry.h"
#include "app/profiling/remaining_time.h"
#include "app/profiling/run_script.h"
#include "app/profiling/script_experiment.h"
#include "app/profiling/size_chooser.h"

namespace ridgeline::app {

namespace asio = boost::asio;
using protocol::FailureKind;

namespace {

/// After which an idle worker gives its memory back: a quarter of an hour of editing without a profile.
constexpr std::chrono::minutes kIdle{15};

/// Between two looks at whether another daemon has come to an end.
constexpr std::chrono::milliseconds kPause{100};

base::Task<bool> paused(asio::io_context& loop) {
  asio::steady_timer timer(loop, kPause);
  auto waiting = timer.async_wait(asio::use_awaitable);
  co_await std::move(waiting);
  co_return true;
}

RunFailure ended(FailureKind kind) {
  return {protocol::failure_of(kind, "start",
                               kind == FailureKind::kCancelled ? "The profile was cancelled."
                                                               : "A newer profile of the same file replaced it."),
          ""};
}

}  // namespace

struct ProfileQueue::Job {
  enum class State { kWaiting, kStarting, kRunning, kAnalysing, kEnded };

  Ticket ticket = 0;
  ProfileRequest request;
  Target target;
  std::shared_ptr<const ProfileWithSources> held;  ///< of a trial: what it adds to; null for a profile
  JobEvents events;
  std::optional<ScriptRequest> script{};             ///< in place of `request`
  std::optional<protocol::Experiment> experiment{};  ///< in place of a profile
  std::unique_ptr<ScriptProcess> script_process{};   ///< while it runs
  std::int64_t asked_s = seconds_since_1970();
  std::optional<base::LockFile> lock{};  ///< of the entry, while it is profiled
  State state = State::kWaiting;
  std::optional<FailureKind> ended_as{};           ///< kCancelled or kSuperseded while its run is being ended
  std::function<void(bool)> go{};                  ///< its turn has come
  std::function<void(ProfileOutcome)> done{};      ///< its outcome, to the task that waits for it
  std::function<void(ExperimentOutcome)> found{};  ///< the outcome of an experiment, to the task that waits for it

  bool is_trial() const { return held != nullptr; }
  bool is_on_worker() const {
    const bool is_timing = experiment.has_value() && experiment->kind == protocol::Experiment::Kind::kMeasure;
    return state == State::kRunning && (!script.has_value() || is_timing);
  }
};

/// The process of a script, which belongs to its job.
class ProfileQueue::ScriptProcess final : private worker::JobListener {
 public:
  /// `done` is called once, from the loop, when the process has ended, or could not be started.
  ScriptProcess(ProfileQueue& queue, const Job& job, std::function<void(ScriptEnd)> done)
      : queue_(queue), job_(job), done_(std::move(done)) {}

  void start(worker::JobOptions options) {
    auto started = worker::Job::start(queue_.loop_, queue_.reaper_, std::move(options), *this);
    if (started) {
      process_ = std::move(*started);
    } else {
      end(started.error());
    }
  }
  void cancel() {
    if (process_ != nullptr) {
      process_->cancel();
    }
  }

 private:
  void on_job_note(const std::string& /*message*/) override {}
  void on_job_progress(const protocol::Progress& progress) override {
    if (!job_.ended_as.has_value()) {
      job_.events.progress(progress);
    }
  }
  void on_job_output(std::string_view text) override {
    if (job_.events.output) {
      job_.events.output(text);
    }
  }
  void on_job_end(worker::JobEnd job_end) override { end(std::make_shared<worker::JobEnd>(std::move(job_end))); }
  /// Not from within the process's call: what follows destroys it.
  void end(ScriptEnd how) {
    asio::post(queue_.loop_, queue_.lifetime_.guard([done = done_, how = std::move(how)] { done(how); }));
  }

  ProfileQueue& queue_;
  const Job& job_;
  std::function<void(ScriptEnd)> done_;
  std::unique_ptr<worker::Job> process_;
};

ProfileQueue::ProfileQueue(asio::io_context& loop, asio::thread_pool& pool, worker::Reaper& reaper)
    : loop_(loop), pool_(pool), reaper_(reaper), idle_(loop) {}

ProfileQueue::~ProfileQueue() {
  for (const auto& job : jobs_) {  // each holds the task that holds it
    job->script_process.reset();
    job->go = nullptr;
    job->done = nullptr;
    job->found = nullptr;
  }
}

base::Task<ProfileOutcome> ProfileQueue::profile(Ticket ticket, ProfileRequest request, Target target,
                                                 JobEvents events) {
  supersede([&](const Job& job) { return job.target.entry == target.entry || job.is_trial(); });
  auto job = std::make_shared<Job>(Job{ticket, std::move(request), std::move(target), nullptr, std::move(events)});
  jobs_.push_back(job);
  return outcome_of(std::move(job));
}

base::Task<ProfileOutcome> ProfileQueue::try_batch_size(Ticket ticket, ProfileRequest request, Target target,
                                                        std::shared_ptr<const ProfileWithSources> held,
                                                        JobEvents events) {
  supersede([](const Job& job) { return job.is_trial(); });
  auto job =
      std::make_shared<Job>(Job{ticket, std::move(request), std::move(target), std::move(held), std::move(events)});
  jobs_.push_back(job);
  return outcome_of(std::move(job));
}

base::Task<ProfileOutcome> ProfileQueue::run_script(Ticket ticket, ScriptRequest request, Target target,
                                                    JobEvents events) {
  supersede([&](const Job& job) { return job.target.entry == target.entry || job.is_trial(); });
  auto job = std::make_shared<Job>(Job{ticket, request.place, std::move(target), nullptr, std::move(events)});
  job->script = std::move(request);
  jobs_.push_back(job);
  return outcome_of(std::move(job));
}

base::Task<ExperimentOutcome> ProfileQueue::experiment(Ticket ticket, ProfileRequest request,
                                                       std::optional<ScriptRequest> script, Target target,
                                                       protocol::Experiment experiment, JobEvents events) {
  supersede([](const Job& job) { return job.is_trial(); });
  auto job = std::make_shared<Job>(Job{ticket, std::move(request), std::move(target), nullptr, std::move(events)});
  job->script = std::move(script);
  job->experiment = std::move(experiment);
  jobs_.push_back(job);
  const auto begin = [this, job](std::function<void(ExperimentOutcome)> found) {
    job->found = std::move(found);
    base::start(loop_, run_experiment(job));
  };
  auto outcome = base::callback<ExperimentOutcome>(begin);
  co_return co_await std::move(outcome);
}

base::Task<ProfileOutcome> ProfileQueue::outcome_of(std::shared_ptr<Job> job) {
  // A task of its own: its end is reported at once when it is cancelled, also while something on the pool goes on.
  const auto begin = [this, job](std::function<void(ProfileOutcome)> done) {
    job->done = std::move(done);
    base::start(loop_, run(job));
  };
  auto outcome = base::callback<ProfileOutcome>(begin);
  co_return co_await std::move(outcome);
}

base::Task<bool> ProfileQueue::has_turn(std::shared_ptr<Job> job) {
  const auto wait = [this, job](std::function<void(bool)> go) {
    job->go = std::move(go);
    asio::post(loop_, lifetime_.guard([this] { start_next(); }));
  };
  auto turn = base::callback<bool>(wait);
  co_await std::move(turn);
  idle_.cancel();
  // It may have waited for long, and what was agreed to may be gone.
  auto check = base::while_alive(lifetime_, std::move(job->events.permission));
  const bool may_run = co_await std::move(check);
  if (job->state == Job::State::kEnded) {
    co_return false;
  }
  if (!may_run) {
    finish(*job, RunFailure{protocol::failure_of(FailureKind::kNotTrusted, "start",
                                                 "The code did not run: its project was replaced since you agreed."),
                            ""});
  }
  co_return may_run;
}

/// A job whose turn has come, for the use case that it is.
class ProfileQueue::JobRunner final : public EntryRunner, public ScriptRunner {
 public:
  /// `keeps_turn`: it may run again after a run.
  JobRunner(ProfileQueue& queue, std::shared_ptr<Job> job, bool keeps_turn)
      : queue_(queue), job_(std::move(job)), keeps_turn_(keeps_turn) {}

  base::Task<std::shared_ptr<worker::Finished>> run(PlannedRun plan, RemainingTime& remaining) override;
  base::Task<base::Result<std::shared_ptr<worker::JobEnd>, protocol::Failure>> run(worker::JobOptions options) override;
  void show(const protocol::Progress& /*step*/, const protocol::Progress& timed) override;
  void warn(const std::string& text) override { warnings_ += (warnings_.empty() || text.empty() ? "" : "\n") + text; }
  void announce(const std::string& /*text*/) override {}
  base::Task<void> off_loop(std::function<void()> work) override;
  const std::string& warnings() const { return warnings_; }

 private:
  /// What follows need not wait any longer. Why nothing more of the job is done, where it was ended meanwhile.
  std::optional<protocol::Failure> leave_the_worker();

  ProfileQueue& queue_;
  std::shared_ptr<Job> job_;
  const bool keeps_turn_;
  std::string warnings_;
};

base::Task<void> ProfileQueue::JobRunner::off_loop(std::function<void()> work) {
  const auto called = [work = std::move(work)] {
    work();
    return true;
  };
  auto working = base::while_alive(queue_.lifetime_, base::run_on(queue_.pool_, called));
  co_await std::move(working);
}

void ProfileQueue::JobRunner::show(const protocol::Progress& /*step*/, const protocol::Progress& timed) {
  if (!job_->ended_as.has_value()) {
    job_->events.progress(timed);
  }
}

std::optional<protocol::Failure> ProfileQueue::JobRunner::leave_the_worker() {
  if (job_->ended_as.has_value()) {
    return ended(*job_->ended_as);
  }
  if (!keeps_turn_) {
    job_->state = Job::State::kAnalysing;
    queue_.start_next();
  }
  return std::nullopt;
}

base::Task<std::shared_ptr<worker::Finished>> ProfileQueue::JobRunner::run(PlannedRun plan, RemainingTime& remaining) {
  if (job_->state == Job::State::kEnded) {
    co_return std::make_shared<worker::Finished>(worker::Finished{ended(FailureKind::kCancelled), {}, {}});
  }
  job_->state = Job::State::kRunning;
  auto measuring = queue_.measure(job_, std::move(plan), &remaining);
  std::shared_ptr<worker::Finished> finished = co_await std::move(measuring);
  if (auto why = leave_the_worker()) {
    finished->outcome = std::move(*why);
  }
  co_return finished;
}

base::Task<base::Result<std::shared_ptr<worker::JobEnd>, protocol::Failure>> ProfileQueue::JobRunner::run(
    worker::JobOptions options) {
  if (job_->state == Job::State::kEnded) {
    co_return protocol::Failure(ended(FailureKind::kCancelled));
  }
  job_->state = Job::State::kRunning;
  auto measuring = queue_.measure_script(job_, std::move(options));
  auto end = co_await std::move(measuring);
  job_->script_process.reset();
  if (auto why = leave_the_worker()) {
    co_return std::move(*why);
  }
  if (end) {
    job_->events.progress({"analyse", 0.95, "Analysing"});
  }
  co_return std::move(end);
}

base::Task<void> ProfileQueue::run(std::shared_ptr<Job> job) {
  auto turn = has_turn(job);
  if (!co_await std::move(turn)) {
    co_return;
  }
  if (!job->script.has_value() && !job->is_trial()) {
    auto waiting = made_elsewhere(job);
    auto made = co_await std::move(waiting);
    if (job->state == Job::State::kEnded) {
      co_return;
    }
    if (made.has_value()) {
      finish(*job, std::move(*made));
      co_return;
    }
  }
  JobRunner runner(*this, job, job->script.has_value() && job->script->sizes.has_value());
  auto making = job->script.has_value() ? make_script_profile(runner, *job->script, job->target, job->events.first)
                : job->is_trial()       ? app::try_batch_size(runner, job->request, job->target, job->held)
                                        : make_profile(runner, job->request, job->target);
  ProfileOutcome outcome = co_await std::move(making);
  if (outcome) {
    outcome->warning = runner.warnings();
  } else if (job->ended_as.has_value()) {
    outcome = ended(*job->ended_as);
  }
  finish(*job, std::move(outcome));
}

base::Task<std::optional<ProfileWithSources>> ProfileQueue::made_elsewhere(std::shared_ptr<Job> job) {
  bool has_waited = false;
  bool is_same_request = false;
  for (;;) {
    const auto take = [job] { return std::make_shared<EntryLock>(lock_entry(job->request, job->target)); };
    auto taking = base::while_alive(lifetime_, base::run_on(pool_, take));
    const std::shared_ptr<EntryLock> taken = co_await std::move(taking);
    if (auto* lock = std::get_if<std::optional<base::LockFile>>(&*taken)) {
      if (lock->has_value()) {
        job->lock.emplace(std::move(**lock));
      }
      break;
    }
    if (!std::exchange(has_waited, true)) {
      job->events.progress({"start", 0, "Waiting for another window, which profiles this file"});
    }
    is_same_request = std::get<ProfiledElsewhere>(*taken).is_same_request;
    auto pausing = base::while_alive(lifetime_, paused(loop_));
    co_await std::move(pausing);
    if (job->state == Job::State::kEnded) {
      co_return std::nullopt;
    }
  }
  if (!has_waited || !is_same_request || !job->request.keep || !job->request.overlay.empty()) {
    co_return std::nullopt;
  }
  const auto load = [job]() -> std::shared_ptr<ProfileWithSources> {
    try {
      auto made = load_profile(job->request, job->target);
      const bool is_new = made.has_value() && made->created_s >= job->asked_s;
      return is_new ? std::make_shared<ProfileWithSources>(std::move(*made)) : nullptr;
    } catch (const std::exception&) {
      return nullptr;  // it is made here
    }
  };
  auto loading = base::while_alive(lifetime_, base::run_on(pool_, load));
  const std::shared_ptr<ProfileWithSources> made = co_await std::move(loading);
  co_return made != nullptr ? std::optional(std::move(*made)) : std::nullopt;
}

base::Task<void> ProfileQueue::run_experiment(std::shared_ptr<Job> job) {
  auto turn = has_turn(job);
  if (!co_await std::move(turn)) {
    co_return;
  }
  job->state = Job::State::kRunning;
  if (job->script.has_value() && job->experiment->kind != protocol::Experiment::Kind::kMeasure) {
    auto running = run_on_script(job);
    ExperimentOutcome outcome = co_await std::move(running);
    finish_experiment(*job, job->ended_as.has_value() ? ended(*job->ended_as) : std::move(outcome));
    co_return;
  }
  auto measurement = measure(job, plan_experiment(job->request, job->target, *job->experiment), nullptr);
  const std::shared_ptr<worker::Finished> finished = co_await std::move(measurement);
  if (job->ended_as.has_value()) {
    finish(*job, ended(*job->ended_as));
  } else {
    finish_experiment(*job, findings_of(std::move(*finished)));
  }
}

base::Task<ExperimentOutcome> ProfileQueue::run_on_script(std::shared_ptr<Job> job) {
  JobRunner runner(*this, job, true);
  ScriptRunner& script_runner = runner;
  auto planning = analysed<worker::JobOptions>(
      script_runner, [script = *job->script, target = job->target] { return plan_background_job(script, target); });
  auto planned = co_await std::move(planning);
  if (!planned) {
    co_return std::move(planned).error();
  }
  const bool allow_writes = job->script->sizes.has_value() && job->script->sizes->allow_writes;
  auto running = run_script_experiment(script_runner, std::move(*planned), allow_writes, *job->experiment);
  co_return co_await std::move(running);
}

base::Task<ProfileQueue::ScriptEnd> ProfileQueue::measure_script(std::shared_ptr<Job> job, worker::JobOptions options) {
  const auto begin = [this, job, &options](std::function<void(ScriptEnd)> done) {
    job->events.progress({"start", 0, "Starting the script"});
    job->script_process = std::make_unique<ScriptProcess>(*this, *job, std::move(done));
    job->script_process->start(std::move(options));
  };
  auto ended_job = base::callback<ScriptEnd>(begin);
  co_return co_await std::move(ended_job);
}

base::Task<std::shared_ptr<worker::Finished>> ProfileQueue::measure(std::shared_ptr<Job> job, PlannedRun plan,
                                                                    RemainingTime* remaining) {
  if (worker_ == nullptr || interpreter_ != job->target.interpreter.path) {
    interpreter_ = job->target.interpreter.path;
    worker_ = std::make_unique<worker::Worker>(loop_, reaper_, worker::WorkerOptions{interpreter_, job->target.cache});
  }
  plan.spec.first_figures = !job->is_trial() && !job->experiment.has_value() && job->events.first != nullptr;
  const auto shared_plan = plan.spec.first_figures ? std::make_shared<const PlannedRun>(plan) : nullptr;
  const auto begin = [this, job, &plan, shared_plan,
                      remaining](std::function<void(std::shared_ptr<worker::Finished>)> done) {
    const auto handle = [this, job, shared_plan, done, remaining](worker::Event event) {
      if (auto* end = std::get_if<worker::Finished>(&event)) {
        // Not from within the worker's call: what follows may start its next run.
        const auto finished = std::make_shared<worker::Finished>(std::move(*end));
        asio::post(loop_, lifetime_.guard([done, finished] { done(finished); }));
      } else if (auto* first = std::get_if<worker::FirstFigures>(&event)) {
        base::start(loop_, show_first(job, shared_plan, std::make_shared<worker::FirstFigures>(std::move(*first))));
      } else if (!job->ended_as.has_value()) {
        const auto& step = std::get<protocol::Progress>(event);
        job->events.progress(remaining == nullptr ? step : remaining->of(step, RemainingTime::Clock::now()));
      }
    };
    worker_->run(plan.spec, plan.limits, handle, chooser_of(plan, asio::make_strand(pool_.get_executor())));
  };
  auto finished = base::callback<std::shared_ptr<worker::Finished>>(begin);
  co_return co_await std::move(finished);
}

base::Task<void> ProfileQueue::show_first(std::shared_ptr<Job> job, std::shared_ptr<const PlannedRun> plan,
                                          std::shared_ptr<worker::FirstFigures> first) {
  const auto analyse = [first, plan, request = job->request,
                        target = job->target]() -> std::shared_ptr<ProfileWithSources> {
    try {
      auto made = first_profile(std::move(first->measured), request, target, *plan);
      return made.has_value() ? std::make_shared<ProfileWithSources>(std::move(*made)) : nullptr;
    } catch (const std::exception&) {
      return nullptr;  // the analysis of all that the run measures says why
    }
  };
  auto analysing = base::while_alive(lifetime_, base::run_on(pool_, analyse));
  const std::shared_ptr<ProfileWithSources> made = co_await std::move(analysing);
  if (made != nullptr && job->state == Job::State::kRunning && !job->ended_as.has_value()) {
    job->events.first(std::move(*made));
  }
  first->go_on();
}

void ProfileQueue::supersede(base::FunctionRef<bool(const Job&)> which) {
  for (const auto& job : jobs_) {
    if (which(*job)) {
      asio::post(loop_, lifetime_.guard([this, ticket = job->ticket] { end(ticket, FailureKind::kSuperseded); }));
    }
  }
}

void ProfileQueue::end(Ticket ticket, FailureKind kind) {
  const auto found = std::ranges::find(jobs_, ticket, [](const auto& job) { return job->ticket; });
  if (found == jobs_.end() || (*found)->ended_as.has_value()) {
    return;
  }
  const std::shared_ptr<Job> job = *found;
  job->ended_as = kind;
  if (job->script_process != nullptr) {
    job->script_process->cancel();
  } else if (job->is_on_worker()) {
    worker_->cancel();
  } else {
    finish(*job, ended(kind));
  }
}

void ProfileQueue::start_next() {
  using State = Job::State;
  const auto busy = [](const auto& job) { return job->state == State::kStarting || job->state == State::kRunning; };
  if (std::ranges::any_of(jobs_, busy)) {
    return;
  }
  const auto waits = [](const auto& job) { return job->state == State::kWaiting && job->go != nullptr; };
  auto next = std::ranges::find_if(jobs_, [&](const auto& job) { return waits(job) && !job->is_trial(); });
  if (next == jobs_.end() && std::ranges::all_of(jobs_, [](const auto& job) { return job->is_trial(); })) {
    next = std::ranges::find_if(jobs_, waits);
  }
  if (next != jobs_.end()) {
    (*next)->state = State::kStarting;
    std::exchange((*next)->go, nullptr)(true);
    return;
  }
  idle_.expires_after(kIdle);
  idle_.async_wait(lifetime_.guard([this](const auto& error) {
    if (!error && jobs_.empty()) {
      worker_.reset();
    }
  }));
}

bool ProfileQueue::close(Job& job) {
  if (job.state == Job::State::kEnded) {
    return false;  // it was ended while it was analysed
  }
  job.state = Job::State::kEnded;
  job.lock.reset();
  job.go = nullptr;
  std::erase_if(jobs_, [&](const auto& one) { return one.get() == &job; });
  start_next();
  return true;
}

void ProfileQueue::finish(Job& job, ProfileOutcome outcome) {
  if (job.experiment.has_value()) {
    finish_experiment(job, std::move(outcome).error());
    return;
  }
  const auto done = std::exchange(job.done, nullptr);
  if (close(job)) {
    done(std::move(outcome));
  }
}

void ProfileQueue::finish_experiment(Job& job, ExperimentOutcome outcome) {
  const auto found = std::exchange(job.found, nullptr);
  if (close(job)) {
    found(std::move(outcome));
  }
}

}  // namespace ridgeline::app
