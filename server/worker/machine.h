// What this machine is: for the environment of a report and the limits of a worker.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ridgeline::worker {

/// Bytes of memory that processes here may use in all: physical memory, or the least limit of a control group or of the
/// process when that is less.
std::uint64_t memory_capacity();
/// Bytes that could be allocated now without pushing anything else out, within the same limits.
std::uint64_t memory_available();
/// The processor's name; "unknown processor" when the system does not say.
std::string processor_name();
/// The machine's name in its network; empty when the system does not say.
std::string host_name();
/// Processors that this process may run on.
int processor_count();
/// How many processors' time this process may have: less than processor_count() where a control group has a quota.
double processor_time();
/// The models of the NVIDIA GPUs that the kernel's driver names; nothing when there is no such driver.
std::optional<std::vector<std::string>> nvidia_gpus();

}  // namespace ridgeline::worker
