// Operations of a profile's step that programs can be constructed for, and those for which one was faster.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/values/step_work.h"
#include "operations/kernels/step_operation.h"

namespace ridgeline::operations {

/// The calls of one operation in a step, on all lines.
struct ProgramCandidate {
  std::string key;
  StepOperation call;
  analysis::Location location;  ///< of the line on which it takes most time
  int calls = 0;
  double ms = 0;
};

/// An emitted operator's time over torch's, with its interval of 95 %.
struct TimedProgram {
  std::string key;        ///< of torch's operation, with its shapes and strides
  std::string operation;  ///< operation_text()
  double ratio = 1;
  double low = 1;
  double high = 1;
  double library_ns = 0;  ///< of torch's operation, alone
  bool is_faster() const { return high < 1; }
  bool operator==(const TimedProgram&) const = default;
};

/// Whether torch took so much longer alone than in the step that other processes, or threads that wait for each other,
/// must have disturbed the comparison. `library_ns`: of a call, alone.
bool is_disturbed(const ProgramCandidate& candidate, double library_ns);

/// What the step is predicted to save, milliseconds: of the operation's time in the step or alone, the lesser.
double saved_ms(const ProgramCandidate& candidate, double library_ns, double ratio);

/// The share of the step's time below which an operation is not worth a program.
inline constexpr double kWorthProgram = 0.02;

/// The operations that take kWorthProgram of the iteration or more, most time first. Only the costliest operations of a
/// line are known (LineWork::operations). Pure.
std::vector<ProgramCandidate> program_candidates(const analysis::StepWork& work, double iteration_ms);

/// The candidates whose program was faster beyond its interval and not disturbed, most saved time first, at most
/// analysis::kMaxOwnPrograms. Pure.
std::vector<analysis::OwnProgram> own_programs(const analysis::StepWork& work, double iteration_ms,
                                               std::span<const TimedProgram> timed);

}  // namespace ridgeline::operations
