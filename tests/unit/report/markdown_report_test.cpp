#include "report/markdown_report.h"

#include <gtest/gtest.h>

#include <optional>
#include <regex>
#include <sstream>
#include <string>

#include "analysis/prediction/answers.h"
#include "expected.h"
#include "sample_profile.h"

namespace ridgeline::report {
namespace {

std::string report(const analysis::Profile& profile, const SourceLines& source = {}) {
  return markdown_report(profile, analysis::outlook_of(profile), source);
}

TEST(MarkdownReport, IsAsExpected) {
  testing::expect_file("resnet.md", report(testing::resnet_profile(), [](const analysis::Location& place) {
                         return "    x = self.conv(x)  # " + std::to_string(place.line);
                       }));
  testing::expect_file("minimal.md", report(testing::minimal_profile()));
}

TEST(MarkdownReport, LetsNothingFromOutsideActAsMarkup) {
  analysis::Profile profile = testing::resnet_profile();
  profile.environment.torch = "<img src=x>|\n# heading";
  profile.entry_path = profile.project_root + "/[a](http://b)|`c`.py";
  profile.lines.front().location.file = "<b>|**d**";
  profile.warnings = {"```\n<script>\n# e"};
  const std::string whole = report(profile, [](const analysis::Location&) { return "``` | <i> \n## f"; });
  std::string text;  // but for the block of code at the end
  std::istringstream lines(whole);
  for (std::string line; std::getline(lines, line);) {
    text += line.starts_with("    ") ? "" : "\n" + line;
  }
  text = std::regex_replace(text, std::regex(R"(\\.)"), "");  // what has a backslash before it is text
  for (const char* markup : {"<img", "\n# heading", "[a](", "<b>", "**d**", "\n<script>", "\n# e", "\n## f", "\n```"}) {
    EXPECT_EQ(text.find(markup), std::string::npos) << markup << " in\n" << text;
  }
}

}  // namespace
}  // namespace ridgeline::report
