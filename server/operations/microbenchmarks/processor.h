// What Linux says of the processor: cores and caches.
#pragma once

#include <string>
#include <vector>

#include "operations/device/device.h"

namespace ridgeline::operations {

struct Processor {
  std::vector<int> cores;           ///< one logical processor of each core that this process may use
  std::vector<MemoryLevel> caches;  ///< of data, the nearest first, without bandwidths; none: not known
};

/// `root`: where the files are, "/sys/devices/system/cpu".
Processor read_processor(const std::string& root);

/// How many processors a list such as "0-3,8" names.
int count_of_list(const std::string& list);

}  // namespace ridgeline::operations
