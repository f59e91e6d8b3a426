// The line of a report that has a step's requests.
#include "report/allocator_requests.h"

#include <gtest/gtest.h>

namespace ridgeline::report {
namespace {

using analysis::AllocatorModel;

TEST(AllocatorRequests, TextComesBack) {
  AllocatorModel model;
  model.sizes = {1, 2, 4};
  model.alive = 2;
  model.requests = {{{5, 5, 5}, 0}, {{8, 15, 29}, 1}, {{8, 16, 32}, 0}, {{1, 0, 1}, 0}};
  model.order = {0, 1, 2, ~2, ~1, 3};
  const std::string text = requests_text(model);
  EXPECT_EQ(text, "+5/5/5 +8/15/29@1 +8/16/32 -2 -1 +1/0/1");
  AllocatorModel back;
  back.sizes = model.sizes;
  back.alive = model.alive;
  ASSERT_TRUE(read_requests(text, back));
  EXPECT_EQ(requests_text(back), text);
  EXPECT_EQ(back.order, model.order);
}

TEST(AllocatorRequests, OtherTextIsRefused) {
  const auto reads = [](std::string_view text, std::size_t alive = 0) {
    AllocatorModel model;
    model.sizes = {1, 2};
    model.alive = alive;
    return read_requests(text, model);
  };
  EXPECT_TRUE(reads(""));
  EXPECT_TRUE(reads("+1/2 -0"));
  for (const char* text : {"+1", "+1/2/3", "1/2", "+1/2 ", " +1/2", "+1/2  -0", "+1/2 -0 -0", "-0 +1/2", "+1/2 -1",
                           "+1/2@", "+1/2@65536", "+1/-2", "+1/9999999999999999999", "+1/2x", "-"}) {
    EXPECT_FALSE(reads(text)) << text;
  }
  EXPECT_FALSE(reads("+1/2", 2));
  EXPECT_FALSE(reads("+1/2 -0 +1/2", 2));
  std::string many = "+1/2 -0";
  for (std::size_t i = 0; i < analysis::kMaxAllocatorEvents / 2; ++i) {
    many += " +1/2";
  }
  EXPECT_TRUE(reads(many));
  for (std::size_t i = 0; i < analysis::kMaxAllocatorEvents / 2; ++i) {
    many += " +1/2";
  }
  EXPECT_FALSE(reads(many));
}

}  // namespace
}  // namespace ridgeline::report
