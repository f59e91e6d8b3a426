#include "base/random_digits.h"

#include <gtest/gtest.h>

namespace ridgeline::base {
namespace {

TEST(RandomDigits, AreTwoForEachByteAndNeverTheSame) {
  for (const std::size_t bytes : {8U, 32U, 256U}) {
    const auto digits = random_digits(bytes);
    ASSERT_TRUE(digits);
    EXPECT_EQ(digits->size(), 2 * bytes);
    EXPECT_EQ(digits->find_first_not_of("0123456789abcdef"), std::string::npos);
    EXPECT_NE(*digits, *random_digits(bytes));
  }
  EXPECT_EQ(*random_digits(0), "");
}

}  // namespace
}  // namespace ridgeline::base
