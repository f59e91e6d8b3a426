#include "worker/run_inbox.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace ridgeline::worker {

namespace {

/// An honest runner asks a few times.
constexpr int kMostAsked = 256;

protocol::Failure inbox_failure(protocol::FailureKind kind, const std::string& message) {
  return protocol::failure_of(kind, "", message);
}

protocol::Failure too_many_batches() {
  return inbox_failure(protocol::FailureKind::kWorkerProtocol,
                       "The worker ran more than " + std::to_string(kMaxBatches) + " batch sizes.");
}

/// The first line of the message, as a sentence.
std::string first_line(const protocol::Failure& failure) {
  std::string text = failure.message.substr(0, std::min(failure.message.find('\n'), protocol::kMaxWarningBytes / 2));
  return text.ends_with('.') || text.ends_with(':') ? text : text + ".";
}

/// " It was at entry.py:12." or nothing.
std::string place_of(const protocol::Failure& failure, const std::string& project_root) {
  const protocol::TraceFrame* const frame = protocol::project_frame(failure, project_root);
  return frame == nullptr
             ? ""
             : " It was at " + frame->file.substr(project_root.size() + 1) + ":" + std::to_string(frame->line) + ".";
}

/// How many of the last warm-up iterations stand in for bare ones: not the first, which is slower.
std::size_t stand_ins(const MeasuredBatch& batch) {
  return std::min<std::size_t>(2, std::max<std::size_t>(2, batch.warmup_ns.size()) - 1);
}

void use_stand_ins(MeasuredBatch& batch) {
  if (batch.times_ns.empty()) {
    batch.times_ns.assign(batch.warmup_ns.end() - static_cast<std::ptrdiff_t>(stand_ins(batch)), batch.warmup_ns.end());
  }
}

}  // namespace

protocol::Failure channel_broken(const std::string& what) {
  return inbox_failure(protocol::FailureKind::kChannelBroken,
                       "The profiled process lost its connection to Ridgeline: " + what +
                           ". Code that closes, replaces or writes to file descriptors that it did not open does that "
                           "(os.closerange, os.dup2).");
}

std::optional<protocol::Failure> RunInbox::feed(std::string_view bytes) {
  if (closed_ || runner_failure_.has_value()) {
    return std::nullopt;
  }
  frames_.feed(bytes);
  while (auto next = frames_.next()) {
    const auto* frame = std::get_if<protocol::Frame>(&*next);
    auto problem = frame != nullptr ? take(*frame) : channel_broken(std::get<protocol::FrameError>(*next).what);
    closed_ = problem.has_value();
    if (closed_ || runner_failure_.has_value()) {
      return problem;
    }
  }
  return std::nullopt;
}

std::optional<Measured> RunInbox::take_measured() {
  std::erase_if(batches_, [&](const MeasuredBatch& batch) {
    const bool is_users = result_.has_value() && batch.batch_size == result_->batch_size;
    const bool has_stand_in = batch.recording != nullptr && (is_users || batch.warmup_ns.size() > 1);
    return (batch.times_ns.empty() && !has_stand_in) ||
           std::ranges::find(skipped_, batch.batch_size, &protocol::Failure::batch_size) != skipped_.end();
  });
  if (recorded_users() == nullptr) {
    return std::nullopt;
  }
  std::ranges::for_each(batches_, use_stand_ins);
  return Measured{std::move(*result_),       std::move(batches_), std::move(skipped_),
                  std::move(communication_), std::move(listed_),  take_out_of_memory()};
}

std::optional<FailedStep> RunInbox::take_out_of_memory() {
  auto step = std::exchange(out_of_memory_, {});
  return is_failed_step_incoming_ ? std::nullopt : std::move(step);
}

void RunInbox::add_late(protocol::LateOutOfMemory late) {
  late.error.bytes = 0;
  if (!out_of_memory_.has_value()) {
    out_of_memory_ = FailedStep{std::move(late.error), nullptr, std::move(late.failure)};
  }
}

std::optional<Measured> RunInbox::first_measured() const {
  const MeasuredBatch* const users = recorded_users();
  if (users == nullptr) {
    return std::nullopt;
  }
  Measured measured{*result_, {*users}, skipped_};
  use_stand_ins(measured.batches.front());
  return measured;
}

