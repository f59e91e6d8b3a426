#include "operations/kernels/operation.h"

#include <utility>

#include "operations/kernels/convolution.h"
#include "operations/kernels/matmul_source.h"
#include "operations/kernels/words.h"

namespace ridgeline::operations {

namespace {

constexpr std::string_view kUsage =
    "; give an operation such as 'matmul 512 1003 768', 'bmm 16 128 128 64', 'linear 512 1003 768 + bias + relu', "
    "'conv 8 64 56 56 64 3 stride 1 padding 1', 'elementwise 512 1000 = relu(x * y + b[1000])' or 'reduce sum 512 1000 "
    "dim 1'";

template <typename... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <typename... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

template <typename Shape>
base::Result<Operation> as_operation(base::Result<Shape> shape) {
  return shape ? base::Result<Operation>(std::move(*shape))
               : base::Result<Operation>(base::error(shape.error().message() + std::string(kUsage)));
}

template <typename Kind>
base::Result<Ranked<Plan>> as_plans(base::Result<Ranked<Kind>> found) {
  if (!found) {
    return found.error();
  }
  return Ranked<Plan>{{found->plans.begin(), found->plans.end()}, found->considered};
}

}  // namespace

base::Result<Operation> parse_operation(std::string_view text) {
  const auto words = words_of(text);
  const std::string_view kind = words.empty() ? "" : words.front();
  if (kind == "matmul" || kind == "bmm" || kind == "linear") {
    return as_operation(parse_matmul(text));
  }
  if (kind == "conv") {
    return as_operation(parse_convolution(text));
  }
  if (kind == "elementwise") {
    return as_operation(parse_elementwise(text));
  }
  if (kind == "reduce") {
    return as_operation(parse_reduction(text));
  }
  return base::error(in_quotes(text) + " is not known" + std::string(kUsage));
}

std::string operation_text(const Operation& operation) {
  return std::visit(Overloaded{[](const MatmulShape& shape) { return matmul_text(shape); },
                               [](const ElementwiseShape& shape) { return elementwise_text(shape); },
                               [](const ReductionShape& shape) { return reduction_text(shape); }},
                    operation);
}

base::Result<Ranked<Plan>> construct(const Operation& operation, const Device& device, int threads, std::size_t top) {
  if (device.kind == DeviceKind::kGpu) {
    return as_plans(construct_cuda(operation, device, top));
  }
  return std::visit(
      Overloaded{
          [&](const MatmulShape& shape) { return as_plans(construct_matmul(shape, device, threads, top)); },
          [&](const ElementwiseShape& shape) { return as_plans(construct_elementwise(shape, device, threads, top)); },
          [&](const ReductionShape& shape) { return as_plans(construct_reduction(shape, device, threads, top)); }},
      operation);
}

std::string program_source(const Plan& plan) {
  return std::visit(Overloaded{[](const MatmulPlan& one) { return matmul_source(one); },
                               [](const ElementwisePlan& one) { return elementwise_source(one); },
                               [](const ReductionPlan& one) { return reduction_source(one); },
                               [](const CudaPlan& one) { return cuda_source(one); }},
                    plan);
}

double predicted_ns(const Plan& plan) {
  return std::visit([](const auto& one) { return one.ns; }, plan);
}

const std::string& slowest_stage(const Plan& plan) {
  return std::visit([](const auto& one) -> const std::string& { return one.slowest; }, plan);
}

}  // namespace ridgeline::operations
