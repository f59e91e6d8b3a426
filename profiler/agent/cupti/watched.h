// Which functions of CUDA's runtime and driver are watched.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/agent/cupti/abi.h"
#include "protocol/recording_format.h"

namespace ridgeline::agent::cupti {

/// What the function does, by the name that CUPTI gives it, such as `cudaLaunchKernel_ptsz_v7000`. Nothing for one that
/// is not watched: those that take no time, which are called most.
std::optional<recording::Call> kind_of_call(std::string_view name);
/// The name as in source code: `cudaLaunchKernel`.
std::string_view plain_name(std::string_view name);

struct WatchedFunction {
  std::uint32_t domain;
  std::uint32_t function;
  recording::Call kind;
  std::string name;
};

/// The watched functions that this CUPTI knows, and the way to them from a callback.
class WatchedFunctions {
 public:
  WatchedFunctions() = default;
  explicit WatchedFunctions(const Functions& functions);
  const std::vector<WatchedFunction>& all() const { return all_; }
  /// The number in all(), or recording::kNone.
  std::uint32_t find(std::uint32_t domain, std::uint32_t function) const;

 private:
  std::vector<WatchedFunction> all_;
  std::vector<std::uint32_t> numbers_;  ///< by domain and function
};

}  // namespace ridgeline::agent::cupti
