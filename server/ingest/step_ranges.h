// Steps by what repeats: ranges that somebody opened, calls of a module, kernels.
#pragma once

#include <optional>
#include <string>

#include "ingest/found_steps.h"
#include "ingest/trace.h"

namespace ridgeline::ingest {

/// What is said of ranges of the trace's source: "NVTX range" or "range".
const char* range_word(const Trace& trace);

/// From the start of one range to the start of the next; a single range is a step by itself. Ranges that count steps
/// ("step 12") before those that are called like steps ("train_step"); among equals those that last longest.
std::optional<FoundSteps> steps_of_named_ranges(const Trace& trace, const StepEvents& events);

/// Steps by ranges with other names, three at least: those that count ("forward 12") before those that only repeat. Not
/// by ranges that torch opens, and only where they are whole steps (are_whole).
std::optional<FoundSteps> steps_of_other_ranges(const Trace& trace, const StepEvents& events);

/// By the ranges of this name, also where a number follows it.
std::optional<FoundSteps> steps_of_ranges_called(const Trace& trace, const StepEvents& events, const std::string& name);

/// From one call to the next of the module that no other module calls, as recorded with stacks.
std::optional<FoundSteps> steps_of_modules(const Trace& trace, const StepEvents& events);

/// From one call to the next of the function that begins at that line of a file, or of one that ends so.
std::optional<FoundSteps> steps_of_function(const Trace& trace, const StepEvents& events, const std::string& file,
                                            std::uint32_t line);

/// A kernel that recurs after the same number of others each time runs once per step; without kernels, an operation.
/// Each step goes from one of its launches to the next. Only where they are whole steps (are_whole), and no modules
/// were recorded.
std::optional<FoundSteps> steps_of_kernels(const Trace& trace, const StepEvents& events);

}  // namespace ridgeline::ingest
