// A step to export: a module's operation with its backward pass, memory, and work of a device.
#pragma once

#include <string>
#include <utility>

#include "analysis/build_profile.h"
#include "tests/unit/analysis/analysed.h"

namespace ridgeline::report::testing {

using namespace analysis::testing;

struct Exported {
  analysis::RecordedRun recorded;
  analysis::Profile profile;
};

/// Analysed as a run at batch size 1 whose bare step takes `bare_ns`.
inline Exported exported(const RecordingBuilder& builder, double bare_ns) {
  analysis::RunInput input;
  input.entry_path = "/project/entry.py";
  input.scope = project_scope();
  input.batch_size = 1;
  input.runs.push_back({1, 0, {bare_ns}, builder.build()});
  analysis::Profile profile = analysis::build_profile(input);
  return {{std::move(input.runs.front()), std::move(input.scope)}, std::move(profile)};
}

/// Two steps of 100 ms with the peak in the second.
inline RecordingBuilder two_steps() {
  RecordingBuilder builder;
  const std::uint32_t layer = builder.instance("Linear", "net.layer");
  const std::uint32_t line =
      builder.stack({{"entry.py", "step", 12}, {"net.py", "forward", 7}, {"net.py", "forward", 3, layer}});
  for (const std::uint64_t start : {100 * kMs, 300 * kMs}) {
    builder.iteration(start, start + 100 * kMs);
    const std::uint32_t op = builder.op({"aten::linear", line, start + 10 * kMs, start + 40 * kMs, kNone,
                                         Scope::kFunction, static_cast<std::int64_t>(start)});
    builder.op({"aten::addmm", line, start + 12 * kMs, start + 38 * kMs, op});
    builder.backward("LinearBackward0", 0, start + 60 * kMs, start + 90 * kMs, static_cast<std::int64_t>(start));
    builder.allocate({start + 20 * kMs, start, start / kMs, line, op}).release(start + 80 * kMs, start);
    const std::uint32_t call =
        builder.call({.start = start + 15 * kMs, .end = start + 16 * kMs, .op = op + 1, .stack = line});
    builder.activity({"gemm", start + 20 * kMs, start + 50 * kMs, call});
    builder.activity({"graph's part", start + 45 * kMs, start + 55 * kMs, call});  // overlaps in the same stream
  }
  return builder;
}

}  // namespace ridgeline::report::testing
