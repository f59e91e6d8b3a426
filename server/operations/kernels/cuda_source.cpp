#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "operations/device/bank_conflicts.h"
#include "operations/device/tile_model.h"
#include "operations/kernels/convolution.h"
#include "operations/kernels/cuda_plan.h"
#include "operations/kernels/kernel_source.h"
#include "operations/kernels/sizes.h"

namespace ridgeline::operations {

namespace {

constexpr std::string_view kCudaProduct = R"code(
// kDepthStep: of the depth, that is in shared memory at once; stored rows are padded against conflicts of banks.
constexpr int kThreadsAcross = kTileColumns / kThreadColumns;
constexpr int kThreadsDown = kTileRows / kThreadRows;
constexpr int kRowGroup = kThreadRows < 4 ? kThreadRows : 4;  // of a thread's elements, those beside each other
constexpr int kColumnGroup = kThreadColumns < 4 ? kThreadColumns : 4;
constexpr int kBlocksOfUnit = kThreads < 512 ? 512 / kThreads : 1;  // at least: then each thread has 128 registers
constexpr int kOfLeft = (kDepthStep * kTileRows + kThreads - 1) / kThreads;  // elements that a thread brings
constexpr int kOfRight = (kDepthStep * kTileColumns + kThreads - 1) / kThreads;

template <int kCount>
struct alignas(sizeof(float) * kCount) Group {  // moved by one instruction
  float of[kCount];
};

// What a thread reads of a row in shared memory: groups, between which are those of the other threads.
template <int kCount, int kGroup, int kThreadsBeside>
__device__ inline void read(const float* row, int thread, float (&values)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; i += kGroup) {
    const auto group = *reinterpret_cast<const Group<kGroup>*>(row + i * kThreadsBeside + thread * kGroup);
#pragma unroll
    for (int j = 0; j < kGroup; ++j) values[i + j] = group.of[j];
  }
}

@RIGHT@
}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads, kBlocksOfUnit) ridgeline_@NAME@(@PARAMETERS@, float* __restrict__ c) {
  alignas(16) __shared__ float left[2][kDepthStep][kStoredRows];
  alignas(16) __shared__ float right[2][kDepthStep][kStoredColumns];
  const int thread = static_cast<int>(threadIdx.x);
  const int across = thread % kThreadsAcross, down = thread / kThreadsAcross;
  const int row = static_cast<int>(blockIdx.y) * kTileRows;
  const int column = static_cast<int>(blockIdx.x) * kTileColumns;
  const long long batch = blockIdx.z;
  const float* a_batch = a + @A_BATCH@;
  const float* b_batch = b + @B_BATCH@;
  float* c_batch = c + batch * kRows * kColumns;
  float of_left[kOfLeft], of_right[kOfRight];
  const auto load = [&](int first) {
#pragma unroll
    for (int i = 0; i < kOfLeft; ++i) {
      const int at = thread + i * kThreads, k = first + at % kDepthStep, m = row + at / kDepthStep;
      of_left[i] = k < kDepth && m < kRows ? a_batch[m * kDepth + k] : 0.0f;
    }
#pragma unroll
    for (int i = 0; i < kOfRight; ++i) {
      const int at = thread + i * kThreads, k = first + depth_of_right(at), n = column + column_of_right(at);
      of_right[i] = k < kDepth && n < kColumns ? right_element(b_batch, k, n) : 0.0f;
    }
  };
  const auto keep = [&](int half) {
#pragma unroll
    for (int i = 0; i < kOfLeft; ++i) {
      const int at = thread + i * kThreads;
      if (at < kDepthStep * kTileRows) left[half][at % kDepthStep][at / kDepthStep] = of_left[i];
    }
#pragma unroll
    for (int i = 0; i < kOfRight; ++i) {
      const int at = thread + i * kThreads;
      if (at < kDepthStep * kTileColumns) right[half][depth_of_right(at)][column_of_right(at)] = of_right[i];
    }
  };
  float sums[kThreadRows][kThreadColumns] = {};
  load(0);
  keep(0);
  __syncthreads();
  int half = 0;  // of shared memory: one is read while the other is filled
  for (int first = 0; first < kDepth; first += kDepthStep) {
    const bool is_last = first + kDepthStep >= kDepth;
    if (!is_last) load(first + kDepthStep);
#pragma unroll
    for (int k = 0; k < kDepthStep; ++k) {
      float rows[kThreadRows], columns[kThreadColumns];
      read<kThreadRows, kRowGroup, kThreadsDown>(left[half][k], down, rows);
      read<kThreadColumns, kColumnGroup, kThreadsAcross>(right[half][k], across, columns);
#pragma unroll
      for (int i = 0; i < kThreadRows; ++i) {
#pragma unroll
        for (int j = 0; j < kThreadColumns; ++j) sums[i][j] += rows[i] * columns[j];
      }
    }
    half = 1 - half;
    if (!is_last) keep(half);
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kThreadRows; ++i) {
    const int m = row + i / kRowGroup * kRowGroup * kThreadsDown + down * kRowGroup + i % kRowGroup;
#pragma unroll
    for (int j = 0; j < kThreadColumns; ++j) {
      const int n = column + j / kColumnGroup * kColumnGroup * kThreadsAcross + across * kColumnGroup + j % kColumnGroup;
      if (m < kRows && n < kColumns) {
        float value = sums[i][j];
@FUSED@        c_batch[m * kColumns + n] = value;
      }
    }
  }
}
)code";

