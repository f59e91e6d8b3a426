// Events that are there once per training step, and the steps between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/function_ref.h"
#include "ingest/found_steps.h"
#include "ingest/trace.h"

namespace ridgeline::ingest {

/// From each time to the next; times are sorted first.
std::vector<std::pair<std::uint64_t, std::uint64_t>> spans_between(std::vector<std::uint64_t> times);

/// Those of `candidates`, which are by start, whose name passes, on the thread with most of them, without those inside
/// another one. A name is tested once.
std::vector<std::uint32_t> outermost_marks(const Trace& trace, const std::vector<std::uint32_t>& candidates,
                                           base::FunctionRef<bool(std::string_view)> is_mark);

/// After how many marks the same happens again, by what happens at each; the first may prepare what later ones use.
/// Nothing where they are in no order, or too few to tell.
std::optional<std::size_t> period_of(const std::vector<std::uint64_t>& marks);

/// Whether what repeats is a step, and no part of one, such as a layer of a model: nothing runs before or after that
/// none of the steps has, or each moves data between host and device or waits for the device.
bool are_whole(const Trace& trace, const StepEvents& events, const FoundSteps& steps);

/// The first call of each correlation.
std::unordered_map<std::uint64_t, std::uint32_t> calls_by_correlation(const Trace& trace, const StepEvents& events);

}  // namespace ridgeline::ingest
