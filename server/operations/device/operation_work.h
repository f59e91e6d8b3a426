// What an operation has to compute and to move, from its key: floating-point operations and bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "operations/device/operation_call.h"

namespace ridgeline::operations {

enum class OperationKind : std::uint8_t {
  kMatrix,       ///< products of matrices: mm, convolutions, attention, recurrent layers, and their gradients
  kElementwise,  ///< each element of the result by itself; optimizers
  kReduction,    ///< sums, means, norms, softmax, normalization, pooling, losses
  kData,         ///< copies, gathers, concatenations, fills: nothing is computed
  kView,         ///< nothing is computed or moved
};

/// Matrices: `flops` are those of torch.utils.flop_counter.FlopCounterMode, but for convolutions with groups, of whose
/// weight gradients it counts each group as if it had all inputs. Other kinds: one operation for each arithmetic
/// instruction and element, with a table of names (exp, tanh and the like are one): a lower bound.
struct OperationWork {
  OperationKind kind = OperationKind::kView;
  std::string dtype;  ///< of the computation: that of the first tensor
  double flops = 0;
  double read_bytes = 0;     ///< each tensor once, an expanded one as far as it is stored
  double written_bytes = 0;  ///< likewise
  double bytes() const { return read_bytes + written_bytes; }
};

/// Nothing for an operation that is not modelled, whose name is none of ours or whose arguments are not as torch's.
std::optional<OperationWork> work_of(const OperationCall& call);
std::optional<OperationWork> work_of(std::string_view key);

/// "matrix", "elementwise", "reduction", "data", "view".
std::string_view kind_name(OperationKind kind);

}  // namespace ridgeline::operations
