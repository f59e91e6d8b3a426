#include "jobs/clocks/align_by_ends.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <string>

namespace ridgeline::jobs {
namespace {

constexpr int kMachines = 20;
constexpr std::int64_t kBegin = 1'700'000'000'000'000'000;

double offset_ns(int machine) { return 3e9 * machine; }
double drift(int machine) { return 1e-6 * (machine - kMachines / 2.0); }

/// Ends of `count` collectives of machines next to each other, up to 4 µs apart, and one in 100 late by up to 1 ms.
HappensBefore recorded(int count, double lasts_s) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> apart(-4e3, 4e3);
  std::uniform_real_distribution<double> late(0, 1e6);
  HappensBefore found;
  for (int machine = 0; machine < kMachines; ++machine) {
    found.machines.push_back(std::to_string(machine));
  }
  const auto read = [&](int machine, double true_ns) {
    const double noise = apart(random) / 2 + (random() % 100 == 0 ? late(random) : 0);
    return kBegin + std::llround(true_ns + offset_ns(machine) + drift(machine) * true_ns + noise);
  };
  for (int i = 0; i < count; ++i) {
    const double now = 1e9 * lasts_s * i / count;
    for (int machine = 1; machine < kMachines; ++machine) {
      found.ends.push_back({static_cast<std::uint32_t>(machine - 1), static_cast<std::uint32_t>(machine),
                            read(machine - 1, now), read(machine, now)});
    }
  }
  return found;
}

/// By how much an event of the machine is off after its clock was aligned to that of machine 0.
double error_ns(const std::vector<ClockOffset>& clocks, int machine, double true_ns) {
  const auto read = [&](int of) { return kBegin + std::llround(true_ns + offset_ns(of) + drift(of) * true_ns); };
  return std::abs(static_cast<double>(clocks[static_cast<std::size_t>(machine)].aligned(read(machine)) - read(0)));
}

TEST(AlignByEnds, FindsOffsetsAndDriftOfManyMachines) {
  const auto clocks = align_by_ends(recorded(2000, 60));
  ASSERT_TRUE(clocks.has_value());
  for (int machine = 1; machine < kMachines; ++machine) {
    const ClockOffset& clock = (*clocks)[static_cast<std::size_t>(machine)];
    ASSERT_TRUE(clock.drift_ppm().has_value());
    EXPECT_NEAR(*clock.drift_ppm(), -machine, 1);
    EXPECT_LT(error_ns(*clocks, machine, 30e9), 20e3) << "along 19 others";
    EXPECT_LT(clock.at_begin.highest - clock.at_begin.lowest, 400e3);
  }
}

TEST(AlignByEnds, DriftOfOneStepIsNotKnown) {
  const auto clocks = align_by_ends(recorded(40, 0.1));
  ASSERT_TRUE(clocks.has_value());
  for (int machine = 1; machine < kMachines; ++machine) {
    EXPECT_FALSE((*clocks)[static_cast<std::size_t>(machine)].drift_ppm().has_value());
    EXPECT_LT(error_ns(*clocks, machine, 50e6), 20e3);
  }
}

TEST(AlignByEnds, NeedsEndsOnAllMachines) {
  HappensBefore found = recorded(10, 1);
  found.machines.emplace_back("alone");
  EXPECT_FALSE(align_by_ends(found).has_value());
}

}  // namespace
}  // namespace ridgeline::jobs
