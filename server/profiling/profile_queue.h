// The profiles of one project, one after the other, by one warm worker.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "base/lifetime.h"
#include "profiling/made_profile.h"
#include "profiling/request.h"
#include "profiling/run.h"
#include "worker/worker.h"

namespace ridgeline::profiling {

using ProfileOutcome = std::variant<MadeProfile, RunFailure>;

/// What a job asks and tells, on the loop: once, when its turn has come, whether its code may run; progress as often as
/// there is some; and then once the outcome.
struct JobEvents {
  std::function<bool()> may_run;  ///< if not, the job fails as "not-trusted" and nothing is started
  std::function<void(const protocol::Progress&)> progress;
  std::function<void(ProfileOutcome)> finished;
};

/// Lives on the loop; the analysis runs on the pool. A request for an entry that waits or runs replaces it: the latest
/// wins, and the older one finishes with a failure of kind "superseded". A trial waits for all profiles, and any
/// profile that is asked for supersedes it. Destroying the queue ends its worker and tells nobody.
class ProfileQueue {
 public:
  using Ticket = std::uint64_t;

  ProfileQueue(boost::asio::io_context& loop, boost::asio::thread_pool& pool, worker::Reaper& reaper);
  ~ProfileQueue();
  ProfileQueue(const ProfileQueue&) = delete;
  ProfileQueue& operator=(const ProfileQueue&) = delete;

  /// Nothing is told from within the call.
  Ticket add(ProfileRequest request, Target target, JobEvents events);
  /// A trial (profiling/trial.h) of a batch size: what it sees is added to `held`. It replaces the trials that wait or
  /// run, and no profile.
  Ticket add_trial(ProfileRequest request, Target target, std::shared_ptr<const MadeProfile> held, JobEvents events);
  /// The job finishes with a failure of kind "cancelled", within 200 ms. Unknown tickets are ignored.
  void cancel(Ticket ticket) { end(ticket, protocol::FailureKind::kCancelled); }
  /// Jobs that wait or run.
  std::size_t size() const { return jobs_.size(); }
  bool is_warm() const { return worker_ != nullptr && worker_->parent_process() != 0; }

 private:
  struct Job;

  Ticket push(std::unique_ptr<Job> job);
  void end(Ticket ticket, protocol::FailureKind kind);
  void start_next();
  void start(Job& job);
  void analyse(Job& job, worker::Finished finished);
  void finish(Ticket ticket, ProfileOutcome outcome);
  Job* find(Ticket ticket);
  /// Runs `work` later on the loop, unless the queue is gone by then.
  void post(std::function<void()> work);

  boost::asio::io_context& loop_;
  boost::asio::thread_pool& pool_;
  worker::Reaper& reaper_;
  std::unique_ptr<worker::Worker> worker_;
  std::string interpreter_;  ///< the worker's
  std::deque<std::unique_ptr<Job>> jobs_;
  Ticket last_ticket_ = 0;
  boost::asio::steady_timer idle_;
  base::Lifetime lifetime_;
};

}  // namespace ridgeline::profiling
