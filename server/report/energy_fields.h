// The fields of what an iteration takes of energy.
#pragma once

#include "analysis/values/energy.h"
#include "report/field_kinds.h"

namespace ridgeline::report {

template <typename Io>
void fields(Io& io, protocol::EnergyCounter& counter) {
  io("name", counter.name, "As the system calls it.", kNotEmpty);
  io("of", counter.of, "What it counts: a processor (RAPL), its memory (RAPL) or a device (NVML).");
  io("joules", counter.joules, "Of an iteration; a mean. Joules.");
  io("idleWatts", counter.idle_watts, "In a short pause before those iterations. Watts.");
}

/// Needs context.profile.
template <typename Io>
void fields(Io& io, protocol::StepEnergy& energy) {
  const analysis::Profile* profile = io.context.profile;
  io("joules", energy.joules, "Of an iteration, by all counters; a mean. Joules.");
  io("lowJoules", energy.low, "Of an iteration, in the round that took least. Joules.");
  io("highJoules", energy.high,
     "In the one that took most: six rounds hold the median between them with a probability of 97 %. Joules.");
  io("rounds", energy.rounds, "Rounds in which it was measured, after the timing.", Whole{1});
  io("iterations", energy.iterations, "Iterations in them.", Whole{1});
  io("iterationMs", energy.iteration_ms, "What one of those took; a mean. Milliseconds.", kPositive);
  io.derived(
      "joulesPerSample", [&] { return analysis::joules_per_sample(*profile); },
      "joules / batch size. Joules; null where the batch size is.");
  io.derived(
      "co2Grams", [&] { return analysis::co2_grams(*profile); },
      "Of an iteration, at co2GramsPerKwh. Grams; null where that is not given.");
  io.derived(
      "watts", [&] { return analysis::watts(energy); }, "joules / iterationMs. Watts.");
  io.derived(
      "idleWatts", [&] { return analysis::idle_watts(energy); }, "Of all counters, in the pause. Watts.");
  io.derived(
      "idleJoules", [&] { return analysis::idle_joules(energy); },
      "Of joules, what the machine takes in that time without the step. The lines' joules and other[].joules sum to "
      "the rest. Joules.");
  io("counters", energy.counters, "What joules is the sum of. None counts what another one counts.",
     AtMost{protocol::kMaxEnergyCounters});
}

/// The energy of a line, or of other time. Needs context.profile.
template <typename Io>
void part_energy(Io& io, double host_ms, double device_ms) {
  const analysis::Profile* profile = io.context.profile;
  const auto joules = profile == nullptr ? std::nullopt : analysis::part_joules(*profile, host_ms, device_ms);
  if (!io.has("joules", joules.has_value())) {
    return;
  }
  io.derived(
      "joules", [&] { return joules.value_or(0); },
      "Of an iteration, beyond what the machine takes idle: the mean power for the time of the part, on the host and "
      "on "
      "the device. Its own power may differ: counters are too slow to tell. Absent where energy is null. Joules.");
}

template <typename Io>
void energy(Io& io, analysis::Profile& profile) {
  if (!io.has("energy", true)) {
    return;  // earlier reports do not have it
  }
  io("energy", profile.energy,
     "What an iteration takes of energy, with all else that runs on the machine meanwhile; null where no counter could "
     "be read, and of a script or a trace.");
  if_present(io, "co2GramsPerKwh", profile.co2_g_per_kwh,
             "Of the electricity, as the user gave it. Grams; absent: not given.");
}

}  // namespace ridgeline::report
