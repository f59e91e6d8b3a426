#include "report/rendered_kernel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

namespace ridgeline::report {

namespace {

using nlohmann::json;
using operations::ElementwisePlan;
using operations::MatmulPlan;
using operations::MatmulShape;
using operations::MeasuredKernel;
using operations::ReductionPlan;

/// Headings, and what stands below them.
using Cells = std::vector<std::pair<std::string, std::string>>;

std::string packed(const MatmulPlan& plan) {
  return plan.pack_a && plan.pack_b ? "A, B" : plan.pack_a ? "A" : plan.pack_b ? "B" : "-";
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

Cells cells_of(const MatmulPlan& plan) {
  return {{"registers", fmt::format("{}x{}", plan.register_rows, plan.register_columns)},
          {"blocks", fmt::format("{}x{}x{}", plan.row_block, plan.column_block, plan.depth_block)},
          {"packed", packed(plan)},
          {"threads", fmt::format("{}x{}", plan.row_parts, plan.column_parts)}};
}

Cells cells_of(const ElementwisePlan& plan) {
  return {{"loops", fmt::format("{}x{}", plan.rows, plan.columns)},
          {"step", std::to_string(plan.step_columns())},
          {"block", std::to_string(plan.column_block)},
          {"threads", fmt::format("{}x{}", plan.row_parts, plan.column_parts)}};
}

Cells cells_of(const ReductionPlan& plan) {
  return {{"registers", fmt::format("{}x{}", plan.step_rows, plan.step_columns())},
          {"chunk", std::to_string(plan.chunk)},
          {"threads", std::to_string(plan.threads)}};
}

Cells cells_of(const operations::CudaPlan& plan) {
  Cells cells = {{"tile", fmt::format("{}x{}", plan.tile_rows, plan.tile_columns)},
                 {"each thread", fmt::format("{}x{}", plan.thread_rows, plan.thread_columns)},
                 {"threads", std::to_string(plan.threads)},
                 {"grid", fmt::format("{}x{}x{}", plan.blocks_across, plan.blocks_down, plan.batches)}};
  if (std::holds_alternative<MatmulShape>(plan.operation)) {
    cells.emplace_back("used", fmt::format("{:.0f} %", 100 * plan.useful));
    cells.emplace_back("last wave", fmt::format("{:.0f} %", 100 * plan.last_wave));
  }
  return cells;
}

Cells cells_of(const operations::Plan& plan, const MeasuredKernel& kernel, double library_ns) {
  Cells cells = std::visit([](const auto& one) { return cells_of(one); }, plan);
  cells.emplace_back("slowest", operations::slowest_stage(plan));
  cells.emplace_back("predicted", fmt::format("{:.1f} us", operations::predicted_ns(plan) / 1e3));
  if (library_ns <= 0) {
    return cells;  // nothing was run
  }
  cells.emplace_back("measured", kernel.ns > 0 ? fmt::format("{:.1f} us", kernel.ns / 1e3) : "not measured");
  cells.emplace_back("of torch",
                     kernel.ns > 0 ? fmt::format("{:.2f}x", kernel.ns / library_ns) : first_line(kernel.problem));
  return cells;
}

/// Columns are as wide as their longest cell; the last one is not filled up.
std::string table_text(const std::vector<Cells>& rows) {
  std::string head = " #";
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    lines.push_back(fmt::format("{:>2}", i + 1));
  }
  for (std::size_t column = 0; column < rows.front().size(); ++column) {
    std::size_t width = rows.front()[column].first.size();
    for (const Cells& row : rows) {
      width = std::max(width, column + 1 < row.size() ? row[column].second.size() : 0);
    }
    head += fmt::format("  {:>{}}", rows.front()[column].first, width);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      lines[i] += fmt::format("  {:>{}}", rows[i][column].second, width);
    }
  }
  return fmt::format("{}\n{}\n", head, fmt::join(lines, "\n"));
}

json sizes_json(const MatmulPlan& plan) {
  return {{"registerRows", plan.register_rows},
          {"registerColumns", plan.register_columns},
          {"rowBlock", plan.row_block},
          {"columnBlock", plan.column_block},
          {"depthBlock", plan.depth_block},
          {"rowParts", plan.row_parts},
          {"columnParts", plan.column_parts},
          {"packsA", plan.pack_a},
          {"packsB", plan.pack_b}};
}

json sizes_json(const ElementwisePlan& plan) {
  return {{"rows", plan.rows},
          {"columns", plan.columns},
          {"stepColumns", plan.step_columns()},
          {"columnBlock", plan.column_block},
          {"rowParts", plan.row_parts},
          {"columnParts", plan.column_parts}};
}

json sizes_json(const ReductionPlan& plan) {
  return {{"registerRows", plan.step_rows},
          {"registerColumns", plan.step_columns()},
          {"chunk", plan.chunk},
          {"parts", plan.threads}};
}

json sizes_json(const operations::CudaPlan& plan) {
  return {{"tileRows", plan.tile_rows},     {"tileColumns", plan.tile_columns},
          {"threadRows", plan.thread_rows}, {"threadColumns", plan.thread_columns},
          {"threads", plan.threads},        {"blocksAcross", plan.blocks_across},
          {"blocksDown", plan.blocks_down}, {"batches", plan.batches},
          {"useful", plan.useful},          {"lastWave", plan.last_wave}};
}

json plan_json(const operations::Plan& plan, const MeasuredKernel& kernel) {
  json object = {{"plan", std::visit([](const auto& one) { return sizes_json(one); }, plan)},
                 {"slowest", operations::slowest_stage(plan)},
                 {"predictedNs", operations::predicted_ns(plan)}};
  if (kernel.ns > 0) {
    object["measuredNs"] = kernel.ns;
    object["relativeError"] = kernel.relative_error;
  } else {
    object["problem"] = kernel.problem;
  }
  return object;
}

}  // namespace

