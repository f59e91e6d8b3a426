// The calls of CUDA's runtime and driver: where on the host the device was asked for something.
#pragma once

#include <cstdint>

namespace ridgeline::agent {

/// CUPTI's callback for a watched function, on the thread that calls it. A call inside another is the other's.
void on_device_call(void* user, std::uint32_t domain, std::uint32_t function, const void* data);
struct ThreadBuffer;
/// Reads the stacks that a call could not read to their ends, because that needed the GIL. The caller has it, and the
/// thread is the caller's or does nothing.
void complete_stacks_of_calls(ThreadBuffer& buffer);
/// Launches of the present recording, on all threads. Caller: a control function.
std::uint64_t count_launches();

}  // namespace ridgeline::agent
