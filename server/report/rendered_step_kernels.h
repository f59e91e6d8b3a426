// What `ridgeline kernel --of` found, as text and as JSON (protocol/step_kernels.schema.json).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/values/profile.h"
#include "operations/kernels/measured_kernel.h"
#include "operations/work/own_programs.h"

namespace ridgeline::report {

struct StepKernel {
  operations::ProgramCandidate candidate;
  std::optional<operations::MeasuredOperator> measured{};
  std::string problem{};  ///< why it was not measured
  std::string file{};     ///< that the operator was written to; empty: none

  operations::TimedProgram timed() const;  ///< of what was measured
};

/// `kernels` are of operations of the profile.
std::string step_kernels_text(const analysis::Profile& profile, const std::vector<StepKernel>& kernels);
std::string step_kernels_json(const analysis::Profile& profile, const std::vector<StepKernel>& kernels);

}  // namespace ridgeline::report
