#include "jobs/optimize/fused_operations.h"

#include <gmock/gmock.h>

#include <optional>
#include <string_view>
#include <vector>

#include "tests/unit/analysis/recording_builder.h"

namespace ridgeline::jobs {
namespace {

using analysis::testing::RecordingBuilder;
using ::testing::HasSubstr;

constexpr std::int64_t kMicrosecond = 1000;
constexpr std::int64_t kFusedStepUs = 1000;
constexpr std::int64_t kReducedUs = 100;

struct Timed {
  std::string_view name;
  std::int64_t begin_us = 0;
  std::int64_t end_us = 0;
  bool is_inside = false;  ///< the last one that is not
};

/// Two steps of 1 ms of two ranks that run these operations, and wait for an all-reduce from `called_us` on.
class OperationsJob {
 public:
  explicit OperationsJob(const std::vector<Timed>& operations, std::optional<std::int64_t> called_us = {}) {
    for (int rank = 0; rank < 2; ++rank) {
      RecordingBuilder builder;
      RankRecord record{rank, 2, "host", {{"0", "gloo", {0, 1}}}};
      for (std::int64_t step = 0; step < 2; ++step) {
        add_step(builder, record, step, operations, called_us);
      }
      recordings_.push_back(builder.build());
      records_.push_back(std::move(record));
    }
  }

  base::Result<RecordedJob> made() const {
    static const analysis::SourceScope scope{"/project", {"/env"}, {}};
    return recorded_job(records_, records_, recordings_, scope);
  }

  /// Microseconds of the first step with fused operations.
  std::int64_t fused_us(double share) const {
    const auto job = made();
    const auto fused = job ? with_fused_operations(*job, share) : job;
    const auto replayed = fused ? replay(*fused) : base::Result<Replay>(fused.error());
    EXPECT_TRUE(replayed) << replayed.error().message();
    return replayed ? replayed->step_ns[0][0] / kMicrosecond : 0;
  }

 private:
  static void add_step(RecordingBuilder& builder, RankRecord& record, std::int64_t step,
                       const std::vector<Timed>& operations, std::optional<std::int64_t> called_us) {
    const std::uint32_t line = builder.stack({{"train.py", "main", 22}});
    const std::int64_t begin = (10'000 + step * kFusedStepUs) * kMicrosecond;
    const auto at = [&](std::int64_t us) { return static_cast<std::uint64_t>(begin + us * kMicrosecond); };
    builder.iteration(at(0), at(kFusedStepUs));
    std::uint32_t outer = recording::kNone;
    for (const Timed& one : operations) {
      const std::uint32_t parent = one.is_inside ? outer : recording::kNone;
      const std::uint32_t id = builder.op({one.name, line, at(one.begin_us), at(one.end_us), parent});
      if (!one.is_inside) {
        outer = id;
      }
    }
    record.iterations.push_back({40 + step, begin, begin + kFusedStepUs * kMicrosecond});
    if (!called_us.has_value()) {
      return;
    }
    Collective one;
    one.kind = CollectiveKind::kAllReduce;
    one.sequence = static_cast<std::uint64_t>(step);
    one.bytes = 1000;
    one.called_ns = one.started_ns = begin + *called_us * kMicrosecond;
    one.ended_ns = one.called_ns + kReducedUs * kMicrosecond;
    one.waited_ns = kReducedUs * kMicrosecond;
    one.iteration = static_cast<std::uint32_t>(step);
    record.collectives.push_back(one);
  }

  std::vector<recording::Recording> recordings_;
  std::vector<RankRecord> records_;
};

TEST(FusedOperations, TakeBetweenTheLongestAndAllOfThem) {
  const OperationsJob job({{"aten::mm", 0, 100},
                           {"aten::add", 100, 160},
                           {"aten::relu_", 160, 190},
                           {"aten::mm", 190, 400},
                           {"aten::gelu", 400, 500},
                           {"aten::mm", 500, kFusedStepUs}});
  EXPECT_EQ(job.fused_us(0), kFusedStepUs - 30) << "the addition is longest; nothing is beside the other one";
  EXPECT_EQ(job.fused_us(0.5), kFusedStepUs - 15);
  EXPECT_EQ(job.fused_us(1), kFusedStepUs);
}

TEST(FusedOperations, PythonBetweenThemStays) {
  const OperationsJob job({{"aten::add", 0, 100}, {"aten::relu", 150, 250}, {"aten::mm", 250, kFusedStepUs}});
  EXPECT_EQ(job.fused_us(0), kFusedStepUs - 100);
}

TEST(FusedOperations, NoneIsFusedAcrossAWait) {
  const OperationsJob job({{"aten::add", 0, 200}, {"aten::relu", 300, 600}, {"aten::mm", 600, kFusedStepUs}}, 200);
  const auto made = job.made();
  ASSERT_TRUE(made) << made.error().message();
  const auto fused = with_fused_operations(*made, 0);
  ASSERT_FALSE(fused);
  EXPECT_THAT(fused.error().message(), HasSubstr("no two pointwise operations follow each other"));
}

TEST(FusedOperations, NoGradientIsReadyLater) {
  const OperationsJob job({{"aten::mul", 0, 100},
                           {"aten::add", 100, 200},
                           {"torch::autograd::AccumulateGrad", 150, 160, true},
                           {"aten::relu", 200, 300},
                           {"aten::mm", 300, kFusedStepUs}});
  EXPECT_EQ(job.fused_us(0), kFusedStepUs - 40) << "what is left of the addition, with the one behind it";
}

}  // namespace
}  // namespace ridgeline::jobs
