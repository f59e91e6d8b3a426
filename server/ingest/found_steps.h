// Where the training steps of a trace are, where nobody marked them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ingest/step_boundary.h"
#include "ingest/trace.h"

namespace ridgeline::ingest {

struct FoundSteps {
  std::uint32_t thread = 0;                                      ///< of the trace
  std::vector<std::pair<std::uint64_t, std::uint64_t>> spans{};  ///< by time; none is empty
  std::vector<std::uint32_t> ranges{};                           ///< events that mark the steps and nothing else
  std::string how{};                                             ///< a sentence for the user
};

/// What is looked through: events of one process, as indices of Trace::events, each list by start.
struct StepEvents {
  std::vector<std::uint32_t> ranges;      ///< annotations
  std::vector<std::uint32_t> operations;  ///< with ranges that old versions wrote as such
  std::vector<std::uint32_t> functions;   ///< of Python
  std::vector<std::uint32_t> calls;
  std::vector<std::uint32_t> kernels;
};

/// `events`: those that count; empty: all. Ranges are the annotations among them.
StepEvents step_events(const Trace& trace, const std::vector<std::uint32_t>& events = {});

struct StepSearch {
  std::optional<FoundSteps> steps;
  std::string why_none{};  ///< part of a sentence: "nothing repeats once per step"; empty where there are steps
};

/// By the first of these that the trace has, the most certain first: ranges that count or are called like steps ("step
/// 12", "train_step"), the optimizer, the data loader, backward passes; without any optimizer and backward pass, other
/// ranges that repeat, calls of a module that no other module makes, and a kernel or operation that follows itself
/// after the same number of others each time. What several agree on is not needed, and what is there once is no step:
/// then there are none. A step goes from one mark to the next, so that what comes before the first and after the last,
/// which may be part of a step, is in none. Where the user says what ends a step, nothing else is looked for.
StepSearch find_steps(const Trace& trace, const StepEvents& events, const StepBoundary& boundary = {});

/// Throws ImportError where the user says what ends a step, and the trace does not have it.
void check_steps(const Trace& trace, const StepSearch& search, const StepBoundary& boundary);

/// Adds them to the trace's events. An odd number, of which one is in the middle by duration: the first of an even
/// number warms up as a rule.
void add_steps(Trace& trace, const FoundSteps& steps);

}  // namespace ridgeline::ingest
