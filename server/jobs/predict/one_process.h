// The step from which a job is predicted.
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/values/profile.h"
#include "protocol/experiment.h"
#include "step/graph/graph.h"

namespace ridgeline::jobs {

/// The step of one process.
struct OneProcess {
  const step::Graph& graph;
  const protocol::Replica& replica;
  analysis::Measured step_ms{};  ///< measured
  std::optional<std::uint64_t> peak_bytes{};
  int batch_size = 0;
  int threads = 1;  ///< inside operations
  bool on_host = true;
  const analysis::MemoryOverTime* memory = nullptr;  ///< null: not known
  int cores = 0;                                     ///< on which the copies of the replica ran
};

}  // namespace ridgeline::jobs
