#include "analysis/prediction/answers.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "analysis/memory/allocator_model.h"
#include "analysis/memory/peak_model.h"
#include "analysis/memory/step_replay.h"
#include "analysis/prediction/batch_conclusion.h"

namespace ridgeline::analysis {

namespace {

/// The first of the range for which `holds`, which must not turn false again after it; `range.high + 1` when none is.
template <typename Holds>
int first_where(const BatchRange& range, Holds holds) {
  int low = range.low;
  int end = range.high + 1;
  while (low < end) {
    const int middle = low + (end - low) / 2;
    if (holds(middle)) {
      end = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/// The first batch size of the range for which `holds`, where within a piece it turns at most once: to true, when it
/// `rises` there, else to false.
template <typename Holds, typename Rises>
std::optional<int> first_in_pieces(const std::vector<Piece>& pieces, const BatchRange& range, Holds holds,
                                   Rises rises) {
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    BatchRange piece{std::max(range.low, pieces[i].from_batch), end_of(pieces, i, range.high)};
    if (!rises(i)) {
      piece.high = std::min(piece.high, piece.low);
    }
    const int found = first_where(piece, holds);
    if (found <= piece.high) {
      return found;
    }
  }
  return std::nullopt;
}

/// The smallest batch size that was measured to give `wanted` samples per second, or that the time model says to and
/// that was not measured: a measurement outranks the model.
std::optional<int> smallest_with(const Predictor& predictor, double wanted) {
  const auto& pieces = predictor.time->pieces;
  const std::vector<MeasuredRate> measured = measured_rates(predictor);
  const auto by_model = [&](int batch_size) {
    const double ms = value_at(pieces, batch_size);
    return ms > 0 && batch_size * 1000.0 / ms >= wanted;
  };
  // B / (aB + b) rises with B where b is positive.
  const auto rises = [&](std::size_t piece) { return pieces[piece].intercept >= 0; };
  const auto enough = std::ranges::find_if(measured, [&](const auto& one) { return one.samples_per_second >= wanted; });
  BatchRange range = time_range(predictor);
  for (;;) {
    const auto found = first_in_pieces(pieces, range, by_model, rises);
    if (enough != measured.end() && (!found.has_value() || enough->batch_size <= *found)) {
      return enough->batch_size;
    }
    if (!found.has_value() || std::ranges::find(measured, *found, &MeasuredRate::batch_size) == measured.end()) {
      return found;
    }
    range.low = *found + 1;  // it was measured, and gives less
  }
}

void answer_throughput(const Predictor& predictor, double wanted, Answer& answer) {
  if (!predictor.time.has_value()) {
    answer.obstacle = Obstacle::kTooFewSizes;
    return;
  }
  // What predict_batch() says of a batch size is enough for that batch size, however it was rounded.
  constexpr double kRounding = 1e-12;
  if (const auto found = smallest_with(predictor, wanted * (1 - kRounding))) {
    answer.batch = predict_batch(predictor, *found);
  } else {
    answer.obstacle = predictor.time->pieces.back().slope > 0 ? Obstacle::kTooFast : Obstacle::kTimeUnknown;
  }
}

void answer_throughput_share(const Predictor& predictor, double share, Answer& answer) {
  if (answer.max_samples_per_second.has_value()) {
    answer_throughput(predictor, share * *answer.max_samples_per_second, answer);
  } else {
    answer.obstacle = predictor.time.has_value() ? Obstacle::kTimeUnknown : Obstacle::kTooFewSizes;
  }
}

std::optional<int> largest_within(const Predictor& predictor, double bytes, const BatchRange& range) {
  if (predictor.peaks.has_value()) {
    return largest_batch_within(*predictor.peaks, bytes, range.high);
  }
  const auto too_much = [&](int batch_size) {
    const auto peak = predict_batch(predictor, batch_size).peak_bytes;
    return peak.has_value() && peak->value > bytes;
  };
  if (predictor.memory->slope > 0) {
    const int largest = first_where(range, too_much) - 1;
    return largest < range.low ? std::nullopt : std::optional(largest);
  }
  return too_much(range.high) ? std::nullopt : std::optional(range.high);
}

/// On a device: what its allocator needs has to fit, with all that it releases when it has to.
void answer_device_memory(const Predictor& predictor, double wanted, Answer& answer) {
  const AllocatorModel& model = *predictor.allocator;
  LargestBatch largest{model.largest, model.is_bounded};
  if (wanted != static_cast<double>(predictor.capacity_bytes)) {
    const auto bytes = static_cast<std::uint64_t>(std::min(wanted, 1e18));
    const DeviceMemory device{std::max(bytes, model.setup.device_bytes), bytes};
    largest = largest_that_fits(model, device, kMaxBatchSize);
  }
  if (largest.batch_size.has_value()) {
    answer.batch = predict_batch(predictor, *largest.batch_size);
    answer.obstacle = largest.is_bounded ? Obstacle::kNone : Obstacle::kMemoryUnknown;
  } else {
    answer.least = predict_batch(predictor, 1);
    answer.obstacle = Obstacle::kTooLittleMemory;
  }
}

/// What is known of memory does not reach any number of times as far as what was sampled.
void stay_near(const Predictor& predictor, Answer& answer) {
  const std::int64_t farthest = std::int64_t{kFarthest} * sampled_range(predictor).high;
  if (answer.batch.has_value() && farthest > 0 && answer.batch->batch_size > farthest) {
    answer.batch = predict_batch(predictor, static_cast<int>(farthest));
    answer.obstacle = Obstacle::kTooFar;
  }
}

/// Nothing fits at or above a size that ran out of memory, whatever the models say: then the largest that ran is known
/// to.
void stay_below_failed(const Predictor& predictor, double wanted, Answer& answer) {
  if (!answer.batch.has_value() || !ran_out_of_memory(predictor, answer.batch->batch_size)) {
    return;
  }
  answer.batch.reset();
  answer.obstacle = Obstacle::kMemoryUnknown;
  for (const MeasuredRate& ran : measured_rates(predictor)) {
    BatchPrediction batch = predict_batch(predictor, ran.batch_size);
    if (batch.measured.has_value() && static_cast<double>(batch.measured->peak_bytes) <= wanted) {
      answer.batch = std::move(batch);
      answer.obstacle = Obstacle::kRanOut;
    }
  }
}

/// The smallest batch size that ran out of memory; null where none did.
const Skipped* smallest_failed(const Predictor& predictor) {
  const Skipped* smallest = nullptr;
  for (const Skipped& skipped : predictor.skipped) {
    if (skipped.kind == protocol::FailureKind::kOutOfMemory &&
        (smallest == nullptr || skipped.batch_size < smallest->batch_size)) {
      smallest = &skipped;
    }
  }
  return smallest;
}

void answer_memory(const Predictor& predictor, double wanted, Answer& answer) {
  if (predictor.allocator != nullptr) {
    answer_device_memory(predictor, wanted, answer);
    return;
  }
  const BatchRange range = memory_range(predictor);
  if (range.high < range.low) {
    answer.obstacle = Obstacle::kTooFewSizes;
    return;
  }
  if (const auto largest = largest_within(predictor, wanted, range)) {
    answer.batch = predict_batch(predictor, *largest);
    const bool bounded = predictor.peaks.has_value() ? grows(*predictor.peaks) : predictor.memory->slope > 0;
    answer.obstacle = bounded ? Obstacle::kNone : Obstacle::kMemoryUnknown;
    return;
  }
  answer.obstacle = Obstacle::kTooLittleMemory;
  const int least_of_line = predictor.memory->slope > 0 ? range.low : range.high;
  answer.least = predict_batch(predictor, predictor.peaks ? least_batch(*predictor.peaks, range.high) : least_of_line);
}

void answer_balance(const Predictor& predictor, double wanted, Answer& answer) {
  if (!predictor.peaks.has_value() || predictor.peaks->parts.empty()) {
    answer.obstacle = predictor.memory_samples.size() > 1 ? Obstacle::kMemoryUnknown : Obstacle::kTooFewSizes;
    return;
  }
  const auto surplus = [&](int batch_size) {
    const auto bytes = peak_by_category(*predictor.peaks, batch_size);
    return bytes[static_cast<std::size_t>(Category::kActivations)] -
           wanted * bytes[static_cast<std::size_t>(Category::kWeights)];
  };
  const auto& pieces = predictor.peaks->value;
  const BatchRange range = memory_range(predictor);
  const auto rises = [&](std::size_t piece) {
    return surplus(end_of(pieces, piece, range.high)) >= surplus(pieces[piece].from_batch);
  };
  const auto found = first_in_pieces(
      pieces, range, [&](int size) { return surplus(size) >= 0; }, rises);
  if (found.has_value()) {
    answer.batch = predict_batch(predictor, *found);
  } else {
    answer.obstacle = Obstacle::kNoBalance;
  }
}

void answer_batch_size(const Predictor& predictor, int batch_size, Answer& answer) {
  const BatchPrediction batch = predict_batch(predictor, batch_size);
  if (!predictor.time.has_value()) {
    answer.obstacle = Obstacle::kTooFewSizes;
  } else if (!batch.ms.has_value()) {
    answer.obstacle = Obstacle::kTimeUnknown;
  } else if (!batch.peak_bytes.has_value()) {
    answer.obstacle = Obstacle::kMemoryUnknown;
  }
  if (batch.ms.has_value() || batch.peak_bytes.has_value() || batch.measured.has_value()) {
    answer.batch = batch;
  }
}

std::optional<int> largest_measured_memory(const Predictor& predictor) {
  std::optional<int> largest;
  for (const MemorySample& sample : predictor.memory_samples) {
    if (!predictor.carried_at || *predictor.carried_at == sample.batch_size) {
      largest = std::max(largest.value_or(0), sample.batch_size);
    }
  }
  for (const Check& check : predictor.checks) {
    largest = std::max(largest.value_or(0), check.time.batch_size);
  }
  return largest;
}

}  // namespace

Answer answer(const Predictor& predictor, const Question& question) {
  Answer answer;
  answer.question = question;
  answer.capacity_bytes = predictor.capacity_bytes;
  answer.max_samples_per_second = greatest_throughput(predictor);
  for (const TimeSample& sample : predictor.time_samples) {
    answer.sampled.push_back(sample.batch_size);
  }
  answer.memory_checked_up_to = largest_measured_memory(predictor);
  switch (question.quantity) {
    case Quantity::kBatchSize:
      answer_batch_size(predictor, static_cast<int>(question.value), answer);
      break;
    case Quantity::kThroughput:
      answer_throughput(predictor, question.value, answer);
      break;
    case Quantity::kMemory:
      answer_memory(predictor, question.value, answer);
      stay_near(predictor, answer);
      stay_below_failed(predictor, question.value, answer);
      break;
    case Quantity::kThroughputShare:
      answer_throughput_share(predictor, question.value, answer);
      break;
    case Quantity::kBalance:
      answer_balance(predictor, question.value, answer);
      break;
  }
  for (std::optional<BatchPrediction>* batch : {&answer.batch, &answer.least}) {
    if (batch->has_value()) {
      add_reserved(predictor, **batch);
    }
  }
  if (answer.obstacle == Obstacle::kRanOut) {
    answer.failed.push_back(*smallest_failed(predictor));
    return answer;
  }
  std::ranges::copy_if(predictor.skipped, std::back_inserter(answer.failed), [&](const Skipped& skipped) {
    return answer.batch.has_value() && skipped.batch_size <= answer.batch->batch_size &&
           skipped.kind == protocol::FailureKind::kOutOfMemory;
  });
  return answer;
}

std::vector<int> batch_size_ladder(const Predictor& predictor) {
  constexpr int kSteps = 64;  // to twice a batch size
  const auto capacity = static_cast<double>(predictor.capacity_bytes);
  const Answer fits = capacity > 0 ? answer(predictor, {Quantity::kMemory, capacity}) : Answer{};
  const Skipped* failed = smallest_failed(predictor);
  const bool fits_is_known = fits.batch.has_value() && fits.obstacle == Obstacle::kNone;
  const bool bounded = fits_is_known || failed != nullptr;
  const int known = fits_is_known       ? fits.batch->batch_size
                    : failed != nullptr ? failed->batch_size
                                        : sampled_range(predictor).high;
  const int most =
      static_cast<int>(std::min<std::int64_t>(kMaxBatchSize, std::int64_t{known} * (bounded ? 2 : kFarthest)));
  std::vector<int> ladder;
  for (int size = 1; size <= most; size += std::max(1, size / kSteps)) {
    ladder.push_back(size);
  }
  for (const TimeSample& sample : predictor.time_samples) {
    ladder.push_back(sample.batch_size);
  }
  for (const Check& check : predictor.checks) {
    ladder.push_back(check.time.batch_size);
  }
  std::ranges::sort(ladder);
  ladder.erase(std::unique(ladder.begin(), ladder.end()), ladder.end());
  return ladder;
}

Outlook outlook_of(const Predictor& predictor, const Profile& profile) {
  Outlook outlook;
  outlook.refitted = predictor.refitted;
  const auto capacity = static_cast<double>(predictor.capacity_bytes);
  if (capacity > 0) {
    outlook.fits = answer(predictor, {Quantity::kMemory, capacity});
  }
  outlook.now = answer(predictor, {Quantity::kBatchSize, static_cast<double>(profile.batch_size)});
  outlook.enough = answer(predictor, {Quantity::kThroughputShare, kEnoughThroughput});
  outlook.balanced = answer(predictor, {Quantity::kBalance, 1});
  outlook.twice = answer(
      predictor, {Quantity::kBatchSize, static_cast<double>(std::min(profile.batch_size, kMaxBatchSize / 2)) * 2});
  outlook.conclusion = conclude(profile, outlook);
  return outlook;
}

Outlook outlook_of(const Profile& profile) { return outlook_of(make_predictor(profile), profile); }

}  // namespace ridgeline::analysis
