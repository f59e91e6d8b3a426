// What training in a pipeline of stages would take, from the graph of one process's step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/values/job_prediction.h"
#include "base/result.h"
#include "protocol/experiment.h"
#include "step/graph/graph.h"

namespace ridgeline::jobs {

/// Which end of what is not known for certain.
enum class Bound : std::uint8_t { kFast, kMiddle, kSlow };

/// Nanoseconds: on its way, and of the core of a rank at either end.
struct PipelineTransfer {
  double ns = 0;
  double processor_ns = 0;
};

/// What the graph's times become on the machines of the pipeline.
class PipelineCosts {
 public:
  virtual ~PipelineCosts() = default;
  /// Of the graph's times, of a rank alone.
  virtual double scale(Bound bound) const = 0;
  /// While all ranks of a machine compute.
  virtual double slow_down(Bound bound) const = 0;
  /// Of a stage's output.
  virtual PipelineTransfer transfer(double bytes, Bound bound) const = 0;
};

struct PipelineProcess {
  const step::Graph& graph;
  const protocol::Replica& replica;
  const PipelineCosts& costs;
  bool on_host = true;
  int micro_batches = 1;
  bool forward_first = false;
  int batch_size = 0;                           ///< of a micro-batch
  double alone_ms = 0;                          ///< the step of one process
  std::vector<std::size_t> machine_of_stage{};  ///< one for each stage
};

/// Each stage has the modules of balanced_stages(). The optimizer takes the stage's share of the weights; at the slow
/// end all of it, a stage computes nothing while it sends and, on the host, nothing is sent before its receiver waits.
/// An error says why it cannot be predicted. Pure.
base::Result<analysis::PredictedPipeline> predict_pipeline(const PipelineProcess& process);

}  // namespace ridgeline::jobs
