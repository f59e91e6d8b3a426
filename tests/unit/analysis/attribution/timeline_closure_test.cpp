// Closure as a property: whatever a recording holds, every instant of the iteration has exactly one owner.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "tests/unit/analysis/analysed.h"

namespace ridgeline::analysis {
namespace {

using recording::Cost;
using testing::Analysed;
using testing::kEngine;
using testing::kNone;
using testing::RecordingBuilder;
using testing::Scope;

constexpr std::uint64_t kSpan = 50'000'000;
/// Pieces are longer than all cost that can fall into one, so that none of them is cut off at zero.
constexpr std::uint64_t kPiece = 10'000;

/// Ops nested at random, samples, pauses and allocator events, all from one seed.
class RandomStory {
 public:
  explicit RandomStory(unsigned seed) : random_(seed) {
    builder_.cost(Cost::kInsideOp, kInside).cost(Cost::kOutsideOp, kOutside).cost(Cost::kPerMemory, kMemory);
    for (std::uint32_t line = 1; line <= 8; ++line) {
      stacks_.push_back(builder_.at("a.py", line));
    }
    for (std::uint32_t line = 1; line <= 4; ++line) {
      stacks_.push_back(builder_.stack({{"a.py", "run", line}, {testing::kNetFile, "forward", 10 * line}}));
      stacks_.push_back(builder_.stack({{testing::kNetFile, "loop", 99}, {"a.py", "run", line}, testing::kLibrary}));
    }
    stacks_.push_back(builder_.stack({{"train.py", "run", 7}, kEngine}));
    builder_.iteration(kStart, kStart + kSpan);
    fill(kStart, kStart + kSpan, kNone, 0);
    for (std::uint64_t time = kStart; time < kStart + kSpan; time += 1'000'000 + roll(500'000)) {
      builder_.sample(time, pick());
    }
    add_pauses_and_events();
  }

  const RecordingBuilder& builder() const { return builder_; }
  /// The iteration less what recording cost in it.
  double expected_ns() const {
    return static_cast<double>(kSpan - paused_) - ops_ * (kInside + kOutside) - events_ * kMemory;
  }

 private:
  static constexpr std::uint64_t kStart = 7'000;
  static constexpr double kInside = 41;
  static constexpr double kOutside = 97;
  static constexpr double kMemory = 13;

  std::uint64_t roll(std::uint64_t bound) { return random_() % bound; }
  std::uint32_t pick() { return stacks_[roll(stacks_.size())]; }

  /// Fills [from, to) with pieces of the enclosing op's own time and, between them, ops.
  void fill(std::uint64_t from, std::uint64_t to, std::uint32_t parent, int depth) {
    std::uint64_t time = piece(from);
    while (time + 4 * kPiece < to) {
      const std::uint64_t room = to - kPiece - time;
      const std::uint64_t length = std::min(room, 2 * kPiece + roll(room / 2 + 1));
      const std::uint32_t op = add_op(time, time + length, parent);
      if (depth < 5 && roll(3) > 0) {
        fill(time, time + length, op, depth + 1);
      }
      time = piece(time + length);
    }
  }

  /// A piece of time with perhaps a pause and an allocator event in it; the time after it.
  std::uint64_t piece(std::uint64_t from) {
    const std::uint64_t end = from + kPiece + roll(kPiece);
    if (roll(4) == 0) {
      const std::uint64_t length = 1 + roll(kPiece / 4);
      pauses_.emplace_back(from + 1, from + 1 + length);
    }
    if (roll(3) == 0) {
      events_at_.push_back(from + kPiece / 2);
    }
    return end;
  }

  std::uint32_t add_op(std::uint64_t start, std::uint64_t end, std::uint32_t parent) {
    const auto kind = roll(5);
    const Scope scope = kind == 0 ? Scope::kBackward : kind == 1 ? Scope::kUser : Scope::kFunction;
    const auto sequence = static_cast<std::int64_t>(roll(20)) - 2;
    ++ops_;
    return builder_.op({"aten::op", pick(), start, end, parent, scope, sequence, 1});
  }

  /// Those that fell inside the iteration.
  void add_pauses_and_events() {
    for (const auto& [from, to] : pauses_) {
      if (to < kStart + kSpan) {
        builder_.pause(from, to);
        paused_ += to - from;
      }
    }
    std::ranges::sort(events_at_);
    for (const std::uint64_t time : events_at_) {
      if (time < kStart + kSpan) {
        builder_.allocate({time, 0x1000 + 64 * time, 64, pick()});
        ++events_;
      }
    }
  }

  std::mt19937 random_;
  RecordingBuilder builder_;
  std::vector<std::uint32_t> stacks_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> pauses_;
  std::vector<std::uint64_t> events_at_;
  std::uint64_t paused_ = 0;
  double ops_ = 0;
  double events_ = 0;
};

class Closure : public ::testing::TestWithParam<unsigned> {};

TEST_P(Closure, CostsAreTheIterationLessTheCostOfRecording) {
  const RandomStory story(GetParam());
  const Analysed analysed(story.builder());
  EXPECT_NEAR(analysed.timeline.total_ns, story.expected_ns(), 1e-3);
  double sum = 0;
  for (const auto& [key, cost] : analysed.timeline.costs) {
    EXPECT_GE(cost.ns, 0);
    sum += cost.ns;
  }
  EXPECT_NEAR(sum, analysed.timeline.total_ns, 1e-3);
}

TEST_P(Closure, LinesAndOtherItemsAreTheIteration) {
  const RandomStory story(GetParam());
  const Analysed analysed(story.builder());
  double ms = 0;
  for (const LineCost& cost : analysed.lines.lines) {
    EXPECT_LE(cost.self_ms, cost.total_ms + 1e-9);
    EXPECT_LE(cost.total_ms, analysed.timeline.total_ns / 1e6 + 1e-9);
    ms += cost.self_ms;
  }
  EXPECT_NEAR(ms, analysed.lines.user_ms, 1e-9);
  for (const OtherCost& cost : analysed.lines.other) {
    ms += cost.ms;
  }
  EXPECT_NEAR(ms, analysed.timeline.total_ns / 1e6, 1e-9);
  EXPECT_NEAR(analysed.breakdown.ms, analysed.timeline.total_ns / 1e6, 1e-9);
}

/// What has figures decides which line owns an instant, not how much there is: the lines of a package take their time
/// from the self of the lines that call it, and from what no line owned.
TEST_P(Closure, HoldsWithThePackagesOfCode) {
  const RandomStory story(GetParam());
  const Analysed plain(story.builder());
  const Analysed analysed(story.builder(), {{"nets", {"/env/site-packages/nets"}}});
  double ms = 0;
  double of_package = 0;
  for (const LineCost& cost : analysed.lines.lines) {
    EXPECT_LE(cost.self_ms, cost.total_ms + 1e-9);
    EXPECT_LE(cost.total_ms, analysed.timeline.total_ns / 1e6 + 1e-9);
    ms += cost.self_ms;
    const std::string place = cost.location.file + ":" + std::to_string(cost.location.line);
    if (const LineCost* before = plain.line(place)) {
      EXPECT_NEAR(cost.total_ms, before->total_ms, 1e-9) << place;
      EXPECT_LE(cost.self_ms, before->self_ms + 1e-9) << place;
    } else {
      of_package += cost.self_ms;
    }
  }
  for (const OtherCost& cost : analysed.lines.other) {
    ms += cost.ms;
  }
  EXPECT_GT(of_package, 0);
  EXPECT_NEAR(ms, plain.timeline.total_ns / 1e6, 1e-9);
  EXPECT_NEAR(analysed.breakdown.ms, plain.breakdown.ms, 1e-9);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Closure, ::testing::Range(0U, 40U));

/// Nothing is promised of times that contradict each other but that nothing is lost, negative or endless.
TEST(ClosureWithoutOrder, HoldsForSpansThatContradictEachOther) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    RecordingBuilder builder;
    builder.iteration(100, 1100);
    std::uint64_t start = 0;
    for (std::uint32_t op = 0; op < 20; ++op) {
      start += random() % 100;
      const bool nested = op > 0 && random() % 2 == 0;
      builder.op({"aten::op", builder.at("a.py", op), start, start + random() % 400,
                  nested ? static_cast<std::uint32_t>(random() % op) : kNone,
                  random() % 3 == 0 ? Scope::kBackward : Scope::kFunction, static_cast<std::int64_t>(random() % 6)});
    }
    EXPECT_NEAR(Analysed(builder).timeline.total_ns, 1000, 1e-6) << round;
  }
}

}  // namespace
}  // namespace ridgeline::analysis
