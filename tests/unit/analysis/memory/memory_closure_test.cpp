// Properties of the memory figures, over random allocator traces.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "tests/unit/analysis/analysed.h"

namespace ridgeline::analysis {
namespace {

using testing::Analysed;
using testing::kNone;
using testing::RecordingBuilder;
using testing::Role;
using testing::Scope;
using testing::Stage;

/// A trace over three iterations with few addresses, so that they are used again and again, and its peak worked out
/// the slow way.
struct RandomTrace {
  RecordingBuilder builder;
  std::uint64_t peak = 0;

  explicit RandomTrace(unsigned seed) : random_(seed) {
    builder.iteration(1000, 2000).iteration(2000 + roll(2) * 300, 3000).iteration(3500, 4000);
    const auto weight = builder.parameter("net.weight", 0x100);
    std::vector<std::uint32_t> ops;
    for (std::uint64_t start = 1000; start < 4000; start += 100) {
      const Scope scope = roll(3) == 0 ? Scope::kBackward : Scope::kFunction;
      ops.push_back(builder.op({"aten::op", stack(), start, start + 100, kNone, scope, -1}));
    }
    std::uint64_t time = 0;
    while (time < 4200) {
      const std::uint64_t address = 0x100 * (1 + roll(12));
      const std::uint64_t bytes = roll(3) == 0 ? 0 : 1 + roll(1000);
      const std::uint32_t op = time >= 1000 && time < 4000 ? ops[(time - 1000) / 100] : kNone;
      const auto stage = static_cast<Stage>(roll(5));
      builder.allocate({time, address, bytes, stack(), roll(2) == 0 ? op : kNone, stage});
      if (roll(4) == 0) {
        const auto role = static_cast<Role>(roll(4));
        builder.role(time, address, role, role == Role::kInput ? kNone : weight);
      }
      time += roll(30);
    }
    find_peak();
  }

 private:
  std::uint64_t roll(std::uint64_t bound) { return random_() % bound; }
  std::uint32_t stack() {
    const auto line = static_cast<std::uint32_t>(roll(5));
    return line == 0 ? 0 : builder.at("a.py", line);
  }

  void find_peak() {
    const auto& columns = builder.columns;
    for (std::size_t i = 0; i < columns.iteration_start.size(); ++i) {
      std::map<std::uint64_t, std::uint64_t> live;
      const auto offer = [&] {
        std::uint64_t sum = 0;
        for (const auto& [address, bytes] : live) {
          sum += bytes;
        }
        peak = std::max(peak, sum);
      };
      bool inside = false;
      for (std::size_t event = 0; event < columns.memory_time.size(); ++event) {
        const std::uint64_t time = columns.memory_time[event];
        if (!inside && time >= columns.iteration_start[i]) {
          offer();
          inside = true;
        }
        if (time > columns.iteration_end[i]) {
          break;
        }
        live[columns.memory_address[event]] = columns.memory_bytes[event];
        if (inside) {
          offer();
        }
      }
    }
  }

  std::mt19937 random_;
};

class MemoryClosure : public ::testing::TestWithParam<unsigned> {};

TEST_P(MemoryClosure, PeakIsTheOneOfTheSlowWay) {
  const RandomTrace trace(GetParam());
  const Analysed analysed(trace.builder);
  EXPECT_EQ(analysed.memory.peak_bytes, trace.peak);
  EXPECT_EQ(testing::peak_bytes(analysed.recording), trace.peak);
}

TEST_P(MemoryClosure, CategoriesLinesAndPartsAreThePeak) {
  const RandomTrace trace(GetParam());
  const Analysed analysed(trace.builder);
  std::uint64_t by_category = 0;
  for (const auto& [category, bytes] : analysed.peak_by_category()) {
    by_category += bytes;
  }
  EXPECT_EQ(by_category, trace.peak);
  std::uint64_t by_line = 0;
  for (const LineCost& line : analysed.lines.lines) {
    by_line += line.peak_bytes;
  }
  for (const OtherCost& other : analysed.lines.other) {
    by_line += other.peak_bytes;
  }
  EXPECT_EQ(by_line, trace.peak);
  EXPECT_EQ(analysed.breakdown.peak_bytes, trace.peak);
}

INSTANTIATE_TEST_SUITE_P(Seeds, MemoryClosure, ::testing::Range(0U, 60U));

}  // namespace
}  // namespace ridgeline::analysis
