#include "commands/kernel_description.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace ridgeline::commands {

namespace {

using kernels::MatmulPlan;
using nlohmann::json;

double positive(const json& value) {
  const double number = value.get<double>();
  return std::isfinite(number) && number > 0 ? number : throw std::runtime_error("a time is not positive");
}

std::string packed(const MatmulPlan& plan) {
  return plan.pack_a && plan.pack_b ? "A, B" : plan.pack_a ? "A" : plan.pack_b ? "B" : "-";
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string row_of(const KernelAnswer& answer, std::size_t index) {
  const MatmulPlan& plan = answer.construction.plans[index];
  const MeasuredKernel& kernel = answer.measured.kernels[index];
  const std::string measured =
      kernel.ns > 0 ? fmt::format("{:>10.1f} us  {:>8.2f}x", kernel.ns / 1e3, kernel.ns / answer.measured.library_ns)
                    : "not measured: " + first_line(kernel.problem);
  return fmt::format("{:>2}  {:>9}  {:>15}  {:>6}  {:>7}  {:<8}  {:>10.1f} us  {}\n", index + 1,
                     fmt::format("{}x{}", plan.register_rows, plan.register_columns),
                     fmt::format("{}x{}x{}", plan.row_block, plan.column_block, plan.depth_block), packed(plan),
                     fmt::format("{}x{}", plan.row_parts, plan.column_parts), plan.slowest, plan.ns / 1e3, measured);
}

json plan_json(const MatmulPlan& plan, const MeasuredKernel& kernel) {
  json object = {{"registerRows", plan.register_rows},
                 {"registerColumns", plan.register_columns},
                 {"rowBlock", plan.row_block},
                 {"columnBlock", plan.column_block},
                 {"depthBlock", plan.depth_block},
                 {"rowParts", plan.row_parts},
                 {"columnParts", plan.column_parts},
                 {"packsA", plan.pack_a},
                 {"packsB", plan.pack_b},
                 {"slowest", plan.slowest},
                 {"predictedNs", plan.ns}};
  if (kernel.ns > 0) {
    object["measuredNs"] = kernel.ns;
  } else {
    object["problem"] = kernel.problem;
  }
  return object;
}

}  // namespace

base::Result<MeasuredKernels> parse_measured_kernels(const std::string& line, std::size_t count) {
  try {
    const json object = json::parse(line);
    MeasuredKernels measured{object.at("torch").get<std::string>(), positive(object.at("libraryNs")), {}};
    for (const json& kernel : object.at("kernels")) {
      measured.kernels.push_back(kernel.contains("ns") ? MeasuredKernel{positive(kernel.at("ns")), ""}
                                                       : MeasuredKernel{0, kernel.at("problem").get<std::string>()});
    }
    if (measured.kernels.size() != count) {
      return base::error(fmt::format("it has {} kernels instead of {}", measured.kernels.size(), count));
    }
    return measured;
  } catch (const std::exception& problem) {
    return base::error(problem.what());
  }
}

const MeasuredKernel* fastest(const KernelAnswer& answer) {
  const MeasuredKernel* best = nullptr;
  for (const MeasuredKernel& kernel : answer.measured.kernels) {
    if (kernel.ns > 0 && (best == nullptr || kernel.ns < best->ns)) {
      best = &kernel;
    }
  }
  return best;
}

std::string kernel_text(const KernelAnswer& answer) {
  const kernels::MatmulShape& shape = answer.shape;
  std::string text = fmt::format(
      "{15}[{0}, {2}] @ [{2}, {1}]{16}, float32, {3} thread{4} of {5}\n{6} programs considered\n\n"
      "{7:>2}  {8:>9}  {9:>15}  {10:>6}  {11:>7}  {12:<8}  {13:>13}  {14:>13}  {15:>9}\n",
      shape.rows, shape.columns, shape.depth, answer.threads, answer.threads == 1 ? "" : "s", answer.device,
      answer.construction.considered, "#", "registers", "blocks", "packed", "threads", "slowest", "predicted",
      "measured", "of torch", shape.batches == 1 ? "" : fmt::format("{} × ", shape.batches),
      std::string(shape.bias ? " + bias" : "") + (shape.relu ? ", relu" : ""));
  for (std::size_t i = 0; i < answer.construction.plans.size(); ++i) {
    text += row_of(answer, i);
  }
  text += fmt::format("\ntorch {}: {:.1f} us measured\n", answer.measured.torch, answer.measured.library_ns / 1e3);
  if (const MeasuredKernel* best = fastest(answer)) {
    text += fmt::format("The fastest program takes {:.2f}x of its time; the results agree.\n",
                        best->ns / answer.measured.library_ns);
  }
  return text;
}

std::string kernel_json(const KernelAnswer& answer) {
  json object = {{"device", answer.device},
                 {"threads", answer.threads},
                 {"rows", answer.shape.rows},
                 {"columns", answer.shape.columns},
                 {"depth", answer.shape.depth},
                 {"batches", answer.shape.batches},
                 {"bias", answer.shape.bias},
                 {"relu", answer.shape.relu},
                 {"dtype", "float32"},
                 {"considered", answer.construction.considered},
                 {"constructionMs", answer.construction_ms},
                 {"torch", answer.measured.torch},
                 {"libraryNs", answer.measured.library_ns},
                 {"programs", json::array()}};
  for (std::size_t i = 0; i < answer.construction.plans.size(); ++i) {
    object["programs"].push_back(plan_json(answer.construction.plans[i], answer.measured.kernels[i]));
  }
  return object.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace ridgeline::commands
