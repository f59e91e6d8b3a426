#include "operations/kernels/measured_kernel.h"

#include <cmath>
#include <exception>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <variant>

#include <fmt/format.h>

#include "base/json_problem.h"

namespace ridgeline::operations {

namespace {

using nlohmann::json;

double positive_time(const json& value) {
  const double number = value.get<double>();
  return std::isfinite(number) && number > 0 ? number : throw std::runtime_error("a time is not positive");
}

json runner_json(const MatmulShape& shape) {
  if (shape.convolution) {
    const Convolution& conv = *shape.convolution;
    return {{"kind", "conv"},          {"images", shape.batches}, {"channels", conv.channels}, {"height", conv.height},
            {"width", conv.width},     {"outputs", shape.rows},   {"kernel", conv.kernel},     {"stride", conv.stride},
            {"padding", conv.padding}, {"bias", shape.bias},      {"relu", shape.relu}};
  }
  return {{"kind", "matmul"},     {"batches", shape.batches}, {"rows", shape.rows}, {"columns", shape.columns},
          {"depth", shape.depth}, {"bias", shape.bias},       {"relu", shape.relu}, {"transposed", shape.transposed}};
}

json runner_json(const ElementwiseShape& shape) {
  json object = {{"kind", "elementwise"},
                 {"expression", python_text(shape.expression)},
                 {"operands", json::array()},
                 {"steps", json::array()}};
  for (const Operand& operand : shape.expression.operands) {
    object["operands"].push_back(
        {{"name", std::string(1, operand.name)},
         {"shape", operand.is_row ? json::array({shape.columns}) : json::array({shape.rows, shape.columns})}});
  }
  for (const Step& step : shape.expression.steps) {
    object["steps"].push_back(step_text(shape.expression, step, ""));
  }
  return object;
}

json runner_json(const ReductionShape& shape) {
  return {{"kind", "reduce"},
          {"reduction", reduction_name(shape.reduction)},
          {"rows", shape.rows},
          {"columns", shape.columns},
          {"dim", shape.dim}};
}

}  // namespace

base::Result<MeasuredKernels> parse_measured_kernels(const std::string& line, std::size_t count) {
  try {
    const json object = json::parse(line);
    if (object.contains("problem")) {
      return base::error(object.at("problem").get<std::string>());
    }
    MeasuredKernels measured{
        object.at("torch").get<std::string>(), positive_time(object.at("libraryNs")), {}, object.value("gpu", "")};
    for (const json& kernel : object.at("kernels")) {
      measured.kernels.push_back(kernel.contains("ns") ? MeasuredKernel{positive_time(kernel.at("ns")), "",
                                                                        kernel.at("relativeError").get<double>()}
                                                       : MeasuredKernel{0, kernel.at("problem").get<std::string>()});
    }
    if (measured.kernels.size() != count) {
      return base::error(fmt::format("what was measured has {} kernels instead of {}", measured.kernels.size(), count));
    }
    return measured;
  } catch (const std::exception& problem) {
    return base::error(std::string("what was measured cannot be read: ") + base::json_problem(problem.what()));
  }
}

base::Result<MeasuredOperator> parse_measured_operator(const std::string& line) {
  try {
    const json object = json::parse(line);
    if (object.contains("problem")) {
      return base::error(object.at("problem").get<std::string>());
    }
    return MeasuredOperator{object.at("torch").get<std::string>(), positive_time(object.at("libraryNs")),
                            positive_time(object.at("ownNs")),     positive_time(object.at("ratio")),
                            positive_time(object.at("low")),       positive_time(object.at("high"))};
  } catch (const std::exception& problem) {
    return base::error(std::string("what was measured cannot be read: ") + base::json_problem(problem.what()));
  }
}

const MeasuredKernel* fastest(const MeasuredKernels& measured) {
  const MeasuredKernel* best = nullptr;
  for (const MeasuredKernel& kernel : measured.kernels) {
    if (kernel.ns > 0 && (best == nullptr || kernel.ns < best->ns)) {
      best = &kernel;
    }
  }
  return best;
}

std::string runner_operation(const Operation& operation) {
  return std::visit([](const auto& shape) { return runner_json(shape); }, operation).dump();
}

}  // namespace ridgeline::operations
