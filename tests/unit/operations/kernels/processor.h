// A processor with three caches.
#pragma once

#include "operations/device/device.h"

namespace ridgeline::operations {

inline Device processor(double vector_bytes) {
  Device device;
  device.name = "processor";
  device.compute_units = 2;
  device.vector_bytes = vector_bytes;
  device.peaks = {{"float32", Rate{Figure{5.0e11}, Figure{2.6e11}}}};
  device.levels = {{"L1", 48 << 10, 1, 64, Rate{Figure{1.2e12}, Figure{6.5e11}}},
                   {"L2", 1 << 20, 1, 64, Rate{Figure{5.0e11}, Figure{2.6e11}}},
                   {"L3", 32 << 20, 2, 64, Rate{Figure{2.4e11}, Figure{1.2e11}}},
                   {"memory", 1e10, 2, 64, Rate{Figure{6.0e10}, Figure{5.0e10}}}};
  return device;
}

}  // namespace ridgeline::operations
