#include "operations/kernels/reduction_plan.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>
#include <vector>

#include "operations/kernels/core_rates.h"
#include "operations/kernels/sizes.h"
#include "operations/kernels/words.h"

namespace ridgeline::operations {

namespace {

constexpr std::int64_t kMostSteps = 128;  // of a chunk: numbers that are added up one after the other
constexpr std::array<std::pair<std::string_view, Reduction>, 3> kReductions = {
    {{"sum", Reduction::kSum}, {"mean", Reduction::kMean}, {"max", Reduction::kMax}}};

/// Accumulators of each vector in registers: of a maximum also a sum, which tells whether there may be NaN.
std::int64_t accumulators_each(const ReductionShape& shape) { return shape.reduction == Reduction::kMax ? 2 : 1; }

/// Seconds that combining one vector with its accumulators takes. Few of them wait for themselves.
double combine_s(const ReductionPlan& plan, const CoreRates& rates) {
  const auto independent = static_cast<double>(plan.step_rows * plan.step_vectors);
  return std::max(static_cast<double>(accumulators_each(plan.shape)) * rates.instruction_s(),
                  rates.addition_s / independent);
}

/// Seconds beside the pass over the matrix. Along a row, each result is a vector whose elements are halved in L1; along
/// columns, results are read and written for each chunk.
double results_s(const ReductionPlan& plan, const CoreRates& rates) {
  const auto results = static_cast<double>(plan.part());
  if (plan.shape.dim == 1) {
    return results * 2 * rates.vector_bytes / rates.near().bytes_per_s;
  }
  const auto chunks = static_cast<double>(divided_up(plan.shape.rows, plan.chunk));
  return results * kElementBytes * (2 * chunks - 1) / rates.holding(results * kElementBytes * 2).bytes_per_s;
}

ReductionPlan with_predicted_time(ReductionPlan plan, const CoreRates& rates) {
  const ReductionShape& shape = plan.shape;
  const std::int64_t rows = shape.dim == 0 ? shape.rows : plan.part();
  const std::int64_t columns = shape.dim == 0 ? plan.part() : shape.columns;
  const double vectors = static_cast<double>(rows * divided_up(columns, plan.vector_elements));
  const double transactions = shape.columns % plan.vector_elements == 0 ? 1 : 2;
  const auto& home = rates.keeping(static_cast<double>(rows * columns) * kElementBytes);
  // More rows than the prefetchers follow: each is waited for.
  const bool is_waiting =
      shape.dim == 0 && plan.chunk > kMostStreams && &home != &rates.near() && &home != &rates.middle();
  const Stage slowest = slowest_of(
      {{"compute", vectors * combine_s(plan, rates)},
       {rates.near().name, vectors * transactions * rates.vector_bytes / rates.near().bytes_per_s},
       {home.name, static_cast<double>(rows * columns) * kElementBytes * (is_waiting ? 2 : 1) / home.bytes_per_s}});
  plan.slowest = slowest.name;
  plan.ns = (slowest.seconds + results_s(plan, rates)) * 1e9 + (plan.threads > 1 ? kThreadsStartNs : 0);
  return plan;
}

/// A part of the results for as many threads as can have one.
void scale_out(ReductionPlan& plan, std::int64_t threads) {
  plan.threads = threads;
  plan.threads = divided_up(plan.shape.results(), plan.part());
}

std::vector<ReductionPlan> along_rows(ReductionPlan plan, const CoreRates& rates) {
  std::vector<ReductionPlan> plans;
  for (const std::int64_t vectors : {1, 2, 4, 8}) {
    for (const std::int64_t rows : {1, 2, 4, 8}) {
      plan.step_vectors = vectors;
      plan.step_rows = rows;
      plan.chunk = kMostSteps * plan.step_columns();
      const bool fits = rows * (accumulators_each(plan.shape) * vectors + 1) <= rates.registers &&
                        rows <= std::min(kMostStreams, plan.part()) && plan.step_columns() <= plan.shape.columns;
      if (fits || (rows == 1 && vectors == 1)) {
        plans.push_back(with_predicted_time(plan, rates));
      }
    }
  }
  return plans;
}

std::vector<ReductionPlan> along_columns(ReductionPlan plan, const CoreRates& rates, int threads) {
  std::vector<ReductionPlan> plans;
  for (std::int64_t vectors = 1; vectors <= 8; vectors *= 2) {
    plan.step_vectors = vectors;
    scale_out(plan, threads);
    if (vectors > 1 && plan.step_columns() > plan.shape.columns) {
      break;
    }
    for (std::int64_t chunk = 8; chunk <= kMostSteps; chunk *= 4) {
      plan.chunk = std::min(chunk, plan.shape.rows);
      if (plans.empty() || plan.chunk == chunk || plans.back().step_vectors != vectors) {
        plans.push_back(with_predicted_time(plan, rates));
      }
    }
  }
  return plans;
}

}  // namespace

std::int64_t ReductionPlan::part() const {
  return part_of(shape.results(), threads, shape.dim == 0 ? step_columns() : 1);
}

std::string reduction_name(Reduction reduction) {
  return std::string(std::ranges::find(kReductions, reduction, &std::pair<std::string_view, Reduction>::second)->first);
}

base::Result<ReductionShape> parse_reduction(std::string_view text) {
  const auto words = words_of(text);
  const bool is_whole = words.size() == 6 && words[0] == "reduce" && words[4] == "dim";
  const auto* found = is_whole
                          ? std::ranges::find(kReductions, words[1], &std::pair<std::string_view, Reduction>::first)
                          : kReductions.end();
  if (found == kReductions.end() || (words[5] != "0" && words[5] != "1")) {
    return base::error(in_quotes(text) + " is not reduce sum, mean or max ROWS COLUMNS dim 0 or 1");
  }
  const auto rows = read_size(words[2]);
  const auto columns = read_size(words[3]);
  if (!rows || !columns) {
    return rows ? columns.error() : rows.error();
  }
  if (*rows * *columns > kMostElements) {
    return too_large(text);
  }
  return ReductionShape{found->second, *rows, *columns, words[5] == "0" ? 0 : 1};
}

std::string reduction_text(const ReductionShape& shape) {
  return "reduce " + reduction_name(shape.reduction) + " " + std::to_string(shape.rows) + " " +
         std::to_string(shape.columns) + " dim " + std::to_string(shape.dim);
}

base::Result<Ranked<ReductionPlan>> construct_reduction(const ReductionShape& shape, const Device& device, int threads,
                                                        std::size_t top) {
  std::vector<ReductionPlan> plans;
  for (const int tried : tried_threads(threads)) {
    const auto rates = core_rates(device, tried);
    if (!rates) {
      return rates.error();
    }
    ReductionPlan plan;
    plan.shape = shape;
    plan.vector_elements = rates->vector_elements();
    plan.step_vectors = 1;
    scale_out(plan, tried);
    std::ranges::move(shape.dim == 0 ? along_columns(plan, *rates, tried) : along_rows(plan, *rates),
                      std::back_inserter(plans));
  }
  return ranked(std::move(plans), top);
}

}  // namespace ridgeline::operations
