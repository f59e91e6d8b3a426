// CUDA's caching allocator as its observers see it, for machines without a GPU.
#include <c10/core/Allocator.h>

/// Bytes below 0 are freed.
extern "C" __attribute__((visibility("default"))) void fake_report(void* address, std::int64_t bytes,
                                                                   std::size_t allocated, std::size_t reserved,
                                                                   int device) {
  c10::reportMemoryUsageToProfiler(address, bytes, allocated, reserved,
                                   c10::Device(c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(device)));
}
