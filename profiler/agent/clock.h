// The one clock of a recording.
#pragma once

#include <ctime>

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace ridgeline::agent {

/// Nanoseconds of CLOCK_MONOTONIC, the same clock as Python's time.monotonic_ns(). Async-signal-safe; about 20 ns.
inline std::uint64_t now_ns() {
  timespec time;
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

/// Whether the kernel itself keeps time by the processor's cycle counter: then the counter runs at one rate, on all
/// processors alike. Decided once, by clock.cpp.
extern const bool g_counter_is_clock;

/// Ticks of the clock that records carry: the cycle counter where it can be trusted, else nanoseconds.
/// Async-signal-safe; about 8 ns with the counter.
inline std::uint64_t ticks() {
#if defined(__x86_64__)
  if (g_counter_is_clock) {
    return __rdtsc();
  }
#elif defined(__aarch64__)
  if (g_counter_is_clock) {
    std::uint64_t count = 0;
    asm volatile("mrs %0, cntvct_el0" : "=r"(count));  // the virtual counter of the generic timer
    return count;
  }
#endif
  return now_ns();
}

/// Ticks in a nanosecond, from the time since this library was loaded: good to a thousandth after some milliseconds.
double ticks_per_ns();

/// Turns ticks into nanoseconds of CLOCK_MONOTONIC by two moments at which both were read.
class TickScale {
 public:
  struct Moment {
    std::uint64_t tick;
    std::uint64_t ns;
  };
  /// Reads both clocks at once.
  static Moment now();

  /// `last` must be at least a few milliseconds after `first` for the rate to be good.
  TickScale(Moment first, Moment last);
  std::uint64_t ns(std::uint64_t tick) const;

 private:
  Moment first_;
  double rate_;
};

}  // namespace ridgeline::agent
