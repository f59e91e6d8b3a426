// The processor, measured.
#pragma once

#include <chrono>
#include <string>

#include "base/function_ref.h"
#include "operations/device/device.h"
#include "operations/microbenchmarks/processor.h"

namespace ridgeline::operations {

struct Measured {
  Device device;
  bool disturbed = false;  ///< other processes had the cores in each repetition of a benchmark: its rate is too low
};

struct MeasureRequest {
  std::string name;                     ///< of the processor
  double memory_bytes = 0;              ///< that this process may use
  std::chrono::milliseconds each{250};  ///< for each benchmark: the best of its repetitions counts
};

/// What one core and all cores reach: multiply-adds in registers; reading and STREAM's triad over half of each cache,
/// and over at least four times the last one for the memory (STREAM's rule). A rate is the best repetition's, so that
/// other processes disturb it little. Starts threads, and pins them to cores; takes about 25 times `each`.
/// `note`: called before each benchmark with what it measures.
Measured measure_processor(const MeasureRequest& request, const Processor& processor,
                           base::FunctionRef<void(const std::string&)> note);

}  // namespace ridgeline::operations
