// Programs as an operator of PyTorch.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "operations/device/device.h"
#include "operations/kernels/operation.h"

namespace ridgeline::operations {

/// A name of letters, digits and underscores; different for each operation_text().
std::string operator_name(std::string_view operation);

/// A Python module whose function computes what `forward` does, as a custom operator with a gradient: `product`,
/// `linear`, `conv`, `elementwise` or `reduce`. It compiles its programs when it is imported, with CXX or c++. The
/// gradient of a product is made of the best predicted programs of its shapes for `device`, which nothing timed; that
/// of the others is torch's own. An error where these cannot be constructed, and for a GPU.
base::Result<std::string> operator_module(const Plan& forward, const Device& device, int threads);

}  // namespace ridgeline::operations
