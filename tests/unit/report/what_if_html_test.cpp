#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <string>

#include "report/rendered_what_if.h"

namespace ridgeline::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

analysis::WhatIf answer() {
  analysis::WhatIf answer;
  answer.entry_path = "/home/somebody/<entry>.py";
  answer.step_ms = 5;
  answer.device = "a CPU";
  analysis::ChangeAnswer both{.change = {"fused-optimizer"}, .title = "", .takes = "`fused=True`", .reason = ""};
  both.predicted = analysis::PredictedChange{.speed_up = {2, 1.6, 2.5}, .step_ms = 2.5, .peak_bytes = {}};
  both.tried.emplace().speed_up = {1.5, 1.4, 1.6};
  analysis::ChangeAnswer refused{
      .change = {"set:a:out_features=3"}, .title = "", .takes = "", .reason = "no <b>module</b> is called \"a\""};
  answer.changes = {both, refused};
  answer.warnings = {"a & b"};
  return answer;
}

TEST(WhatIfHtml, DrawsPredictedAndTriedOnOneAxis) {
  const std::string html = html_what_if(answer());
  EXPECT_THAT(html, HasSubstr("aria-label=\"predicted 2.00× faster (1.60–2.50), tried 1.50× faster (1.40–1.60)\""));
  // The axis ends a tenth beyond the farthest end of an interval, log(2.5): 1× is in the middle.
  const double ends = std::log(2.5) * 1.1;
  const auto at = [&](double speed_up) { return 130 * (1 + std::log(speed_up) / ends); };
  EXPECT_THAT(html, HasSubstr("x1=\"130.0\" x2=\"130.0\""));
  char predicted[64];
  std::snprintf(predicted, sizeof predicted, "x1=\"%.1f\" x2=\"%.1f\"", at(1.6), at(2.5));
  EXPECT_THAT(html, HasSubstr(predicted));
}

TEST(WhatIfHtml, NothingFromOutsideIsMarkupAndNothingIsLoaded) {
  const std::string html = html_what_if(answer());
  EXPECT_THAT(html, HasSubstr("What if: &lt;entry&gt;.py"));
  EXPECT_THAT(html, HasSubstr("no &lt;b&gt;module&lt;/b&gt; is called &quot;a&quot;"));
  EXPECT_THAT(html, HasSubstr("a &amp; b"));
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr("src=")));
}

}  // namespace
}  // namespace ridgeline::report
