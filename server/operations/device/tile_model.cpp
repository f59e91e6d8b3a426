#include "operations/device/tile_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "operations/device/bank_conflicts.h"

namespace ridgeline::operations {

namespace {

constexpr std::array<std::int64_t, 5> kTileSizes = {16, 32, 64, 128, 256};
constexpr std::array<std::int64_t, 5> kSplits = {1, 2, 4, 8, 16};
constexpr std::int64_t kMostElements =
    std::int64_t{128} * 256;                     // of a tile: 96 registers of each thread hold them, section 5.5.3
constexpr std::int64_t kRegisterTile = 8;        // each thread computes 8 x 8: 64 of its 96 registers
constexpr std::int64_t kMostBytesOfThread = 16;  // that one instruction moves

std::int64_t parts(std::int64_t size, std::int64_t tile) { return (size + tile - 1) / tile; }

double padded(double bytes, double transaction) { return std::ceil(bytes / transaction) * transaction; }

struct Rates {
  double flop_per_s;    // of all units
  double near_bytes;    // likewise
  double memory_bytes;  // likewise
  double near_capacity;
  double transaction;
  std::int64_t units;
};

std::optional<Rates> rates_of(const ProductShape& shape, const Device& device) {
  const Peak* peak = find_peak(device, shape.dtype);
  if (device.kind != DeviceKind::kGpu || peak == nullptr || device.levels.size() < 2 ||
      !device.levels.front().bytes_per_s || !device.levels.back().bytes_per_s) {
    return std::nullopt;
  }
  const MemoryLevel& near = device.levels.front();
  const MemoryLevel& memory = device.levels.back();
  return Rates{peak->flop_per_s.all.value, near.bytes_per_s->all.value, memory.bytes_per_s->all.value,
               near.capacity_bytes,        memory.transaction_bytes,    device.compute_units};
}

/// A tile of one operand in the near level: kDepthStep rows of `elements` each, with some padding.
struct StoredTile {
  std::int64_t elements;
  double row_bytes;
  double write_conflict;  // bank_conflict() of a warp's writes
  double read_conflict;   // of its reads
};

/// An operand whose elements along the depth lie beside each other in the main memory: a warp brings kDepthStep of each
/// of several places, and writes each place's below each other. To compute, each thread reads kRegisterTile elements of
/// a row, in groups between which are those of the others. All warps meet the same conflicts, so that one is looked at.
StoredTile stored_tile(std::int64_t elements, std::int64_t size) {
  const std::int64_t row = padded_row_bytes(elements, size, kDepthStep);
  const std::int64_t group = std::min(kMostBytesOfThread, kRegisterTile / 2 * size);
  std::array<std::int64_t, kWarpThreads> written{};
  std::array<std::int64_t, kWarpThreads> read{};
  for (std::int64_t i = 0; i < kWarpThreads; ++i) {
    written.at(static_cast<std::size_t>(i)) = i % kDepthStep * row + i / kDepthStep * size;
    read.at(static_cast<std::size_t>(i)) = i % (elements / kRegisterTile) * group;
  }
  return {elements, static_cast<double>(row), bank_conflict(written, size), bank_conflict(read, group)};
}

std::optional<TileEstimate> with_tile(const ProductShape& shape, const Rates& rates, const StoredTile& left,
                                      const StoredTile& right, std::int64_t splits) {
  TileEstimate tile{0, left.elements, right.elements, splits};
  const double size = dtype_bytes(shape.dtype);
  const auto rows = static_cast<double>(tile.tile_rows);
  const auto columns = static_cast<double>(tile.tile_columns);
  const std::int64_t depth = parts(shape.depth, tile.splits);
  if (tile.tile_rows * tile.tile_columns > kMostElements ||
      2 * kDepthStep * (left.row_bytes + right.row_bytes) > rates.near_capacity ||
      depth < kDepthStep * (tile.splits > 1 ? 4 : 0)) {
    return std::nullopt;
  }
  const std::int64_t tiles =
      shape.batches * parts(shape.rows, tile.tile_rows) * parts(shape.columns, tile.tile_columns) * tile.splits;
  const std::int64_t waves = parts(tiles, rates.units);
  const auto deep = static_cast<double>(depth);
  const double loaded =
      deep * (padded(rows * size, rates.transaction) / shape.left_reuse + padded(columns * size, rates.transaction));
  const double stored = rows * padded(columns * size, rates.transaction);
  // Written once, and read by each thread for its part of the tile.
  const double written = (rows * left.write_conflict + columns * right.write_conflict) * size;
  const double read = rows * columns * size / kRegisterTile * (left.read_conflict + right.read_conflict);
  // A wave takes as long as one tile of a unit that has its share of each rate.
  const double in_waves = static_cast<double>(waves * rates.units);
  const std::array<double, 3> seconds = {
      static_cast<double>(tiles) * (loaded + stored) / rates.memory_bytes,
      in_waves * deep * (written + read) / rates.near_bytes,
      in_waves * rows * columns * deep * 2 / rates.flop_per_s,
  };
  const auto slowest = std::ranges::max_element(seconds);
  tile.ns = *slowest * 1e9;
  tile.slowest = static_cast<TileStage>(slowest - seconds.begin());
  tile.useful = static_cast<double>(shape.batches * shape.rows * shape.columns * tile.splits) /
                (static_cast<double>(tiles) * rows * columns);
  tile.waves = waves;
  tile.last_wave_fill = static_cast<double>(tiles - (waves - 1) * rates.units) / static_cast<double>(rates.units);
  return tile;
}

std::optional<ProductShape> product_of_matrices(const OperationCall& call, std::size_t first) {
  const TensorShape* a = call.argument(first).tensor();
  const TensorShape* b = call.argument(first + 1).tensor();
  if (a == nullptr || b == nullptr || a->sizes.size() < 2 || a->sizes.size() > 3 ||
      b->sizes.size() != a->sizes.size()) {
    return std::nullopt;
  }
  const std::size_t at = a->sizes.size() - 2;
  return ProductShape{at == 0 ? 1 : a->sizes[0], a->sizes[at], b->sizes[at + 1], a->sizes[at + 1], 1, a->dtype};
}

std::int64_t number_at(const std::vector<std::int64_t>& values, std::size_t index, std::int64_t otherwise) {
  return values.empty() ? otherwise : values[std::min(index, values.size() - 1)];
}

std::optional<ProductShape> product_of_convolution(const OperationCall& call) {
  const TensorShape* input = call.argument(0).tensor();
  const TensorShape* weight = call.argument(1).tensor();
  if (input == nullptr || weight == nullptr || input->sizes.size() < 3 || weight->sizes.size() != input->sizes.size() ||
      call.argument(6).is_true() || call.argument(8).whole().value_or(1) != 1) {
    return std::nullopt;
  }
  ProductShape shape{1, input->sizes[0], weight->sizes[0], weight->sizes[1], 1, input->dtype};
  double windows = 1;
  for (std::size_t i = 2; i < input->sizes.size(); ++i) {
    const std::int64_t stride = std::max<std::int64_t>(1, number_at(call.argument(3).numbers(), i - 2, 1));
    const std::int64_t padding = number_at(call.argument(4).numbers(), i - 2, 0);
    const std::int64_t reach = number_at(call.argument(5).numbers(), i - 2, 1) * (weight->sizes[i] - 1);
    shape.rows *= std::max<std::int64_t>(1, (input->sizes[i] + 2 * padding - reach - 1) / stride + 1);
    shape.depth *= weight->sizes[i];
    windows *= static_cast<double>(weight->sizes[i]) / static_cast<double>(stride);
  }
  shape.left_reuse = std::max(1.0, windows);
  return shape;
}

/// So that products of sizes stay far from overflowing.
bool is_bounded(const ProductShape& shape) {
  constexpr double kLargest = 1e15;
  const auto product = [](std::int64_t a, std::int64_t b) { return static_cast<double>(a) * static_cast<double>(b); };
  return shape.batches > 0 && shape.rows > 0 && shape.columns > 0 && shape.depth > 0 &&
         product(shape.rows, shape.columns) * static_cast<double>(shape.batches) < kLargest &&
         product(shape.rows, shape.depth) < kLargest && product(shape.columns, shape.depth) < kLargest;
}

}  // namespace

std::optional<ProductShape> product_of(const OperationCall& call) {
  const std::string_view name = call.operation;
  std::optional<ProductShape> shape;
  if (name == "aten::mm" || name == "aten::bmm") {
    shape = product_of_matrices(call, 0);
  } else if (name == "aten::addmm" || name == "aten::baddbmm") {
    shape = product_of_matrices(call, 1);
  } else if (name == "aten::convolution") {
    shape = product_of_convolution(call);
  }
  return shape && is_bounded(*shape) ? shape : std::nullopt;
}

std::vector<TileEstimate> product_tilings(const ProductShape& shape, const Device& device) {
  const auto rates = rates_of(shape, device);
  std::vector<TileEstimate> tilings;
  if (!rates || !is_bounded(shape)) {
    return tilings;
  }
  std::vector<StoredTile> stored;
  for (const std::int64_t elements : kTileSizes) {
    stored.push_back(stored_tile(elements, static_cast<std::int64_t>(dtype_bytes(shape.dtype))));
  }
  for (const StoredTile& left : stored) {
    for (const StoredTile& right : stored) {
      for (const std::int64_t splits : kSplits) {
        if (const auto tile = with_tile(shape, *rates, left, right, splits)) {
          tilings.push_back(*tile);
        }
      }
    }
  }
  return tilings;
}

std::optional<TileEstimate> estimate_product(const ProductShape& shape, const Device& device) {
  const std::vector<TileEstimate> tilings = product_tilings(shape, device);
  const auto best = std::ranges::min_element(tilings, {}, &TileEstimate::ns);
  return best == tilings.end() ? std::nullopt : std::optional(*best);
}

}  // namespace ridgeline::operations
