#include "report/page.h"

#include <gtest/gtest.h>

namespace ridgeline::report {
namespace {

TEST(Page, FlowsItemsWithoutPartingThem) {
  Page page(20, false);
  page.flow("a ", 2, {{"one", "1 ms"}, {"two", "2 ms"}, {"three", "3 ms"}});
  EXPECT_EQ(page.take(), "a one 1 ms\n  two 2 ms\n  three 3 ms\n");
}

TEST(Page, WrapsProseAndKeepsFiguresWhole) {
  Page page(20, false);
  page.prose("note", "it needs 1.84\u00A0GiB of memory", 8);
  EXPECT_EQ(page.take(), "  note  it needs\n        1.84 GiB of\n        memory\n");
}

TEST(Page, ClipsAWordThatIsWiderThanThePage) {
  Page page(12, false);
  page.prose("", "an extraordinarily_long_name", 2);
  EXPECT_EQ(page.take(), "  an\n  extraordi…\n");
}

}  // namespace
}  // namespace ridgeline::report
