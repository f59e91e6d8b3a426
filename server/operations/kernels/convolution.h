// A convolution as a product of matrices whose right one is not stored: its panels are gathered from the image.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "operations/kernels/matmul_plan.h"

namespace ridgeline::operations {

/// "conv IMAGES CHANNELS HEIGHT WIDTH OUTPUTS KERNEL", then "stride S", "padding P", "+ bias" and "+ relu", each of
/// which may be missing: of images in NCHW with square kernels. For each image, rows are output channels, columns are
/// elements of an output channel, and the depth is the elements below a kernel, of all channels.
base::Result<MatmulShape> parse_convolution(std::string_view text);

/// The text that parse_convolution() reads as this shape, which has a convolution.
std::string convolution_text(const MatmulShape& shape);

/// What packs a panel of B in the source of a product: `pack_b`.
std::string convolution_packing(const Convolution& convolution);

}  // namespace ridgeline::operations
