// The twelve observations of the benchmark suite TBD, as rules over a profile: which of them are true of this step.
//
// H. Zhu's thesis, chapter 3 (sections 3.4.2 to 3.4.5). The thresholds are ours where it has none, and stand here.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/values/prediction.h"
#include "analysis/values/profile.h"

namespace ridgeline::analysis {

enum class Verdict : std::uint8_t {
  kHolds,
  kDoesNotHold,
  kUnknown,        ///< the profile does not have the figures; `reason` says which
  kNotApplicable,  ///< one profile cannot show it, or the step has nothing of the kind; `reason` says which
};
inline constexpr std::array<const char*, 4> kVerdictNames = {"holds", "doesNotHold", "unknown", "notApplicable"};

enum class Unit : std::uint8_t { kShare, kSamples, kSamplesPerSecond };
inline constexpr std::array<const char*, 3> kUnitNames = {"share", "samples", "samplesPerSecond"};

struct Figure {
  std::string name;  ///< "throughput at batch 64"
  double value = 0;
  Unit unit = Unit::kShare;
};

struct Observation {
  int number = 0;  ///< 1 to 12, as in the thesis
  std::string statement;
  std::string negation{};  ///< what is true in place of a statement that does not hold, where something follows
  Verdict verdict = Verdict::kUnknown;
  std::string reason;           ///< of kUnknown and kNotApplicable
  std::vector<Figure> figures;  ///< that make it true or not
  std::string consequence;      ///< what to do; empty: nothing follows
  Location location{};          ///< that it is about; without a file: none
};

inline constexpr double kSaturated = 0.9;        ///< of the greatest throughput
inline constexpr double kBusy = 0.9;             ///< of the iteration
inline constexpr double kMuchTime = 0.05;        ///< of the iteration: a line that is long
inline constexpr double kRecurrentShare = 0.1;   ///< of the iteration: a model that is recurrent
inline constexpr double kSameThroughput = 1.02;  ///< a ratio below says that a larger batch brings nothing
inline constexpr double kSameShare = 0.1;        ///< shares of the peak that differ by less may be equal

/// All twelve, in order.
std::vector<Observation> observe(const Profile& profile, const Outlook& outlook);

}  // namespace ridgeline::analysis
