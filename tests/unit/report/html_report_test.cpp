#include "report/html_report.h"

#include <gmock/gmock.h>

#include <string>
#include <string_view>

#include "analysis/prediction/answers.h"
#include "report/json.h"
#include "sample_profile.h"

namespace ridgeline::report {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kBegin = "<script type=\"application/json\" id=\"data\">";

/// What stands in the element, up to the first end of a script: as a browser reads it.
std::string data_text(const std::string& html) {
  const std::size_t begin = html.find(kBegin) + kBegin.size();
  return html.substr(begin, html.find("</script", begin) - begin);
}

Json data_of(const analysis::Profile& profile, const SourceLines& source = testing::resnet_source) {
  return Json::parse(data_text(html_report(profile, analysis::outlook_of(profile), source)));
}

TEST(HtmlReport, HoldsTheJsonReport) {
  const analysis::Profile profile = testing::resnet_profile();
  EXPECT_EQ(Json::diff(data_of(profile)["report"], to_json(profile, analysis::outlook_of(profile))), Json::array());
}

TEST(HtmlReport, SaysWhatTheTextReportSays) {
  const analysis::Profile profile = testing::resnet_profile();
  const Json texts = data_of(profile)["texts"];
  const std::string text = text_report(profile, analysis::outlook_of(profile), testing::resnet_source, {.width = 140});
  for (const Json& figure : texts["figures"]) {
    EXPECT_THAT(text, HasSubstr(figure["text"].get<std::string>()));
  }
  for (const char* items : {"phases", "peak"}) {
    ASSERT_FALSE(texts[items].empty());
    for (const Json& item : texts[items]) {
      EXPECT_THAT(text, HasSubstr(item["label"].get<std::string>() + " " + item["text"].get<std::string>()));
    }
  }
  EXPECT_THAT(text, HasSubstr(texts["setting"].get<std::string>()));
  EXPECT_EQ(texts["notes"][0]["label"], "skipped");
  ASSERT_EQ(texts["lines"].size(), profile.lines.size());
  EXPECT_EQ(texts["lines"][0]["place"], "resnet.py:42");
  EXPECT_EQ(texts["lines"][0]["source"], "        out = self.conv2(out)");
  EXPECT_EQ(texts["lines"][0]["calls"], "16");
}

TEST(HtmlReport, SaysWhatIsNotKnown) {
  const Json texts = data_of(testing::minimal_profile(), nullptr)["texts"];
  EXPECT_EQ(texts["figures"][0]["note"], "maximum unknown");
  EXPECT_TRUE(texts["figures"][0]["fraction"].is_null());
  EXPECT_EQ(texts["figures"][2]["note"], "capacity unknown");
}

/// Whatever a string holds, the element ends where it should, and the policy stands before it.
TEST(HtmlReport, NoTextEndsItsElement) {
  const std::string hostile = "</script><img src=x onerror=alert(1)><!-- \u2028\u2029 & \u202e\x1b[31m \xff ]]>";
  analysis::Profile profile = testing::resnet_profile();
  profile.warnings = {hostile};
  profile.breakdown.children[0].name = hostile;
  profile.lines[0].location.file = hostile + ".py";
  const std::string html = html_report(profile, {}, [&](const auto&) { return std::optional(hostile); });
  const std::string data = data_text(html);
  for (const char* part : {"<", ">", "&", "\u2028", "\u2029", "\u202e", "\x1b"}) {
    EXPECT_THAT(data, Not(HasSubstr(part)));
  }
  const std::string readable = "</script><img src=x onerror=alert(1)><!--";
  const Json read = Json::parse(data);
  EXPECT_THAT(read["report"]["warnings"][0].get<std::string>(), ::testing::StartsWith(readable));
  EXPECT_THAT(read["report"]["breakdown"]["children"][0]["name"].get<std::string>(), ::testing::StartsWith(readable));
  EXPECT_THAT(read["texts"]["lines"][0]["source"].get<std::string>(), ::testing::StartsWith(readable));
  EXPECT_LT(html.find("Content-Security-Policy"), html.find(kBegin));
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
}

}  // namespace
}  // namespace ridgeline::report
