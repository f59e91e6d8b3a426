#include "report/checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "report/units.h"

namespace ridgeline::report {
namespace {

using ::testing::HasSubstr;

TEST(TextChecks, ShowsEachWithItsFix) {
  EXPECT_EQ(text_checks({{CheckStatus::kOk, "interpreter", "/bin/python3: Python 3.11.7", ""},
                         {CheckStatus::kNote, "gpu", "none", ""},
                         {CheckStatus::kFail, "compiler", "there is none", "Install one."}}),
            "  ok    interpreter  /bin/python3: Python 3.11.7\n"
            "  note  gpu          none\n"
            "  FAIL  compiler     there is none\n"
            "                     Fix: Install one.\n"
            "\n"
            "  1 check failed.\n");
  EXPECT_THAT(text_checks({{CheckStatus::kNote, "gpu", "none", ""}}), HasSubstr("All is well"));
}

TEST(TextChecks, WrapsWordsAndCutsNoPath) {
  const std::string path = "/" + std::string(120, 'p') + "/python";
  const std::string text = text_checks({{CheckStatus::kOk, "interpreter", "see " + path + " and so on", ""}});
  EXPECT_THAT(text, HasSubstr("see\n                     " + path + "\n                     and so on\n"));
}

TEST(TextChecks, IsBoundedAndPrintable) {
  std::string words;
  for (int i = 0; i < 10'000; ++i) {
    words += "word\n\x1b[31m ";
  }
  const std::string text = text_checks({{CheckStatus::kFail, "agent", words, words}});
  EXPECT_LT(text.size(), 10'000U);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(columns(line), 100);
  }
}

}  // namespace
}  // namespace ridgeline::report
