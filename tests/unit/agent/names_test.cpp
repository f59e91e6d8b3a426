#include "profiler/agent/names.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ridgeline::agent {

TEST(NameTable, EqualNamesAreOneNumberWhereverTheyStand) {
  NameTable names;
  const std::string first = "autograd::engine::evaluate_function: AddmmBackward0";
  const std::string second(first.begin(), first.end());  // elsewhere
  EXPECT_EQ(names.intern(first.c_str()), names.intern(second.c_str()));
  EXPECT_EQ(names.names()[names.intern(first.c_str())], first);
}

TEST(NameTable, AnotherNameAtTheSamePlaceIsAnotherNumber) {
  NameTable names;
  std::string name = "MulBackward0";
  const std::uint32_t before = names.intern(name.c_str());
  name.replace(0, 3, "Add");
  EXPECT_NE(names.intern(name.c_str()), before);
}

/// Their hashes may well be equal: what is compared is all of them.
TEST(NameTable, NamesThatDifferInOneCharacterAnywhereAreDifferent) {
  NameTable names;
  std::vector<std::string> all = {"", "a", "b", "aten::t"};
  const std::string base(60, 'x');
  for (std::size_t i = 0; i < base.size(); ++i) {
    all.push_back(base);
    all.back()[i] = 'y';
  }
  for (int i = 0; i < 2000; ++i) {
    all.push_back("name " + std::to_string(i));  // makes the table grow
  }
  std::vector<std::uint32_t> numbers;
  for (const std::string& name : all) {
    numbers.push_back(names.intern(name.c_str()));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(names.names()[numbers[i]], all[i]);
    EXPECT_EQ(names.intern(all[i].c_str()), numbers[i]);
  }
}

}  // namespace ridgeline::agent
