// Times of a device by its own events, when CUPTI is unavailable: for each outermost operation, from the moment when
// its stream reaches it to the moment when the stream has finished it. That includes the time in which the device waits
// for the host: more than the kernels take, where they are short.
//
// The events are LibTorch's, which needs none of CUDA's headers (c10/core/Event.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "clock.h"

namespace ridgeline::agent {

/// Records this CUDA device from the next recording on. Returns why that is not possible, or an empty string. Caller: a
/// control function.
std::string attach_regions(std::int16_t device);
void detach_regions();

/// While State::recording_regions: around an operation that is not inside of another one, on the thread that runs it;
/// `thread` is its buffer's index.
void region_begin(std::uint16_t thread, std::uint32_t op);
void region_end(std::uint16_t thread, std::uint32_t op);

void begin_regions();
/// Call while the device is idle.
void begin_regions_of_iteration();
/// Call while the device is idle: a region that has not finished is lost.
void end_regions();

struct DeviceRegion {
  std::uint64_t base = 0;  ///< ticks; the times below count from there
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint32_t op = 0;
  std::uint32_t device = 0;
  std::uint16_t thread = 0;
};
/// The regions of the present recording, in order of time for each thread.
const std::vector<DeviceRegion>& regions();
/// How many could not be kept.
std::uint64_t lost_regions();

}  // namespace ridgeline::agent
