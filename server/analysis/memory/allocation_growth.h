// How the bytes of one allocation grow with the batch size: linearly, or by what the neighbouring samples allow. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ridgeline::analysis {

/// One stretch of batch sizes, and the two samples that lines are drawn through there.
struct Stretch {
  int low = 1;
  int high = 0;
  std::size_t left = 0;
  std::size_t right = 0;
  bool inside = false;  ///< between two samples
};

/// A line through two points: its values at the left and right sample of a stretch.
struct Ends {
  double left = 0;
  double right = 0;
};

enum class Bound : std::uint8_t { kValue, kLow, kHigh };

/// All batch sizes, in order. `sizes` are those sampled: ascending, two or more. Where everything is linear there is
/// one stretch.
std::vector<Stretch> stretches_of(const std::vector<int>& sizes, bool all_linear);

/// Whether the bytes at all sampled sizes lie exactly on the line through the first and the last, and it does not fall.
bool is_linear(const std::vector<std::uint64_t>& bytes, const std::vector<int>& sizes);

/// The bytes of an allocation in a stretch. What is linear has one line. Of the rest, inside: the line between the
/// neighbours, bounded by the lesser and the greater of them; outside: that line as far as it grows, bounded by what
/// stays as it is and what vanishes with the batch or grows in proportion to it.
Ends ends_of(const std::vector<std::uint64_t>& bytes, bool linear, const std::vector<int>& sizes,
             const Stretch& stretch, Bound bound);

/// The bytes at a batch size from 1 on: the bound kValue, whole.
std::uint64_t bytes_at(const std::vector<std::uint64_t>& bytes, const std::vector<int>& sizes, int batch_size);

}  // namespace ridgeline::analysis
