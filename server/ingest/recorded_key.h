// The key of an operation that torch.profiler recorded with its shapes, as profiler/runner/ridgeline_runner/measure/
// operation_key.py would have made it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ridgeline::ingest {

/// The texts of TraceInputs; empty: not recorded.
struct RecordedInputs {
  std::string_view sizes;
  std::string_view types;
  std::string_view strides{};
  std::string_view values{};
};

/// Nothing where the operator's arguments are not known here, where one of them was not recorded that its work depends
/// on, and where they are not as the operator's. Tensors are on "cuda", and contiguous where the strides are missing.
/// cuDNN's and MIOpen's convolutions and batch normalizations are those of aten. A list of tensors has no types in a
/// trace: operators that take one have no key. Pure; the texts are not trusted.
std::optional<std::string> recorded_key(std::string_view name, const RecordedInputs& inputs);

}  // namespace ridgeline::ingest
