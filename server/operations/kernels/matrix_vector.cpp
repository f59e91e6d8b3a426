#include "operations/kernels/matrix_vector.h"

#include <algorithm>

#include "operations/kernels/sizes.h"

namespace ridgeline::operations {

namespace {

constexpr std::int64_t kMostDotVectors = 4;

MatmulPlan with_dot_time(MatmulPlan plan, const CoreRates& rates) {
  const auto rows = static_cast<double>(plan.part_rows());
  const auto depth = static_cast<double>(plan.shape.depth);
  const double all = (rows * depth + depth + rows) * kElementBytes;
  const auto& home = rates.holding(all * static_cast<double>(plan.shape.batches));
  const auto step_rows = static_cast<double>(plan.register_rows);
  std::vector<Stage> stages = {
      {"compute",
       rows * depth / static_cast<double>(plan.register_rows * plan.register_columns) * step_compute_s(plan, rates)},
      {rates.near().name, rows * depth * (step_rows + 1) / step_rows * kElementBytes / rates.near().bytes_per_s}};
  if (&home != &rates.near()) {
    stages.push_back({home.name, all / home.bytes_per_s});
  }
  const Stage slowest = slowest_of(stages);
  // Each sum of a vector's elements is written to L1 and read again, once for each halving.
  const double sums_s = rows * 2 * rates.vector_bytes / rates.near().bytes_per_s;
  plan.slowest = slowest.name;
  plan.ns = (slowest.seconds + sums_s) * 1e9;
  return plan;
}

constexpr std::string_view kDotTemplate = R"code(
constexpr long kStepVectors = kStepColumns / kVector;
constexpr long kWhole = kDepth / kStepColumns * kStepColumns;
constexpr long kWholeVectors = kDepth / kVector * kVector;

// Dot products of R rows of A with B.
template <long R>
inline void dots(const float* a, const float* b, const float* bias, float* c) {
  Vector sum[R][kStepVectors] = {};
  for (long k = 0; k < kWhole; k += kStepColumns) {
#pragma GCC unroll 32
    for (long v = 0; v < kStepVectors; ++v) {
      const Vector right = *reinterpret_cast<const Vector*>(b + k + v * kVector);
#pragma GCC unroll 32
      for (long r = 0; r < R; ++r)
        sum[r][v] += *reinterpret_cast<const Vector*>(a + r * kDepth + k + v * kVector) * right;
    }
  }
  for (long k = kWhole; k < kWholeVectors; k += kVector) {
    const Vector right = *reinterpret_cast<const Vector*>(b + k);
#pragma GCC unroll 32
    for (long r = 0; r < R; ++r) sum[r][0] += *reinterpret_cast<const Vector*>(a + r * kDepth + k) * right;
  }
#pragma GCC unroll 32
  for (long r = 0; r < R; ++r) {
#pragma GCC unroll 32
    for (long v = 1; v < kStepVectors; ++v) sum[r][0] += sum[r][v];
    float parts[kVector];
    __builtin_memcpy(parts, &sum[r][0], sizeof(parts));
#pragma GCC unroll 8
    for (long width = kVector / 2; width > 0; width /= 2) {
#pragma GCC unroll 32
      for (long i = 0; i < width; ++i) parts[i] += parts[i + width];
    }
    float total = parts[0];
    for (long k = kWholeVectors; k < kDepth; ++k) total += a[r * kDepth + k] * b[k];
    if (kBias) total += bias[0];
    c[r] = kRelu && total < 0 ? 0 : total;
  }
}

int run(const float* a, const float* b, const float* bias, float* c) {
#if RIDGELINE_PARALLEL
#pragma omp parallel for num_threads(kThreads)
#endif
  for (long p = 0; p < kBatches * kRowParts; ++p) {
    const long batch = p / kRowParts;
    const long end = smaller(kRows, (p % kRowParts + 1) * kPartRows);
    const float* left = a + batch * kRows * kDepth;
    const float* right = b + batch * kDepth;
    float* result = c + batch * kRows;
    long row = p % kRowParts * kPartRows;
    for (; row + kStepRows <= end; row += kStepRows) dots<kStepRows>(left + row * kDepth, right, bias, result + row);
    for (; row < end; ++row) dots<1>(left + row * kDepth, right, bias, result + row);
  }
  return 0;
}
)code";

}  // namespace

std::vector<MatmulPlan> matrix_vector_plans(const MatmulShape& shape, const CoreRates& rates, int threads) {
  const auto vector = rates.vector_elements();
  std::vector<MatmulPlan> plans;
  for (std::int64_t vectors = 1; vectors <= std::min(kMostDotVectors, divided_up(shape.depth, vector)); ++vectors) {
    for (std::int64_t rows = 1; rows <= std::min(kMostStreams, shape.rows); ++rows) {
      if (rows * vectors + 2 > rates.registers) {
        continue;
      }
      MatmulPlan plan;
      plan.shape = shape;
      plan.vector_elements = vector;
      plan.register_rows = rows;
      plan.register_columns = vectors * vector;
      plan.row_parts = std::min<std::int64_t>(threads, divided_up(shape.rows, rows));
      plan.row_parts = divided_up(shape.rows, plan.part_rows());
      plan.depth_block = shape.depth;
      plan.row_block = plan.part_rows();
      plan.column_block = 1;
      plans.push_back(with_dot_time(plan, rates));
    }
  }
  return plans;
}

std::string_view matrix_vector_template() { return kDotTemplate; }

}  // namespace ridgeline::operations
