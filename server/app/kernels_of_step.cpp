#include "app/kernels_of_step.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "app/measure_kernels.h"
#include "app/profiling/find_profile.h"
#include "app/profiling/kept_programs.h"
#include "operations/kernels/operator_source.h"
#include "report/units.h"
#include "worker/machine.h"

namespace ridgeline::app {

namespace {

using analysis::Profile;

/// Why there is nothing to be constructed for this profile; empty: there is.
std::string profile_problem(const Profile& profile, const operations::Device& device) {
  const analysis::Environment& environment = profile.environment;
  if (device.kind != operations::DeviceKind::kCpu) {
    return "programs of a step are run beside torch, and those for a GPU are not";
  }
  if (!profile.work) {
    return "the profile has no list of the step's operations: make one with `ridgeline profile`";
  }
  if (!profile.work->not_listed.empty()) {
    return "the operations of the profile's step are not known: " + profile.work->not_listed;
  }
  if (environment.device != "cpu" || environment.torch.empty()) {
    return "programs are constructed for a processor, and the profile's step did not run on one here";
  }
  if (environment.device_name != worker::processor_name()) {
    return fmt::format("the profile was made on {}, and this processor is {}: make one here", environment.device_name,
                       worker::processor_name());
  }
  if (environment.threads > device.compute_units) {
    return fmt::format("the profile's step ran with {} threads, and {} cores may be used here", environment.threads,
                       device.compute_units);
  }
  return "";
}

/// The fastest of the best predicted programs, as a module of PyTorch.
base::Result<std::string> fastest_module(const operations::Operation& operation, const StepKernelsRequest& request,
                                         const KernelConditions& conditions) {
  const auto construction = operations::construct(operation, request.device, conditions.threads, request.top);
  if (!construction) {
    return construction.error();
  }
  const auto measured = measure_kernels(conditions, operation, construction->plans);
  if (!measured) {
    return measured.error();
  }
  const operations::MeasuredKernel* best = operations::fastest(*measured);
  if (best == nullptr) {
    return base::error(measured->kernels.front().problem);
  }
  const auto index = static_cast<std::size_t>(best - measured->kernels.data());
  return operations::operator_module(construction->plans[index], request.device, conditions.threads);
}

/// Modules by the text of their operations: several keys can have the same.
using Modules = std::map<std::string, base::Result<std::string>>;

report::StepKernel step_kernel(const operations::ProgramCandidate& candidate, const StepKernelsRequest& request,
                               const KernelConditions& conditions, Modules& modules) {
  report::StepKernel kernel{candidate};
  const std::string operation = operations::operation_text(candidate.call.operation);
  auto found = modules.find(operation);
  if (found == modules.end()) {
    found = modules.emplace(operation, fastest_module(candidate.call.operation, request, conditions)).first;
  }
  if (!found->second) {
    kernel.problem = found->second.error().message();
    return kernel;
  }
  auto measured = measure_operator(conditions, *found->second, candidate.call, candidate.key);
  if (measured && operations::is_disturbed(candidate, measured->library_ns)) {
    kernel.problem = fmt::format(
        "disturbed: torch took {} for a call alone, and {} in the step; try again when the "
        "machine is quiet",
        report::duration(measured->library_ns / 1e6), report::duration(candidate.ms / candidate.calls));
  } else if (measured) {
    kernel.measured = std::move(*measured);
  } else {
    kernel.problem = measured.error().message();
  }
  return kernel;
}

/// For the next reports. Why not; mostly empty.
std::string keep(const std::string& cache, const Profile& profile, const std::vector<report::StepKernel>& kernels) {
  std::vector<KeptProgram> programs;
  for (const report::StepKernel& kernel : kernels) {
    if (kernel.measured) {
      programs.push_back({profile.environment.threads, profile.environment.torch, kernel.timed()});
    }
  }
  const auto kept = keep_programs(cache, std::move(programs));
  return kept ? "" : "What was measured is not kept for the next reports: " + kept.error().message();
}

}  // namespace

std::string module_file(const operations::ProgramCandidate& candidate) {
  return operations::operator_name(operations::operation_text(candidate.call.operation)) + ".py";
}

Answer<StepKernels> measure_step_kernels(const StepKernelsRequest& request,
                                         base::FunctionRef<void(const std::string&)> announce) {
  auto profile = find_profile(request.profile);
  if (!profile) {
    return refusal(Cause::kRequest, profile.error());
  }
  if (std::string problem = profile_problem(*profile, request.device); !problem.empty()) {
    return refusal(Cause::kRequest, std::move(problem));
  }
  const auto conditions =
      kernel_conditions(request.python, request.cache, profile->environment.threads, request.seconds);
  if (!conditions) {
    return refusal(Cause::kMachine, conditions.error());
  }
  const auto candidates = operations::program_candidates(*profile->work, profile->iteration.ms.value);
  StepKernels made{std::move(*profile), {}, {}, ""};
  const std::string& torch = made.profile.environment.torch;
  Modules modules;
  for (const operations::ProgramCandidate& candidate : candidates) {
    announce(fmt::format("{} of {}: {}: compiling generated programs with {}; {} runs them beside torch.",
                         made.kernels.size() + 1, candidates.size(),
                         operations::operation_text(candidate.call.operation), conditions->compiler,
                         conditions->python));
    report::StepKernel kernel = step_kernel(candidate, request, *conditions, modules);
    if (kernel.measured && kernel.measured->torch != torch) {
      return refusal(Cause::kMachine,
                     fmt::format("the profile is of torch {}, and {} has torch {}: name the profile's with --python",
                                 torch, conditions->python, kernel.measured->torch));
    }
    if (kernel.measured && kernel.timed().is_faster()) {
      made.modules.emplace(module_file(candidate), *modules.at(operations::operation_text(candidate.call.operation)));
    }
    made.kernels.push_back(std::move(kernel));
  }
  made.warning = keep(request.cache, made.profile, made.kernels);
  return made;
}

}  // namespace ridgeline::app
