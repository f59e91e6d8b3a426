#include "lsp/session/progress.h"

#include <gmock/gmock.h>

#include <optional>

#include "tests/unit/lsp/session/fake_client.h"

namespace ridgeline::lsp {
namespace {

using protocol::Json;
using protocol::WorkDoneProgressBegin;
using testing::FakeClient;

const Json kShows = {{"window", {{"workDoneProgress", true}}}};
const WorkDoneProgressBegin kBegin{"Profiling", "", 0, true};

Json value_of(const std::optional<Json>& progress) {
  return progress.has_value() ? (*progress)["params"]["value"] : Json();
}

TEST(Progress, IsShownUnderTheRequestsToken) {
  FakeClient client;
  client.initialize();
  Progress progress(*client.session, {{"workDoneToken", "mine"}}, kBegin);
  const Json begin = *client.sent("$/progress");
  EXPECT_EQ(begin["params"]["token"], "mine");
  EXPECT_EQ(begin["params"]["value"],
            Json({{"kind", "begin"}, {"title", "Profiling"}, {"percentage", 0}, {"cancellable", true}}));
  progress.report({"half", 50});
  EXPECT_EQ(value_of(client.sent("$/progress")), Json({{"kind", "report"}, {"message", "half"}, {"percentage", 50}}));
  progress.end("done");
  EXPECT_EQ(value_of(client.sent("$/progress")), Json({{"kind", "end"}, {"message", "done"}}));
  progress.report({"late", 60});
  progress.end();
  EXPECT_FALSE(client.sent("$/progress").has_value());
}

TEST(Progress, IsCreatedFirst) {
  FakeClient client;
  client.initialize(kShows);
  Progress progress(*client.session, {}, kBegin);
  EXPECT_FALSE(client.sent("$/progress").has_value());
  progress.report({"loading", 10});
  const Json create = *client.sent("window/workDoneProgress/create");
  client.answer(create, nullptr);
  const Json begin = *client.sent("$/progress");
  EXPECT_EQ(begin["params"]["token"], create["params"]["token"]);
  EXPECT_EQ(begin["params"]["value"]["message"], "loading");
  EXPECT_EQ(begin["params"]["value"]["percentage"], 10);
}

TEST(Progress, IsNotShownWhereItIsRefused) {
  FakeClient client;
  client.initialize(kShows);
  Progress progress(*client.session, {}, kBegin);
  client.refuse(*client.sent("window/workDoneProgress/create"));
  progress.report({"x", 10});
  progress.end();
  EXPECT_FALSE(client.sent("$/progress").has_value());
}

TEST(Progress, IsNotShownWhenItEndsBeforeItIsCreated) {
  FakeClient client;
  client.initialize(kShows);
  { const Progress progress(*client.session, {}, kBegin); }
  client.answer(*client.sent("window/workDoneProgress/create"), nullptr);
  EXPECT_FALSE(client.sent("$/progress").has_value());
}

TEST(Progress, IsNotShownWhereTheClientHasNone) {
  FakeClient client;
  client.initialize();
  Progress progress(*client.session, {}, kBegin);
  progress.report({"x", 10});
  progress = Progress();
  EXPECT_TRUE(client.transport->sent.empty());
}

TEST(Progress, NeverGoesBack) {
  FakeClient client;
  client.initialize();
  Progress progress(*client.session, {{"workDoneToken", 7}}, kBegin);
  client.sent("$/progress");
  for (const auto& [told, shown] : {std::pair(40, 40), std::pair(20, 40), std::pair(300, 100)}) {
    progress.report({"", static_cast<std::uint32_t>(told)});
    EXPECT_EQ(value_of(client.sent("$/progress"))["percentage"], shown);
  }
}

TEST(Progress, HasNoPercentageThatItDidNotBeginWith) {
  FakeClient client;
  client.initialize();
  Progress progress(*client.session, {{"workDoneToken", 7}}, {"Building"});
  client.sent("$/progress");
  progress.report({"x", 50});
  EXPECT_EQ(value_of(client.sent("$/progress")), Json({{"kind", "report"}, {"message", "x"}}));
}

TEST(Progress, EndsWithItsOwner) {
  FakeClient client;
  client.initialize();
  {
    Progress first(*client.session, {{"workDoneToken", 7}}, kBegin);
    client.sent("$/progress");
    const Progress second = std::move(first);
    EXPECT_FALSE(client.sent("$/progress").has_value());
  }
  EXPECT_EQ(value_of(client.sent("$/progress")), Json({{"kind", "end"}}));
}

TEST(Progress, IsCancelledOnce) {
  FakeClient client;
  client.initialize();
  int cancelled = 0;
  Progress progress(*client.session, {{"workDoneToken", "t"}}, kBegin, [&] { ++cancelled; });
  client.tell("window/workDoneProgress/cancel", {{"token", "other"}});
  EXPECT_EQ(cancelled, 0);
  client.tell("window/workDoneProgress/cancel", {{"token", "t"}});
  client.tell("window/workDoneProgress/cancel", {{"token", "t"}});
  EXPECT_EQ(cancelled, 1);
  progress.end();
  client.tell("window/workDoneProgress/cancel", {{"token", "t"}});
  EXPECT_EQ(cancelled, 1);
}

TEST(Progress, CannotBeCancelledUnlessItSaysSo) {
  FakeClient client;
  client.initialize();
  const Progress progress(*client.session, {{"workDoneToken", "t"}}, {"Reading"}, [] { ADD_FAILURE(); });
  client.tell("window/workDoneProgress/cancel", {{"token", "t"}});
}

TEST(Progress, MayOutliveItsSession) {
  Progress progress;
  {
    FakeClient client;
    client.initialize();
    progress = Progress(*client.session, {{"workDoneToken", "t"}}, kBegin);
    client.tell("exit");
    client.loop.poll();
    progress.report({"x", 10});
    client.session.reset();
  }
  progress.report({"x", 20});
  progress.end();
}

}  // namespace
}  // namespace ridgeline::lsp
