// The profiles of one project, one after the other, by one warm worker.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "app/profiling/profile_run.h"
#include "app/profiling/profile_with_sources.h"
#include "app/profiling/remaining_time.h"
#include "app/profiling/request.h"
#include "app/profiling/script_profile.h"
#include "app/profiling/what_if_base.h"
#include "base/function_ref.h"
#include "base/lifetime.h"
#include "base/task.h"
#include "worker/worker.h"

namespace ridgeline::app {

/// What a job asks and reports while it waits and runs, on the loop.
struct JobEvents {
  /// Begins when its turn has come: whether its code may run. If not, the job fails as "not-trusted" and nothing is
  /// started.
  base::Task<bool> permission;
  protocol::ProgressHandler progress;
  protocol::OutputHandler output{};  ///< of a script: what it writes, as it comes
  /// What is known of the user's batch size before the others are measured: of a script, and of an entry point where
  /// its profile takes long.
  ProfileHandler first{};
};

/// Lives on the loop; the analysis runs on the pool. A request for an entry that waits or runs replaces it: the latest
/// wins, and the older one ends with a failure of kind "superseded". A trial waits for all profiles, and any profile
/// that is requested supersedes it. Destroying the queue ends its worker; its tasks throw OwnerGone, or just end.
class ProfileQueue {
 public:
  using Ticket = std::uint64_t;

  ProfileQueue(boost::asio::io_context& loop, boost::asio::thread_pool& pool, worker::Reaper& reaper);
  ~ProfileQueue();
  ProfileQueue(const ProfileQueue&) = delete;
  ProfileQueue& operator=(const ProfileQueue&) = delete;

  /// Names a job before it begins. Never given twice.
  Ticket new_ticket() { return ++last_ticket_; }
  /// Takes its place in the queue now; the task waits for its turn, runs, and analyses. What it replaces ends later.
  base::Task<ProfileOutcome> profile(Ticket ticket, ProfileRequest request, Target target, JobEvents events);
  /// Runs a training script as it is, in the background, in the place of a profile.
  base::Task<ProfileOutcome> run_script(Ticket ticket, ScriptRequest request, Target target, JobEvents events);
  /// A trial (app/profiling/tried_change.h) of a batch size: what it sees is added to `held`. It replaces the trials
  /// that wait or run, and no profile.
  base::Task<ProfileOutcome> try_batch_size(Ticket ticket, ProfileRequest request, Target target,
                                            std::shared_ptr<const ProfileWithSources> held, JobEvents events);
  /// Runs an experiment on the entry, in the order of the profiles; it replaces trials, and no profile.
  /// `script`: how the entry runs where it is a script; else nothing.
  base::Task<ExperimentOutcome> experiment(Ticket ticket, ProfileRequest request, std::optional<ScriptRequest> script,
                                           Target target, protocol::Experiment experiment, JobEvents events);
  /// The job ends with a failure of kind "cancelled", within 200 ms. Unknown tickets are ignored.
  void cancel(Ticket ticket) { end(ticket, protocol::FailureKind::kCancelled); }
  /// Jobs that wait or run.
  std::size_t size() const { return jobs_.size(); }
  bool is_warm() const { return worker_ != nullptr && worker_->parent_process() != 0; }

 private:
  struct Job;
  class JobRunner;
  class ScriptProcess;
  using ScriptEnd = base::Result<std::shared_ptr<worker::JobEnd>, protocol::Failure>;

  base::Task<ProfileOutcome> outcome_of(std::shared_ptr<Job> job);
  base::Task<void> run(std::shared_ptr<Job> job);
  base::Task<void> run_experiment(std::shared_ptr<Job> job);
  /// Waits for the job's turn. False when it has ended: it may have been cancelled, or its code may not run.
  base::Task<bool> has_turn(std::shared_ptr<Job> job);
  /// Waits while another daemon profiles the job's entry. What that one made, where that is what the job asks for.
  base::Task<std::optional<ProfileWithSources>> made_elsewhere(std::shared_ptr<Job> job);
  base::Task<ExperimentOutcome> run_on_script(std::shared_ptr<Job> job);
  base::Task<ScriptEnd> measure_script(std::shared_ptr<Job> job, worker::JobOptions options);
  /// `remaining` outlives the task; null: the time that is left is not known.
  base::Task<std::shared_ptr<worker::Finished>> measure(std::shared_ptr<Job> job, PlannedRun plan,
                                                        RemainingTime* remaining);
  /// Analyses and shows what a run has measured so far; then the run goes on.
  base::Task<void> show_first(std::shared_ptr<Job> job, std::shared_ptr<const PlannedRun> plan,
                              std::shared_ptr<worker::FirstFigures> first);
  void supersede(base::FunctionRef<bool(const Job&)> which);
  void end(Ticket ticket, protocol::FailureKind kind);
  void start_next();
  void finish(Job& job, ProfileOutcome outcome);
  void finish_experiment(Job& job, ExperimentOutcome outcome);
  /// Takes the job out of the queue; false: it has ended already.
  bool close(Job& job);

  boost::asio::io_context& loop_;
  boost::asio::thread_pool& pool_;
  worker::Reaper& reaper_;
  std::unique_ptr<worker::Worker> worker_;
  std::string interpreter_;  ///< the worker's
  std::deque<std::shared_ptr<Job>> jobs_;
  Ticket last_ticket_ = 0;
  boost::asio::steady_timer idle_;
  base::Lifetime lifetime_;
};

}  // namespace ridgeline::app
