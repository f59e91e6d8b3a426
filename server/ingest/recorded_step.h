// What a step of a trace ran on its GPU: operations with their shapes, and how long their kernels took.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ingest/host_sweep.h"
#include "ingest/trace.h"
#include "protocol/recording_columns.h"

namespace ridgeline::ingest {

/// Calls of one operator with the same inputs.
struct RecordedOperation {
  std::string name{};                ///< of the operator; of a kernel that none launched, the kernel's
  std::optional<std::string> key{};  ///< as recorded_key() makes it
  bool has_shapes = false;
  int count = 0;  ///< a step
  double ns = 0;  ///< of the kernels, copies within the device and fills that one call launched: the mean
};

struct RecordedStep {
  std::string device{};    ///< as the driver names it; empty: not recorded
  bool has_steps = false;  ///< the profiler's; else the whole trace is one
  int steps = 0;           ///< that were recorded
  double ns = 0;           ///< that the operations took on the device: of the step in the middle by that time
  double low_ns = 0;       ///< of the step where that is least
  double high_ns = 0;      ///< of that where it is most
  std::vector<RecordedOperation> operations{};  ///< of the step in the middle; those that took longest first
  double communication_ns = 0;                  ///< of that step's collectives, which are no operations here
  double transfer_ns = 0;                       ///< likewise, of copies from and to the host
};

/// An operation is the innermost that a launching call lies in, and attention's as a whole. It belongs to the step in
/// which it launched, whenever its kernels ran; kernels that the trace has no launch of, and that ran before all
/// others, are of a step before the recording. `columns` has the calls, activities and iterations of the trace;
/// `device` is the one that counts. Pure. Throws ImportError where nothing ran on the device in a step, or the trace
/// has no shapes.
RecordedStep recorded_step(const Trace& trace, const HostSweep& host, const recording::Columns& columns,
                           std::uint32_t device);

}  // namespace ridgeline::ingest
