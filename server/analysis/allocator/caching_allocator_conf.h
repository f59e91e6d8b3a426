// PYTORCH_CUDA_ALLOC_CONF (PYTORCH_ALLOC_CONF) as PyTorch 2.13 reads it: c10/core/AllocatorConfig.cpp and
// c10/cuda/CUDAAllocatorConfig.cpp.
#pragma once

#include <string_view>

#include "analysis/allocator/caching_allocator_settings.h"
#include "base/result.h"

namespace ridgeline::analysis {

/// The settings of a comma-separated list of `option:value`, where blanks mean nothing. Options that do not change what
/// is reserved are ignored. An error when a value cannot be read, when PyTorch would refuse it, or when another
/// allocator than the one that is modelled is chosen. Pure.
base::Result<CachingAllocatorSettings> parse_allocator_conf(std::string_view conf);

}  // namespace ridgeline::analysis
