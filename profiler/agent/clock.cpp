#include "clock.h"

#include <cstdio>
#include <cstring>

namespace ridgeline::agent {

namespace {

/// The clock source of Linux that is the counter which ticks() reads.
#if defined(__aarch64__)
constexpr char kCounter[] = "arch_sys_counter";
#else
constexpr char kCounter[] = "tsc";
#endif

bool kernel_uses_counter() {
  std::FILE* file = std::fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "r");
  if (file == nullptr) {
    return false;
  }
  char name[32] = {};
  const bool read = std::fgets(name, sizeof(name), file) != nullptr;
  std::fclose(file);
  return read && std::strncmp(name, kCounter, sizeof(kCounter) - 1) == 0;
}

}  // namespace

const bool g_counter_is_clock = kernel_uses_counter();

namespace {

const TickScale::Moment g_loaded = TickScale::now();

}  // namespace

double ticks_per_ns() {
  const TickScale::Moment now = TickScale::now();
  if (now.ns <= g_loaded.ns || now.tick <= g_loaded.tick) {
    return 1;
  }
  return static_cast<double>(now.tick - g_loaded.tick) / static_cast<double>(now.ns - g_loaded.ns);
}

TickScale::Moment TickScale::now() {
  // The tightest of a few readings: nothing interrupted that one.
  Moment best{};
  std::uint64_t width = ~std::uint64_t{0};
  for (int i = 0; i < 8; ++i) {
    const std::uint64_t before = ticks();
    const std::uint64_t ns = now_ns();
    const std::uint64_t after = ticks();
    if (after - before < width) {
      width = after - before;
      best = {before + width / 2, ns};
    }
  }
  return best;
}

TickScale::TickScale(Moment first, Moment last) : first_(first), rate_(1) {
  if (last.tick > first.tick && last.ns > first.ns) {
    rate_ = static_cast<double>(last.ns - first.ns) / static_cast<double>(last.tick - first.tick);
  }
}

std::uint64_t TickScale::ns(std::uint64_t tick) const {
  // Signed: blocks may be older than the first moment.
  const auto distance = static_cast<double>(static_cast<std::int64_t>(tick - first_.tick));
  return first_.ns + static_cast<std::uint64_t>(static_cast<std::int64_t>(distance * rate_));
}

}  // namespace ridgeline::agent
