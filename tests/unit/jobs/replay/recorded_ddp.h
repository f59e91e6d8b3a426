// Recorded jobs of two equal ranks with DistributedDataParallel.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "jobs/replay/recorded_job.h"
#include "tests/unit/analysis/recording_builder.h"

namespace ridgeline::jobs::testing {

struct DdpStep {
  std::vector<std::int64_t> ready_us{};  ///< by gradient, ascending; what is between two is computed
  std::vector<std::uint64_t> bytes{};    ///< likewise
  std::vector<std::size_t> buckets{};    ///< how many gradients each has
  std::int64_t optimizer_us = 440;       ///< behind the last all-reduce
  std::int64_t latency_us = 10;          ///< of an all-reduce
  std::int64_t us_per_kb = 10;           ///< likewise
  std::int64_t pointwise_us = 0;         ///< of two operations at the begin, before the first gradient
};

/// Two steps. Buckets are called with their last gradient, begin 5 us later or when the one before is over.
class DdpJob {
 public:
  std::vector<recording::Recording> recordings{};
  std::vector<jobs::RankRecord> records{};

  explicit DdpJob(const DdpStep& step) {
    for (int rank = 0; rank < 2; ++rank) {
      analysis::testing::RecordingBuilder builder;
      jobs::RankRecord record{rank, 2, "host", {{"0", "gloo", {0, 1}}}};
      std::int64_t begin_us = 10'000;
      for (std::int64_t number = 0; number < 2; ++number) {
        begin_us = add_step(builder, record, step, number, begin_us);
      }
      recordings.push_back(builder.build());
      records.push_back(std::move(record));
    }
  }

  base::Result<RecordedJob> made() const {
    static const analysis::SourceScope scope{"/project", {"/env"}, {}};
    return recorded_job(records, records, recordings, scope);
  }

 private:
  static constexpr std::int64_t kNsPerUs = 1000;

  /// The end of the step.
  static std::int64_t add_step(analysis::testing::RecordingBuilder& builder, jobs::RankRecord& record,
                               const DdpStep& step, std::int64_t number, std::int64_t begin_us) {
    const std::uint32_t line = builder.stack({{"train.py", "main", 22}});
    const auto at = [&](std::int64_t us) { return static_cast<std::uint64_t>((begin_us + us) * kNsPerUs); };
    const std::int64_t reduced = last_end_us(step);
    const std::int64_t end = reduced + step.optimizer_us;
    builder.iteration(at(0), at(end));
    std::int64_t before = step.pointwise_us;
    if (before > 0) {
      builder.op({"aten::mul", line, at(0), at(before / 2)});
      builder.op({"aten::relu", line, at(before / 2), at(before)});
    }
    for (const std::int64_t ready : step.ready_us) {
      builder.op({"aten::mm", line, at(before), at(ready - 1)});
      builder.op({"torch::autograd::AccumulateGrad", line, at(ready - 1), at(ready)});
      before = ready;
    }
    const std::uint32_t optimizer = builder.stack({{"train.py", "main", 22}, analysis::testing::kOptimizer});
    builder.op({"aten::add", optimizer, at(reduced), at(end)});
    record.iterations.push_back({40 + number, begin_us * kNsPerUs, (begin_us + end) * kNsPerUs});
    add_buckets(record, step, number, begin_us);
    return begin_us + end;
  }

  static std::int64_t last_end_us(const DdpStep& step) {
    jobs::RankRecord record;
    add_buckets(record, step, 0, 0);
    return record.collectives.back().ended_ns / kNsPerUs;
  }

  static void add_buckets(jobs::RankRecord& record, const DdpStep& step, std::int64_t number, std::int64_t begin_us) {
    std::size_t next = 0;
    std::int64_t over_ns = 0;
    for (std::size_t bucket = 0; bucket < step.buckets.size(); ++bucket) {
      jobs::Collective one;
      one.kind = jobs::CollectiveKind::kAllReduce;
      one.sequence = static_cast<std::uint64_t>(number) * step.buckets.size() + bucket;
      one.bucket = static_cast<int>(bucket);
      for (const std::size_t end = next + step.buckets[bucket]; next < end; ++next) {
        one.parameter_bytes.push_back(step.bytes[next]);
        one.bytes += step.bytes[next];
      }
      one.parameters.resize(one.parameter_bytes.size());
      one.called_ns = (begin_us + step.ready_us[next - 1]) * kNsPerUs;
      one.started_ns = std::max(one.called_ns + 5 * kNsPerUs, over_ns);
      one.ended_ns =
          one.started_ns + step.latency_us * kNsPerUs + static_cast<std::int64_t>(one.bytes) * step.us_per_kb;
      over_ns = one.ended_ns;
      if (next == step.bytes.size()) {
        one.waited_ns = one.ended_ns - one.called_ns;
      }
      one.iteration = static_cast<std::uint32_t>(number);
      record.collectives.push_back(one);
    }
  }
};

}  // namespace ridgeline::jobs::testing
