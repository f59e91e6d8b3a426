#include "app/profiling/kept_recordings.h"

#include <gtest/gtest.h>

#include "tests/unit/protocol/small_recording.h"

namespace ridgeline::app {
namespace {

analysis::RecordedRun recorded() {
  auto recording = recording::Recording::parse(recording::serialise(recording::testing::small_columns()));
  EXPECT_TRUE(recording) << recording.error().message();
  return {{32, 3, {1.5, 0.1, 2e9}, std::move(*recording), 2},
          {"/project", {"/env", "/usr/lib/python3"}, {{"timm", {"/env/timm"}}, {"absent", {}}}}};
}

TEST(KeptRecordings, AreReadAsTheyWere) {
  const analysis::RecordedRun before = recorded();
  const auto after = parse_recorded_run(recorded_run_text(before));
  ASSERT_TRUE(after) << after.error().message();
  EXPECT_EQ(after->run.recording.bytes(), before.run.recording.bytes());
  EXPECT_EQ(after->run.batch_size, 32);
  EXPECT_EQ(after->run.warmup_iterations, 3);
  EXPECT_EQ(after->run.times_ns, before.run.times_ns);
  EXPECT_EQ(after->run.per_round, 2);
  EXPECT_EQ(after->scope.project_root, "/project");
  EXPECT_EQ(after->scope.environment_roots, before.scope.environment_roots);
  ASSERT_EQ(after->scope.code.size(), 2U);
  EXPECT_EQ(after->scope.code.front().name, "timm");
  EXPECT_EQ(after->scope.code.front().places, before.scope.code.front().places);
}

TEST(KeptRecordings, OtherTextsAreErrors) {
  const std::string text = recorded_run_text(recorded());
  for (const std::string& other :
       {std::string(), std::string("{}"), text.substr(1), text.substr(0, text.size() - 1), text + "\n{}",
        text.substr(0, text.rfind("\"perRound\":2")) + "\"perRound\":0" +
            text.substr(text.rfind(",\"projectRoot\""))}) {
    EXPECT_FALSE(parse_recorded_run(other)) << other.substr(0, 60);
  }
}

}  // namespace
}  // namespace ridgeline::app
