#include "commands/captured_changes.h"

#include <fmt/format.h>

#include "commands/operation_times.h"
#include "whatif/change_table.h"

namespace ridgeline::commands {

base::Result<CapturedAnswer, ExitCode> predict_captured(const CapturedChanges& asked,
                                                        const std::vector<protocol::ChangeRequest>& requests,
                                                        const whatif::UserChanges& user) {
  std::vector<protocol::ChangeRequest> by_runner;
  for (const protocol::ChangeRequest& request : requests) {
    by_runner.push_back(whatif::parts_of(request).runner);
  }
  auto findings = run_experiment(asked.runs, {.kind = protocol::Experiment::Kind::kCapture, .changes = by_runner});
  if (!findings) {
    return findings.error();
  }
  auto timed = times_of_operations(asked.runs, profiling::conditions_of(asked.environment, asked.environment.threads),
                                   profiling::operations_of(findings->captured), asked.measure_seconds);
  if (!timed) {
    return timed.error();
  }
  CapturedAnswer found{profiling::answer_what_if(asked.base, requests, findings->captured, timed->known, user),
                       timed->disturbed};
  found.answer.operations_measured = timed->measured;
  return found;
}

std::string disturbed_text(int disturbed, int measured) {
  return disturbed == 0 ? ""
                        : fmt::format(
                              "Other processes ran while {} of {} operations were timed: predictions are less certain, "
                              "and these times are not kept. Ask again on a quiet machine.",
                              disturbed, measured);
}

}  // namespace ridgeline::commands
