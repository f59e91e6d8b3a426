// What in a profile deserves attention, with the figures that show it. Pure. docs/user/advice.md has the
// rules.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/values/prediction.h"
#include "analysis/values/profile.h"

namespace ridgeline::analysis {

struct Predictor;

enum class AdviceKind : std::uint8_t {
  kWillNotFit,           ///< the batch size in the code needs more than the device has
  kThroughputSaturates,  ///< a much smaller batch size is as fast
  kInputStarves,         ///< the step waits for its data
  kHotLine,              ///< one line has over half the time
  kOptimizerDominates,   ///< updating the weights takes more than a third of the step
  kActivationsDominate,  ///< they are most of a peak that fills most of the device
  kHostBound,            ///< no operation, or nothing on the device, runs for much of the step
  kGradientNeverUsed,    ///< parameters get gradients, and nothing changes them
  kCopiesBlock,          ///< the device copies, and no kernel runs
  kSynchronises,         ///< the device has nothing to do while the host waits in calls that synchronise or copy
  kPaddingPays,          ///< a larger width of linear layers is predicted to take less time
  kGraphBreak,           ///< torch.compile ends a graph at a line
  kRecompiles,           ///< torch.compile compiled a function again
  kLittleArithmetic,     ///< a line takes long and uses little of the peak: report::line_observations, not advise()
};
inline constexpr std::size_t kAdviceCount = 14;
/// As diagnostics spell them.
inline constexpr std::array<const char*, kAdviceCount> kAdviceCodes = {
    "will-not-fit",         "throughput-saturates", "input-starves",       "hot-line",         "optimizer-dominates",
    "activations-dominate", "host-bound",           "gradient-never-used", "copies-block",     "synchronises",
    "padding-pays",         "graph-break",          "recompiles",          "little-arithmetic"};

inline constexpr double kStarvingShare = 0.25;      ///< of the iteration, for data
inline constexpr double kHotLineShare = 0.5;        ///< of the iteration, one line's own time
inline constexpr double kOptimizerShare = 1.0 / 3;  ///< of the iteration
inline constexpr double kActivationsShare = 0.6;    ///< of the peak
inline constexpr double kFilledShare = 0.5;         ///< of the capacity, by the peak: below it memory is no concern
inline constexpr double kHostBoundShare = 1.0 / 3;  ///< of the iteration, between operations
inline constexpr double kBlockedShare = 0.1;        ///< of the iteration, by copies alone or by synchronising
inline constexpr double kPaddingShare = 0.02;       ///< of the iteration, predicted to be saved

/// One finding. Which fields are set depends on the kind.
struct Advice {
  AdviceKind kind = AdviceKind::kWillNotFit;
  Location location;                      ///< without a file: the advice refers to the batch size
  int batch_size = 0;                     ///< that the advice refers to
  int better_batch_size = 0;              ///< 0: none is known
  double part = 0;                        ///< ms, or bytes for memory
  double whole = 0;                       ///< likewise: the iteration, the peak or the capacity
  std::optional<BatchPrediction> now;     ///< at `batch_size`
  std::optional<BatchPrediction> better;  ///< at `better_batch_size`
  std::string parameter{};                ///< the largest of the `parameters` whose gradients are never used
  int parameters = 0;
  std::optional<Padding> padding{};
  std::optional<GraphBreak> graph_break{};
  std::optional<CompiledFunction> recompiled{};
  bool larger_batch_helps = true;  ///< not where the batch size has nearly all of the greatest throughput
};

/// `batch_size` is the one in the code now, which may not be the profile's: only what the models say of it is then
/// known. Most severe first.
std::vector<Advice> advise(const Profile& profile, const Predictor& predictor, int batch_size);

}  // namespace ridgeline::analysis
