#include "operations/kernels/matmul_plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "operations/kernels/convolution.h"
#include "operations/kernels/matmul_model.h"
#include "operations/kernels/matrix_vector.h"
#include "operations/kernels/sizes.h"
#include "operations/kernels/words.h"

namespace ridgeline::operations {

namespace {

constexpr std::int64_t kMostVectors = 4;  // of a register block's columns
constexpr std::int64_t kDepthStep = 16;   // elements: a cache line of A

/// Loads per multiply-add of a register block: the traffic Q of the thesis.
double traffic(std::int64_t rows, std::int64_t vectors) {
  return static_cast<double>(rows + vectors) / static_cast<double>(rows * vectors);
}

/// Vector registers: accumulators, the vectors of B, and one element of A that fills a vector.
std::int64_t footprint(std::int64_t rows, std::int64_t vectors) { return rows * vectors + vectors + 1; }

struct RegisterBlock {
  std::int64_t rows = 1;
  std::int64_t vectors = 1;
  bool operator==(const RegisterBlock&) const = default;
};

struct Limits {
  std::int64_t registers;
  std::int64_t rows;
  std::int64_t vectors;
  bool allow(const RegisterBlock& block) const {
    return block.rows <= rows && block.vectors <= vectors && footprint(block.rows, block.vectors) <= registers;
  }
};

/// (Q(T) - Q(T')) / (F(T') - F(T)), section 6.3.1.
double reuse_score(const RegisterBlock& from, const RegisterBlock& to) {
  return (traffic(from.rows, from.vectors) - traffic(to.rows, to.vectors)) /
         static_cast<double>(footprint(to.rows, to.vectors) - footprint(from.rows, from.vectors));
}

/// Grows the block along the axis of the largest data reuse until the registers are full.
RegisterBlock grown(RegisterBlock block, const Limits& limits) {
  for (;;) {
    std::optional<RegisterBlock> best;
    for (const RegisterBlock next : {RegisterBlock{block.rows + 1, block.vectors}, {block.rows, block.vectors + 1}}) {
      if (limits.allow(next) && (!best || reuse_score(block, next) > reuse_score(block, *best))) {
        best = next;
      }
    }
    if (!best) {
      return block;
    }
    block = *best;
  }
}

/// The grown block, and for each number of vectors the most rows and those that divide all rows evenly: what a
/// compiler makes of each is not known (section 6.3.2). Roller bounds the padding of a tile; here the last rows and
/// columns have narrower steps of their own, so that less than one vector is padded.
std::vector<RegisterBlock> register_blocks(const MatmulShape& shape, std::int64_t vector, std::int64_t registers) {
  const Limits limits{registers, shape.rows, std::min(kMostVectors, divided_up(shape.columns, vector))};
  std::vector<RegisterBlock> found = {grown({1, 1}, limits)};
  for (std::int64_t vectors = 1; vectors <= limits.vectors; ++vectors) {
    const std::int64_t fit = std::min(shape.rows, (registers - 1) / vectors - 1);
    if (fit < 1) {
      continue;
    }
    const std::int64_t even = divided_up(shape.rows, divided_up(shape.rows, fit));
    for (const RegisterBlock block : {RegisterBlock{fit, vectors}, {even, vectors}}) {
      if (limits.allow(block) && std::ranges::find(found, block) == found.end()) {
        found.push_back(block);
      }
    }
  }
  return found;
}

/// Evenly divided, so that the last block is not a small rest.
std::int64_t even_block(std::int64_t size, std::int64_t most, std::int64_t step) {
  const std::int64_t block = std::max(step, most / step * step);
  return std::min(rounded_up(divided_up(size, divided_up(size, block)), step), rounded_up(size, step));
}

/// The depth at which moving C's block takes no longer than computing it, and the depth that fills L1.
std::array<std::int64_t, 2> depth_blocks(const MatmulPlan& plan, const CoreRates& rates) {
  const std::int64_t per_depth = (plan.register_rows + plan.register_columns) * kFloatBytes;
  const auto full = static_cast<std::int64_t>(rates.near().capacity_bytes * kUsedOfCache) / per_depth;
  const auto c_bytes = static_cast<double>(2 * plan.register_rows * plan.register_columns * kFloatBytes);
  const double bound = c_bytes / rates.middle().bytes_per_s / step_compute_s(plan, rates);
  const auto block = [&](std::int64_t most) {
    return std::min(plan.shape.depth, even_block(plan.shape.depth, most, std::min(kDepthStep, plan.shape.depth)));
  };
  // Ten times the bound: by then C takes a tenth of the time.
  return {block(full), block(std::clamp<std::int64_t>(std::llround(bound * 10), 1, std::max<std::int64_t>(1, full)))};
}

/// So that a block of `steps` register blocks, and what passes by, fill the level.
std::int64_t filling(const CoreRates::Level& level, std::int64_t depth, std::int64_t size, std::int64_t step) {
  const double most = level.capacity_bytes * kUsedOfCache / static_cast<double>(depth * kFloatBytes);
  return even_block(size, static_cast<std::int64_t>(std::min(most, 1e9)), step);
}

/// Parts of C for as many threads as can have one: columns and rows divided so that the largest part is the smallest.
void scale_out(MatmulPlan& plan, std::int64_t threads) {
  std::int64_t least = plan.shape.rows * divided_up(plan.shape.columns, plan.register_columns) * plan.register_columns;
  for (std::int64_t rows = 1; rows <= threads; ++rows) {
    MatmulPlan tried = plan;
    tried.row_parts = std::min(rows, divided_up(plan.shape.rows, plan.register_rows));
    tried.column_parts = std::min(threads / rows, divided_up(plan.shape.columns, plan.register_columns));
    if (const std::int64_t part = tried.part_rows() * tried.part_columns(); part < least) {
      least = part;
      plan.row_parts = divided_up(plan.shape.rows, tried.part_rows());
      plan.column_parts = divided_up(plan.shape.columns, tried.part_columns());
    }
  }
}

/// Whether rows of A that are read at once, a register block's, fall into the same sets of L1 (the thesis' alignment
/// with memory banks). L1 caches of current processors have sets for 4 KiB and at least eight ways.
bool rows_conflict(const MatmulPlan& plan, double line_bytes) {
  constexpr std::int64_t kSetsBytes = 4096;
  constexpr std::int64_t kWays = 8;
  const std::int64_t repeats = std::gcd(plan.shape.depth * kFloatBytes, kSetsBytes);
  return plan.register_rows > kWays * (kSetsBytes / std::max(repeats, static_cast<std::int64_t>(line_bytes)));
}

void add_programs(std::vector<MatmulPlan>& programs, MatmulPlan plan, const CoreRates& rates) {
  for (const std::int64_t depth : depth_blocks(plan, rates)) {
    plan.depth_block = depth;
    plan.row_block = filling(rates.middle(), depth, plan.part_rows(), plan.register_rows);
    plan.column_block = filling(rates.far(), depth, plan.part_columns(), plan.register_columns);
    for (const bool pack_a : {false, true}) {
      if (!pack_a && rows_conflict(plan, rates.line_bytes)) {
        continue;
      }
      for (const bool pack_b : {false, true}) {
        plan.pack_a = pack_a;
        plan.pack_b = pack_b || plan.shape.convolution || plan.shape.transposed;
        MatmulPlan program = with_predicted_time(plan, rates);
        if (std::ranges::find(programs, program) == programs.end()) {
          programs.push_back(std::move(program));
        }
      }
    }
  }
}

/// Shrunk along the rows, of which more blocks arise, until each thread has one (section 6.3.2, small operators).
RegisterBlock shrunk(RegisterBlock block, const MatmulShape& shape, std::int64_t vector, std::int64_t threads) {
  while (block.rows > 1 &&
         divided_up(shape.rows, block.rows) * divided_up(shape.columns, block.vectors * vector) < threads) {
    --block.rows;
  }
  return block;
}

std::vector<MatmulPlan> block_plans(const MatmulShape& shape, const CoreRates& rates, int threads) {
  const auto vector = rates.vector_elements();
  std::vector<MatmulPlan> plans;
  for (const RegisterBlock block : register_blocks(shape, vector, rates.registers)) {
    const auto [rows, vectors] = shrunk(block, shape, vector, threads);
    MatmulPlan plan;
    plan.shape = shape;
    plan.vector_elements = vector;
    plan.register_rows = rows;
    plan.register_columns = vectors * vector;
    scale_out(plan, threads);
    add_programs(plans, plan, rates);
  }
  return plans;
}

}  // namespace

bool uses_dot_products(const MatmulShape& shape) { return shape.columns == 1 && !shape.convolution; }

std::int64_t MatmulPlan::part_rows() const { return part_of(shape.rows, row_parts, register_rows); }

std::int64_t MatmulPlan::part_columns() const { return part_of(shape.columns, column_parts, register_columns); }

base::Result<MatmulShape> parse_matmul(std::string_view text) {
  std::vector<std::string_view> words = words_of(text);
  MatmulShape shape;
  shape.relu = take_fused(words, "relu");
  shape.bias = take_fused(words, "bias");
  const bool is_batched = words.size() == 5 && words[0] == "bmm";
  shape.transposed = !words.empty() && words[0] == "linear";
  if (!is_batched && (words.size() != 4 || (words[0] != "matmul" && !shape.transposed))) {
    return base::error(in_quotes(text) + " is no product: batches, rows and columns of the result, and depth");
  }
  std::array<std::int64_t, 4> sizes = {1};
  for (std::size_t i = is_batched ? 0 : 1; i < sizes.size(); ++i) {
    const auto size = read_size(words[is_batched ? i + 1 : i]);
    if (!size) {
      return size.error();
    }
    sizes[i] = *size;
  }
  std::tie(shape.batches, shape.rows, shape.columns, shape.depth) = std::tuple(sizes[0], sizes[1], sizes[2], sizes[3]);
  const std::int64_t largest =
      std::max({shape.rows * shape.columns, shape.rows * shape.depth, shape.columns * shape.depth});
  if (largest > kMostElements / shape.batches) {
    return too_large(text);
  }
  return shape;
}

std::string matmul_text(const MatmulShape& shape) {
  if (shape.convolution) {
    return convolution_text(shape);
  }
  std::string text = shape.transposed     ? "linear"
                     : shape.batches == 1 ? "matmul"
                                          : "bmm " + std::to_string(shape.batches);
  for (const std::int64_t size : {shape.rows, shape.columns, shape.depth}) {
    text += " " + std::to_string(size);
  }
  return text + (shape.bias ? " + bias" : "") + (shape.relu ? " + relu" : "");
}

base::Result<Ranked<MatmulPlan>> construct_matmul(const MatmulShape& shape, const Device& device, int threads,
                                                  std::size_t top) {
  const auto rates = core_rates(device, threads);
  if (!rates) {
    return rates.error();
  }
  // Threads have batches of their own where there are enough, and else parts of each.
  const int inside = shape.batches >= threads ? 1 : threads;
  auto plans =
      uses_dot_products(shape) ? matrix_vector_plans(shape, *rates, inside) : block_plans(shape, *rates, inside);
  const std::int64_t rounds = inside == threads ? shape.batches : divided_up(shape.batches, threads);
  for (MatmulPlan& plan : plans) {
    plan.threads = std::min<std::int64_t>(threads, shape.batches * plan.row_parts * plan.column_parts);
    plan.ns *= static_cast<double>(rounds);
  }
  return ranked(std::move(plans), top);
}

}  // namespace ridgeline::operations
