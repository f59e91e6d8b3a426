// Modules whose forward runs again in backward: what they take, and the peak without what they keep.
#include "jobs/predict/recomputation.h"

#include <gmock/gmock.h>

#include <array>

#include "jobs/optimize/job_changes.h"
#include "jobs/replay/recorded_job.h"
#include "tests/unit/analysis/recording_builder.h"

namespace ridgeline::jobs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr std::uint64_t kInner = 1000;
constexpr std::uint64_t kOutput = 100;
const analysis::SourceScope kScope{"/project", {"/env"}, {}};

/// A step of three blocks of one class and of a loss: each keeps `kInner` until its backward and an output, which the
/// backward of the next one frees. Forward of each takes 4 ms.
recording::Recording three_blocks() {
  analysis::testing::RecordingBuilder builder;
  const auto main = builder.stack({{"train.py", "main", 20}});
  std::array<std::uint32_t, 4> stacks{};
  for (std::uint32_t i = 0; i < 3; ++i) {
    const auto block = builder.instance("Block", "blocks." + std::to_string(i), 1, "net.py", 5);
    stacks[i] = builder.child(main, {"net.py", "forward", 9, block});
  }
  stacks[3] = main;
  const std::uint64_t begin = 1000;
  const auto at = [&](std::uint64_t ms) { return (begin + ms) * kMillisecond; };
  builder.iteration(at(0), at(100));
  const auto inner = [](std::uint64_t i) { return 0x1000 + i; };
  const auto output = [](std::uint64_t i) { return 0x2000 + i; };
  for (std::uint64_t i = 0; i < 4; ++i) {
    const auto op = builder.op({"aten::mm", stacks[i], at(10 * i + 1), at(10 * i + 5), recording::kNone,
                                recording::Scope::kFunction, static_cast<std::int64_t>(i)});
    if (i == 3) {
      continue;
    }
    builder.allocate({at(10 * i + 2), inner(i), kInner, stacks[i], op});
    builder.allocate({at(10 * i + 3), output(i), kOutput, stacks[i], op});
  }
  const auto engine = builder.child(main, analysis::testing::kEngine);
  for (std::uint64_t i = 4; i-- > 0;) {
    const std::uint64_t start = 50 + 10 * (3 - i);
    builder.backward("MmBackward0", engine, at(start), at(start + 6), static_cast<std::int64_t>(i));
    if (i < 3) {
      builder.release(at(start + 3), inner(i));
    }
    if (i > 0) {
      builder.release(at(start + 4), output(i - 1));
    }
  }
  return builder.build();
}

std::vector<std::string> modules_that_fit(std::uint64_t limit, std::uint64_t peak) {
  const std::vector<recording::Recording> recordings = {three_blocks()};
  const auto fitting = fitting_recomputations(recordings, kScope, limit);
  if (fitting.empty()) {
    return {};
  }
  EXPECT_EQ(fitting.size(), 1U);
  EXPECT_EQ(fitting[0].type, "Block");
  EXPECT_EQ(fitting[0].of, 3U);
  EXPECT_EQ(fitting[0].peak_bytes, peak);
  return fitting[0].modules;
}

TEST(Recomputation, TakesTheFewestModulesThatFit) {
  EXPECT_THAT(modules_that_fit(3 * kInner, 2 * kInner + 3 * kOutput), ElementsAre("blocks.0"));
  EXPECT_THAT(modules_that_fit(2 * kInner, kInner + 3 * kOutput), ElementsAre("blocks.0", "blocks.1"));
  EXPECT_THAT(modules_that_fit(kInner, 0), IsEmpty()) << "a block needs what it keeps while it runs";
}

TEST(Recomputation, TakesForwardAgainBeforeBackward) {
  const auto recording = three_blocks();
  RankRecord record{0, 1, "host", {}};
  record.iterations = {
      {1, static_cast<std::int64_t>(1000 * kMillisecond), static_cast<std::int64_t>(1100 * kMillisecond)}};
  const std::vector<recording::Recording> recordings = {recording};
  const std::vector<RankRecord> records = {record};
  auto job = recorded_job(records, records, recordings, kScope);
  ASSERT_TRUE(job) << job.error().message();
  const auto plain = replay(*job);
  ASSERT_TRUE(plain);
  const auto changed = with_recomputation(*job, {"blocks.0", "blocks.2"});
  ASSERT_TRUE(changed) << changed.error().message();
  const auto replayed = replay(*changed);
  ASSERT_TRUE(replayed);
  const std::int64_t more_ns = replayed->step_ns[0][0] - plain->step_ns[0][0];
  EXPECT_GE(more_ns, static_cast<std::int64_t>(8 * kMillisecond)) << "what is between operations goes to one of them";
  EXPECT_LE(more_ns, static_cast<std::int64_t>(20 * kMillisecond));
  EXPECT_FALSE(with_recomputation(*job, {"blocks.7"}));
}

}  // namespace
}  // namespace ridgeline::jobs
