// The lines of a report that have a step's requests.
#include "report/allocator_requests.h"

#include <gtest/gtest.h>

namespace ridgeline::report {
namespace {

using analysis::AllocatorModel;

TEST(AllocatorRequests, TextsComeBack) {
  AllocatorModel model;
  model.sizes = {1, 2, 4};
  model.alive = 2;
  model.requests = {{{5, 5, 5}, 0}, {{8, 15, 29}, 1}, {{8, 16, 32}, 0}, {{1, 0, 1}, 0}};
  model.first = {0, 2, ~2, 1};
  model.later = {2, ~2, ~1, 3};
  const std::string requests = requests_text(model);
  EXPECT_EQ(requests, "5/5/5 8/15/29@1 8/16/32 1/0/1");
  EXPECT_EQ(events_text(model.first), "+0 +2 -2 +1");
  EXPECT_EQ(events_text(model.later), "+2 -2 -1 +3");
  AllocatorModel back;
  back.sizes = model.sizes;
  back.alive = model.alive;
  ASSERT_TRUE(read_requests(requests, back));
  ASSERT_TRUE(read_events(events_text(model.first), events_text(model.later), back));
  EXPECT_EQ(requests_text(back), requests);
  EXPECT_EQ(back.first, model.first);
  EXPECT_EQ(back.later, model.later);
}

TEST(AllocatorRequests, OtherRequestsAreRefused) {
  const auto reads = [](std::string_view text) {
    AllocatorModel model;
    model.sizes = {1, 2};
    return read_requests(text, model);
  };
  EXPECT_TRUE(reads(""));
  EXPECT_TRUE(reads("1/2 3/4@7"));
  for (const char* text : {"1", "1/2/3", "+1/2", "1/2 ", " 1/2", "1/2  3/4", "1/2@", "1/2@65536", "1/-2",
                           "1/9999999999999999999", "1/2x"}) {
    EXPECT_FALSE(reads(text)) << text;
  }
}

TEST(AllocatorRequests, OtherEventsAreRefused) {
  const auto reads = [](std::string_view first, std::string_view later, std::size_t alive = 1) {
    AllocatorModel model;
    model.requests.resize(2);
    model.alive = alive;
    return read_events(first, later, model);
  };
  EXPECT_TRUE(reads("", ""));
  EXPECT_TRUE(reads("+0 +1 -1", "+1 -0 +0"));
  for (const char* text : {"0", "+2", "-1", "+1 +1", "+1 ", " +1", "+1  -1", "+", "-", "+-1", "+1x"}) {
    EXPECT_FALSE(reads(text, "")) << text;
    EXPECT_FALSE(reads("", text)) << text;
  }
  EXPECT_FALSE(reads("-0", ""));  // nothing is there at the very first
  EXPECT_FALSE(reads("", "+0"));  // and this is, later
  EXPECT_FALSE(reads("", "", 3));
  std::string many = "+1";
  for (std::size_t i = 0; i < analysis::kMaxAllocatorEvents / 2; ++i) {
    many += " -1 +1";
  }
  EXPECT_FALSE(reads(many, ""));
  EXPECT_TRUE(reads(many.substr(0, many.size() - 3), ""));
}

}  // namespace
}  // namespace ridgeline::report
