// Copies between a host and a device among the operations of a step, told by their keys. Pure.
#pragma once

#include <cstdint>
#include <string_view>

namespace ridgeline::step {

/// Whether an operation's key (operation_key.py) has a tensor or a device on a CUDA device.
bool has_cuda_tensor(std::string_view key);

enum class HostCopy : std::uint8_t {
  kNone,      ///< no copy between a host and a device
  kLaunched,  ///< the host goes on meanwhile
  kAwaited,   ///< the host waits until it is done
};

/// The kind of copy that an operation is, by its key. In either direction torch waits for a copy that was not told not
/// to block (aten/src/ATen/native/cuda/Copy.cu, copy_kernel_cuda).
HostCopy host_copy(std::string_view key);

}  // namespace ridgeline::step
