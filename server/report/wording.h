// Texts and proportions that the parts of the text report share.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/values/prediction.h"
#include "analysis/values/profile.h"
#include "base/function_ref.h"
#include "report/page.h"

namespace ridgeline::report {

inline constexpr double kNegligible = 0.005;  ///< of the iteration or of the peak: not worth a row
inline constexpr double kMuchMemory = 0.05;   ///< of the peak: worth a row, however little time it takes,
inline constexpr int kMostForMemory = 3;      ///< but not more rows than these in one place

/// 0 where there is no whole.
double ratio(double part, double whole);

/// "1 call", "16 calls", "100k calls".
std::string plural(double count, std::string_view noun);

/// With a capital and a full stop; empty stays empty.
std::string sentence(std::string text);

/// Keeps a figure and its unit on one line.
std::string unbroken(std::string text);

/// What a model says of a figure, as it is shown everywhere: "7.8 GiB" where it was measured or is exact, "≈ 7.8 GiB"
/// where it is a guess, "≥ 7.8 GiB" and "≤ 7.8 GiB" with the bound where nothing else is known. `format` writes it.
std::string estimated(const analysis::Estimate& estimate, base::FunctionRef<std::string(double)> format);

/// What a batch size needs of the memory, in the same form; "unknown memory" where that is not known.
std::string needed_memory(const analysis::BatchPrediction& batch);

/// Whether the samples of a script's step are a guess: what is made of them is shown as about so much.
bool has_uncertain_batch(const analysis::Profile& profile);

/// "37.9 samples/s", or "unknown"; of the peak "1.84 GiB", or "unknown"; of the batch size "16", "16 (8 to 24)" where
/// steps differ, or "unknown".
std::string throughput_text(const analysis::Profile& profile);
std::string peak_text(const analysis::Profile& profile);
std::string batch_text(const analysis::Profile& profile);

/// "45.2 ms (44.1 ms to 46.3 ms)": with the ends of the interval.
std::string duration_interval(const analysis::Measured& ms);

/// "898 ms ± 0.7 %", with the larger half of the interval; where the halves differ much, with its ends: "33.4 ms (32.8
/// to 38.4 ms)".
std::string iteration_text(const analysis::Profile& profile);

/// A figure as a part of what it can be at most.
struct Limited {
  double fraction = 0;
  std::string limit;  ///< " of the maximum 46.8", " of 23.4 GiB"
};
/// Absent where the figure or its limit is not known.
std::optional<Limited> throughput_limit(const analysis::Profile& profile);
std::optional<Limited> memory_limit(const analysis::Profile& profile);

/// "batch 16 · cpu (2 threads) · torch 2.13.0"
std::string setting_text(const analysis::Profile& profile);

/// "2026-11-29 10:24 UTC", of seconds since 1970.
std::string utc_text(std::uint64_t seconds);

/// "2026-11-29 10:24 UTC · commit 65a37da · Ridgeline 0.1.0 · Xeon": when, of what, with what and on which processor;
/// empty of a trace.
std::string provenance_text(const analysis::Profile& profile);

/// "cpu (2 threads)", "cuda (NVIDIA H200)".
std::string device_label(const analysis::Environment& environment);

/// "the machine was 12 % slower than in the profile, and the time is scaled to it".
std::string machine_text(double machine_speed);

/// The phases that take more than `least` milliseconds, as `format` writes their time.
std::vector<Item> phases(const analysis::ByPhase& by_phase, base::FunctionRef<std::string(double)> format,
                         double least);

/// What is alive at the peak, largest first.
std::vector<Item> peak_items(const analysis::Profile& profile);

}  // namespace ridgeline::report