std::optional<Measured> RunInbox::take_measured_until(const protocol::Failure& end, const std::string& project_root) {
  const MeasuredBatch* users = result_.has_value() ? find(result_->batch_size) : nullptr;
  if (users == nullptr) {
    return std::nullopt;
  }
  const bool timed = !users->times_ns.empty();
  const std::size_t count = timed ? users->times_ns.size() : stand_ins(*users);
  result_->warnings.resize(std::min(result_->warnings.size(), protocol::kMaxWarnings - 1));
  result_->warnings.push_back(first_line(end) + place_of(end, project_root) +
                              " This report is of what was measured before that: the iteration time is of " +
                              std::to_string(count) + (timed ? " bare" : " warm-up") + " iteration" +
                              (count == 1 ? "." : "s."));
  return take_measured();
}

std::optional<protocol::Failure> RunInbox::take(const protocol::Frame& frame) {
  if (frame.kind == protocol::FrameKind::kBytes) {
    return add_bytes(frame.payload);
  }
  auto message = protocol::parse_worker_message(frame.payload);
  return message ? take_message(std::move(*message)) : channel_broken(message.error().message());
}

std::optional<protocol::Failure> RunInbox::take_message(protocol::WorkerMessage message) {
  if (const auto* step = std::get_if<protocol::Progress>(&message)) {
    listener_.on_progress(*step);
  } else if (auto* announced = std::get_if<protocol::RecordingAnnounced>(&message)) {
    return announce(std::move(*announced));
  } else if (const auto* failed = std::get_if<protocol::OutOfMemoryAnnounced>(&message)) {
    return announce(*failed);
  } else if (auto* warmed = std::get_if<protocol::Warmed>(&message)) {
    return add_unrecorded(std::move(*warmed));
  } else if (const auto* round = std::get_if<protocol::Timed>(&message)) {
    return add_round(*round);
  } else if (const auto* asked = std::get_if<protocol::SizesAsked>(&message)) {
    if (++asked_ > kMostAsked) {
      return inbox_failure(protocol::FailureKind::kWorkerProtocol, "The worker asked for batch sizes too often.");
    }
    listener_.on_sizes_asked(*asked);
  } else if (std::holds_alternative<protocol::FirstFiguresOffered>(message)) {
    listener_.on_first_figures();
  } else if (const auto* ready = std::get_if<protocol::ReadyToRecord>(&message)) {
    listener_.on_ready_to_record(*ready);
  } else if (auto* communication = std::get_if<protocol::CommunicationTrace>(&message)) {
    communication_ = std::move(*communication);
  } else if (auto* listed = std::get_if<protocol::StepListed>(&message)) {
    listed_ = std::move(*listed);
  } else if (auto* skipped = std::get_if<protocol::SkippedBatch>(&message)) {
    if (skipped_.size() >= kMaxBatches) {
      return too_many_batches();
    }
    skipped_.push_back(std::move(skipped->failure));
  } else if (auto* reported = std::get_if<protocol::Failure>(&message)) {
    runner_failure_ = std::move(*reported);
  } else if (auto* result = std::get_if<protocol::RunResult>(&message)) {
    result_ = std::move(*result);
  } else {
    return take_finding(std::move(message));
  }
  return std::nullopt;
}

std::optional<protocol::Failure> RunInbox::take_finding(protocol::WorkerMessage message) {
  const std::size_t count = findings_.captured.size() + findings_.times.size() + findings_.tried.size();
  if (count > protocol::kMaxKeys + 2 * protocol::kMaxChanges) {
    return inbox_failure(protocol::FailureKind::kWorkerProtocol, "The worker sent more findings than were asked for.");
  }
  if (auto* captured = std::get_if<protocol::Captured>(&message)) {
    findings_.captured.push_back(std::move(*captured));
  } else if (const auto* begins = std::get_if<protocol::OperationBegins>(&message)) {
    findings_.fatal_operation = begins->operation;
  } else if (auto* timed = std::get_if<protocol::OperationTimed>(&message)) {
    findings_.times.push_back(std::move(*timed));
  } else if (auto* tried = std::get_if<protocol::Tried>(&message)) {
    findings_.tried.push_back(std::move(*tried));
  } else if (auto* replica = std::get_if<protocol::Replica>(&message)) {
    findings_.replica = std::move(*replica);
  } else if (auto* ended = std::get_if<protocol::ExperimentEnded>(&message)) {
    findings_.threads = ended->threads;
    findings_.torch = ended->torch;
    findings_.cuda_device = ended->cuda_device;
    findings_.loader_sizes = std::move(ended->loader_sizes);
    findings_.sizes_obstacle = std::move(ended->sizes_obstacle);
    findings_.fatal_operation.reset();
  }
  return std::nullopt;
}

