#include "operations/kernels/matmul_source.h"

#include <string_view>

#include "operations/kernels/convolution.h"
#include "operations/kernels/kernel_source.h"
#include "operations/kernels/matrix_vector.h"

namespace ridgeline::operations {

namespace {

constexpr std::string_view kTemplate = R"code(
constexpr long blocks(long size, long block) { return (size + block - 1) / block; }
constexpr long kLastRows = kRows % kStepRows;
constexpr long kLastColumns = kColumns % kStepColumns;
constexpr long kStepVectors = kStepColumns / kVector;
constexpr long kLastVectors = blocks(kLastColumns, kVector);

// A block of C in registers. Unpacked, an element of A is at a[row * kDepth + k]; packed, at a[k * R + row].
template <long R, long Columns>
inline void step(long depth, const float* a, const float* b, long b_stride, const float* bias, float* c, bool add,
                 bool last) {
  constexpr long V = blocks(Columns, kVector);
  Vector sum[R][V];
#pragma GCC unroll 32
  for (long r = 0; r < R; ++r) {
#pragma GCC unroll 32
    for (long v = 0; v < V; ++v) sum[r][v] = Vector{};
  }
  for (long k = 0; k < depth; ++k) {
    Vector right[V];
#pragma GCC unroll 32
    for (long v = 0; v < V; ++v) right[v] = *reinterpret_cast<const Vector*>(b + k * b_stride + v * kVector);
#pragma GCC unroll 32
    for (long r = 0; r < R; ++r) {
      const float left = kPackA ? a[k * R + r] : a[r * kDepth + k];
#pragma GCC unroll 32
      for (long v = 0; v < V; ++v) sum[r][v] += left * right[v];
    }
  }
#pragma GCC unroll 32
  for (long r = 0; r < R; ++r) {
    float* row = c + r * kColumns;
#pragma GCC unroll 32
    for (long v = 0; v < V; ++v) {
      const long bytes = smaller(kVector, Columns - v * kVector) * 4;
      Vector old = {};
      if (add) __builtin_memcpy(&old, row + v * kVector, bytes);
      old += sum[r][v];
      if (kBias && last) {
        Vector added = {};
        if (kBiasOfRows) {
          added += bias[r];
        } else {
          __builtin_memcpy(&added, bias + v * kVector, bytes);
        }
        old += added;
      }
      if (kRelu && last) old = old < Vector{} ? Vector{} : old;
      __builtin_memcpy(row + v * kVector, &old, bytes);
    }
  }
}

void pack_a(const float* a, long rows, long depth, float* to) {
  for (long first = 0; first < rows; first += kStepRows) {
    const long panel = smaller(kStepRows, rows - first);
    for (long r = 0; r < panel; ++r)
      for (long k = 0; k < depth; ++k) to[k * panel + r] = a[(first + r) * kDepth + k];
    to += panel * depth;
  }
}

@PACK_B@struct Buffer {
  explicit Buffer(long count) : data(static_cast<float*>(std::aligned_alloc(64, blocks(count * 4, 64) * 64))) {}
  ~Buffer() { std::free(data); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  float* data;
};

template <long Columns>
void panel(long depth, const float* a, long rows, const float* b, long b_stride, const float* bias, float* c, bool add,
           bool last) {
  long row = 0;
  for (; row + kStepRows <= rows; row += kStepRows)
    step<kStepRows, Columns>(depth, a + row * (kPackA ? depth : kDepth), b, b_stride, bias + (kBiasOfRows ? row : 0),
                             c + row * kColumns, add, last);
  if constexpr (kLastRows > 0) {
    if (row < rows)
      step<kLastRows, Columns>(depth, a + row * (kPackA ? depth : kDepth), b, b_stride, bias + (kBiasOfRows ? row : 0),
                             c + row * kColumns, add, last);
  }
}

// Rows of one part from their beginning, and columns from `origin`.
int part(const float* a, const float* b, const float* bias, float* c, long rows, long origin, long columns) {
  static thread_local Buffer packed_a(kPackA ? kRowBlock * kDepthBlock : 1);
  static thread_local Buffer packed_b((kPackB ? kColumnBlock : kStepColumns) * kDepthBlock);
  if (packed_a.data == nullptr || packed_b.data == nullptr) return 1;
  for (long j = 0; j < columns; j += kColumnBlock) {
    const long end = smaller(columns, j + kColumnBlock);
    for (long k = 0; k < kDepth; k += kDepthBlock) {
      const long depth = smaller(kDepthBlock, kDepth - k);
      const bool last = k + depth == kDepth;
      for (long n = j; n < end; n += kStepColumns) {
        const bool whole = n + kStepColumns <= end;
        float* to = packed_b.data + (kPackB ? (n - j) * depth : 0);
        if (kPackB || !whole)
          pack_b(b, k, origin + n, smaller(kStepColumns, end - n), (whole ? kStepVectors : kLastVectors) * kVector,
                 depth, to);
      }
      for (long i = 0; i < rows; i += kRowBlock) {
        const long block_rows = smaller(kRowBlock, rows - i);
        const float* left = a + i * kDepth + k;
        if (kPackA) {
          pack_a(left, block_rows, depth, packed_a.data);
          left = packed_a.data;
        }
        long n = j;
        for (; n + kStepColumns <= end; n += kStepColumns)
          panel<kStepColumns>(depth, left, block_rows, kPackB ? packed_b.data + (n - j) * depth : b + k * kColumns + origin + n,
                              kPackB ? kStepColumns : kColumns, bias + (kBiasOfRows ? i : n), c + i * kColumns + n, k > 0, last);
        if constexpr (kLastColumns > 0) {
          if (n < end)
            panel<kLastColumns>(depth, left, block_rows, packed_b.data + (kPackB ? (n - j) * depth : 0),
                                kLastVectors * kVector, bias + (kBiasOfRows ? i : n), c + i * kColumns + n, k > 0, last);
        }
      }
    }
  }
  return 0;
}

int run(const float* a, const float* b, const float* bias, float* c) {
  constexpr long kParts = kRowParts * kColumnParts;
  int failed = 0;
#if RIDGELINE_PARALLEL
#pragma omp parallel for num_threads(kThreads) reduction(| : failed)
#endif
  for (long p = 0; p < kBatches * kParts; ++p) {
    const long batch = p / kParts;
    const long i = p % kParts / kColumnParts * kPartRows;
    const long j = p % kColumnParts * kPartColumns;
    failed |= part(a + batch * kLeftElements + i * kDepth, b + batch * kRightElements, bias + (kBiasOfRows ? i : kBias ? j : 0),
                   c + (batch * kRows + i) * kColumns + j, smaller(kPartRows, kRows - i), j,
                   smaller(kPartColumns, kColumns - j));
  }
  return failed;
}
)code";

constexpr std::string_view kPackColumns = R"code(
// One panel of B, with zeros up to whole vectors.
void pack_b(const float* b, long k, long n, long columns, long width, long depth, float* to) {
  for (long d = k; d < k + depth; ++d, to += width) {
    for (long i = 0; i < columns; ++i) to[i] = b[d * kColumns + n + i];
    for (long i = columns; i < width; ++i) to[i] = 0;
  }
}
)code";

constexpr std::string_view kPackTransposed = R"code(
// One panel of B, which is stored column by column, with zeros up to whole vectors.
void pack_b(const float* b, long k, long n, long columns, long width, long depth, float* to) {
  constexpr long kLine = 16;  // elements of a column that are in one line of a cache
  for (long first = 0; first < depth; first += kLine) {
    const long end = smaller(depth, first + kLine);
    for (long i = 0; i < columns; ++i) {
      const float* column = b + (n + i) * kDepth + k;
      for (long d = first; d < end; ++d) to[d * width + i] = column[d];
    }
    for (long d = first; d < end; ++d)
      for (long i = columns; i < width; ++i) to[d * width + i] = 0;
  }
}
)code";

