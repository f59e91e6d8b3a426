#include <string>
#include <string_view>

#include "kernels/reduction_plan.h"
#include "kernels/source_text.h"

namespace ridgeline::kernels {

namespace {

constexpr std::string_view kSum = R"code(
constexpr float kStart = 0;
inline Vector combined(Vector x, Vector y) { return x + y; }
inline float combined(float x, float y) { return x + y; }
)code";
constexpr std::string_view kMax = R"code(
// NaN stays, as in torch.
constexpr float kStart = -__builtin_inff();
inline Vector combined(Vector x, Vector y) { return ((y > x) | (y != y)) ? y : x; }
inline float combined(float x, float y) { return y > x || y != y ? y : x; }
)code";

constexpr std::string_view kAlongRows = R"code(
constexpr long kStepVectors = kStepColumns / kVector;
constexpr long kWhole = kColumns / kStepColumns * kStepColumns;
constexpr long kWholeVectors = kColumns / kVector * kVector;

inline float combined_elements(Vector vector) {
  float parts[kVector];
  __builtin_memcpy(parts, &vector, sizeof(parts));
#pragma GCC unroll 8
  for (long width = kVector / 2; width > 0; width /= 2) {
#pragma GCC unroll 32
    for (long i = 0; i < width; ++i) parts[i] = combined(parts[i], parts[i + width]);
  }
  return parts[0];
}

// R rows.
template <long R>
inline void rows(const float* a, float* result) {
  Vector total[R];
#pragma GCC unroll 32
  for (long r = 0; r < R; ++r) total[r] = Vector{} + kStart;
  for (long first = 0; first < kWhole; first += kChunk) {
    Vector part[R][kStepVectors];
#pragma GCC unroll 32
    for (long r = 0; r < R; ++r) {
#pragma GCC unroll 32
      for (long v = 0; v < kStepVectors; ++v) part[r][v] = Vector{} + kStart;
    }
    for (long j = first; j < smaller(kWhole, first + kChunk); j += kStepColumns) {
#pragma GCC unroll 32
      for (long r = 0; r < R; ++r) {
#pragma GCC unroll 32
        for (long v = 0; v < kStepVectors; ++v)
          part[r][v] = combined(part[r][v], load<kVector>(a + r * kColumns + j + v * kVector));
      }
    }
#pragma GCC unroll 32
    for (long r = 0; r < R; ++r) {
#pragma GCC unroll 32
      for (long v = 1; v < kStepVectors; ++v) part[r][0] = combined(part[r][0], part[r][v]);
      total[r] = combined(total[r], part[r][0]);
    }
  }
#pragma GCC unroll 32
  for (long r = 0; r < R; ++r) {
    const float* row = a + r * kColumns;
    for (long j = kWhole; j < kWholeVectors; j += kVector) total[r] = combined(total[r], load<kVector>(row + j));
    if constexpr (kWholeVectors < kColumns) {
      Vector last = Vector{} + kStart;
      __builtin_memcpy(&last, row + kWholeVectors, (kColumns - kWholeVectors) * 4);
      total[r] = combined(total[r], last);
    }
    const float all = combined_elements(total[r]);
    result[r] = kMean ? all / kColumns : all;
  }
}

}  // namespace

extern "C" int ridgeline_reduce(const float* __restrict a, float* __restrict result) {
#if RIDGELINE_PARALLEL
#pragma omp parallel for num_threads(kThreads)
#endif
  for (long part = 0; part < kThreads; ++part) {
    const long end = smaller(kRows, (part + 1) * kPart);
    long i = part * kPart;
    for (; i + kStepRows <= end; i += kStepRows) rows<kStepRows>(a + i * kColumns, result + i);
    if constexpr (kPart % kStepRows > 0 || kRows % kStepRows > 0) {
      for (; i < end; ++i) rows<1>(a + i * kColumns, result + i);
    }
  }
  return 0;
}
)code";

constexpr std::string_view kAlongColumns = R"code(
// V vectors of columns of so many rows; of each vector `Count` elements.
template <long V, long Count = kVector>
inline void columns(const float* a, long rows, float* result, bool first, bool last) {
  Vector part[V];
#pragma GCC unroll 32
  for (long v = 0; v < V; ++v) part[v] = load<Count>(a + v * kVector);
  for (long i = 1; i < rows; ++i) {
#pragma GCC unroll 32
    for (long v = 0; v < V; ++v) part[v] = combined(part[v], load<Count>(a + i * kColumns + v * kVector));
  }
#pragma GCC unroll 32
  for (long v = 0; v < V; ++v) {
    if (!first) part[v] = combined(load<Count>(result + v * kVector), part[v]);
    if (kMean && last) part[v] /= float(kRows);
    __builtin_memcpy(result + v * kVector, &part[v], Count * 4);
  }
}

}  // namespace

extern "C" int ridgeline_reduce(const float* __restrict a, float* __restrict result) {
#if RIDGELINE_PARALLEL
#pragma omp parallel for num_threads(kThreads)
#endif
  for (long part = 0; part < kThreads; ++part) {
    const long end = smaller(kColumns, (part + 1) * kPart);
    for (long i = 0; i < kRows; i += kChunk) {
      const long rows = smaller(kChunk, kRows - i);
      const bool last = i + rows == kRows;
      const float* from = a + i * kColumns;
      long j = part * kPart;
      for (; j + kStepColumns <= end; j += kStepColumns)
        columns<kStepColumns / kVector>(from + j, rows, result + j, i == 0, last);
      for (; j + kVector <= end; j += kVector) columns<1>(from + j, rows, result + j, i == 0, last);
      if constexpr (kColumns % kVector > 0) {
        if (j < end) columns<1, kColumns % kVector>(from + j, rows, result + j, i == 0, last);
      }
    }
  }
  return 0;
}
)code";

}  // namespace

std::string reduction_source(const ReductionPlan& plan) {
  const ReductionShape& shape = plan.shape;
  std::string text = beginning(reduction_text(shape), plan.threads > 1,
                               {{"kRows", shape.rows},
                                {"kColumns", shape.columns},
                                {"kVector", plan.vector_elements},
                                {"kStepRows", plan.step_rows},
                                {"kStepColumns", plan.step_columns()},
                                {"kChunk", plan.chunk},
                                {"kThreads", plan.threads},
                                {"kPart", plan.part()},
                                {"kMean", shape.reduction == Reduction::kMean ? 1 : 0}});
  text += kLoadFunction;
  text += shape.reduction == Reduction::kMax ? kMax : kSum;
  return text + std::string(shape.dim == 0 ? kAlongColumns : kAlongRows);
}

}  // namespace ridgeline::kernels
