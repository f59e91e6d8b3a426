#include "analysis/predictor.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "analysis/models.h"
#include "analysis/peak_model.h"

namespace ridgeline::analysis {

namespace {

struct Range {
  int low = 1;
  int high = 0;  ///< below `low`: empty
  bool contains(int batch_size) const { return low <= batch_size && batch_size <= high; }
};

Range sampled_range(const Predictor& predictor) {
  if (predictor.time_samples.empty()) {
    return {};
  }
  const auto [low, high] = std::ranges::minmax_element(predictor.time_samples, {}, &TimeSample::batch_size);
  return {low->batch_size, high->batch_size};
}

/// Where a line can be believed: see predict_batch().
Range credible(const Line& line, const Range& sampled) {
  if (line.slope <= 0) {
    return sampled;
  }
  return {line.intercept < 0 ? sampled.low : 1, kMaxBatchSize};
}

std::optional<Estimate> value_at(const std::optional<Line>& line, const Range& sampled, int batch_size) {
  if (!line.has_value() || !credible(*line, sampled).contains(batch_size)) {
    return std::nullopt;
  }
  const Prediction prediction = predict(*line, batch_size);
  if (!std::isfinite(prediction.y.value) || prediction.y.value <= 0) {
    return std::nullopt;
  }
  Estimate estimate{prediction.y.value, std::nullopt};
  if (prediction.known) {
    estimate.interval = Interval{std::max(0.0, prediction.y.low), prediction.y.high};
  }
  return estimate;
}

/// B / R(B). A time that may be 0 leaves the throughput without an upper bound.
Estimate throughput_of(const Estimate& ms, int batch_size) {
  const double samples_ms = 1000.0 * batch_size;
  Estimate estimate{samples_ms / ms.value, std::nullopt};
  if (ms.interval.has_value()) {
    estimate.interval = Interval{samples_ms / *ms.interval->high, std::nullopt};
    if (ms.interval->low > 0) {
      estimate.interval->high = samples_ms / ms.interval->low;
    }
  }
  return estimate;
}

std::optional<Measurement> measured_at(const Predictor& predictor, int batch_size) {
  const auto time = std::ranges::find(predictor.time_samples, batch_size, &TimeSample::batch_size);
  const auto memory = std::ranges::find(predictor.memory_samples, batch_size, &MemorySample::batch_size);
  if (time == predictor.time_samples.end() || memory == predictor.memory_samples.end() || time->ms.value <= 0) {
    return std::nullopt;
  }
  return Measurement{time->ms, 1000.0 * batch_size / time->ms.value, memory->peak_bytes};
}

double throughput_at(const Predictor& predictor, int batch_size) {
  const auto ms = value_at(predictor.time, sampled_range(predictor), batch_size);
  return ms.has_value() ? throughput_of(*ms, batch_size).value : 0;
}

std::optional<Estimate> memory_estimate(const Predictor& predictor, int batch_size) {
  if (!predictor.peaks.has_value()) {
    return value_at(predictor.memory, sampled_range(predictor), batch_size);
  }
  const Measured peak = peak_at(*predictor.peaks, batch_size);
  Estimate estimate{peak.value, std::nullopt};
  if (predictor.peaks->checked) {
    estimate.interval = Interval{peak.low, peak.high};
  }
  return estimate;
}

double memory_at(const Predictor& predictor, int batch_size) {
  const auto bytes = memory_estimate(predictor, batch_size);
  return bytes.has_value() ? bytes->value : 0;
}

/// The first of the range for which `holds`, which must not turn false again after it; `range.high + 1` when none is.
template <typename Holds>
int first_where(const Range& range, Holds holds) {
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

/// The most that the time line gives at any batch size where it can be believed.
std::optional<double> greatest_throughput(const Predictor& predictor) {
  if (!predictor.time.has_value() || predictor.time->slope <= 0) {
    return std::nullopt;
  }
  if (predictor.time->intercept >= 0) {
    return 1000.0 / predictor.time->slope;
  }
  const double at_least = throughput_at(predictor, sampled_range(predictor).low);  // it falls from there on
  return at_least > 0 ? std::optional(at_least) : std::nullopt;
}

void answer_throughput(const Predictor& predictor, double wanted, Answer& answer) {
  if (!predictor.time.has_value()) {
    answer.obstacle = Obstacle::kTooFewSizes;
    return;
  }
  const Range range = credible(*predictor.time, sampled_range(predictor));
  // With a negative intercept throughput falls with the batch size: the first is the best. Else it grows.
  const Range candidates = predictor.time->intercept < 0 ? Range{range.low, range.low} : range;
  const int found = first_where(candidates, [&](int size) { return throughput_at(predictor, size) >= wanted; });
  if (found <= candidates.high) {
    answer.batch = predict_batch(predictor, found);
  } else {
    answer.obstacle = predictor.time->slope > 0 ? Obstacle::kTooFast : Obstacle::kTimeUnknown;
  }
}

void answer_memory_by_peaks(const Predictor& predictor, double wanted, Answer& answer) {
  const bool bounded = grows(*predictor.peaks);
  const int most = bounded ? kMaxBatchSize : sampled_range(predictor).high;
  const std::optional<int> largest = largest_batch_within(*predictor.peaks, wanted, most);
  if (!largest.has_value()) {
    answer.obstacle = Obstacle::kTooLittleMemory;
    answer.least = predict_batch(predictor, least_batch(*predictor.peaks, most));
    return;
  }
  answer.batch = predict_batch(predictor, *largest);
  if (!bounded) {
    answer.obstacle = Obstacle::kMemoryUnknown;
  }
}

void answer_memory(const Predictor& predictor, double wanted, Answer& answer) {
  if (predictor.peaks.has_value()) {
    answer_memory_by_peaks(predictor, wanted, answer);
    return;
  }
  if (!predictor.memory.has_value()) {
    answer.obstacle = Obstacle::kTooFewSizes;
    return;
  }
  const Range range = credible(*predictor.memory, sampled_range(predictor));
  const bool grows = predictor.memory->slope > 0;
  const int least = grows ? range.low : range.high;  // the batch size that needs least
  const auto too_much = [&](int size) { return memory_at(predictor, size) > wanted; };
  if (too_much(least)) {
    answer.obstacle = Obstacle::kTooLittleMemory;
    answer.least = predict_batch(predictor, least);
  } else if (grows) {
    answer.batch = predict_batch(predictor, first_where(range, too_much) - 1);
  } else {
    answer.batch = predict_batch(predictor, range.high);
    answer.obstacle = Obstacle::kMemoryUnknown;
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

}  // namespace

Predictor make_predictor(const Profile& profile) {
  Predictor predictor;
  predictor.time_samples = profile.time_samples;
  predictor.memory_samples = profile.memory_samples;
  predictor.skipped = profile.skipped;
  predictor.capacity_bytes = profile.capacity_bytes;
  std::vector<Point> times;
  std::vector<Point> peaks;
  for (const TimeSample& sample : profile.time_samples) {
    times.push_back({static_cast<double>(sample.batch_size), sample.ms.value});
  }
  for (const MemorySample& sample : profile.memory_samples) {
    peaks.push_back({static_cast<double>(sample.batch_size), static_cast<double>(sample.peak_bytes)});
  }
  predictor.time = fit_line(times);
  predictor.memory = fit_line(peaks);
  predictor.peaks = profile.peak_model;
  return predictor;
}

BatchPrediction predict_batch(const Predictor& predictor, int batch_size) {
  const Range sampled = sampled_range(predictor);
  BatchPrediction batch;
  batch.batch_size = batch_size;
  batch.extrapolated = !sampled.contains(batch_size);
  batch.ms = value_at(predictor.time, sampled, batch_size);
  if (batch.ms.has_value()) {
    batch.samples_per_second = throughput_of(*batch.ms, batch_size);
  }
  batch.peak_bytes = memory_estimate(predictor, batch_size);
  if (batch.peak_bytes.has_value() && predictor.capacity_bytes > 0) {
    batch.fits = batch.peak_bytes->value <= static_cast<double>(predictor.capacity_bytes);
  }
  batch.measured = measured_at(predictor, batch_size);
  return batch;
}

Answer answer(const Predictor& predictor, const Question& question) {
  Answer answer;
  answer.question = question;
  answer.capacity_bytes = predictor.capacity_bytes;
  answer.max_samples_per_second = greatest_throughput(predictor);
  for (const TimeSample& sample : predictor.time_samples) {
    answer.sampled.push_back(sample.batch_size);
  }
  std::ranges::sort(answer.sampled);
  if (question.quantity == Quantity::kThroughput) {
    answer_throughput(predictor, question.value, answer);
  } else if (question.quantity == Quantity::kMemory) {
    answer_memory(predictor, question.value, answer);
  } else {
    answer_batch_size(predictor, static_cast<int>(question.value), answer);
  }
  std::ranges::copy_if(predictor.skipped, std::back_inserter(answer.failed), [&](const Skipped& skipped) {
    return answer.batch.has_value() && skipped.batch_size <= answer.batch->batch_size &&
           skipped.kind == "out-of-memory";
  });
  return answer;
}

}  // namespace ridgeline::analysis
