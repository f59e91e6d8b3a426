// The calls of CUDA's runtime and driver: which host code requested work of the device.
#pragma once

#include <cstdint>

namespace ridgeline::agent {

/// CUPTI's callback for a watched function, on the thread that calls it. A call inside another is the other's.
void on_device_call(void* user, std::uint32_t domain, std::uint32_t function, const void* data);
struct ThreadBuffer;
/// Completes the stacks that could not be read to their ends during a call, because that needed the GIL. The caller
/// holds it; the buffer's thread is the calling one or idle.
void complete_stacks_of_calls(ThreadBuffer& buffer);
/// Launches of the present recording, on all threads. Caller: a control function.
std::uint64_t count_launches();

}  // namespace ridgeline::agent
