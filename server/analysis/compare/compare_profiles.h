// Compares the profiles of two versions of a training step. Pure.
#pragma once

#include <string>
#include <vector>

#include "analysis/compare/comparison.h"
#include "analysis/values/profile.h"

namespace ridgeline::analysis {

struct Side {
  std::string name;                  ///< what the user knows it by
  std::vector<const Profile*> runs;  ///< of the same code; at least one
};

struct Settings {
  double margin = 0.05;   ///< the most that "no difference" may leave open, as a fraction
  bool in_turns = false;  ///< the runs of both sides alternated, and as many of each
};

/// Compares two sides. The last of a side's runs determines its lines and modules. The step's interval has half of the
/// 5 % that may be wrong, and those of phases, modules and lines the other half, in equal parts (Bonferroni).
Comparison compare(const Side& before, const Side& after, const Settings& settings);

/// Why the times of two profiles of the same code may differ, as a sentence: the environment told their threads
/// something else. Empty: it did not, or it is not known of both.
std::string thread_settings_note(const Environment& before, const Environment& after);

}  // namespace ridgeline::analysis
