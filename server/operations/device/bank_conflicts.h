// Shared memory of GPUs in banks: what threads wait for each other (H. Zhu's thesis, sections 5.5.2 and 6.2).
#pragma once

#include <cstdint>
#include <span>

namespace ridgeline::operations {

inline constexpr std::int64_t kWarpThreads = 32;
inline constexpr std::int64_t kBanks = 32;     // of each of NVIDIA's units, by the CUDA C++ Programming Guide
inline constexpr std::int64_t kBankBytes = 4;  // likewise: neighbouring words are in neighbouring banks

/// How many times as long as without conflicts an instruction of a warp takes, whose threads move `bytes` each (1 to
/// 16, a power of two), from or to these addresses (at most kWarpThreads). Threads that want different words of one
/// bank wait for each other, those that want the same word do not; 8 and 16 bytes are moved by halves and quarters of a
/// warp.
double bank_conflict(std::span<const std::int64_t> addresses, std::int64_t bytes);

/// Bytes between the rows of a tile, so that what `read_bytes` of neighbouring rows contain is in different banks; rows
/// have `row_bytes`. Section 6.2.
std::int64_t bank_padding(std::int64_t row_bytes, std::int64_t read_bytes);

/// Bytes of a row of a tile with its padding, so that a warp that writes `rows` elements of `size` bytes below each
/// other, and the next ones beside them, meets no bank twice.
std::int64_t padded_row_bytes(std::int64_t elements, std::int64_t size, std::int64_t rows);

}  // namespace ridgeline::operations
