// What a device waits for while it is idle.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analysis/values/profile.h"

namespace ridgeline::analysis {

enum class IdleCause : std::uint8_t {
  kHost,    ///< the host launches too slowly
  kData,    ///< data is loaded meanwhile
  kPauses,  ///< for long, the host runs no operation either: it waits, for instance for data, or does other work
};

/// Whether it is known what a device did, if it did anything: not where kernels were launched and not recorded.
inline bool has_all_kernels(const Profile& profile) {
  const std::string& kind = profile.environment.device;
  const bool is_on_device = kind == "cuda" || kind == "xpu";
  return profile.device ? profile.device->idle_is_known() : !is_imported(profile) || !is_on_device;
}

/// What takes at least half of the idle time. Nothing without a device, or where idle time is not known.
inline std::optional<IdleCause> idle_cause(const Profile& profile) {
  if (!profile.device.has_value() || !profile.device->idle_is_known()) {
    return std::nullopt;
  }
  const double half = profile.device->idle_ms / 2;
  if (half > 0 && profile.iteration.by_phase[static_cast<std::size_t>(Phase::kData)] >= half) {
    return IdleCause::kData;
  }
  return half > 0 && profile.device->pauses_ms >= half ? IdleCause::kPauses : IdleCause::kHost;
}

}  // namespace ridgeline::analysis
