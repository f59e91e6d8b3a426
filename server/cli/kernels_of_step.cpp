#include "cli/kernels_of_step.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "app/profiling/find_profile.h"
#include "app/profiling/kept_programs.h"
#include "cli/exit_codes.h"
#include "cli/kernel_runs.h"
#include "cli/kernels_of_step_description.h"
#include "cli/profile_now.h"
#include "cli/terminal.h"
#include "operations/kernels/operator_source.h"
#include "report/units.h"
#include "worker/machine.h"

namespace ridgeline::cli {

namespace {

namespace fs = std::filesystem;

using analysis::Profile;

/// Why there is nothing to be constructed for this profile; empty: there is.
std::string profile_problem(const Profile& profile, const operations::Device& device) {
  const analysis::Environment& environment = profile.environment;
  if (device.kind != operations::DeviceKind::kCpu) {
    return "programs of a step are run beside torch, and those for a GPU are not";
  }
  if (!profile.work) {
    return "the profile has no list of the step's operations: make one with `ridgeline profile` or `ridgeline profile`";
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
  const MeasuredKernel* best = fastest(*measured);
  if (best == nullptr) {
    return base::error(measured->kernels.front().problem);
  }
  const auto index = static_cast<std::size_t>(best - measured->kernels.data());
  return operations::operator_module(construction->plans[index], request.device, conditions.threads);
}

/// Modules by the text of their operations: several keys can have the same.
using Modules = std::map<std::string, base::Result<std::string>>;

StepKernel measured_kernel(const operations::ProgramCandidate& candidate, const StepKernelsRequest& request,
                           const KernelConditions& conditions, Modules& modules) {
  StepKernel kernel{candidate};
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

/// The operators that are faster. The exit code.
int emit_faster(std::vector<StepKernel>& kernels, const Modules& modules, const std::string& folder) {
  std::error_code problem;
  fs::create_directories(folder, problem);
  for (StepKernel& kernel : kernels) {
    if (!kernel.measured || !kernel.timed().is_faster()) {
      continue;
    }
    const std::string operation = operations::operation_text(kernel.candidate.call.operation);
    const std::string file = (fs::path(folder) / (operations::operator_name(operation) + ".py")).string();
    if (const int code = write_out(*modules.at(operation), {.format = "text", .file = file}); code != kExitOk) {
      return code;
    }
    kernel.file = file;
  }
  return kExitOk;
}

/// For the next reports.
void keep(const std::string& cache, const Profile& profile, const std::vector<StepKernel>& kernels) {
  std::vector<app::KeptProgram> programs;
  for (const StepKernel& kernel : kernels) {
    if (kernel.measured) {
      programs.push_back({profile.environment.threads, profile.environment.torch, kernel.timed()});
    }
  }
  if (const auto kept = app::keep_programs(cache, std::move(programs)); !kept) {
    warn("What was measured is not kept for the next reports: " + kept.error().message());
  }
}

int fail_with(const std::string& why, int code) {
  print_error(why);
  return code;
}

}  // namespace

int show_step_kernels(const StepKernelsRequest& request, const Output& output) {
  const auto profile = app::find_profile(request.profile);
  if (!profile) {
    return fail_with(profile.error().message(), kExitUsage);
  }
  if (const std::string problem = profile_problem(*profile, request.device); !problem.empty()) {
    return fail_with(problem, kExitUsage);
  }
  const auto conditions =
      kernel_conditions(request.python, request.cache, profile->environment.threads, request.seconds);
  if (!conditions) {
    return fail_with(conditions.error().message(), kExitEnvironment);
  }
  const auto candidates = operations::program_candidates(*profile->work, profile->iteration.ms.value);
  std::vector<StepKernel> kernels;
  Modules modules;
  for (const operations::ProgramCandidate& candidate : candidates) {
    print_error(fmt::format("{} of {}: {}: compiling generated programs with {}; {} runs them beside torch.",
                            kernels.size() + 1, candidates.size(), operations::operation_text(candidate.call.operation),
                            conditions->compiler, conditions->python));
    kernels.push_back(measured_kernel(candidate, request, *conditions, modules));
    if (const auto& measured = kernels.back().measured; measured && measured->torch != profile->environment.torch) {
      return fail_with(fmt::format("the profile is of torch {}, and {} has torch {}: name the profile's with --python",
                                   profile->environment.torch, conditions->python, measured->torch),
                       kExitEnvironment);
    }
  }
  keep(request.cache, *profile, kernels);
  if (const int code = request.emit_folder.empty() ? kExitOk : emit_faster(kernels, modules, request.emit_folder);
      code != kExitOk) {
    return code;
  }
  return write_out(
      output.format == "json" ? step_kernels_json(*profile, kernels) : step_kernels_text(*profile, kernels), output);
}

}  // namespace ridgeline::cli
