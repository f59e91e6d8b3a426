// What an iteration of the step takes of energy, as counters of the machine report it. Untrusted, as all that the
// user's processes send.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace ridgeline::protocol {

/// What a counter counts.
enum class EnergyOf : std::uint8_t { kProcessor, kMemory, kDevice };
inline constexpr std::array<const char*, 3> kEnergyOfNames = {"processor", "memory", "device"};

struct EnergyCounter {
  std::string name;  ///< "package-0", "NVIDIA A100-SXM4-40GB"
  EnergyOf of = EnergyOf::kProcessor;
  double joules = 0;      ///< of an iteration; a mean
  double idle_watts = 0;  ///< in a pause before those iterations
};

/// The energy of everything that ran on the machine during the step.
struct StepEnergy {
  std::vector<EnergyCounter> counters;  ///< at least one, at most kMaxEnergyCounters; none counts what another counts
  double joules = 0;                    ///< of an iteration, by all counters
  double low = 0;                       ///< of the round with the least, an iteration
  double high = 0;
  int iterations = 0;       ///< that were measured, at least one
  int rounds = 0;           ///< in which they were; of fewer than 6 little is known about how much they vary
  double iteration_ms = 0;  ///< of those iterations; a mean; positive
};
inline constexpr std::size_t kMaxEnergyCounters = 256;

/// Throws std::exception where it is none.
StepEnergy step_energy_from(const nlohmann::json& value);

}  // namespace ridgeline::protocol