constexpr std::string_view kCudaMatrix = R"code(
__device__ inline int depth_of_right(int at) { return at / kTileColumns; }
__device__ inline int column_of_right(int at) { return at % kTileColumns; }
__device__ inline float right_element(const float* b, int k, int n) { return b[k * kColumns + n]; }
)code";

constexpr std::string_view kCudaTransposed = R"code(
__device__ inline int depth_of_right(int at) { return at % kDepthStep; }
__device__ inline int column_of_right(int at) { return at / kDepthStep; }
__device__ inline float right_element(const float* b, int k, int n) { return b[n * kDepth + k]; }
)code";

constexpr std::string_view kCudaImage = R"code(
__device__ inline int depth_of_right(int at) { return at / kTileColumns; }
__device__ inline int column_of_right(int at) { return at % kTileColumns; }
// Of the image below the kernel; outside of the image are zeros.
__device__ inline float right_element(const float* image, int k, int n) {
  const int y = n / kOutputWidth * kStride + k / kKernel % kKernel - kPadding;
  const int x = n % kOutputWidth * kStride + k % kKernel - kPadding;
  const bool is_inside = y >= 0 && y < kHeight && x >= 0 && x < kWidth;
  return is_inside ? image[(k / (kKernel * kKernel) * kHeight + y) * kWidth + x] : 0.0f;
}
)code";

constexpr std::string_view kCudaChain = R"code(
__device__ inline float relu(float x) { return x < 0.0f ? 0.0f : x; }
__device__ inline float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }
__device__ inline float tanh(float x) { return tanhf(x); }
__device__ inline float exp(float x) { return expf(x); }
__device__ inline float gelu(float x) { return 0.5f * x * (1.0f + erff(x * 0.70710678f)); }

__device__ inline float chain(@VALUES@) {
@STEPS@}

}  // namespace

extern "C" __global__ void ridgeline_elementwise(@PARAMETERS@, float* __restrict__ result) {
  const int first = static_cast<int>(blockIdx.x) * kTileColumns + static_cast<int>(threadIdx.x);
  for (int i = 0; i < kThreadColumns; ++i) {
    const int at = first + i * kThreads;
    if (at < kRows * kColumns) result[at] = chain(@ELEMENTS@);
  }
}
)code";

constexpr std::string_view kCudaCombine = R"code(
@COMBINED@
@FINISHED@
}  // namespace
)code";

