#include "analysis/values/energy.h"

#include <algorithm>

namespace ridgeline::analysis {

namespace {

using protocol::EnergyCounter;
using protocol::EnergyOf;

constexpr double kJoulesPerKwh = 3.6e6;

double idle_joules(const EnergyCounter& counter, double iteration_ms) {
  return std::min(counter.joules, counter.idle_watts * iteration_ms / 1000);
}

/// Beyond what is taken idle: of devices, or of all else.
double active_joules(const protocol::StepEnergy& energy, bool of_devices) {
  double joules = 0;
  for (const EnergyCounter& counter : energy.counters) {
    if ((counter.of == EnergyOf::kDevice) == of_devices) {
      joules += counter.joules - idle_joules(counter, energy.iteration_ms);
    }
  }
  return joules;
}

}  // namespace

double watts(const protocol::StepEnergy& energy) { return energy.joules / energy.iteration_ms * 1000; }

double idle_watts(const protocol::StepEnergy& energy) {
  double sum = 0;
  for (const EnergyCounter& counter : energy.counters) {
    sum += counter.idle_watts;
  }
  return sum;
}

double idle_joules(const protocol::StepEnergy& energy) {
  double joules = 0;
  for (const EnergyCounter& counter : energy.counters) {
    joules += idle_joules(counter, energy.iteration_ms);
  }
  return std::min(joules, energy.joules);
}

std::optional<double> joules_per_sample(const Profile& profile) {
  if (!profile.energy || !profile.batch_size_known || profile.batch_size < 1) {
    return std::nullopt;
  }
  return profile.energy->joules / profile.batch_size;
}

std::optional<double> co2_grams(const Profile& profile) {
  if (!profile.energy || !profile.co2_g_per_kwh) {
    return std::nullopt;
  }
  return profile.energy->joules / kJoulesPerKwh * *profile.co2_g_per_kwh;
}

std::optional<double> part_joules(const Profile& profile, double host_ms, double device_ms) {
  if (!profile.energy || profile.iteration.ms.value <= 0) {
    return std::nullopt;
  }
  const double busy_ms = profile.device ? profile.device->kernel_ms + profile.device->copy_ms : 0;
  const double of_device = busy_ms > 0 ? active_joules(*profile.energy, true) * device_ms / busy_ms : 0;
  return active_joules(*profile.energy, false) * host_ms / profile.iteration.ms.value + of_device;
}

}  // namespace ridgeline::analysis
