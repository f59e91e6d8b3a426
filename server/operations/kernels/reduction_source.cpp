#include <string>
#include <string_view>

#include "operations/kernels/kernel_source.h"
#include "operations/kernels/reduction_plan.h"

namespace ridgeline::operations {

namespace {

constexpr std::string_view kSum = R"code(
constexpr float kStart = 0;
template <typename Type>
inline Type combined(Type x, Type y) { return x + y; }
)code";
constexpr std::string_view kMax = R"code(
constexpr float kStart = -__builtin_inff();
// NaN stays, as in torch.
template <typename Type>
inline Type combined(Type x, Type y) { return ((y > x) | (y != y)) ? y : x; }
)code";

/// What a pass keeps in registers. A maximum that loses NaN takes one instruction: the sum tells whether there may have
/// been any (also of infinities of both signs), and then the pass is made again with `combined`.
constexpr std::string_view kKept = R"code(
template <bool IsQuick>
struct Kept {
  Vector value = Vector{} + kStart;
  Vector sum = {};
  void take(Vector next) {
    if (IsQuick) {
      value = next > value ? next : value;
      sum += next;
    } else {
      value = combined(value, next);
    }
  }
};

template <long Count>
struct Part {
  typedef float Type __attribute__((vector_size(Count * 4), aligned(4), may_alias));
};

template <long Count, typename Combine>
inline float across(typename Part<Count>::Type vector, Combine combine) {
  if constexpr (Count == 2) {
    return combine(float(vector[0]), float(vector[1]));
  } else {
    typename Part<Count / 2>::Type low, high;
    __builtin_memcpy(&low, &vector, sizeof(low));
    __builtin_memcpy(&high, reinterpret_cast<const char*>(&vector) + sizeof(low), sizeof(high));
    return across<Count / 2>(combine(low, high), combine);
  }
}

inline bool may_have_nan(Vector sum) {
  const float all = across<kVector>(sum, [](auto x, auto y) { return x + y; });
  return all != all;
}
)code";

constexpr std::string_view kAlongRows = R"code(
constexpr long kStepVectors = kStepColumns / kVector;
constexpr long kWhole = kColumns / kStepColumns * kStepColumns;
constexpr long kWholeVectors = kColumns / kVector * kVector;

// R rows. False: the pass was too quick for what may be there, and there are no results.
template <long R, bool IsQuick>
inline bool rows_once(const float* a, float* result) {
  Vector total[R];
  Vector sum = {};
#pragma GCC unroll 32
  for (long r = 0; r < R; ++r) total[r] = Vector{} + kStart;
  for (long first = 0; first < kWhole; first += kChunk) {
    Kept<IsQuick> part[R][kStepVectors];
    for (long j = first; j < smaller(kWhole, first + kChunk); j += kStepColumns) {
#pragma GCC unroll 32
      for (long r = 0; r < R; ++r) {
#pragma GCC unroll 32
        for (long v = 0; v < kStepVectors; ++v) part[r][v].take(load<kVector>(a + r * kColumns + j + v * kVector));
      }
    }
#pragma GCC unroll 32
    for (long r = 0; r < R; ++r) {
#pragma GCC unroll 32
      for (long v = 0; v < kStepVectors; ++v) sum += part[r][v].sum;
#pragma GCC unroll 32
      for (long v = 1; v < kStepVectors; ++v) part[r][0].value = combined(part[r][0].value, part[r][v].value);
      total[r] = combined(total[r], part[r][0].value);
    }
  }
  if (IsQuick && may_have_nan(sum)) return false;
#pragma GCC unroll 32
  for (long r = 0; r < R; ++r) {
    const float* row = a + r * kColumns;
    for (long j = kWhole; j < kWholeVectors; j += kVector) total[r] = combined(total[r], load<kVector>(row + j));
    if constexpr (kWholeVectors < kColumns) {
      Vector last = Vector{} + kStart;
      __builtin_memcpy(&last, row + kWholeVectors, (kColumns - kWholeVectors) * 4);
      total[r] = combined(total[r], last);
    }
    const float all = across<kVector>(total[r], [](auto x, auto y) { return combined(x, y); });
    result[r] = kMean ? all / kColumns : all;
  }
  return true;
}

template <long R>
inline void rows(const float* a, float* result) {
  if (!kIsMax || !rows_once<R, true>(a, result)) rows_once<R, false>(a, result);
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
// V vectors of columns of so many rows; of each vector `Count` elements. False: as in a reduction along rows, the pass
// was too quick.
template <long V, long Count, bool IsQuick>
inline bool columns_once(const float* a, long rows, float* result, bool first, bool last) {
  Kept<IsQuick> part[V];
  for (long i = 0; i < rows; ++i) {
#pragma GCC unroll 32
    for (long v = 0; v < V; ++v) part[v].take(load<Count>(a + i * kColumns + v * kVector));
  }
  if (IsQuick) {
    Vector sum = {};
#pragma GCC unroll 32
    for (long v = 0; v < V; ++v) sum += part[v].sum;
    if (may_have_nan(sum)) return false;
  }
#pragma GCC unroll 32
  for (long v = 0; v < V; ++v) {
    Vector all = part[v].value;
    if (!first) all = combined(load<Count>(result + v * kVector), all);
    if (kMean && last) all /= float(kRows);
    __builtin_memcpy(result + v * kVector, &all, Count * 4);
  }
  return true;
}

template <long V, long Count = kVector>
inline void columns(const float* a, long rows, float* result, bool first, bool last) {
  if (!kIsMax || !columns_once<V, Count, true>(a, rows, result, first, last))
    columns_once<V, Count, false>(a, rows, result, first, last);
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
                                {"kMean", shape.reduction == Reduction::kMean ? 1 : 0},
                                {"kIsMax", shape.reduction == Reduction::kMax ? 1 : 0}});
  text += kLoadFunction;
  text += shape.reduction == Reduction::kMax ? kMax : kSum;
  text += kKept;
  return text + std::string(shape.dim == 0 ? kAlongColumns : kAlongRows);
}

}  // namespace ridgeline::operations
