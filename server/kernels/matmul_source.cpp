#include "kernels/matmul_source.h"

#include <fmt/format.h>

#include <string_view>

#include "kernels/matrix_vector.h"

namespace ridgeline::kernels {

namespace {

constexpr std::string_view kTemplate = R"code(
typedef float Vector __attribute__((vector_size(kVector * 4), aligned(4), may_alias));

constexpr long smaller(long x, long y) { return x < y ? x : y; }
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
        __builtin_memcpy(&added, bias + v * kVector, bytes);
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

// One panel of B, with zeros up to whole vectors.
void pack_b(const float* b, long columns, long width, long depth, float* to) {
  for (long k = 0; k < depth; ++k) {
    for (long i = 0; i < columns; ++i) to[k * width + i] = b[k * kColumns + i];
    for (long i = columns; i < width; ++i) to[k * width + i] = 0;
  }
}

struct Buffer {
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
    step<kStepRows, Columns>(depth, a + row * (kPackA ? depth : kDepth), b, b_stride, bias,
                             c + row * kColumns, add, last);
  if constexpr (kLastRows > 0) {
    if (row < rows)
      step<kLastRows, Columns>(depth, a + row * (kPackA ? depth : kDepth), b, b_stride, bias,
                             c + row * kColumns, add, last);
  }
}

// Rows and columns of one part, from their beginning.
int part(const float* a, const float* b, const float* bias, float* c, long rows, long columns) {
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
          pack_b(b + k * kColumns + n, smaller(kStepColumns, end - n), (whole ? kStepVectors : kLastVectors) * kVector,
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
          panel<kStepColumns>(depth, left, block_rows, kPackB ? packed_b.data + (n - j) * depth : b + k * kColumns + n,
                              kPackB ? kStepColumns : kColumns, bias + n, c + i * kColumns + n, k > 0, last);
        if constexpr (kLastColumns > 0) {
          if (n < end)
            panel<kLastColumns>(depth, left, block_rows, packed_b.data + (kPackB ? (n - j) * depth : 0),
                                kLastVectors * kVector, bias + n, c + i * kColumns + n, k > 0, last);
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
    failed |= part(a + (batch * kRows + i) * kDepth, b + batch * kDepth * kColumns + j, bias + (kBias ? j : 0),
                   c + (batch * kRows + i) * kColumns + j, smaller(kPartRows, kRows - i),
                   smaller(kPartColumns, kColumns - j));
  }
  return failed;
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

}  // namespace

std::string matmul_source(const MatmulPlan& plan) {
  const MatmulShape& shape = plan.shape;
  const bool parallel = plan.threads > 1;
  std::string text = fmt::format(
      "// {0}: C[{1}, {2}] = A[{1}, {3}] B[{3}, {2}], float32, row by row. Made by `ridgeline kernel '{0}'`.\n"
      "// c++ -std=c++17 -O3 -march=native -fPIC -shared{4} FILE.cpp -o FILE.so\n"
      "#include <cstdlib>\n\n#define RIDGELINE_PARALLEL {5}\n\nnamespace {{\n\n",
      matmul_text(shape), shape.rows, shape.columns, shape.depth, parallel ? " -fopenmp" : "", parallel ? 1 : 0);
  const auto constant = [&](std::string_view name, std::int64_t value) {
    text += fmt::format("constexpr long {} = {};\n", name, value);
  };
  constant("kRows", shape.rows);
  constant("kColumns", shape.columns);
  constant("kDepth", shape.depth);
  constant("kVector", plan.vector_elements);
  constant("kStepRows", plan.register_rows);
  constant("kStepColumns", plan.register_columns);
  constant("kDepthBlock", plan.depth_block);
  constant("kRowBlock", plan.row_block);
  constant("kColumnBlock", plan.column_block);
  constant("kBatches", shape.batches);
  constant("kThreads", plan.threads);
  constant("kRowParts", plan.row_parts);
  constant("kColumnParts", plan.column_parts);
  constant("kPartRows", plan.part_rows());
  constant("kPartColumns", plan.part_columns());
  text += fmt::format("constexpr bool kPackA = {};\nconstexpr bool kPackB = {};\n", plan.pack_a, plan.pack_b);
  text += fmt::format("constexpr bool kBias = {};\nconstexpr bool kRelu = {};\n", shape.bias, shape.relu);
  text += shape.columns == 1 ? matrix_vector_template() : kTemplate;
  return text + "\n}  // namespace\n" + std::string(shape.bias ? kBiasFunction : kPlainFunction);
}

}  // namespace ridgeline::kernels
