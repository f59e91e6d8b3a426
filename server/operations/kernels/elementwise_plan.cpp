#include "operations/kernels/elementwise_plan.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "operations/kernels/core_rates.h"
#include "operations/kernels/sizes.h"
#include "operations/kernels/words.h"

namespace ridgeline::operations {

namespace {

constexpr std::int64_t kMostStepVectors = 8;
constexpr std::int64_t kTemporaries = 6;  // registers within exp and what has it inside
constexpr double kLoopInstructions = 2;   // of a step, beside its vectors

/// Vector instructions of the source's functions, in units of a multiply-add: as measured (AMD EPYC with AVX-512),
/// since they overlap, and divisions above all.
double instructions(Function function) {
  switch (function) {
    case Function::kDivide:
      return 8;
    case Function::kRelu:
      return 2;
    case Function::kExp:
      return 18;
    case Function::kSigmoid:
      return 21;
    case Function::kTanh:
      return 19;
    case Function::kGelu:
      return 21;
    default:
      return 1;
  }
}

bool has_inner_registers(const Expression& expression) {
  return std::ranges::any_of(expression.steps, [](const Step& step) { return step.function > Function::kRelu; });
}

/// Seconds of one vector, with its share of a step.
double compute_s(const ElementwisePlan& plan, const CoreRates& rates) {
  double sum = kLoopInstructions / static_cast<double>(plan.step_vectors);
  for (const Step& step : plan.shape.expression.steps) {
    sum += instructions(step.function);
  }
  return sum * rates.instruction_s();
}

ElementwisePlan with_predicted_time(ElementwisePlan plan, const CoreRates& rates) {
  const auto& operands = plan.shape.expression.operands;
  const auto row_operands = static_cast<double>(std::ranges::count(operands, true, &Operand::is_row));
  const double matrices = static_cast<double>(operands.size()) - row_operands;
  const auto rows = static_cast<double>(plan.part_rows());
  const double elements = rows * static_cast<double>(plan.part_columns());
  const double vectors = rows * static_cast<double>(divided_up(plan.part_columns(), plan.vector_elements));
  const bool aligned = plan.rows == 1 || plan.columns % plan.vector_elements == 0;
  // The result's lines are loaded before they are overwritten.
  const double moved = (matrices + 2) * elements * kElementBytes;
  const auto& home = rates.keeping((matrices + 1) * elements * kElementBytes);
  const double transactions = (matrices + 1) * (aligned ? 1 : 2) + row_operands;
  const auto& rows_level = rates.holding(row_operands * static_cast<double>(plan.column_block) * kElementBytes);
  std::vector<Stage> stages = {
      {"compute", vectors * compute_s(plan, rates)},
      {rates.near().name, vectors * transactions * rates.vector_bytes / rates.near().bytes_per_s}};
  for (const CoreRates::Level& level : rates.levels) {
    const double bytes =
        (&level == &home ? moved : 0) + (&level == &rows_level ? row_operands * elements * kElementBytes : 0);
    if (&level != &rates.near()) {
      stages.push_back({level.name, bytes / level.bytes_per_s});
    }
  }
  const Stage slowest = slowest_of(stages);
  plan.slowest = slowest.name;
  plan.ns = slowest.seconds * 1e9 + (plan.threads > 1 ? kThreadsStartNs : 0);
  return plan;
}

/// Rows where there are enough for each thread, else columns.
void scale_out(ElementwisePlan& plan, std::int64_t threads) {
  if (plan.rows >= threads) {
    plan.row_parts = threads;
    plan.row_parts = divided_up(plan.rows, plan.part_rows());
  } else {
    plan.column_parts = threads;
    plan.column_parts = divided_up(plan.columns, plan.part_columns());
  }
  plan.threads = plan.row_parts * plan.column_parts;
}

/// All columns, and those of which the operands of one row fill L1.
std::vector<std::int64_t> column_blocks(const ElementwisePlan& plan, const CoreRates& rates) {
  const std::int64_t row_operands = std::ranges::count(plan.shape.expression.operands, true, &Operand::is_row);
  const std::int64_t all = plan.part_columns();
  if (row_operands == 0) {
    return {all};
  }
  const auto fit = static_cast<std::int64_t>(rates.near().capacity_bytes * kUsedOfCache) / (row_operands * kFloatBytes);
  const std::int64_t block = std::max(plan.step_columns(), fit / plan.step_columns() * plan.step_columns());
  return block < all ? std::vector<std::int64_t>{block, all} : std::vector<std::int64_t>{all};
}

std::vector<ElementwisePlan> plans_of(const ElementwiseShape& shape, const CoreRates& rates, int threads) {
  ElementwisePlan plan;
  plan.shape = shape;
  plan.rows = shape.has_rows() ? shape.rows : 1;
  plan.columns = shape.has_rows() ? shape.columns : shape.rows * shape.columns;
  plan.vector_elements = rates.vector_elements();
  const auto operands = static_cast<std::int64_t>(shape.expression.operands.size());
  const std::int64_t inner = has_inner_registers(shape.expression) ? kTemporaries : 0;
  std::vector<ElementwisePlan> plans;
  for (plan.step_vectors = 1; plan.step_vectors <= kMostStepVectors; plan.step_vectors *= 2) {
    const bool fits =
        plan.step_vectors * (operands + 1 + inner) <= rates.registers && plan.step_columns() <= plan.columns;
    if (plan.step_vectors > 1 && !fits) {
      break;
    }
    ElementwisePlan tried = plan;
    scale_out(tried, threads);
    for (const std::int64_t block : column_blocks(tried, rates)) {
      tried.column_block = block;
      plans.push_back(with_predicted_time(tried, rates));
    }
  }
  return plans;
}

}  // namespace

bool ElementwiseShape::has_rows() const {
  return std::ranges::find(expression.operands, true, &Operand::is_row) != expression.operands.end();
}

std::int64_t ElementwisePlan::part_rows() const { return part_of(rows, row_parts, 1); }

std::int64_t ElementwisePlan::part_columns() const { return part_of(columns, column_parts, step_columns()); }

base::Result<ElementwiseShape> parse_elementwise(std::string_view text) {
  const std::size_t equals = text.find('=');
  const auto words = words_of(text.substr(0, equals));
  if (equals == std::string_view::npos || words.size() != 3 || words[0] != "elementwise") {
    return base::error(in_quotes(text) + " is not elementwise ROWS COLUMNS = EXPRESSION");
  }
  const auto rows = read_size(words[1]);
  const auto columns = read_size(words[2]);
  if (!rows || !columns) {
    return rows ? columns.error() : rows.error();
  }
  if (*rows * *columns > kMostElements) {
    return too_large(text);
  }
  auto expression = parse_expression(text.substr(equals + 1), *columns);
  if (!expression) {
    return expression.error();
  }
  if (std::ranges::all_of(expression->operands, &Operand::is_row)) {
    return base::error(in_quotes(text) + ": every operand is one row; give one that is a matrix");
  }
  return ElementwiseShape{*rows, *columns, std::move(*expression)};
}

std::string elementwise_text(const ElementwiseShape& shape) {
  return "elementwise " + std::to_string(shape.rows) + " " + std::to_string(shape.columns) + " = " +
         shape.expression.text;
}

base::Result<Ranked<ElementwisePlan>> construct_elementwise(const ElementwiseShape& shape, const Device& device,
                                                            int threads, std::size_t top) {
  std::vector<ElementwisePlan> plans;
  for (const int tried : tried_threads(threads)) {
    const auto rates = core_rates(device, tried);
    if (!rates) {
      return rates.error();
    }
    std::ranges::move(plans_of(shape, *rates, tried), std::back_inserter(plans));
  }
  return ranked(std::move(plans), top);
}

}  // namespace ridgeline::operations
