// The time of a product of matrices on a device, tile by tile: the RATIONAL model of Sokoban (H. Zhu's thesis, chapter
// 5).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "operations/device/device.h"
#include "operations/device/operation_call.h"

namespace ridgeline::operations {

/// Columns of the depth in the near level at once; it holds two such steps, so that loading and computing overlap.
inline constexpr std::int64_t kDepthStep = 8;

/// rows x depth times depth x columns, `batches` times. A convolution is one, too: its rows are the places of the
/// output, and its depth is what meets at each.
struct ProductShape {
  std::int64_t batches = 1;
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t depth = 1;
  double left_reuse = 1;  ///< how often an element that was loaded is met: of convolutions, by overlapping windows
  std::string dtype = "float32";
};

/// The product that a key's operation computes: mm, addmm, bmm, baddbmm and convolutions without groups; absent for
/// others.
std::optional<ProductShape> product_of(const OperationCall& call);

enum class TileStage : std::uint8_t {
  kLoad,
  kShared,
  kCompute
};  ///< memory to the near level, near level to registers

struct TileEstimate {
  double ns = 0;  ///< of the slowest stage, with partial waves; without launching
  std::int64_t tile_rows = 0;
  std::int64_t tile_columns = 0;
  std::int64_t splits = 1;    ///< parts of the depth that different units sum up
  double useful = 1;          ///< of what the tiles compute: 1 where they divide the shape
  std::int64_t waves = 1;     ///< in which all units compute a tile each
  double last_wave_fill = 1;  ///< units that work in the last wave, of all
  TileStage slowest = TileStage::kCompute;

  /// The part that the shape needs of what all units could compute in the waves.
  double used() const {
    return useful * (static_cast<double>(waves) - 1 + last_wave_fill) / static_cast<double>(waves);
  }
};

/// All tilings that fit into the near level and the registers, as estimate_product() judges them; empty where it has no
/// estimate.
std::vector<TileEstimate> product_tilings(const ProductShape& shape, const Device& device);

/// The best tiling that fits into the near level and the registers. Each stage overlaps with the others, so that the
/// slowest counts (section 5.3.3); loads are whole transactions (5.5.2); tiles are computed whole, and all units take
/// part in each wave. Nothing where the device has no peak for the type or no near level whose bandwidth is known.
/// Only for GPUs: which tiles a CPU's library chooses is not known.
std::optional<TileEstimate> estimate_product(const ProductShape& shape, const Device& device);

}  // namespace ridgeline::operations
