// A processor with three caches.
#pragma once

#include "operations/device/device.h"

namespace ridgeline::kernels {

inline hardware::Device processor(double vector_bytes) {
  hardware::Device device;
  device.name = "processor";
  device.compute_units = 2;
  device.vector_bytes = vector_bytes;
  device.peaks = {{"float32", hardware::Rate{hardware::Figure{5.0e11}, hardware::Figure{2.6e11}}}};
  device.levels = {{"L1", 48 << 10, 1, 64, hardware::Rate{hardware::Figure{1.2e12}, hardware::Figure{6.5e11}}},
                   {"L2", 1 << 20, 1, 64, hardware::Rate{hardware::Figure{5.0e11}, hardware::Figure{2.6e11}}},
                   {"L3", 32 << 20, 2, 64, hardware::Rate{hardware::Figure{2.4e11}, hardware::Figure{1.2e11}}},
                   {"memory", 1e10, 2, 64, hardware::Rate{hardware::Figure{6.0e10}, hardware::Figure{5.0e10}}}};
  return device;
}

}  // namespace ridgeline::kernels
