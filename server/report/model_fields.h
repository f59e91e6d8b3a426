// The report's fields of the models against batch size, of what they were fitted to, and of what they predict.
#pragma once

#include <algorithm>
#include <memory>

#include "report/allocator_requests.h"
#include "report/cost_fields.h"

namespace ridgeline::report {

/// Tags for pieces: what their figures are.
struct InMs {};
struct InBytes {};

/// The curvature of a Piece or a PeakPart. Absent where it is straight.
template <typename Io, typename Curve>
void bends(Io& io, Curve& curve) {
  if (io.has("squareBytes", curve.square != 0)) {
    io("squareBytes", curve.square, "Bytes per squared sample of the batch. Absent: 0.", kAnyNumber);
  }
  if (io.has("cubeBytes", curve.cube != 0)) {
    io("cubeBytes", curve.cube, "Bytes per cubed sample of the batch. Absent: 0.", kAnyNumber);
  }
}

template <typename Io>
void fields(Io& io, analysis::Piece& piece, InMs /*unit*/) {
  io.type("timePiece", "A time from one batch size on, up to the next piece: interceptMs + slopeMs * batch size.");
  io("fromBatchSize", piece.from_batch, "The first batch size of the piece.", kFromBatchSize);
  io("slopeMs", piece.slope, "Milliseconds per sample of the batch.", kAnyNumber);
  io("interceptMs", piece.intercept, "Milliseconds at batch size 0.", kAnyNumber);
}

template <typename Io>
void fields(Io& io, analysis::Piece& piece, InBytes /*unit*/) {
  io.type(
      "peakPiece",
      "The peak from one batch size on, up to the next piece: interceptBytes + slopeBytes * batch size + squareBytes "
      "* batch size² + cubeBytes * batch size³.");
  io("fromBatchSize", piece.from_batch, "The first batch size of the piece.", kFromBatchSize);
  io("slopeBytes", piece.slope, "Bytes per sample of the batch.", kAnyNumber);
  io("interceptBytes", piece.intercept, "Bytes at batch size 0.", kAnyNumber);
  bends(io, piece);
}

template <typename Io, typename Unit>
void pieces(Io& io, const char* name, std::vector<analysis::Piece>& pieces, Unit unit, const char* description) {
  io(name, pieces, description, unit);
  const auto before = [](const analysis::Piece& a, const analysis::Piece& b) { return a.from_batch >= b.from_batch; };
  io.check(
      pieces.empty() || (pieces.front().from_batch == 1 && std::ranges::adjacent_find(pieces, before) == pieces.end()),
      std::string(name) + " does not begin at 1 and ascend");
}

template <typename Io>
void fields(Io& io, analysis::Outliers& outliers) {
  io("count", outliers.count, "Number of outliers.");
  io("worst", outliers.worst, "The longest of them, as a multiple of the median; 0 without one.");
}

template <typename Io>
void measured_time(Io& io, analysis::Measured& ms, Number limit = {}) {
  io("timeMs", ms.value, "Median iteration time. Milliseconds.", limit);
  io("lowMs", ms.low, "Lower end of the median's 95 % confidence interval. Milliseconds.");
  io("highMs", ms.high, "Upper end of the median's 95 % confidence interval. Milliseconds.");
}

template <typename Io>
void time_sample(Io& io, analysis::TimeSample& sample) {
  io("batchSize", sample.batch_size, "Samples.", kBatchSize);
  measured_time(io, sample.ms, kPositive);
  io("iterations", sample.iterations, "Iterations that were timed.", Whole{1});
  io("rounds", sample.rounds, "Rounds in which they were timed, in turns with the other batch sizes.", Whole{1});
  io("aaNoise", sample.aa_noise,
     "Difference of the medians of every other round and of the rest, as a fraction of the median.");
  io("outliers", sample.outliers,
     "Iterations that took far longer than the median: by more than 5 standard deviations, estimated from the median "
     "absolute deviation, and by more than a fifth. They are among the timed ones.");
  io.check(sample.ms.low <= sample.ms.value && sample.ms.value <= sample.ms.high, "timeMs lies outside its interval");
}

template <typename Io>
void fields(Io& io, analysis::TimeSample& sample) {
  io.type("timeSample", "A batch size that was timed.");
  time_sample(io, sample);
}

template <typename Io>
void fields(Io& io, analysis::MemorySample& sample) {
  io("batchSize", sample.batch_size, "Samples.", kBatchSize);
  io("peakBytes", sample.peak_bytes, "Peak memory. Bytes.");
}

template <typename Io>
void fields(Io& io, analysis::Regime& regime) {
  io("fromBatchSize", regime.from_batch, "The first batch size of it.", kFromBatchSize);
  io("mostMs", regime.ms,
     "The most that it may add to or take from the iteration there, ms; in proportion to the batch beyond.");
}

template <typename Io>
void fields(Io& io, analysis::PeakPart& part) {
  io.type(
      "peakPart",
      "What is alive at the peak, of one category and line: interceptBytes + slopeBytes * batch size + squareBytes * "
      "batch size² + cubeBytes * batch size³.");
  io("category", part.category, "What it is for.");
  place(io, "location", part.location, "The line that it is attributed to; null when it is no user line.");
  io("slopeBytes", part.slope, "Bytes per sample of the batch.", kAnyNumber);
  io("interceptBytes", part.intercept, "Bytes at batch size 0.", kAnyNumber);
  bends(io, part);
}

template <typename Io>
void fields(Io& io, analysis::NotLinear& group) {
  io("operation", group.operation, "Name of the operation; empty: outside operations.");
  place(io, "location", group.location, "The user's innermost line; null when there was none.");
  io("bytes", group.bytes, "Their bytes at each sampled batch size, ascending.");
}

template <typename Io>
void parts_of_batch(Io& io, int& parts) {
  std::optional<int> divided = parts > 1 ? std::optional(parts) : std::nullopt;
  if_present(
      io, "partsOfBatch", divided,
      "Backward passes among which the batch may be divided: a batch size that is no multiple needs what the next "
      "multiple does, or less. Absent where it is not.",
      Whole{2, kBatchSize.most});
  parts = divided.value_or(1);
}

template <typename Io>
void fields(Io& io, analysis::PeakModel& model) {
  pieces(io, "value", model.value, InBytes{}, "The peak. The first piece begins at batch size 1.");
  io("parts", model.parts, "Of each piece of `value`, what is alive at its peak; sums to the piece.",
     AtMost{kMaxParts});
  pieces(io, "low", model.low, InBytes{},
         "Lower bound; empty when the peak is exact wherever the allocations go on as they do.");
  pieces(io, "high", model.high, InBytes{}, "Upper bound; empty likewise.");
  io("checked", model.checked,
     "Whether three batch sizes or more were sampled: how allocations grow was checked, not assumed.");
  parts_of_batch(io, model.parts_of_batch);
  io("allocations", model.allocations, "Allocations of one iteration, with what was alive when it began.");
  io("notLinear", model.not_linear, "How many of them are not linear in the batch size.");
  io("largestNotLinear", model.largest_not_linear,
     "The allocations that are not linear, by operation and line: those that vary most first, at most 8.", AtMost{8});
  io.check(model.parts.size() == model.value.size(), "parts are not those of value");
  io.check(!model.value.empty() && model.low.empty() == model.high.empty(), "peak has no pieces");
}

/// `sizes` are set before it is read.
template <typename Io>
void fields(Io& io, analysis::AllocatorModel& model) {
  constexpr Whole kAny{0, std::numeric_limits<std::uint64_t>::max()};
  std::string first = events_text(model.first);
  std::string later = events_text(model.later);
  io("conf", model.setup.conf, "How the allocator was configured, as PYTORCH_ALLOC_CONF.");
  io("deviceBytes", model.setup.device_bytes, "Memory of the device. Bytes.");
  io("availableBytes", model.setup.available_bytes,
     "Of those, what the allocator can have: without what the context, libraries and other processes hold. Bytes.");
  io.check(model.setup.available_bytes <= model.setup.device_bytes, "availableBytes is more than deviceBytes");
  io("alive", model.alive, "How many of the first requests are of blocks that exist when a later iteration begins.",
     kAny);
  parts_of_batch(io, model.parts_of_batch);
  converted(
      io, "requests", requests_text(model),
      "The blocks that the step requests, separated by spaces: their bytes at each sampled batch size, in ascending "
      "order (`8/16/32`), and after @ another stream than the default one.",
      [&](const std::string& read) { io.check(read_requests(read, model), "requests are not valid"); });
  io.check(model.alive <= model.requests.size(), "alive is more than there are requests");
  io("first", first,
     "What is requested and freed from the start of the process to the end of its first iteration: `+3` requests the "
     "block of the fourth request, `-3` frees it.");
  io("later", later, "Likewise in each iteration after it.");
  if constexpr (Io::kReads) {
    io.check(read_events(first, later, model), "first or later is not valid");
  }
  io("largestThatFits", model.largest,
     "The largest batch size that does not run out of memory, by replay; null when not even 1 does.", kBatchSize);
  io("bounded", model.is_bounded, "False when no batch size was found that does not fit.");
}

template <typename Io>
void fields(Io& io, analysis::Interval& interval) {
  io("low", interval.low, "Lower end.");
  io("high", interval.high, "Upper end; null when nothing bounds it.");
}

template <typename Io>
void fields(Io& io, analysis::Estimate& estimate) {
  io.type("estimate", "A figure of a model.");
  io("value", estimate.value, "The figure.", kPositive);
  io("interval", estimate.interval, "95 % prediction interval of one new observation; null when unknown.");
  io("certainty", estimate.certainty,
     "\"known\": measured at this batch size, or exact. \"about\": a guess; far from what was measured without an "
     "upper end. \"atLeast\" and \"atMost\": so far from "
     "what was measured that only the lower or the upper end of the interval is given.");
}

template <typename Io>
void machine(Io& io, double& speed, bool& changed) {
  io("machineSpeed", speed,
     "Iteration time of the profile's own batch size in the profile over that in this run: below 1 the machine was "
     "slower in this run. 1 when it is part of the profile.",
     kPositive);
  io("machineChanged", changed, "Whether machineSpeed differs from 1 by more than the noise of both runs.");
}

template <typename Io>
void fields(Io& io, analysis::Check& check) {
  time_sample(io, check.time);
  io("peakBytes", check.peak_bytes, "Peak memory. Bytes.");
  io("extrapolated", check.extrapolated, "Whether it lies outside the sampled batch sizes.");
  io.object("predicted", "What the models predict for it.", [&] {
    io("timeMs", check.predicted_ms, "Iteration time. Milliseconds; null when it cannot be predicted.");
    io("peakBytes", check.predicted_peak_bytes, "Peak memory. Bytes; null when it cannot be predicted.");
    if (io.has("reservedBytes", check.peak_reserved_bytes.has_value())) {
      io("reservedBytes", check.predicted_reserved_bytes,
         "Of peakReservedBytes. Bytes; null when it cannot be predicted; absent with peakReservedBytes.");
    }
  });
  if (io.has("tried", check.tried)) {
    if constexpr (Io::kReads) {
      check.tried = true;
    }
    io.object("tried",
              "Measured in a run of its own after the profile, as an editor does with the batch size in the code: the "
              "times are multiplied by machineSpeed. Absent when it was part of the profile.",
              [&] { machine(io, check.machine_speed, check.machine_changed); });
  }
  if_present(io, "peakReservedBytes", check.peak_reserved_bytes,
             "The most that the device's caching allocator reserved. Bytes; absent without a device.");
}

template <typename Io>
void fields(Io& io, analysis::AliveLine& line) {
  place(io, "location", line.location, "The line that allocated. Null where it is not the user's.");
  io("category", line.category, "What it is for.");
  io("bytes", line.bytes, "Bytes.");
}

template <typename Io>
void fields(Io& io, analysis::OutOfMemoryError& found) {
  io("batchSize", found.batch_size, "Samples.", kBatchSize);
  io("wasRun", found.was_run, "False: it was not run, and what would be allocated at its peak is predicted.");
  if_present(io, "askedBytes", found.asked_bytes,
             "Bytes that were not to be had, as the error says; on a device rounded. Absent where it does not.");
  place(io, "location", found.location, "The line that asked for them. Null where it is not the user's.");
  io("operation", found.operation, "The operation that asked for them; empty: none.");
  io("allocatedBytes", found.allocated_bytes,
     "What was allocated when the error came. Bytes; where lines is empty, as the error says, and 0 if it does not.");
  io.object("byCategory", "The same by what it was for. Sums to allocatedBytes.",
            [&] { named(io, found.by_category, analysis::kCategoryNames, kCategoryDescriptions); });
  io("lines", found.lines,
     "The same by line and category, the largest first. Sums to allocatedBytes. Empty where the error of a script came "
     "after its step was recorded; then byCategory is 0.");
  if_present(io, "reservedBytes", found.reserved_bytes,
             "What the device's caching allocator held then. Bytes. Absent on the host.");
  if_present(io, "freeBytes", found.free_bytes, "What the device had free, as the error says. Bytes.");
  io("predictedBytes", found.predicted_bytes,
     "What the step needs at this batch size, predicted from smaller ones; where lines is empty, the peak of the "
     "recorded step. Bytes; 0 when not known.");
  io("fittingParts", found.fitting_parts,
     "Micro-batches of gradient accumulation with which it is predicted to fit; 0: not known, or none.");
  io("partsBytes", found.parts_bytes, "The predicted peak with these. Bytes; 0: there are none.");
}

template <typename Io>
void fields(Io& io, analysis::Skipped& skipped) {
  io("batchSize", skipped.batch_size, "Samples.", kBatchSize);
  converted(
      io, "kind", std::string(protocol::name_of(skipped.kind)),
      "Kind of the failure, such as \"out-of-memory\": see docs/user/errors.md.",
      [&](const std::string& name) {
        const auto kind = protocol::failure_kind_named(name);
        io.check(kind.has_value(), "kind is not that of a failure");
        skipped.kind = *kind;
      },
      kNotEmpty);
  io("message", skipped.message, "What happened, for a reader.");
}

template <typename Io>
void fields(Io& io, analysis::Measurement& measured) {
  io("samplesPerSecond", measured.samples_per_second, "Batch size over timeMs.", kPositive);
  measured_time(io, measured.ms, kPositive);
  io("peakBytes", measured.peak_bytes, "Peak memory. Bytes.");
  io("origin", measured.origin,
     "\"sample\": the models are fitted to it; \"check\": the profile ran it to check them; \"trial\": it ran after "
     "the profile.");
  machine(io, measured.machine_speed, measured.machine_changed);
}

/// The categories of a predicted peak, which has fractions of bytes.
struct PredictedCategories {
  std::array<double, analysis::kCategoryCount> bytes{};
};

template <typename Io>
void fields(Io& io, PredictedCategories& categories) {
  named(io, categories.bytes, analysis::kCategoryNames, kCategoryDescriptions);
}

template <typename Io>
void fields(Io& io, analysis::BatchPrediction& batch) {
  io.type("batch", "What the models predict for one batch size.");
  io("batchSize", batch.batch_size, "Samples.", kBatchSize);
  io("samplesPerSecond", batch.samples_per_second, "Throughput; null when it cannot be predicted.");
  io("timeMs", batch.ms, "Iteration time. Milliseconds; null when it cannot be predicted.");
  io("peakBytes", batch.peak_bytes, "Peak memory. Bytes; null when it cannot be predicted.");
  io.derived(
      "byCategory",
      [&] {
        return batch.by_category ? std::optional(PredictedCategories{*batch.by_category})
                                 : std::optional<PredictedCategories>();
      },
      "What is alive at the peak by what it is for, bytes; sums to peakBytes. Null without a record of allocations.");
  io("extrapolated", batch.extrapolated, "Whether it lies outside the sampled batch sizes.");
  io("fits", batch.fits,
     "Whether it fits into the capacity: its peak or, on a device, all that its allocator needs; null when one of them "
     "is unknown.");
  io("measured", batch.measured, "What was measured at this batch size; null when it did not run.");
  io("failed", batch.failed, "This very batch size was run and failed; null when it succeeded, or was not run.");
  if_present(io, "reservedBytes", batch.reserved_bytes,
             "What the device's caching allocator reserves, at most: on this device or, where it does not fit, on one "
             "without a limit. Bytes; absent without a device.");
  if (io.has("carriedOver", batch.carried_over)) {
    io("carriedOver", batch.carried_over,
       "True: the models are those of a profile before the last save, of a step that takes as long at the profile's "
       "own "
       "batch size. Absent otherwise.");
  }
}

template <typename Io>
void fields(Io& io, analysis::Answer& answer) {
  io.type("answer", "A batch size that answers a question, or why there is none.");
  io("answer", answer.batch, "Null when there is none.");
  io("obstacle", answer.obstacle,
     "Why there is no answer, or a figure of it is null: fewer than two batch sizes were sampled; no batch size gives "
     "that throughput; even the smallest needs more memory; the time model, or the memory model, cannot be trusted "
     "there; no batch size has so many activations; the answer holds, and larger ones are too far from what was "
     "sampled; the answer ran, and a size that the models say would fit, too, ran out of memory. Null when there is an "
     "answer.");
  io("memoryCheckedUpTo", answer.memory_checked_up_to,
     "The largest batch size whose memory was measured: the memory of a larger one is predicted, and what fits a bound "
     "until it is run. Null when none was.",
     kBatchSize);
}

}  // namespace ridgeline::report
