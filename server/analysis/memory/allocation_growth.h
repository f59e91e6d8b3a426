// How the bytes of one allocation grow with the batch size: as a polynomial that every sample lies on, or by what the
// neighbouring samples allow. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace ridgeline::analysis {

/// One stretch of batch sizes, and the two samples that curves are drawn through there.
struct Stretch {
  int low = 1;
  int high = 0;
  std::size_t left = 0;
  std::size_t right = 0;
  bool inside = false;  ///< between two samples
};

/// How a curve bends: the factors of the square and of the cube of the batch size.
struct Bend {
  double square = 0;
  double cube = 0;
  bool is_straight() const { return square == 0 && cube == 0; }
};

/// A curve through two points: its values at the left and right sample of a stretch, and how it bends.
struct Ends {
  double left = 0;
  double right = 0;
  Bend bend{};
};

enum class Bound : std::uint8_t { kValue, kLow, kHigh };

/// All batch sizes, in order. `sizes` are those sampled: ascending, two or more. Where all allocations have a bend that
/// is known there is one stretch.
std::vector<Stretch> stretches_of(const std::vector<int>& sizes, bool all_known);

/// The bend of the polynomial that all samples lie on, to the byte, if one has fewer coefficients than there are
/// samples, so that the others confirm it: straight, or with a square or a cube, as of a matrix of similarities between
/// all samples of a batch. Two samples lie on any straight line; it is taken where it does not begin below 0. Nothing:
/// none is known.
std::optional<Bend> bend_of(const std::vector<std::uint64_t>& bytes, const std::vector<int>& sizes);

/// The bytes of an allocation in a stretch. What has a known bend has one curve. Of the rest, inside: the line between
/// the neighbours, bounded by the lesser and the greater of them. Outside: that line as far as it grows, bounded by
/// what stays as it is and what vanishes with the batch or grows in proportion to it; where the samples grow faster
/// than the batch, a curve that does as well, bounded by the next whole power of the batch.
Ends ends_of(const std::vector<std::uint64_t>& bytes, const std::optional<Bend>& bend, const std::vector<int>& sizes,
             const Stretch& stretch, Bound bound);

/// The bytes at a batch size from 1 on: the bound kValue, whole, and no more than any device has (2^48).
std::uint64_t bytes_at(const std::vector<std::uint64_t>& bytes, const std::vector<int>& sizes, int batch_size);

}  // namespace ridgeline::analysis
