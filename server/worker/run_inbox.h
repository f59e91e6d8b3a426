// What a run sends over its channel, put together: progress, recordings, times, a failure or a result. Does no I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/worker_frame.h"
#include "protocol/worker_messages.h"

namespace ridgeline::worker {

/// One batch size, as it was measured.
struct MeasuredBatch {
  int batch_size = 0;
  bool check = false;             ///< not for the models: to see how far off they are
  std::vector<double> warmup_ns;  ///< iterations before the recording
  std::vector<double> times_ns;   ///< bare iterations, in rounds of `per_round`
  int per_round = 1;
  /// As it came, not yet parsed: that takes longer than the loop may wait. Null: it was only timed.
  std::shared_ptr<const std::string> recording;
};

/// A step that ran out of memory, recorded up to the error; or that was not run because it would; or one of a script,
/// after the recording.
struct FailedStep {
  protocol::OutOfMemoryAnnounced error;
  std::shared_ptr<const std::string> recording;  ///< as it came, not yet parsed; null: it was not recorded
  std::optional<protocol::Failure> late{};       ///< the error of one that came after the recording
};

/// What a run has measured: the user's batch size is among the batches, and has a recording; every batch has times.
struct Measured {
  protocol::RunResult result;
  std::vector<MeasuredBatch> batches;
  std::vector<protocol::Failure> skipped;                       ///< each with its batch size
  std::optional<protocol::CommunicationTrace> communication{};  ///< of a rank with process groups
  std::optional<protocol::StepListed> listed{};                 ///< of the step
  std::optional<FailedStep> out_of_memory{};                    ///< of the batch size that the user has
};

/// What an experiment found, in the order in which it came.
struct ExperimentFindings {
  std::vector<protocol::Captured> captured;
  std::vector<protocol::OperationTimed> times;
  std::vector<protocol::Tried> tried;
  std::optional<protocol::Replica> replica;
  int threads = 0;          ///< inside operations; 0: the experiment did not come to its end
  std::string torch;        ///< its version; empty likewise
  std::string cuda_device;  ///< the current one; empty likewise, and where the experiment used none
  // Of a script, as ScriptRun has them:
  std::vector<int> loader_sizes;
  std::string sizes_obstacle;
  /// The operation that had begun when the process ended without coming to its end.
  std::optional<int> fatal_operation;
  std::optional<protocol::Failure> ended_early;  ///< why it did not come to its end
};

/// Bare iterations of a run, all batch sizes together, that are kept. What comes then is left out.
inline constexpr std::size_t kMaxTimes = std::size_t{1} << 22U;
/// Batch sizes of a run.
inline constexpr std::size_t kMaxBatches = 256;

/// What an inbox notifies of, from within feed().
class RunInboxListener {
 public:
  virtual ~RunInboxListener() = default;
  virtual void on_progress(const protocol::Progress& /*progress*/) {}
  virtual void on_sizes_asked(const protocol::SizesAsked& /*asked*/) {}
  virtual void on_ready_to_record(const protocol::ReadyToRecord& /*ready*/) {}
  virtual void on_first_figures() {}
};

/// Fed by one thread with the channel's bytes as they come. Untrusted: user code can write to the channel.
class RunInbox {
 public:
  /// `recording_bytes` bounds the sum of all recordings. The listener must outlive the inbox.
  RunInbox(std::uint64_t recording_bytes, RunInboxListener& listener) : limit_(recording_bytes), listener_(listener) {}

  /// Why the run must end at once (kinds `channel-broken`, `recording-too-large` and `worker-protocol`, without a
  /// stage), or nothing. After that, and after the runner has reported a failure, the rest of the channel is ignored.
  std::optional<protocol::Failure> feed(std::string_view bytes);

  /// What has come so far. A batch size without a recording or without times may still get them.
  const std::vector<MeasuredBatch>& batches() const { return batches_; }
  /// The device of the step, once the runner has reported the user's batch size.
  const protocol::RunDevice* device() const { return result_.has_value() ? &result_->device : nullptr; }
  /// What the runner itself has reported of its failure; it ends by itself.
  const std::optional<protocol::Failure>& runner_failure() const { return runner_failure_; }
  /// Whether the runner has said that it measured everything. Whether that is so, only take_measured() knows.
  bool has_final_result() const { return (result_.has_value() && result_->is_final) || findings_.threads > 0; }
  /// What was measured of the user's batch size so far, as take_measured() has it; nothing when it is not recorded yet.
  std::optional<Measured> first_measured() const;
  /// A step that ran out of memory, of a run that measured nothing. Leaves the inbox without it.
  std::optional<FailedStep> take_out_of_memory();
  /// The script ended with that error, as another connection says. Nothing where a step that was recorded has one.
  void add_late(protocol::LateOutOfMemory late);
  /// What an experiment has found until now. Leaves the inbox without it.
  ExperimentFindings take_findings() { return std::exchange(findings_, {}); }
  /// What was measured until now; nothing when the user's batch size is not recorded yet. A batch size without bare
  /// times has those of its last warm-up iterations; one that had a single iteration is left out, which is not like the
  /// ones that follow. Leaves the inbox empty.
  std::optional<Measured> take_measured();
  /// The same for a run that ended too early, as `end` tells: with a warning that says so, and names the innermost
  /// line of `end` below the project root.
  std::optional<Measured> take_measured_until(const protocol::Failure& end, const std::string& project_root);

 private:
  std::optional<protocol::Failure> take(const protocol::Frame& frame);
  std::optional<protocol::Failure> take_message(protocol::WorkerMessage message);
  std::optional<protocol::Failure> take_finding(protocol::WorkerMessage message);
  std::optional<protocol::Failure> announce(protocol::RecordingAnnounced announced);
  std::optional<protocol::Failure> announce(const protocol::OutOfMemoryAnnounced& announced);
  /// Why so many bytes of a recording may not come now; nothing: they may.
  std::optional<protocol::Failure> expect(std::uint64_t bytes);
  std::optional<protocol::Failure> add_unrecorded(protocol::Warmed warmed);
  std::optional<protocol::Failure> add_bytes(const std::string& bytes);
  std::optional<protocol::Failure> add_round(const protocol::Timed& round);
  MeasuredBatch* find(int batch_size);
  /// The user's batch size, where it is recorded and the result of it is there; else null.
  const MeasuredBatch* recorded_users() const;

  std::uint64_t limit_;
  RunInboxListener& listener_;
  int asked_ = 0;  ///< how often
  protocol::FrameDecoder frames_;
  bool closed_ = false;
  std::optional<protocol::Failure> runner_failure_;
  std::optional<protocol::RunResult> result_;
  std::vector<MeasuredBatch> batches_;
  std::vector<protocol::Failure> skipped_;
  std::optional<protocol::CommunicationTrace> communication_;
  std::optional<protocol::StepListed> listed_;
  ExperimentFindings findings_;
  std::size_t times_ = 0;
  std::optional<MeasuredBatch> incoming_;  ///< its recording's bytes are on their way
  std::optional<FailedStep> out_of_memory_;
  bool is_failed_step_incoming_ = false;  ///< the bytes of its recording are on their way
  std::string incoming_bytes_;
  std::uint64_t incoming_left_ = 0;
  std::uint64_t received_ = 0;
};

/// The run's channel is no longer what the runner made of it.
protocol::Failure channel_broken(const std::string& what);

}  // namespace ridgeline::worker
