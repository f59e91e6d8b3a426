#include "operations/work/own_programs.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

namespace ridgeline::operations {

namespace {

/// The calls of one key, and how long it takes on the line where that is longest.
struct Calls {
  int count = 0;
  double ms = 0;
  double longest_ms = -1;
  analysis::Location longest;
};

std::map<std::string, Calls> calls_by_key(const analysis::StepWork& work) {
  std::map<std::string, Calls> by_key;
  for (const analysis::LineWork& line : work.lines) {
    for (const analysis::OperationCost& operation : line.operations) {
      Calls& calls = by_key[operation.key];
      calls.count += operation.work.operations;
      calls.ms += operation.work.ms;
      if (operation.work.ms > calls.longest_ms) {
        calls.longest_ms = operation.work.ms;
        calls.longest = line.location;
      }
    }
  }
  return by_key;
}

constexpr double kNsInMs = 1e6;
constexpr double kMostOfStep = 2;  // caches are warmer alone, so that a call should take less there

}  // namespace

bool is_disturbed(const ProgramCandidate& candidate, double library_ns) {
  return library_ns * candidate.calls > kMostOfStep * candidate.ms * kNsInMs;
}

double saved_ms(const ProgramCandidate& candidate, double library_ns, double ratio) {
  return std::min(candidate.ms, library_ns * candidate.calls / kNsInMs) * (1 - ratio);
}

std::vector<ProgramCandidate> program_candidates(const analysis::StepWork& work, double iteration_ms) {
  std::vector<ProgramCandidate> candidates;
  for (const auto& [key, calls] : calls_by_key(work)) {
    if (calls.ms < kWorthProgram * iteration_ms || calls.ms <= 0) {
      continue;
    }
    const auto call = parse_call(key);
    if (auto operation = call ? step_operation(*call) : std::nullopt) {
      candidates.push_back({key, std::move(*operation), calls.longest, calls.count, calls.ms});
    }
  }
  std::ranges::stable_sort(candidates, std::greater{}, &ProgramCandidate::ms);
  return candidates;
}

std::vector<analysis::OwnProgram> own_programs(const analysis::StepWork& work, double iteration_ms,
                                               std::span<const TimedProgram> timed) {
  std::vector<analysis::OwnProgram> faster;
  if (timed.empty()) {
    return faster;
  }
  for (const ProgramCandidate& candidate : program_candidates(work, iteration_ms)) {
    const auto found = std::ranges::find(timed, candidate.key, &TimedProgram::key);
    if (found != timed.end() && found->is_faster() && !is_disturbed(candidate, found->library_ns)) {
      faster.push_back({candidate.location, found->operation, candidate.ms,
                        saved_ms(candidate, found->library_ns, found->ratio), found->ratio, found->low, found->high});
    }
  }
  std::ranges::stable_sort(faster, std::greater{}, &analysis::OwnProgram::saved_ms);
  faster.resize(std::min(faster.size(), analysis::kMaxOwnPrograms));
  return faster;
}

}  // namespace ridgeline::operations
