#include "step/changes/host_copy.h"

#include <vector>

namespace ridgeline::step {

namespace {

/// Where tensors are, in order, and then the devices among the other arguments: whether on a CUDA device.
std::vector<bool> places_of(std::string_view key) {
  std::vector<bool> places;
  for (const std::string_view kind : {R"("t:)", R"("v:device:)"}) {
    for (std::size_t at = key.find(kind); at != std::string_view::npos; at = key.find(kind, at + 1)) {
      places.push_back(has_cuda_tensor(key.substr(at, key.find('"', at + 1) - at)));
    }
  }
  return places;
}

}  // namespace

bool has_cuda_tensor(std::string_view key) { return key.find(":cuda") != std::string_view::npos; }

HostCopy host_copy(std::string_view key) {
  const bool is_between_tensors = key.starts_with(R"(["aten::copy_.)");
  if (!is_between_tensors && !key.starts_with(R"(["aten::_to_copy.)")) {
    return HostCopy::kNone;
  }
  const std::vector<bool> places = places_of(key);  // of copy_ both tensors, of _to_copy its tensor and where it goes
  if (places.size() != 2 || places[0] == places[1]) {
    return HostCopy::kNone;
  }
  const std::string_view unblocked = is_between_tensors ? R"(",true],)" : R"("non_blocking":true)";
  return key.find(unblocked) != std::string_view::npos ? HostCopy::kLaunched : HostCopy::kAwaited;
}

}  // namespace ridgeline::step
