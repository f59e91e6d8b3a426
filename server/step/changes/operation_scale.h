// How much larger an operation became, by its key: for operations that cannot be timed alone.
#pragma once

#include <string>

namespace ridgeline::step {

/// Elements of the tensors whose sizes differ between the two keys, in the second over in the first: of a batch that
/// doubled, 2, whatever the weights. 1 where nothing differs or the calls cannot be compared. Positive. Keys are those
/// of profiler/runner/ridgeline_runner/measure/operation_key.py.
double size_ratio(const std::string& before, const std::string& after);

}  // namespace ridgeline::step
