// The recording as bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ridgeline::agent {

struct InstanceText {
  std::string type;
  std::string name;
  std::string file;
  std::uint32_t line = 0;
};
/// The recording as bytes. `instances` in the order of known_objects().instances().
std::string write_recording(const std::vector<InstanceText>& instances);

}  // namespace ridgeline::agent
