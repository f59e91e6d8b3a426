// A place in the source.
#pragma once

#include <cstdint>
#include <string>

namespace ridgeline::analysis {

/// A place in a source file. `file` is relative to the project root with '/', or absolute outside it.
/// An empty file means that there is no such place.
struct Location {
  std::string file;
  std::uint32_t line = 0;
  bool operator==(const Location&) const = default;
};

}  // namespace ridgeline::analysis
