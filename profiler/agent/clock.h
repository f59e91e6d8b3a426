// The one clock of a recording.
#pragma once

#include <ctime>

#include <cstdint>

namespace ridgeline::agent {

/// Nanoseconds of CLOCK_MONOTONIC, the same clock as Python's time.monotonic_ns(). Async-signal-safe; about 20 ns.
inline std::uint64_t now_ns() {
  timespec time;
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace ridgeline::agent
