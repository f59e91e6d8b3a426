#include "operations/device/bank_conflicts.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace ridgeline::operations {

namespace {

/// The threads of a warp whose accesses to `bytes` each take one pass where no two of them meet in a bank.
std::int64_t threads_at_once(std::int64_t bytes) { return std::min(kWarpThreads, kBanks * kBankBytes / bytes); }

}  // namespace

double bank_conflict(std::span<const std::int64_t> addresses, std::int64_t bytes) {
  const auto together = static_cast<std::size_t>(threads_at_once(bytes));
  std::size_t groups = 0;
  std::ptrdiff_t passes = 0;
  for (std::size_t first = 0; first < addresses.size(); first += together, ++groups) {
    std::vector<std::int64_t> words;
    for (const std::int64_t address : addresses.subspan(first, std::min(together, addresses.size() - first))) {
      for (std::int64_t word = address / kBankBytes; word <= (address + bytes - 1) / kBankBytes; ++word) {
        words.push_back(word);
      }
    }
    std::ranges::sort(words);
    const auto repeated = std::ranges::unique(words);
    words.erase(repeated.begin(), repeated.end());
    std::array<std::ptrdiff_t, kBanks> of_bank{};
    for (const std::int64_t word : words) {
      ++of_bank.at(static_cast<std::size_t>(word % kBanks));
    }
    passes += std::ranges::max(of_bank);
  }
  return groups == 0 ? 1 : static_cast<double>(passes) / static_cast<double>(groups);
}

std::int64_t bank_padding(std::int64_t row_bytes, std::int64_t read_bytes) {
  constexpr std::int64_t kAll = kBanks * kBankBytes;
  const std::int64_t whole = (read_bytes + kBankBytes - 1) / kBankBytes * kBankBytes;
  return (kAll - row_bytes % kAll + whole) % kAll;
}

std::int64_t padded_row_bytes(std::int64_t elements, std::int64_t size, std::int64_t rows) {
  return elements * size + bank_padding(elements * size, threads_at_once(size) / rows * size);
}

}  // namespace ridgeline::operations
