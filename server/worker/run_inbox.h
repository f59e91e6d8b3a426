// What a run sends over its channel, put together: progress, recordings, a failure or a result. Does no I/O.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/worker_frame.h"
#include "protocol/worker_messages.h"

namespace ridgeline::worker {

/// A recording as it came, not yet parsed: that takes longer than the loop may wait.
struct RecordedBatch {
  int batch_size = 0;
  std::string bytes;
};

/// Fed by one thread with the channel's bytes as they come. Untrusted: user code can write to the channel.
class RunInbox {
 public:
  /// `recording_bytes` bounds the sum of all recordings. `progress` is called from within feed().
  RunInbox(std::uint64_t recording_bytes, std::function<void(const protocol::Progress&)> progress);

  /// Why the run must end at once (kinds `channel-broken`, `recording-too-large` and `worker-protocol`, without a
  /// stage), or nothing. After that, and after the runner told a failure, the rest of the channel is ignored.
  std::optional<protocol::Failure> feed(std::string_view bytes);

  /// What the runner itself told of its failure; it ends by itself.
  const std::optional<protocol::Failure>& told() const { return told_; }
  /// A result with bare times and a recording for each of its batch sizes, the user's among them.
  bool is_complete() const;
  const std::optional<protocol::RunResult>& result() const { return result_; }
  protocol::RunResult take_result() { return std::move(*result_); }
  std::vector<RecordedBatch> take_recordings() { return std::move(recordings_); }

 private:
  std::optional<protocol::Failure> take(const protocol::Frame& frame);
  std::optional<protocol::Failure> take_message(protocol::WorkerMessage message);
  std::optional<protocol::Failure> announce(const protocol::RecordingAnnounced& announced);
  std::optional<protocol::Failure> add_bytes(const std::string& bytes);

  std::uint64_t limit_;
  std::function<void(const protocol::Progress&)> progress_;
  protocol::FrameDecoder frames_;
  bool closed_ = false;
  std::optional<protocol::Failure> told_;
  std::optional<protocol::RunResult> result_;
  std::vector<RecordedBatch> recordings_;
  int incoming_batch_ = 0;
  std::uint64_t incoming_left_ = 0;
  std::uint64_t received_ = 0;
  std::string incoming_;
};

/// The run's channel is no longer what the runner made of it.
protocol::Failure channel_broken(const std::string& what);

}  // namespace ridgeline::worker
