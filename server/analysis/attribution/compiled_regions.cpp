#include "analysis/attribution/compiled_regions.h"

#include <algorithm>
#include <cstdint>

namespace ridgeline::analysis {

bool is_compiled_region(std::string_view operation) {
  return operation == "CompiledFunction" || operation.starts_with("Torch-Compiled Region");
}

bool has_compiled_regions(const recording::Recording& recording) {
  return std::ranges::any_of(recording.op_name(),
                             [&](std::uint32_t name) { return is_compiled_region(recording.string(name)); });
}

}  // namespace ridgeline::analysis
