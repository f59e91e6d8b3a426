// What the system allows this process of the machine: memory, and the time of processors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace ridgeline::base {

struct MachineLimits {
  std::uint64_t memory_bytes = 0;     ///< that processes here may use in all; 0: unknown
  std::uint64_t available_bytes = 0;  ///< that could be allocated now without pushing anything else out
  /// How many processors' time a control group allows; absent: all of it. Which processors may be used is not in it.
  std::optional<double> processors;
};

/// Physical memory, as far as the control groups of this process allow it: its own and every one above it, of version 1
/// and 2, as far as /sys/fs/cgroup shows them. What can be reclaimed (pages of files, slabs) counts as available, as in
/// MemAvailable; swap is not counted as memory. `memory.high` limits as `memory.max` does: beyond it the kernel slows a
/// process down until its memory is swapped out. `root` has the folders proc and sys. Reads some ten files; never
/// fails: what cannot be read does not limit. Thread-safe. The runner's machine_limits.py does the same for other
/// machines.
MachineLimits machine_limits(const std::string& root = "/");

}  // namespace ridgeline::base
