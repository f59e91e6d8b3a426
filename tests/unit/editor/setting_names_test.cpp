#include "editor/setting_names.h"

#include <gtest/gtest.h>

namespace ridgeline::editor {
namespace {

TEST(SettingNames, StandInPlaceOfOptions) {
  EXPECT_EQ(with_setting_names("There is no python3 on PATH. Name one with --python."),
            "There is no python3 on PATH. Name one in the setting `python`.");
  EXPECT_EQ(with_setting_names("Raise --timeout if it needs longer. Raise --timeout"),
            "Raise the setting `timeLimit` if it needs longer. Raise the setting `timeLimit`");
  EXPECT_EQ(with_setting_names("try a smaller batch size, or --memory-limit"),
            "try a smaller batch size, or the setting `memoryLimit`");
  EXPECT_EQ(with_setting_names("from it. `ridgeline init` writes a first version of that file."),
            "from it. Ridgeline can write a first version of that file.");
  EXPECT_EQ(with_setting_names("file; `ridgeline profile` records training steps of a script as it is, without one."),
            "file; Ridgeline can also profile it as a script, without one.");
  EXPECT_EQ(with_setting_names("The code asks for CUDA and ran on the CPU (--device cpu): times"),
            "The code asks for CUDA and ran on the CPU (the setting `device` is `cpu`): times");
}

TEST(SettingNames, LeaveWhatTheUsersCodeSays) {
  for (const char* text : {"", "error: the following arguments are required: --python", "--timeout"}) {
    EXPECT_EQ(with_setting_names(text), text);
  }
}

}  // namespace
}  // namespace ridgeline::editor
