#include "editor/server.h"

#include <gtest/gtest.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include "tests/unit/lsp/session/fake_client.h"
#include "tests/unit/source/adversarial.h"

namespace ridgeline::editor {
namespace {

using protocol::Json;

/// The pause after a change, and the session's end, fall into one turn of the loop.
TEST(Server, MayLoseASessionWhoseTimerHasExpired) {
  lsp::testing::FakeClient client;
  Server server(client.loop);
  client.service = server.service();
  client.initialize();
  const Json document = {{"uri", "file:///project/entry.py"}, {"languageId", "python"}, {"version", 1}, {"text", "a"}};
  client.tell("textDocument/didOpen", {{"textDocument", document}});
  boost::asio::steady_timer end(client.loop, std::chrono::milliseconds(1));
  end.async_wait([&](const auto& /*error*/) {
    client.session->end("now");
    client.session.reset();
  });
  client.tell("textDocument/didChange", {{"textDocument", {{"uri", "file:///project/entry.py"}, {"version", 2}}},
                                         {"contentChanges", {{{"text", "b"}}}}});
  std::this_thread::sleep_for(std::chrono::milliseconds(60));  // both timers expire meanwhile
  client.loop.poll();
  EXPECT_EQ(client.session, nullptr);
  server.stop();
  client.loop.poll();
}

constexpr const char* kUri = "file:///project/entry.py";

/// A client with a document that no parser gets through, and a provider below the bracket.
struct Opened {
  Opened() {
    client.service = server.service();
    client.initialize();
    const std::string text =
        source::below_open_bracket(25'000) + "\ndef input_provider(batch_size=32):\n    return ()\n";
    const Json document = {{"uri", kUri}, {"languageId", "python"}, {"version", version}, {"text", text}};
    client.tell("textDocument/didOpen", {{"textDocument", document}});
  }
  ~Opened() {
    client.session->end("the test is over");
    server.stop();
    client.loop.poll();
  }

  void type() {
    const Json place = {{"line", 1}, {"character", 0}};
    const Json change = {{"range", {{"start", place}, {"end", place}}}, {"text", "y"}};
    client.tell("textDocument/didChange",
                {{"textDocument", {{"uri", kUri}, {"version", ++version}}}, {"contentChanges", Json::array({change})}});
  }
  /// A request of the loop, as all are: it begins in a turn of the loop.
  int begin(const std::string& method, const Json& params) {
    const int id = client.begin(method, params);
    client.loop.restart();
    client.loop.poll();
    client.loop.restart();
    return id;
  }
  int ask_for_lenses() { return begin("textDocument/codeLens", {{"textDocument", {{"uri", kUri}}}}); }

  lsp::testing::FakeClient client;
  Server server{client.loop};
  int version = 1;
};

TEST(Server, AnswersOthersWhileATextIsParsed) {
  Opened open;
  const int lenses = open.ask_for_lenses();
  const auto status = open.client.answer_to(open.begin("ridgeline/status", Json::object()));
  EXPECT_TRUE(status.has_value() && status->contains("result"));
  EXPECT_EQ(open.client.answer_to(lenses), std::nullopt) << "the loop has parsed the text";
  open.type();
  EXPECT_EQ(open.client.answer_to(lenses), std::nullopt);
  const auto work = boost::asio::make_work_guard(open.client.loop);
  std::optional<Json> answer;
  while (!answer.has_value()) {
    open.client.loop.run_one();
    answer = open.client.answer_to(lenses);
  }
  EXPECT_EQ(answer->at("result").size(), 1) << "the provider is found in the text alone";
  const auto logged = open.client.sent("window/logMessage");
  ASSERT_TRUE(logged.has_value());
  const auto message = logged->at("params").at("message").get<std::string>();
  EXPECT_TRUE(message.starts_with("entry.py could not be parsed")) << message;
}

TEST(Server, GivesUpARequestAboutATextThatNeverRests) {
  Opened open;
  const int lenses = open.ask_for_lenses();
  std::optional<Json> answer;
  while (!answer.has_value() && open.version < 1000) {
    open.type();  // the loop has no turn in between: the text is never read
    answer = open.client.answer_to(lenses);
  }
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->at("error").at("code"), protocol::error_code::kContentModified);
}

}  // namespace
}  // namespace ridgeline::editor
