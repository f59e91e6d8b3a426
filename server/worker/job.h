// A command of the user's, and those of its processes that train: they are recorded as they run.
//
// Each Python process of the command runs profiler/runner/startup/sitecustomize.py, by PYTHONPATH. Once it has imported
// torch it connects to a socket of the job, and sends what a run sends. In the foreground the command itself is the
// user's: its terminal, working folder, standard streams and signals are those that we were started with.
#pragma once

#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/lifetime.h"
#include "base/result.h"
#include "protocol/worker_messages.h"
#include "worker/agent_build.h"
#include "worker/guard/guard_report.h"
#include "worker/output_capture.h"
#include "worker/process.h"
#include "worker/run.h"
#include "worker/run_inbox.h"
#include "worker/step_agreement.h"

namespace ridgeline::worker {

struct JobOptions {
  std::vector<std::string> command;
  std::string cache;  ///< cache_folder()
  protocol::JobSpec spec;
  /// In a process group of its own, which ends with the command, and with the job: without a terminal or an input.
  bool in_background = false;
  std::string folder{};                  ///< in the background: the working folder; empty: ours
  std::vector<std::string> variables{};  ///< "NAME=value", added to our environment
  std::string script_text{};             ///< runs in place of the script, the command's second word; empty: the file
  bool guarded = false;                  ///< it may not change files, as worker/guard/guarded_command.h says
  bool discards_output = false;  ///< in the foreground its streams are /dev/null, not ours; else only the end is kept
  std::string device{};          ///< "cpu": also where the code asks for CUDA; empty: what it asks for
  std::vector<int> ranks{};      ///< that are recorded, ascending; empty: all
  std::chrono::seconds time_limit{0};  ///< in the background: then it is ended; 0: never
};

/// A process of the job that trained, or said why nothing is known of it.
struct JobProcess {
  protocol::Joined joined;
  std::variant<RunOutput, protocol::Failure> outcome;
  ExperimentFindings
      findings{};  ///< of an experiment; then `outcome` is why it did not come to its end, or has no text
  std::optional<FailedStep> out_of_memory{};  ///< where `outcome` is that
};

struct JobEnd {
  int status = 0;                     ///< of the command, as from wait(2)
  std::vector<JobProcess> processes;  ///< by rank
  bool joined = false;                ///< whether any process imported torch
  std::string output{};               ///< in the background: the end of what the command wrote
  bool interrupted = false;           ///< by SIGINT, as far as the caller of the job noticed
  Report guard{};                     ///< of a guarded command
  bool timed_out = false;             ///< it was ended at its time limit
};

/// Told how a job goes, on the loop.
class JobListener {
 public:
  virtual ~JobListener() = default;
  /// For the user, now and then.
  virtual void on_job_note(const std::string& message) = 0;
  virtual void on_job_progress(const protocol::Progress& progress) = 0;
  /// What the command wrote; only in the background.
  virtual void on_job_output(std::string_view text) = 0;
  /// The last call. It comes from within the job, which may be destroyed afterwards.
  virtual void on_job_end(JobEnd end) = 0;
};

/// Lives on the loop; no call blocks. Destroying it leaves a command in the foreground alone.
class Job final : private AgentBuildListener {
 public:
  /// The listener outlives the job.
  static base::Result<std::unique_ptr<Job>, protocol::Failure> start(boost::asio::io_context& loop, Reaper& reaper,
                                                                     JobOptions options, JobListener& listener);
  ~Job() override;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  /// The id of the command's process.
  pid_t process() const { return process_; }
  /// In the background: ends the command and all processes of its group. on_job_end() follows within 200 ms.
  void cancel();

 private:
  using Socket = boost::asio::local::stream_protocol::socket;
  /// A process that has connected.
  struct Client final : RunInboxListener {
    Client(Job& owner, Socket connected) : job(owner), socket(std::move(connected)) {}
    void on_progress(const protocol::Progress& progress) override { job.listener_.on_job_progress(progress); }
    void on_ready_to_record(const protocol::ReadyToRecord& ready) override { job.ready(number, ready); }
    Job& job;
    Socket socket;
    protocol::FrameDecoder frames;  ///< until it has joined
    std::optional<protocol::Joined> joined;
    std::unique_ptr<RunInbox> inbox;  ///< once it was answered
    std::optional<protocol::Failure> failure;
    bool open = true;
    bool has_recording = false;
    int number = 0;  ///< in the agreement on steps, from 1; 0: not part of it
  };

  Job(boost::asio::io_context& loop, Reaper& reaper, JobOptions options, JobListener& listener);
  base::Result<void, protocol::Failure> listen();
  base::Result<void, protocol::Failure> spawn_command(const std::string& sources);
  /// As it is started: by the guard, where it may not change files.
  std::vector<std::string> command() const;
  /// Writes the text that runs in place of the script.
  base::Result<void, protocol::Failure> write_script_text();
  base::Result<pid_t, protocol::Failure> spawn_in_background(const std::vector<std::string>& variables);
  void report(const char* stage, double fraction, const std::string& message) const;
  /// The script has been stopped once its steps were timed: it is not waited for forever.
  void end_at_limit();
  void expect_end();
  void accept();
  void read(Client& client);
  void handle_bytes(Client& client, std::string_view bytes);
  void on_joined(Client& client);
  void add_late(protocol::LateOutOfMemory late);
  void build_for(Client& client);
  void on_build_progress(double /*fraction*/) override {}
  void on_build_end(const std::optional<protocol::Failure>& failure) override;
  void answer(Client& client);
  /// What all ranks do at the same step.
  struct Agreement {
    explicit Agreement(boost::asio::io_context& loop) : timer(loop) {}
    StepAgreement steps;
    boost::asio::steady_timer timer;
  };
  /// Sends the ranks which steps they record, or with which one they end, once that can be decided.
  void ready(int number, const protocol::ReadyToRecord& ready);
  void decide(Agreement& agreement);
  bool is_recorded(const protocol::Joined& joined) const;
  void refuse(Client& client, protocol::Failure failure);
  void close(Client& client);
  void on_command_ended(int status);
  void end_when_quiet();
  Report guard_report() const;
  JobProcess taken(Client& client) const;

  boost::asio::io_context& loop_;
  Reaper& reaper_;
  JobOptions options_;
  JobListener& listener_;
  AgentBuilder builder_;
  std::string sources_;
  std::string folder_;   ///< of the socket
  std::string startup_;  ///< the folder of run_text.py
  boost::asio::local::stream_protocol::acceptor acceptor_;
  boost::asio::steady_timer patience_;
  boost::asio::steady_timer end_timer_;  ///< until a command that should have ended is ended
  boost::asio::steady_timer limit_;
  std::shared_ptr<OutputCapture> output_;
  std::list<Client> clients_;
  std::vector<Client*> waiting_;  ///< for the agent that is being built
  std::string built_agent_;       ///< the path of that agent
  pid_t process_ = 0;
  std::optional<int> status_;
  Agreement recording_;
  Agreement end_;     ///< of ranks that are stopped once they are measured
  int agreeing_ = 0;  ///< clients that have joined both
  bool cancelled_ = false;
  bool timed_out_ = false;
  bool ended_ = false;  ///< the listener was told
  base::Lifetime lifetime_;
};

}  // namespace ridgeline::worker
