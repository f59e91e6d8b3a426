#include "operations/kernels/convolution.h"

#include <fmt/format.h>

#include <array>
#include <initializer_list>
#include <tuple>
#include <utility>
#include <vector>

#include "operations/kernels/sizes.h"
#include "operations/kernels/words.h"

namespace ridgeline::operations {

namespace {

constexpr std::string_view kPackPatches = R"code(
// One panel of B: of each column the elements of the image below its kernel. Outside of the image are zeros.
void pack_b(const float* image, long k, long n, long columns, long width, long depth, float* to) {
  for (long d = k; d < k + depth; ++d, to += width) {
    const long down = d / kKernel % kKernel - kPadding;
    const long right = d % kKernel - kPadding;
    const float* plane = image + d / (kKernel * kKernel) * kHeight * kWidth;
    // Columns of the output, from which those inside of the image are.
    const long least = right < 0 ? blocks(-right, kStride) : 0;
    const long most = right < kWidth ? (kWidth - 1 - right) / kStride + 1 : 0;
    for (long i = 0; i < columns;) {
      const long x = (n + i) % kOutputWidth;
      const long y = (n + i) / kOutputWidth * kStride + down;
      const long end = smaller(kOutputWidth, x + columns - i);
      const bool is_inside = y >= 0 && y < kHeight;
      const long first = is_inside ? smaller(end, x < least ? least : x) : end;
      const long last = smaller(end, first < most ? most : first);
      const float* row = plane + (is_inside ? y * kWidth : 0) + right;
      float* at = to + i - x;
      for (long j = x; j < first; ++j) at[j] = 0;
      if constexpr (kStride == 1) {
        __builtin_memcpy(at + first, row + first, (last - first) * 4);
      } else {
        for (long j = first; j < last; ++j) at[j] = row[j * kStride];
      }
      for (long j = last; j < end; ++j) at[j] = 0;
      i += end - x;
    }
    for (long i = columns; i < width; ++i) to[i] = 0;
  }
}
)code";

/// Whether the product of sizes is one of a matrix that may be.
bool is_possible(std::initializer_list<std::int64_t> sizes) {
  std::int64_t product = 1;
  for (const std::int64_t size : sizes) {
    product *= size;  // of two that are at most kMostElements: no overflow
    if (product > kMostElements) {
      return false;
    }
  }
  return true;
}

/// Takes the option, if it is there; false where its value is none.
bool take_option(std::vector<std::string_view>& words, std::string_view name, std::int64_t& value) {
  if (words.size() < 2 || words[words.size() - 2] != name) {
    return true;
  }
  const auto size = words.back() == "0" ? base::Result<std::int64_t>(0) : read_size(words.back());
  value = size ? *size : -1;
  words.resize(words.size() - 2);
  return size.has_value();
}

}  // namespace

base::Result<MatmulShape> parse_convolution(std::string_view text) {
  std::vector<std::string_view> words = words_of(text);
  MatmulShape shape;
  shape.relu = take_fused(words, "relu");
  shape.bias = take_fused(words, "bias");
  Convolution found;
  if (!take_option(words, "padding", found.padding) || !take_option(words, "stride", found.stride) ||
      found.stride < 1 || words.size() != 7) {
    return base::error(in_quotes(text) + " is not conv IMAGES CHANNELS HEIGHT WIDTH OUTPUTS KERNEL stride S padding P");
  }
  std::array<std::int64_t, 6> sizes = {};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto size = read_size(words[i + 1]);
    if (!size) {
      return size.error();
    }
    sizes[i] = *size;
  }
  std::int64_t outputs = 0;
  std::tie(shape.batches, found.channels, found.height, found.width, outputs, found.kernel) = std::tuple_cat(sizes);
  if (found.output_height() < 1 || found.output_width() < 1) {
    return base::error(in_quotes(text) + ": the kernel is larger than the image and its padding");
  }
  if (!is_possible({shape.batches, found.channels, found.height, found.width}) ||
      !is_possible({outputs, found.channels, found.kernel, found.kernel}) ||
      !is_possible({shape.batches, outputs, found.output_height(), found.output_width()})) {
    return too_large(text);
  }
  shape.rows = outputs;
  shape.columns = found.output_height() * found.output_width();
  shape.depth = found.channels * found.kernel * found.kernel;
  shape.convolution = found;
  return shape;
}

std::string convolution_text(const MatmulShape& shape) {
  const Convolution& convolution = *shape.convolution;
  return fmt::format("conv {} {} {} {} {} {} stride {} padding {}{}{}", shape.batches, convolution.channels,
                     convolution.height, convolution.width, shape.rows, convolution.kernel, convolution.stride,
                     convolution.padding, shape.bias ? " + bias" : "", shape.relu ? " + relu" : "");
}

std::string convolution_packing(const Convolution& convolution) {
  std::string text;
  for (const auto& [name, value] :
       std::initializer_list<std::pair<std::string_view, std::int64_t>>{{"kHeight", convolution.height},
                                                                        {"kWidth", convolution.width},
                                                                        {"kKernel", convolution.kernel},
                                                                        {"kStride", convolution.stride},
                                                                        {"kPadding", convolution.padding},
                                                                        {"kOutputWidth", convolution.output_width()}}) {
    text += fmt::format("constexpr long {} = {};\n", name, value);
  }
  return text + std::string(kPackPatches);
}

}  // namespace ridgeline::operations
