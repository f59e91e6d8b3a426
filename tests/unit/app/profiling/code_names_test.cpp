#include "app/profiling/code_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridgeline::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(CodeNames, AreThoseOfImport) {
  for (const char* name : {"transformers", "torchvision.models", "_x1", "größe"}) {
    EXPECT_EQ(code_name_problem(name), "") << name;
  }
  for (const char* name :
       {"", ".", "a.", ".a", "a..b", "1a", "a/b", "../a", "/a", "a b", "a-b", "a;b", "a\n", "$(x)"}) {
    EXPECT_THAT(code_name_problem(name), HasSubstr("is not the import name of a package")) << name;
  }
  EXPECT_NE(code_name_problem(std::string(1000, 'a')), "");
}

TEST(CodeNames, ListsWithTheSameMeaningAreEqual) {
  EXPECT_EQ(normalised({"b", "a", "b"}), normalised({"a", "b"}));
  EXPECT_NE(normalised({"a"}), normalised({}));
}

TEST(ImportedCode, IsWhatTheProcessHasAndSaysWhatItHasNot) {
  std::vector<std::string> warnings;
  const auto code = imported_code({{"nets", true, {"/env/site-packages/nets"}, ""},
                                   {"nests", false, {}, "nets"},
                                   {"zzz", false, {}, ""},
                                   {"_compiled", true, {}, ""}},
                                  warnings);
  ASSERT_EQ(code.size(), 1U);
  EXPECT_EQ(code[0].name, "nets");
  EXPECT_THAT(code[0].places, ElementsAre("/env/site-packages/nets"));
  EXPECT_THAT(warnings,
              ElementsAre("The lines of nests are not shown: nothing of that name was imported; name a package as "
                          "`import` does, such as nets.",
                          "The lines of zzz are not shown: nothing of that name was imported; name a package as "
                          "`import` does.",
                          "The lines of _compiled are not shown: it has no Python code."));
  EXPECT_THAT(imported_code({}, warnings), IsEmpty());
}

}  // namespace
}  // namespace ridgeline::app
