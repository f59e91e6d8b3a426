#include "worker/run_inbox.h"

#include <algorithm>
#include <utility>

namespace ridgeline::worker {

namespace {

protocol::Failure failure(const std::string& kind, const std::string& message) {
  return protocol::failure_of(kind, "", message);
}

}  // namespace

protocol::Failure channel_broken(const std::string& what) {
  return failure("channel-broken",
                 "The profiled process lost its connection to Ridgeline: " + what +
                     ". Code that closes, replaces or writes to file descriptors that it did not open does that "
                     "(os.closerange, os.dup2).");
}

RunInbox::RunInbox(std::uint64_t recording_bytes, std::function<void(const protocol::Progress&)> progress)
    : limit_(recording_bytes), progress_(std::move(progress)) {}

std::optional<protocol::Failure> RunInbox::feed(std::string_view bytes) {
  if (closed_ || told_.has_value()) {
    return std::nullopt;
  }
  frames_.feed(bytes);
  while (auto next = frames_.next()) {
    const auto* frame = std::get_if<protocol::Frame>(&*next);
    auto problem = frame != nullptr ? take(*frame) : channel_broken(std::get<protocol::FrameError>(*next).what);
    closed_ = problem.has_value();
    if (closed_ || told_.has_value()) {
      return problem;
    }
  }
  return std::nullopt;
}

bool RunInbox::is_complete() const {
  const auto whole = [&](const protocol::SampledBatch& sample) {
    return sample.batch_size > 0 && sample.per_round > 0 && !sample.times_ns.empty() &&
           std::ranges::all_of(sample.times_ns, [](double ns) { return ns > 0; }) &&
           std::ranges::find(recordings_, sample.batch_size, &RecordedBatch::batch_size) != recordings_.end();
  };
  const auto users = [&](const protocol::SampledBatch& sample) {
    return sample.batch_size == result_->batch_size && !sample.check;
  };
  return result_.has_value() && std::ranges::all_of(result_->samples, whole) &&
         std::ranges::any_of(result_->samples, users);
}

std::optional<protocol::Failure> RunInbox::take(const protocol::Frame& frame) {
  if (frame.kind == protocol::FrameKind::kBytes) {
    return add_bytes(frame.payload);
  }
  std::string problem;
  auto message = protocol::parse_worker_message(frame.payload, problem);
  return message.has_value() ? take_message(std::move(*message)) : channel_broken(problem);
}

std::optional<protocol::Failure> RunInbox::take_message(protocol::WorkerMessage message) {
  if (const auto* step = std::get_if<protocol::Progress>(&message)) {
    progress_(*step);
  } else if (const auto* announced = std::get_if<protocol::RecordingAnnounced>(&message)) {
    return announce(*announced);
  } else if (auto* told = std::get_if<protocol::Failure>(&message)) {
    told_ = std::move(*told);
  } else if (auto* result = std::get_if<protocol::RunResult>(&message)) {
    result_ = std::move(*result);
  }
  return std::nullopt;
}

std::optional<protocol::Failure> RunInbox::announce(const protocol::RecordingAnnounced& announced) {
  received_ += announced.bytes;
  if (announced.bytes == 0 || incoming_left_ != 0 || received_ > limit_) {
    return failure("recording-too-large",
                   "One iteration runs so many operations that its recording exceeds the limit of " +
                       std::to_string(limit_ >> 20U) + " MiB.");
  }
  incoming_batch_ = announced.batch_size;
  incoming_left_ = announced.bytes;
  incoming_.clear();
  return std::nullopt;
}

std::optional<protocol::Failure> RunInbox::add_bytes(const std::string& bytes) {
  if (bytes.size() > incoming_left_) {
    return failure("worker-protocol", "The worker sent more of a recording than it announced.");
  }
  incoming_ += bytes;
  incoming_left_ -= bytes.size();
  if (incoming_left_ > 0) {
    return std::nullopt;
  }
  recordings_.push_back({incoming_batch_, std::exchange(incoming_, {})});
  return std::nullopt;
}

}  // namespace ridgeline::worker