std::string kernel_text(const KernelAnswer& answer) {
  std::vector<Cells> rows;
  for (std::size_t i = 0; i < answer.construction.plans.size(); ++i) {
    rows.push_back(cells_of(answer.construction.plans[i], answer.measured.kernels[i], answer.measured.library_ns));
  }
  const bool was_run = answer.measured.library_ns > 0;
  const std::string where = answer.threads > 0 ? fmt::format("{} thread{} of {}", answer.threads,
                                                             answer.threads == 1 ? "" : "s", answer.device)
                                               : answer.device;
  std::string text =
      fmt::format("{}, float32, {}\n{} program{} considered\n\n{}", operations::operation_text(answer.operation), where,
                  answer.construction.considered, answer.construction.considered == 1 ? "" : "s", table_text(rows));
  if (!was_run) {
    return text + fmt::format("\nPredicted from the description of the GPU; nothing was run: {}.\n",
                              answer.measured.kernels.front().problem);
  }
  text += fmt::format("\ntorch {}: {:.1f} us measured\n", answer.measured.torch, answer.measured.library_ns / 1e3);
  if (const MeasuredKernel* best = operations::fastest(answer.measured)) {
    text += fmt::format("The fastest program takes {:.2f}x of its time; the results agree.\n",
                        best->ns / answer.measured.library_ns);
  }
  return text;
}

std::string kernel_json(const KernelAnswer& answer) {
  json object = {{"device", answer.device},
                 {"operation", operations::operation_text(answer.operation)},
                 {"dtype", "float32"},
                 {"considered", answer.construction.considered},
                 {"constructionMs", answer.construction_ms},
                 {"programs", json::array()}};
  if (answer.measured.library_ns > 0) {
    object.update({{"torch", answer.measured.torch}, {"libraryNs", answer.measured.library_ns}});
  }
  if (answer.threads > 0) {
    object["threads"] = answer.threads;
  }
  for (std::size_t i = 0; i < answer.construction.plans.size(); ++i) {
    object["programs"].push_back(plan_json(answer.construction.plans[i], answer.measured.kernels[i]));
  }
  return object.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace ridgeline::report
