// Programs for a GPU: tiles in shared memory and in registers, as the white-box model judges them (H. Zhu's thesis,
// chapters 5 and 6).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

#include "base/result.h"
#include "operations/device/device.h"
#include "operations/kernels/elementwise_plan.h"
#include "operations/kernels/matmul_plan.h"
#include "operations/kernels/ranked.h"
#include "operations/kernels/reduction_plan.h"

namespace ridgeline::operations {

using Operation = std::variant<MatmulShape, ElementwiseShape, ReductionShape>;

/// What a block of threads computes. Of a product a tile of the result; of a chain as many elements; of a reduction one
/// result (dim 1) or a tile of them, each by as many threads as there are for it (dim 0).
struct CudaPlan {
  Operation operation;
  std::int64_t tile_rows = 1;
  std::int64_t tile_columns = 1;
  std::int64_t thread_rows = 1;     ///< of the tile, what each thread computes
  std::int64_t thread_columns = 1;  ///< likewise
  std::int64_t threads = 1;         ///< of a block
  std::int64_t blocks_across = 1;   ///< of the grid; of products also down, and one layer for each batch
  std::int64_t blocks_down = 1;
  std::int64_t batches = 1;
  double useful = 1;      ///< of what the blocks compute: less where tiles do not divide a product's result
  double last_wave = 1;   ///< multiprocessors that work in the last wave of a product's blocks, of all
  double ns = 0;          ///< predicted
  std::string slowest{};  ///< the stage that takes longest: "compute", "shared" or "memory"
  bool operator==(const CudaPlan&) const = default;
};

/// The best `top` programs by prediction: of products by product_tilings() and by how many warps of a
/// multiprocessor hide what each waits for, of others few, which take as
/// long as their bytes when each unit has a block. An error where the GPU's description lacks what the model needs, or
/// its grid is too small.
base::Result<Ranked<CudaPlan>> construct_cuda(const Operation& operation, const Device& gpu, std::size_t top);

/// CUDA C++ for NVRTC or nvcc: the function "ridgeline_matmul", "…_conv", "…_elementwise" or "…_reduce" of the operands
/// and then the result, and how to launch it, as constants and in words.
std::string cuda_source(const CudaPlan& plan);

}  // namespace ridgeline::operations
