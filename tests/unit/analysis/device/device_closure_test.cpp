// Closure on the device: random recordings against a reference that looks at every nanosecond.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "analysis/breakdown/device_time.h"
#include "tests/unit/analysis/analysed.h"

namespace ridgeline::analysis {
namespace {

using recording::Activity;
using recording::Call;
using testing::Analysed;
using testing::DeviceActivity;
using testing::DeviceCall;
using testing::kNone;
using testing::RecordingBuilder;

constexpr std::uint64_t kStart = 100;
constexpr std::uint64_t kEnd = 900;
constexpr int kLines = 4;

struct Piece {
  std::uint64_t start;
  std::uint64_t end;
  int line;  ///< 0: no known call
  bool kernel;
};

struct HostSpan {
  std::uint64_t start;
  std::uint64_t end;
  int thread;
  bool waits;
};

/// Activities of a few lines, calls on two threads, one iteration; and what they were made from.
struct RandomStory {
  RecordingBuilder builder;
  std::vector<Piece> pieces;
  std::vector<HostSpan> host;

  explicit RandomStory(unsigned seed) {
    std::mt19937 random(seed);
    const auto roll = [&](std::uint64_t bound) { return random() % bound; };
    builder.columns.thread_torch_id.push_back(2);
    builder.iteration(kStart, kEnd);
    std::vector<std::uint32_t> launches{kNone};
    for (int line = 1; line <= kLines; ++line) {
      launches.push_back(
          builder.call({Call::kOther, 0, 0, kNone, builder.at("a.py", static_cast<std::uint32_t>(line))}));
    }
    for (std::uint16_t thread = 0; thread < 2; ++thread) {
      std::uint64_t time = roll(50);
      while (time < 1000) {
        const std::uint64_t end = time + roll(150);
        const bool waits = roll(2) == 0;
        const auto stack = builder.at("a.py", 1 + static_cast<std::uint32_t>(roll(kLines)));
        builder.call({waits ? Call::kSynchronise : Call::kLaunch, time, end, kNone, stack, thread});
        host.push_back({time, end, thread, waits});
        time = end + roll(200);
      }
    }
    for (std::uint64_t time = roll(40); time < 1000; time += roll(40)) {
      const int line = static_cast<int>(roll(kLines + 1));
      const bool kernel = roll(3) > 0;
      const std::uint64_t end = time + (roll(6) == 0 ? 0 : roll(60));
      pieces.push_back({time, end, line, kernel});
      DeviceActivity activity{"k", time, end, launches[static_cast<std::size_t>(line)]};
      activity.kind = kernel ? Activity::kKernel : Activity::kHostToDevice;
      builder.activity(activity);
    }
  }

  double part_of(std::uint64_t instant, int line) const {
    double running[2] = {0, 0};
    double own[2] = {0, 0};
    for (const Piece& piece : pieces) {
      if (piece.start <= instant && instant < piece.end) {
        running[piece.kernel ? 1 : 0] += 1;
        own[piece.kernel ? 1 : 0] += piece.line == line ? 1 : 0;
      }
    }
    const int what = running[1] > 0 ? 1 : 0;
    return running[what] > 0 ? own[what] / running[what] : 0;
  }

  Wait wait_at(std::uint64_t instant) const {
    bool kernel = false;
    bool copy = false;
    for (const Piece& piece : pieces) {
      const bool runs = piece.start <= instant && instant < piece.end;
      (piece.kernel ? kernel : copy) |= runs;
    }
    bool works = false;
    bool waits = false;
    for (const HostSpan& span : host) {
      const bool runs = span.start <= instant && instant < span.end;
      (span.waits ? waits : works) |= runs;
    }
    if (kernel) {
      return waits && !works ? Wait::kDeviceBound : Wait::kOverlapped;
    }
    if (copy) {
      return Wait::kCopy;
    }
    return works ? Wait::kHostBound : waits ? Wait::kSync : Wait::kIdle;
  }
};

class DeviceClosure : public ::testing::TestWithParam<unsigned> {};

TEST_P(DeviceClosure, AgreesWithTheReference) {
  const RandomStory story(GetParam());
  const Analysed analysed(story.builder);
  ASSERT_TRUE(analysed.device.has_value());
  std::vector<double> by_line(kLines + 1);
  ByWait waits{};
  for (std::uint64_t instant = kStart; instant < kEnd; ++instant) {
    for (int line = 0; line <= kLines; ++line) {
      by_line[static_cast<std::size_t>(line)] += story.part_of(instant, line);
    }
    waits[static_cast<std::size_t>(story.wait_at(instant))] += 1;
  }
  for (int line = 1; line <= kLines; ++line) {
    const LineCost* cost = analysed.line("a.py:" + std::to_string(line));
    EXPECT_NEAR(cost == nullptr ? 0 : cost->device.ms * 1e6, by_line[static_cast<std::size_t>(line)], 1e-6);
  }
  const DeviceTime time = device_time(analysed.parts, (kEnd - kStart) / 1e6);
  for (std::size_t i = 0; i < kWaitCount; ++i) {
    EXPECT_NEAR(time.waits[i] * 1e6, waits[i], 1e-6) << kWaitNames[i];
  }
  double sum = time.idle_ms;
  for (const LineCost& line : analysed.lines.lines) {
    sum += line.device.ms;
  }
  for (const OtherCost& other : analysed.lines.other) {
    sum += other.device_ms;
  }
  EXPECT_NEAR(sum * 1e6, kEnd - kStart, 1e-6);
  EXPECT_NEAR((time.kernel_ms + time.copy_ms + time.idle_ms) * 1e6, kEnd - kStart, 1e-6);
  EXPECT_NEAR(analysed.breakdown.device_ms, time.kernel_ms + time.copy_ms, 1e-12);
}

INSTANTIATE_TEST_SUITE_P(Seeds, DeviceClosure, ::testing::Range(1U, 101U));

}  // namespace
}  // namespace ridgeline::analysis
