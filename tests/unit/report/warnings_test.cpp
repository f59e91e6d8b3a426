#include "report/warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridgeline::report {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Warnings, TheFirstIsShownAndTheOthersAreCounted) {
  EXPECT_THAT(shown_warnings({}, ShownWarnings::kFirst), IsEmpty());
  EXPECT_THAT(shown_warnings({"One."}, ShownWarnings::kFirst), ElementsAre("One."));
  EXPECT_THAT(shown_warnings({"One.", "Two."}, ShownWarnings::kFirst),
              ElementsAre("One.", "1 more warning: --warnings"));
  EXPECT_THAT(shown_warnings({"One.", "Two.", "Three."}, ShownWarnings::kFirst),
              ElementsAre("One.", "2 more warnings: --warnings"));
  EXPECT_THAT(shown_warnings({"One.", "Two.", "Three."}, ShownWarnings::kAll), ElementsAre("One.", "Two.", "Three."));
}

TEST(Warnings, APageFoldsTheOthers) {
  EXPECT_EQ(warnings_html({}), "");
  EXPECT_EQ(warnings_html({"<1>"}), "<p class=\"warning\">&lt;1&gt;</p>\n");
  EXPECT_EQ(warnings_html({"One.", "Two."}),
            "<p class=\"warning\">One.</p>\n<details><summary>1 more warning</summary>\n"
            "<p class=\"warning\">Two.</p>\n</details>\n");
}

}  // namespace
}  // namespace ridgeline::report