std::optional<protocol::Failure> RunInbox::expect(std::uint64_t bytes) {
  received_ += bytes;
  if (bytes == 0 || incoming_left_ > 0 || received_ > limit_) {
    return inbox_failure(protocol::FailureKind::kRecordingTooLarge,
                         "One iteration runs so many operations that its recording exceeds the limit of " +
                             std::to_string(limit_ >> 20U) + " MiB.");
  }
  incoming_left_ = bytes;
  return std::nullopt;
}

std::optional<protocol::Failure> RunInbox::announce(const protocol::OutOfMemoryAnnounced& announced) {
  if (out_of_memory_.has_value()) {
    return inbox_failure(protocol::FailureKind::kWorkerProtocol, "The worker sent two steps that ran out of memory.");
  }
  is_failed_step_incoming_ = announced.bytes > 0;
  out_of_memory_ = FailedStep{announced, nullptr};
  return announced.bytes > 0 ? expect(announced.bytes) : std::nullopt;
}

std::optional<protocol::Failure> RunInbox::announce(protocol::RecordingAnnounced announced) {
  if (auto problem = expect(announced.bytes)) {
    return problem;
  }
  if (batches_.size() >= kMaxBatches) {
    return too_many_batches();
  }
  if (find(announced.batch_size) != nullptr) {
    return inbox_failure(protocol::FailureKind::kWorkerProtocol, "The worker sent two recordings of a batch size.");
  }
  incoming_ = MeasuredBatch{announced.batch_size, announced.check, std::move(announced.warmup_ns), {}, 1, nullptr};
  return std::nullopt;
}

std::optional<protocol::Failure> RunInbox::add_unrecorded(protocol::Warmed warmed) {
  if (batches_.size() >= kMaxBatches) {
    return too_many_batches();
  }
  if (find(warmed.batch_size) != nullptr) {
    return inbox_failure(protocol::FailureKind::kWorkerProtocol,
                         "The worker began to time a batch size that it had measured.");
  }
  batches_.push_back({warmed.batch_size, false, std::move(warmed.warmup_ns), {}, 1, nullptr});
  return std::nullopt;
}

std::optional<protocol::Failure> RunInbox::add_bytes(const std::string& bytes) {
  if (bytes.size() > incoming_left_) {
    return inbox_failure(protocol::FailureKind::kWorkerProtocol,
                         "The worker sent more of a recording than it announced.");
  }
  incoming_bytes_ += bytes;
  incoming_left_ -= bytes.size();
  if (incoming_left_ == 0 && !incoming_bytes_.empty()) {
    auto recording = std::make_shared<const std::string>(std::exchange(incoming_bytes_, {}));
    if (std::exchange(is_failed_step_incoming_, false)) {
      out_of_memory_->recording = std::move(recording);
    } else {
      incoming_->recording = std::move(recording);
      batches_.push_back(std::move(*incoming_));
      incoming_.reset();
    }
  }
  return std::nullopt;
}

std::optional<protocol::Failure> RunInbox::add_round(const protocol::Timed& round) {
  MeasuredBatch* batch = find(round.batch_size);
  if (batch == nullptr) {
    return inbox_failure(protocol::FailureKind::kWorkerProtocol,
                         "The worker timed a batch size that it had not recorded.");
  }
  const auto length = static_cast<int>(round.times_ns.size());
  if (!batch->times_ns.empty() && length != batch->per_round) {
    return inbox_failure(protocol::FailureKind::kWorkerProtocol,
                         "The worker timed a batch size in rounds of different lengths.");
  }
  if (times_ + round.times_ns.size() > kMaxTimes) {
    return std::nullopt;
  }
  times_ += round.times_ns.size();
  batch->per_round = length;
  batch->times_ns.insert(batch->times_ns.end(), round.times_ns.begin(), round.times_ns.end());
  return std::nullopt;
}

const MeasuredBatch* RunInbox::recorded_users() const {
  const auto is_it = [&](const MeasuredBatch& batch) {
    return batch.batch_size == result_->batch_size && !batch.check && batch.recording != nullptr;
  };
  const auto found = result_.has_value() ? std::ranges::find_if(batches_, is_it) : batches_.end();
  return found == batches_.end() ? nullptr : &*found;
}

MeasuredBatch* RunInbox::find(int batch_size) {
  const auto found = std::ranges::find(batches_, batch_size, &MeasuredBatch::batch_size);
  return found == batches_.end() ? nullptr : &*found;
}

}  // namespace ridgeline::worker
