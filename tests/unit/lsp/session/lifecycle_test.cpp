#include <gmock/gmock.h>

#include "tests/unit/lsp/session/fake_client.h"

namespace ridgeline::lsp {
namespace {

using protocol::Json;
using ::testing::ElementsAre;
using testing::FakeClient;
using ::testing::IsEmpty;
namespace error_code = protocol::error_code;

const Json kNothing = Json::object();

TEST(Lifecycle, SaysWhatItIs) {
  FakeClient client;
  client.service.capabilities = [](const protocol::InitializeParams& params) {
    return Json{{"hoverProvider", params.capabilities.hover.markdown},
                {"workspace", {{"fileOperations", Json::object()}}}};
  };
  const Json result =
      client.initialize({{"textDocument", {{"hover", {{"contentFormat", {"markdown", "plaintext"}}}}}}});
  EXPECT_EQ(result["serverInfo"]["name"], "ridgeline");
  EXPECT_EQ(result["serverInfo"]["version"], RIDGELINE_VERSION);
  EXPECT_EQ(result["capabilities"]["positionEncoding"], "utf-16");
  EXPECT_EQ(result["capabilities"]["textDocumentSync"]["change"], 2);
  EXPECT_EQ(result["capabilities"]["textDocumentSync"]["openClose"], true);
  EXPECT_EQ(result["capabilities"]["workspace"]["workspaceFolders"]["supported"], true);
  EXPECT_TRUE(result["capabilities"]["workspace"].contains("fileOperations"));
  EXPECT_EQ(result["capabilities"]["hoverProvider"], true);
  EXPECT_THAT(client.diary.take(), ElementsAre("initialized"));
  EXPECT_TRUE(client.session->running());
}

TEST(Lifecycle, TakesUtf8WhereItIsOffered) {
  const auto chosen = [](const Json& offered) {
    FakeClient client;
    return client.initialize({{"general", {{"positionEncodings", offered}}}})["capabilities"]["positionEncoding"];
  };
  EXPECT_EQ(chosen({"utf-16", "utf-8"}), "utf-8");
  EXPECT_EQ(chosen({"utf-32", "utf-16"}), "utf-16");
  EXPECT_EQ(chosen({"utf-32"}), "utf-16");
  EXPECT_EQ(chosen(Json::array()), "utf-16");
}

TEST(Lifecycle, BeginsWithInitialize) {
  FakeClient client;
  client.connect();
  EXPECT_EQ(client.error_of("textDocument/hover", kNothing), error_code::kServerNotInitialized);
  EXPECT_EQ(client.error_of("shutdown"), error_code::kServerNotInitialized);
  EXPECT_EQ(client.error_of("$/unknown"), error_code::kServerNotInitialized);
  client.open("file:///a", "x");
  client.tell("initialize", kNothing);
  client.tell("initialized", kNothing);
  EXPECT_THAT(client.diary.take(), IsEmpty());
  EXPECT_THAT(client.transport->sent, IsEmpty());
  client.session->notify("early", {});
  EXPECT_THAT(client.transport->sent, IsEmpty());
}

TEST(Lifecycle, IsInitializedOnce) {
  FakeClient client;
  client.initialize();
  EXPECT_EQ(client.error_of("initialize", {{"capabilities", kNothing}}), error_code::kInvalidRequest);
  client.tell("initialized", kNothing);
  EXPECT_THAT(client.diary.take(), ElementsAre("initialized"));
}

TEST(Lifecycle, MayInitializeAfterAMistake) {
  FakeClient client;
  client.connect();
  EXPECT_EQ(client.error_of("initialize"), error_code::kInvalidParams);
  EXPECT_EQ(client.error_of("initialize", {{"capabilities", kNothing}, {"processId", "x"}}),
            error_code::kInvalidParams);
  EXPECT_EQ(client.error_of("initialize", {{"capabilities", kNothing}}), 0);
}

TEST(Lifecycle, SurvivesCapabilitiesThatCannotBeMade) {
  FakeClient client;
  client.service.capabilities = [](const auto& /*client*/) -> Json { throw std::runtime_error("broken"); };
  client.connect();
  EXPECT_EQ(client.error_of("initialize", {{"capabilities", kNothing}}), error_code::kInternalError);
}

TEST(Lifecycle, EndsByShutdownAndExit) {
  FakeClient client;
  client.initialize();
  EXPECT_TRUE(client.ask("shutdown")["result"].is_null());
  EXPECT_EQ(client.error_of("shutdown"), error_code::kInvalidRequest);
  EXPECT_EQ(client.error_of("textDocument/hover"), error_code::kInvalidRequest);
  client.diary.take();
  client.open("file:///a", "x");
  EXPECT_THAT(client.diary.take(), IsEmpty());
  client.tell("exit");
  EXPECT_THAT(client.diary.take(), ElementsAre("ended"));
  EXPECT_TRUE(client.transport->closed);
  EXPECT_FALSE(client.exit_code.has_value()) << "told from the loop";
  client.loop.poll();
  EXPECT_EQ(client.exit_code, 0);
}

TEST(Lifecycle, ExitWithoutShutdownIsAnError) {
  for (const bool initialized : {false, true}) {
    FakeClient client;
    if (initialized) {
      client.initialize();
    } else {
      client.connect();
    }
    client.tell("exit");
    client.loop.poll();
    EXPECT_EQ(client.exit_code, 1);
  }
}

TEST(Lifecycle, EndOfInputIsAnExit) {
  FakeClient client;
  client.initialize();
  client.ask("shutdown");
  client.transport->handlers.on_end("");
  client.loop.poll();
  EXPECT_EQ(client.exit_code, 0);

  FakeClient other;
  other.initialize();
  other.transport->handlers.on_end("broke a rule");
  other.loop.poll();
  EXPECT_EQ(other.exit_code, 1);
}

TEST(Lifecycle, HearsNothingAfterItsEnd) {
  FakeClient client;
  client.initialize();
  client.tell("exit");
  client.diary.take();
  client.begin("shutdown");
  client.open("file:///a", "x");
  client.session->notify("late", {});
  client.session->request("late", {});
  client.session->end("again");
  EXPECT_THAT(client.diary.take(), IsEmpty());
}

TEST(Lifecycle, EndsWithTheClientsProcess) {
  FakeClient client;
  client.initialize(kNothing, {{"processId", 4711}});
  EXPECT_EQ(client.watched, 4711);
  client.process_ends();
  client.loop.poll();
  EXPECT_EQ(client.exit_code, 1);
}

TEST(Lifecycle, WatchesNoProcessThatCannotBe) {
  for (const Json& process : {Json(), Json(0), Json(-1), Json(99999999999)}) {
    FakeClient client;
    client.initialize(kNothing, {{"processId", process}});
    EXPECT_EQ(client.watched, 0) << process;
  }
}

TEST(Lifecycle, AnswersWhatIsMalformed) {
  FakeClient client;
  client.initialize();
  const auto error_after = [&](const std::string& text) {
    client.transport->receive(text);
    EXPECT_EQ(client.transport->sent.size(), 1U) << text;
    Json answer = client.transport->sent.back();
    client.transport->sent.clear();
    return answer;
  };
  EXPECT_EQ(error_after("nonsense")["error"]["code"], error_code::kParseError);
  EXPECT_TRUE(error_after("nonsense")["id"].is_null());
  EXPECT_EQ(error_after("[]")["error"]["code"], error_code::kInvalidRequest);
  EXPECT_EQ(error_after(R"({"id":3,"method":"x"})")["id"], 3);
  client.transport->receive(R"({"jsonrpc":"2.0","id":1,"error":7})");
  client.transport->receive(R"({"jsonrpc":"2.0","id":77,"result":7})");
  EXPECT_THAT(client.transport->sent, IsEmpty());
}

}  // namespace
}  // namespace ridgeline::lsp
