// Figures that follow from the energy of an iteration. Pure.
#pragma once

#include <optional>

#include "analysis/values/profile.h"

namespace ridgeline::analysis {

/// While the step runs, and in the pause before it. Watts.
double watts(const protocol::StepEnergy& energy);
double idle_watts(const protocol::StepEnergy& energy);

/// The joules that the machine would take in the time of an iteration without the step. At most energy.joules.
double idle_joules(const protocol::StepEnergy& energy);

/// Nothing where it was not measured, or the batch size is not known.
std::optional<double> joules_per_sample(const Profile& profile);

/// Grams of CO2 for an iteration. Absent where it was not measured, or the user gave no factor.
std::optional<double> co2_grams(const Profile& profile);

/// A part of the iteration, beyond what the machine takes idle: the mean power of the processors and their memory for
/// `host_ms`, that of the devices for `device_ms` of what the device is busy. Its real power may differ from the mean:
/// counters are too slow to tell. Nothing where it was not measured.
std::optional<double> part_joules(const Profile& profile, double host_ms, double device_ms);

}  // namespace ridgeline::analysis
