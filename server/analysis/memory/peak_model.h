// The peak of memory at any batch size: the ledger of a step's allocations, matched between batch sizes and replayed.
//
// A step's allocations come in the same order at each batch size, and nearly all grow linearly with it, or with its
// square or cube. So the live bytes at each instant do too, and the peak, their maximum, is made of a few such pieces:
// it moves to another instant as the batch grows. Definitions: docs/dev/measurement/batch-sizes.md.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "analysis/memory/ledger.h"
#include "analysis/values/profile.h"
#include "protocol/recording.h"

namespace ridgeline::analysis {

/// What a block is for, and the user line that answers for it, if any.
struct MemoryLabel {
  Category category = Category::kTemporaries;
  Location location;
};

struct SampledMemory {
  int batch_size = 0;
  const recording::Recording* recording = nullptr;
  std::function<MemoryLabel(std::uint32_t event)> label;  ///< of the block that an event of the recording allocated
  int backward_passes = 1;                                ///< of an iteration
};

/// The model's value at each sampled batch size is the recorded peak, to the byte. An allocation whose size lies on no
/// polynomial (bend_of()) is taken as linear between neighbouring samples; then the model has an interval. Where the
/// batch may be divided among backward passes, and every sample could be divided evenly, nothing shows what happens to
/// others: PeakModel::parts_of_batch. `samples` are those of the ledger, by batch size, each once.
PeakModel fit_peak_model(std::span<const SampledMemory> samples, const Ledger& ledger);

/// Bytes, and the interval that holds them; value, low and high are the same where everything was matched and linear.
/// Pure, O(log pieces). `batch_size` at least 1.
Measured peak_at(const PeakModel& model, int batch_size);

/// The bytes of each category in the peak at a batch size. Needs `parts`. Pure.
std::array<double, kCategoryCount> peak_by_category(const PeakModel& model, int batch_size);

/// The parts of the peak at a batch size, each with its bytes as `intercept`. Needs `parts`. Pure.
std::vector<PeakPart> peak_parts(const PeakModel& model, int batch_size);

/// The largest batch size, from 1 to `most`, whose peak is at most `bytes`; nothing when none is. Pure.
std::optional<int> largest_batch_within(const PeakModel& model, double bytes, int most);

/// The batch size from 1 to `most` with the least peak; the smallest of those. Pure.
int least_batch(const PeakModel& model, int most);

/// Whether the peak grows without bound.
bool grows(const PeakModel& model);

}  // namespace ridgeline::analysis
