// One-line labels for editors: at the end of a line, above a provider, in a menu, in a diagnostic. Pure.
#pragma once

#include <string>

#include "analysis/advice.h"
#include "analysis/compare/comparison.h"
#include "analysis/values/prediction.h"
#include "analysis/values/profile.h"

namespace ridgeline::report {

enum class LabelFormat { kTime, kMemory, kBoth };

/// Which time of a line is shown beside it.
enum class ShownTime {
  kSelf,
  kTotal,   ///< at least 5 % of the step and twice the line's own
  kNothing  ///< the whole step runs below the line
};
ShownTime shown_time(const analysis::LineCost& line, const analysis::Profile& profile);

/// "36 % · 151 ms · 0.40 GiB": the share of the iteration, own time, bytes at the peak; what is nothing is left out.
/// With kTotal "forward 41 % · backward 45 %", "backward of all lines 45 %" where the line calls backward, or "total 20
/// % · 84 ms".
std::string line_label(const analysis::LineCost& line, const analysis::Profile& profile, LabelFormat format);

/// What the line's total has in common with those of others, which together are then more than the step: its backward
/// pass also runs below the line that calls backward. A sentence, or empty.
std::string counted_text(const analysis::LineCost& line, const analysis::Profile& profile);

/// The same with what it is a share of, and with the interval of the iteration time where that is uncertain.
std::string line_explanation(const analysis::LineCost& line, const analysis::Profile& profile);

/// "37.9 samples/s (81 % of the maximum 46.8)"; with "≈" where the iteration time is uncertain.
std::string throughput_label(const analysis::Profile& profile);
/// What a profile shows that the one before it did not: "no change within the noise", "12 % faster (1.36 s before)",
/// and the peak. "not compared: the machine was busy" where it was for either and where the noise would hide a large
/// change. Empty when their batch sizes differ. `time`: of the steps, from `before` to `now`.
std::string change_label(const analysis::Profile& before, const analysis::Profile& now,
                         const analysis::TimeChange& time);
/// "12 % slower than in the profile before: 151 ms, was 135 ms"; empty within the noise, and for a new line.
std::string line_change_explanation(const analysis::TimeChange& time);
/// The same for a column: "+12 %", "31×".
std::string line_change_label(const analysis::TimeChange& time);
/// "1.84 of 23.4 GiB".
std::string memory_label(const analysis::Profile& profile);

/// "measured", "predicted (extrapolated)", "ran out of memory when it was run", "failed when it was run".
std::string knowledge_label(const analysis::BatchPrediction& batch);
/// "45.3 samples/s · 1.90 GiB, measured": what is known of another batch size than the profiled one.
std::string batch_label(const analysis::BatchPrediction& batch);

/// "Set batch size to 96: 1.31× throughput, 7.8 of 16 GiB (extrapolated)": against the model's own figure at the batch
/// size in the code, so that what the fit misses is not taken for a gain; measured against measured where both are.
std::string batch_size_title(const analysis::BatchPrediction& wanted, const analysis::BatchPrediction& now,
                             std::uint64_t capacity_bytes);

/// "Batch 512 would need 54.1 GiB; this device has 23.4 GiB. The largest that fits is 216."
std::string advice_text(const analysis::Advice& advice, const analysis::Profile& profile);

}  // namespace ridgeline::report