constexpr std::string_view kPlainFunction = R"code(
extern "C" int ridgeline_matmul(const float* a, const float* b, float* c) { return run(a, b, b, c); }
)code";
constexpr std::string_view kBiasFunction = R"code(
extern "C" int ridgeline_matmul(const float* a, const float* b, const float* bias, float* c) {
  return run(a, b, bias, c);
}
)code";

constexpr std::string_view kConvolutionFunction = R"code(
extern "C" int ridgeline_conv(const float* images, const float* weights, float* result) {
  return run(weights, images, images, result);
}
)code";
constexpr std::string_view kBiasConvolutionFunction = R"code(
extern "C" int ridgeline_conv(const float* images, const float* weights, const float* bias, float* result) {
  return run(weights, images, bias, result);
}
)code";

std::string_view function_of(const MatmulShape& shape) {
  if (shape.convolution) {
    return shape.bias ? kBiasConvolutionFunction : kConvolutionFunction;
  }
  return shape.bias ? kBiasFunction : kPlainFunction;
}

std::string packing_of(const MatmulShape& shape) {
  return shape.convolution ? convolution_packing(*shape.convolution)
                           : std::string(shape.transposed ? kPackTransposed : kPackColumns);
}

/// Elements of the right matrix, or of the image, of one batch.
std::int64_t right_elements(const MatmulShape& shape) {
  return shape.convolution ? shape.convolution->channels * shape.convolution->height * shape.convolution->width
                           : shape.depth * shape.columns;
}

}  // namespace

std::string matmul_source(const MatmulPlan& plan) {
  const MatmulShape& shape = plan.shape;
  std::string text = beginning(matmul_text(shape), plan.threads > 1,
                               {{"kRows", shape.rows},
                                {"kColumns", shape.columns},
                                {"kDepth", shape.depth},
                                {"kVector", plan.vector_elements},
                                {"kStepRows", plan.register_rows},
                                {"kStepColumns", plan.register_columns},
                                {"kDepthBlock", plan.depth_block},
                                {"kRowBlock", plan.row_block},
                                {"kColumnBlock", plan.column_block},
                                {"kBatches", shape.batches},
                                {"kThreads", plan.threads},
                                {"kRowParts", plan.row_parts},
                                {"kColumnParts", plan.column_parts},
                                {"kPartRows", plan.part_rows()},
                                {"kPartColumns", plan.part_columns()},
                                {"kPackA", plan.pack_a},
                                {"kPackB", plan.pack_b},
                                {"kBias", shape.bias},
                                {"kBiasOfRows", shape.bias && shape.convolution},
                                {"kRelu", shape.relu},
                                {"kLeftElements", shape.convolution ? 0 : shape.rows * shape.depth},
                                {"kRightElements", right_elements(shape)}});
  text += uses_dot_products(shape) ? matrix_vector_template() : kTemplate;
  replace_all(text, "@PACK_B@", packing_of(shape));
  return text + "\n}  // namespace\n" + std::string(function_of(shape));
}

}  // namespace ridgeline::operations
