#include "operations/device/bank_conflicts.h"

#include <gtest/gtest.h>

#include <vector>

namespace ridgeline::operations {
namespace {

/// The addresses of a warp whose threads are `stride` bytes apart.
std::vector<std::int64_t> strided(std::int64_t stride) {
  std::vector<std::int64_t> addresses;
  for (std::int64_t i = 0; i < kWarpThreads; ++i) {
    addresses.push_back(i * stride);
  }
  return addresses;
}

TEST(BankConflicts, NeighboursAndOneWordForAllDoNotConflict) {
  EXPECT_EQ(bank_conflict(strided(4), 4), 1);
  EXPECT_EQ(bank_conflict(strided(2), 2), 1);
  EXPECT_EQ(bank_conflict(strided(8), 8), 1);
  EXPECT_EQ(bank_conflict(strided(16), 16), 1);
  EXPECT_EQ(bank_conflict(strided(0), 4), 1);
  EXPECT_EQ(bank_conflict({}, 4), 1);
}

TEST(BankConflicts, StridesOfPowersOfTwoConflict) {
  EXPECT_EQ(bank_conflict(strided(8), 4), 2);
  EXPECT_EQ(bank_conflict(strided(16), 4), 4);
  EXPECT_EQ(bank_conflict(strided(128), 4), 32);
  EXPECT_EQ(bank_conflict(strided(132), 4), 1);  // a matrix of 32 columns and one of padding, read by column
  EXPECT_EQ(bank_conflict(strided(32), 16), 2);
}

/// The thesis' figure 6.5 (b): 3 of 4 banks' rows, read by column, need one more word in a row.
TEST(BankConflicts, RowsOfATileArePadded) {
  EXPECT_EQ(bank_padding(128, 4), 4);
  EXPECT_EQ(bank_padding(132, 4), 0);
  for (const std::int64_t elements : {16, 32, 64, 128, 256}) {
    for (const std::int64_t size : {2, 4, 8}) {
      const auto conflict = [&](std::int64_t row_bytes) {
        std::vector<std::int64_t> addresses;  // 8 below each other, and the next 8 beside them
        for (std::int64_t i = 0; i < kWarpThreads; ++i) {
          addresses.push_back(i % 8 * row_bytes + i / 8 * size);
        }
        return bank_conflict(addresses, size);
      };
      const std::int64_t row = elements * size;
      EXPECT_EQ(conflict(padded_row_bytes(elements, size, 8)), 1) << elements << " of " << size;
      EXPECT_GE(conflict(row), 2) << elements << " of " << size;
    }
  }
}

}  // namespace
}  // namespace ridgeline::operations
