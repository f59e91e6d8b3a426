// The time of an operation from its time on another GPU, where both run the same kernel.
#pragma once

#include <optional>
#include <span>

#include "operations/device/device.h"
#include "operations/device/operation_call.h"
#include "operations/device/operation_work.h"
#include "operations/estimators/estimator.h"

namespace ridgeline::operations {

/// An operation's time on a GPU.
struct TimeElsewhere {
  const Device* device = nullptr;  ///< not null
  double ns = 0;
};

/// By wave scaling (wave_scaling.h) of the time on the GPU whose memory is most alike in speed; not faster than the
/// roofline allows. Between GPUs whose warps are as wide, which keeps vendors apart. Element-wise operations and
/// reductions only, that move more than the caches of both hold: products, convolutions and recurrent layers run other
/// kernels elsewhere (Habitat, section 3.4), and of smaller operations the launch counts. The interval held all times
/// of five GPUs scaled to each other: docs/dev/architecture/estimators.md.
std::optional<Estimate> scaled_time(const OperationWork& work, const Device& device,
                                    std::span<const TimeElsewhere> elsewhere);

/// The time of a matrix product (mm and addmm in float32 and bfloat16, bmm in float32) or a convolution (in float32 and
/// two dimensions, without groups and dilation, of contiguous tensors; backward too), which runs another kernel
/// elsewhere: the time on the GPU whose memory is most alike in speed, scaled by the plain rooflines. Only where
/// computing bounds it on both GPUs and it attained half of the roofline there; in float32, where both may draw 10 W
/// (convolutions: 8) for each TFLOP/s. The intervals held on a few GPUs scaled to each other:
/// docs/dev/architecture/estimators.md. Nothing for what was faster than its type allows: tensor cores computed it.
/// Where only the target has tf32, the interval of a product begins at its bound, since the program may allow that;
/// convolutions, which torch computes with tf32 unless told otherwise, are not scaled where a GPU has it.
std::optional<Estimate> scaled_product(const OperationCall& call, const Device& device,
                                       std::span<const TimeElsewhere> elsewhere);

/// The time by whichever of the two has a rule for the operation. `work`: of the call.
std::optional<Estimate> scaled(const OperationCall& call, const OperationWork& work, const Device& device,
                               std::span<const TimeElsewhere> elsewhere);

}  // namespace ridgeline::operations
