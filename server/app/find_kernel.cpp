#include "app/find_kernel.h"

#include <chrono>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/measure_kernels.h"
#include "app/profiling/known_device.h"
#include "app/profiling/step_on_devices.h"
#include "operations/device/data_sheets.h"
#include "operations/kernels/operator_source.h"

namespace ridgeline::app {

namespace {

using operations::MeasuredKernel;
using operations::MeasuredKernels;
using Plans = std::vector<operations::Plan>;
using Announce = base::FunctionRef<void(const std::string&)>;

base::Result<MeasuredKernels> measure_here(const KernelRequest& request, const Plans& plans, Announce announce) {
  const auto conditions = kernel_conditions(request.python, request.cache, request.threads, request.seconds);
  if (!conditions) {
    return conditions.error();
  }
  announce(fmt::format("compiling {} generated programs with {}; {} runs them beside torch.", plans.size(),
                       conditions->compiler, conditions->python));
  return measure_kernels(*conditions, request.operation, plans);
}

/// On the GPU that torch uses in the interpreter; an error where that is not the device.
base::Result<MeasuredKernels> measure_on_gpu(const KernelRequest& request, const Plans& plans, Announce announce) {
  const auto conditions = gpu_conditions(request.device, request.python, request.cache, request.seconds);
  if (!conditions) {
    return conditions.error();
  }
  announce(fmt::format("{} compiles {} generated programs with NVRTC and runs them beside torch.", conditions->python,
                       plans.size()));
  auto measured = measure_kernels(*conditions, request.operation, plans);
  if (measured && !operations::names_device(measured->gpu, request.device.name)) {
    return base::error("torch uses another GPU there, " + measured->gpu);
  }
  return measured;
}

/// Where programs for a GPU cannot be run, their predictions remain.
MeasuredKernels not_run(std::size_t count, const std::string& why) {
  return {"", 0, std::vector<MeasuredKernel>(count, MeasuredKernel{0, why})};
}

}  // namespace

base::Result<operations::Device> kernel_device(const std::string& name, const std::string& cache) {
  if (!name.empty()) {
    auto named = named_device(name);
    return named ? base::Result<operations::Device>(std::move(named->device)) : named.error();
  }
  const auto kept = kept_device(cache);
  if (!kept) {
    return kept.error();
  }
  if (!*kept) {
    return base::error("this processor has not been measured; run `ridgeline machine measure` once");
  }
  return **kept;
}

Answer<report::KernelAnswer> find_kernel(const KernelRequest& request, Announce announce) {
  const bool for_gpu = request.device.kind == operations::DeviceKind::kGpu;
  if (!for_gpu && request.threads > request.device.compute_units) {
    return refusal(Cause::kRequest, fmt::format("--threads {}: {} has {} cores that may be used", request.threads,
                                                request.device.name, request.device.compute_units));
  }
  const auto begin = std::chrono::steady_clock::now();
  auto construction = operations::construct(request.operation, request.device, request.threads, request.top);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  if (!construction) {
    return refusal(Cause::kMachine, construction.error());
  }
  const Plans& plans = construction->plans;
  auto measured = for_gpu ? measure_on_gpu(request, plans, announce) : measure_here(request, plans, announce);
  if (!measured && for_gpu) {
    measured = not_run(plans.size(), measured.error().message());
  }
  if (!measured) {
    return refusal(Cause::kMachine, measured.error());
  }
  return report::KernelAnswer{request.device.name, for_gpu ? 0 : request.threads,
                              request.operation,   std::move(*construction),
                              took.count(),        std::move(*measured)};
}

base::Result<std::string> best_source(const KernelRequest& request, const report::KernelAnswer& answer,
                                      bool as_operator) {
  const bool was_run = answer.measured.library_ns > 0;
  const MeasuredKernel* best = was_run ? operations::fastest(answer.measured) : answer.measured.kernels.data();
  if (best == nullptr) {
    return base::error("no program could be run: " + answer.measured.kernels.front().problem);
  }
  const operations::Plan& plan =
      answer.construction.plans[static_cast<std::size_t>(best - answer.measured.kernels.data())];
  if (!as_operator) {
    return operations::program_source(plan);
  }
  return operations::operator_module(plan, request.device, request.threads);
}

}  // namespace ridgeline::app
