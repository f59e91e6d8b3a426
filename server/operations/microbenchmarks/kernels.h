// The loops that micro-benchmarks time, in the widest instruction set that this processor has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ridgeline::operations {

/// Each runs on the calling thread. What they compute goes to `*sink`, so that nothing is optimised away.
struct Kernels {
  std::string_view instructions;  ///< "AVX-512"
  int vector_bytes = 0;
  /// Multiply-adds in registers, in as many chains as hide their latency. The floating-point operations done.
  double (*multiply_add_float32)(std::int64_t rounds, float* sink) = nullptr;
  double (*multiply_add_float64)(std::int64_t rounds, float* sink) = nullptr;
  double (*multiply_add_bfloat16)(std::int64_t rounds, float* sink) = nullptr;  ///< null: no such instruction
  /// Adds up `count` floats, a multiple of 1024, aligned to 64 bytes.
  void (*read)(const float* data, std::size_t count, float* sink) = nullptr;
  /// STREAM's triad, a = b + s * c; the same for `count` and the alignment.
  void (*triad)(float* a, const float* b, const float* c, std::size_t count) = nullptr;
};

/// The kernels for this processor; the same each time.
const Kernels& kernels();

/// Whether matrices of a type have units of their own (such as AMX), which none of these kernels uses: then its peak is
/// not known.
bool has_matrix_units(std::string_view dtype);

/// Dependent additions, each of one cycle.
void add_chain(std::int64_t additions);

/// Follows `steps` links from `first`; where it ended.
const void* follow(const void* const* first, std::int64_t steps);

}  // namespace ridgeline::operations
