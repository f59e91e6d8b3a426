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

TEST(Page, FoldsALineBetweenColumns) {
  Page page(24, false);
  page.line("  fits into the line");
  page.line("  conv1 of layer 1   1.5 ms   20 %");
  EXPECT_EQ(page.take(), "  fits into the line\n  conv1 of layer 1\n      1.5 ms   20 %\n");
}

TEST(Page, FoldsWhatIsTooWideForAColumnBetweenWordsAndCutsAWord) {
  Page page(16, false);
  page.line("a column of words  extraordinarily_long_name");
  EXPECT_EQ(page.take(), "a column of\n    words\n    extraordina…\n");
}

TEST(Page, KeepsTheColourOfWhatItFolds) {
  Page page(12, true);
  page.line("  " + page.bold("TIME   MEMORY AT") + "  " + page.dim("line 1") + " x");
  EXPECT_EQ(page.take(),
            "  \x1b[1mTIME\x1b[0m\n      \x1b[1mMEMORY\x1b[0m\n      \x1b[1mAT\x1b[0m\x1b[2m\x1b[0m\n"
            "      \x1b[2mline\x1b[0m \x1b[2m1\x1b[0m\n      x\n");
}

}  // namespace
}  // namespace ridgeline::report
