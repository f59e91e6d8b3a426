// The processor of this machine, as it was measured once: kept in the cache folder.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "operations/device/device.h"

namespace ridgeline::app {

/// By the processor's name and the cores that this process may use: several machines can share a cache folder, and the
/// same machine with fewer cores is another device.
std::string device_path(const std::string& cache);

/// Nothing where this processor has not been measured. An error where the file cannot be read.
base::Result<std::optional<operations::Device>> kept_device(const std::string& cache);

/// Replaces what is kept of this processor.
base::Result<void> keep_device(const std::string& cache, const operations::Device& device);

/// The description in a file of the user's; the error names the file.
base::Result<operations::Device> read_device(const std::string& path);

}  // namespace ridgeline::app