constexpr std::string_view kCudaRows = R"code(
extern "C" __global__ void ridgeline_reduce(const float* __restrict__ a, float* __restrict__ result) {
  __shared__ float parts[kThreads];
  const int thread = static_cast<int>(threadIdx.x);
  const float* row = a + static_cast<long long>(blockIdx.x) * kColumns;
  float value = @START@;
  for (int i = thread; i < kColumns; i += kThreads) value = combined(value, row[i]);
  parts[thread] = value;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (thread < half) parts[thread] = combined(parts[thread], parts[thread + half]);
  }
  if (thread == 0) result[blockIdx.x] = finished(parts[0]);
}
)code";

constexpr std::string_view kCudaColumns = R"code(
extern "C" __global__ void ridgeline_reduce(const float* __restrict__ a, float* __restrict__ result) {
  constexpr int kParts = kThreads / kTileColumns;  // of the rows, each of which one thread reduces
  __shared__ float parts[kParts][kTileColumns];
  const int across = static_cast<int>(threadIdx.x) % kTileColumns;
  const int part = static_cast<int>(threadIdx.x) / kTileColumns;
  const int place = static_cast<int>(blockIdx.x) * kTileColumns + across;
  const int column = place < kColumns ? place : 0;  // all threads meet at the barriers
  float value = @START@;
#pragma unroll 4
  for (int i = part; i < kRows; i += kParts) value = combined(value, a[static_cast<long long>(i) * kColumns + column]);
  parts[part][across] = value;
  for (int half = kParts / 2; half > 0; half /= 2) {
    __syncthreads();
    if (part < half) parts[part][across] = combined(parts[part][across], parts[part + half][across]);
  }
  if (part == 0 && place < kColumns) result[column] = finished(parts[0][across]);
}
)code";

using Constants = std::vector<std::pair<std::string_view, std::int64_t>>;

std::string cuda_beginning(const CudaPlan& plan, const std::string& operation, const Constants& constants) {
  std::string text = fmt::format(
      "// {0}: float32, row by row. Made by `ridgeline kernel '{0}'` for a GPU.\n"
      "// Launch with a grid of ({1}, {2}, {3}) blocks of {4} threads; operands, then the result.\n\nnamespace {{\n\n",
      operation, plan.blocks_across, plan.blocks_down, plan.batches, plan.threads);
  Constants all = {{"kGridX", plan.blocks_across},    {"kGridY", plan.blocks_down},
                   {"kGridZ", plan.batches},          {"kThreads", plan.threads},
                   {"kTileRows", plan.tile_rows},     {"kTileColumns", plan.tile_columns},
                   {"kThreadRows", plan.thread_rows}, {"kThreadColumns", plan.thread_columns}};
  all.insert(all.end(), constants.begin(), constants.end());
  for (const auto& [name, value] : all) {
    text += fmt::format("constexpr int {} = {};\n", name, value);
  }
  return text;
}

/// Elements of a row of a tile in shared memory, as the tile model has it.
std::int64_t stored_elements(std::int64_t elements) {
  return padded_row_bytes(elements, kFloatBytes, kDepthStep) / kFloatBytes;
}

