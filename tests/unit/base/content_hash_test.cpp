#include "base/content_hash.h"

#include <gtest/gtest.h>

namespace ridgeline::base {
namespace {

std::string hash_of(std::string_view text) {
  ContentHash hash;
  hash.add(text);
  return hash.text();
}

// Vectors of the authors: http://www.isthe.com/chongo/src/fnv/test_fnv.c

TEST(ContentHash, IsFnv1a) {
  EXPECT_EQ(hash_of(""), "cbf29ce484222325");
  EXPECT_EQ(hash_of("a"), "af63dc4c8601ec8c");
  EXPECT_EQ(hash_of("foobar"), "85944171f73967e8");
}

TEST(ContentHash, TellsPartsApart) {
  ContentHash one;
  one.add("ab");
  one.end_part();
  one.add("c");
  ContentHash two;
  two.add("a");
  two.end_part();
  two.add("bc");
  EXPECT_NE(one.text(), two.text());
}

}  // namespace
}  // namespace ridgeline::base
