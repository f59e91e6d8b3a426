// What the operations of a step ask of the machine, and what they attain of it. Values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/values/location.h"

namespace ridgeline::analysis {

/// Sums over operations in one iteration. FLOPs and bytes are those that shapes imply
/// (server/operations/device/operation_work.h): bytes count each tensor once, as with ideal caches.
struct WorkCost {
  int operations = 0;           ///< that ran
  double ms = 0;                ///< in the step: on the device where they have kernels, else on the host
  double flops = 0;             ///< of matrices and others
  double matrix_flops = 0;      ///< as torch.utils.flop_counter.FlopCounterMode counts
  double bytes = 0;             ///< read and written
  double not_modelled_ms = 0;   ///< of ms: operations whose work is not known
  double bounded_ms = 0;        ///< of ms: operations that have a bound
  double bound_ms = 0;          ///< the least time that the device needs for those, one by one
  double compute_bound_ms = 0;  ///< of bound_ms: operations whose FLOPs take longer than their bytes
  double matrix_peak_ms = 0;    ///< matrix_flops at the peaks of their types

  /// FLOPs per byte; nothing where no byte is moved.
  std::optional<double> intensity() const { return bytes > 0 ? std::optional(flops / bytes) : std::nullopt; }
  /// Share of the roofline bound; nothing without bounds. Above 1: the description of the device is too slow.
  std::optional<double> attained() const {
    return bounded_ms > 0 && bound_ms > 0 ? std::optional(bound_ms / bounded_ms) : std::nullopt;
  }
  bool is_compute_bound() const { return compute_bound_ms > bound_ms / 2; }
};

/// The calls of one operation with the same arguments, on one line.
struct OperationCost {
  std::string key;  ///< as measure/operation_key.py of the runner writes it; where too long to keep, the name alone
  WorkCost work;
};

inline constexpr std::size_t kWorkPhases = 6;  ///< kPhaseCount
inline constexpr std::size_t kMaxLineOperations = 4;
inline constexpr std::size_t kMaxKeptKeyBytes = 1024;

struct LineWork {
  Location location;
  WorkCost work;
  std::vector<OperationCost> operations;  ///< most time first, at most kMaxLineOperations
};

/// Where the bounds come from.
struct WorkDevice {
  std::string name;
  bool measured = false;  ///< by `ridgeline machine measure`; else the vendor's data sheet
  int units = 0;          ///< threads, or multiprocessors, that the bounds are for
};

inline constexpr std::int64_t kPaddingVector = 8;  ///< elements of a vector, as operations/device/padding.h has them

/// A width that linear layers share and that the processor's library computes slowly.
struct Padding {
  Location location;                 ///< of the line that calls the first of the layers; without a file: none
  std::vector<std::string> modules;  ///< whose `out_features` it is, as they ran; at most kMaxPaddedModules
  std::int64_t size = 0;
  std::int64_t padded = 0;  ///< that is predicted to take less time
  double ms = 0;            ///< of the step: the products that have the width
  double saved_ms = 0;      ///< of those, predicted by operations::best_padding; the others are its interval
  double saved_low_ms = 0;
  double saved_high_ms = 0;

  /// How full, from 0 to 1, the last vector of kPaddingVector elements is in a row of `size` elements.
  double last_vector_fill() const {
    const std::int64_t rest = size % kPaddingVector;
    return rest == 0 ? 1 : static_cast<double>(rest) / static_cast<double>(kPaddingVector);
  }
};

/// A program for an operation of the step (`ridgeline kernel --of`), which took less time than torch's where both were
/// run alone, one after the other.
struct OwnProgram {
  Location location;      ///< of the line on which the operation takes most time
  std::string operation;  ///< as `ridgeline kernel` reads it
  double ms = 0;          ///< of the step: the operation, on all lines
  double saved_ms = 0;    ///< of that, predicted: the step was not run with the program
  double ratio = 1;       ///< measured: the program's time over torch's; the others are its interval of 95 %
  double ratio_low = 1;
  double ratio_high = 1;  ///< below 1
  bool operator==(const OwnProgram&) const = default;
};

inline constexpr std::size_t kMaxOwnPrograms = 8;
inline constexpr std::size_t kMaxPaddings = 4;
inline constexpr std::size_t kMaxPaddedModules = 64;

/// The work of an iteration whose operations were listed after all measurements and matched to the recorded iteration.
struct StepWork {
  std::string not_listed;            ///< why there is nothing else; empty: they were listed
  int listed = 0;                    ///< operations of the step
  int found = 0;                     ///< of those, in the recording; `ms` and what follows from it is of these
  std::optional<WorkDevice> device;  ///< absent: there are no bounds
  WorkCost total;                    ///< of all that were listed
  std::array<WorkCost, kWorkPhases> by_phase{};  ///< by Phase; of those that were found
  std::vector<LineWork> lines;                   ///< most time first; of those that were found
  /// FLOPs of matrices without recomputation, at the peaks of their types, over the iteration time: model FLOP
  /// utilisation (Chowdhery et al., PaLM, 2022, appendix B). Nothing where a type has no peak.
  std::optional<double> model_flop_utilisation;
  std::vector<Padding> paddings;         ///< most saved first, at most kMaxPaddings
  std::vector<OwnProgram> own_programs;  ///< most saved first, at most kMaxOwnPrograms; of those that were run
};

}  // namespace ridgeline::analysis