std::string source_of(const CudaPlan& plan, const MatmulShape& shape) {
  Constants constants = {{"kRows", shape.rows},
                         {"kColumns", shape.columns},
                         {"kDepth", shape.depth},
                         {"kDepthStep", kDepthStep},
                         {"kStoredRows", stored_elements(plan.tile_rows)},
                         {"kStoredColumns", stored_elements(plan.tile_columns)}};
  if (shape.convolution) {
    const Convolution& conv = *shape.convolution;
    const Constants more = {{"kChannels", conv.channels},
                            {"kHeight", conv.height},
                            {"kWidth", conv.width},
                            {"kKernel", conv.kernel},
                            {"kStride", conv.stride},
                            {"kPadding", conv.padding},
                            {"kOutputWidth", conv.output_width()}};
    constants.insert(constants.end(), more.begin(), more.end());
  }
  const bool is_image = shape.convolution.has_value();
  std::string text = cuda_beginning(plan, matmul_text(shape), constants) + std::string(kCudaProduct);
  const std::string bias = shape.bias ? ", const float* __restrict__ bias" : "";
  // A convolution's operands are the images and then the weights, which are the left matrix of all.
  replace_all(text, "@PARAMETERS@",
              (is_image ? "const float* __restrict__ b, const float* __restrict__ a"
                        : "const float* __restrict__ a, const float* __restrict__ b") +
                  bias);
  replace_all(text, "@NAME@", is_image ? "conv" : "matmul");
  replace_all(text, "@A_BATCH@", is_image ? "0" : "batch * kRows * kDepth");
  replace_all(text, "@B_BATCH@",
              is_image           ? "batch * kChannels * kHeight * kWidth"
              : shape.transposed ? "0"
                                 : "batch * kDepth * kColumns");
  replace_all(text, "@RIGHT@", is_image ? kCudaImage : shape.transposed ? kCudaTransposed : kCudaMatrix);
  replace_all(text, "@FUSED@",
              std::string(shape.bias ? fmt::format("        value += bias[{}];\n", is_image ? "m" : "n") : "") +
                  (shape.relu ? "        value = value < 0.0f ? 0.0f : value;\n" : ""));
  return text;
}

std::string source_of(const CudaPlan& plan, const ElementwiseShape& shape) {
  const Expression& expression = shape.expression;
  std::string values;
  std::string parameters;
  std::string elements;
  for (const Operand& operand : expression.operands) {
    const std::string comma = values.empty() ? "" : ", ";
    values += fmt::format("{}float {}", comma, operand.name);
    parameters += fmt::format("{}const float* __restrict__ {}_at", comma, operand.name);
    elements += fmt::format("{}{}_at[{}]", comma, operand.name, operand.is_row ? "at % kColumns" : "at");
  }
  std::string steps;
  for (std::size_t i = 0; i < expression.steps.size(); ++i) {
    steps += fmt::format("  const float t{} = {};\n", i, step_text(expression, expression.steps[i], "f"));
  }
  steps += fmt::format("  return t{};\n", expression.steps.size() - 1);
  std::string text =
      cuda_beginning(plan, elementwise_text(shape), {{"kRows", shape.rows}, {"kColumns", shape.columns}}) +
      std::string(kCudaChain);
  replace_all(text, "@VALUES@", values);
  replace_all(text, "@STEPS@", steps);
  replace_all(text, "@PARAMETERS@", parameters);
  replace_all(text, "@ELEMENTS@", elements);
  return text;
}

std::string source_of(const CudaPlan& plan, const ReductionShape& shape) {
  const bool is_max = shape.reduction == Reduction::kMax;
  std::string text = cuda_beginning(plan, reduction_text(shape), {{"kRows", shape.rows}, {"kColumns", shape.columns}}) +
                     std::string(kCudaCombine) + std::string(shape.dim == 1 ? kCudaRows : kCudaColumns);
  // A maximum may begin with any of its elements.
  replace_all(text, "@START@", !is_max ? "0.0f" : shape.dim == 1 ? "row[0]" : "a[column]");
  replace_all(text, "@COMBINED@",
              is_max ? "// NaN stays, as in torch.\n"
                       "__device__ inline float combined(float x, float y) { return y > x || y != y ? y : x; }"
                     : "__device__ inline float combined(float x, float y) { return x + y; }");
  replace_all(text, "@FINISHED@",
              fmt::format("__device__ inline float finished(float value) {{ return value{}; }}",
                          shape.reduction == Reduction::kMean
                              ? fmt::format(" / {}.0f", shape.dim == 1 ? shape.columns : shape.rows)
                              : std::string()));
  return text;
}

}  // namespace

std::string cuda_source(const CudaPlan& plan) {
  return std::visit([&](const auto& shape) { return source_of(plan, shape); }, plan.operation);
}

}  // namespace ridgeline::operations
