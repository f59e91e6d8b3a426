#include <gmock/gmock.h>

#include <optional>
#include <stdexcept>

#include "protocol/json_fields.h"
#include "tests/unit/lsp/session/fake_client.h"

namespace ridgeline::lsp {
namespace {

using protocol::Json;
using ::testing::ElementsAre;
using testing::FakeClient;
using ::testing::HasSubstr;
namespace error_code = protocol::error_code;

/// A client whose server keeps the replies of the method "slow" for the test to give.
struct SlowServer {
  SlowServer() {
    client.service.methods.requests["slow"] = [this](Session& /*session*/, const Json& /*params*/, Reply reply,
                                                     CancelToken token) {
      replies.push_back(std::move(reply));
      tokens.push_back(std::move(token));
    };
    client.initialize();
  }
  int begin() { return client.begin("slow"); }

  FakeClient client;
  std::vector<Reply> replies;
  std::vector<CancelToken> tokens;
};

TEST(Dispatch, GivesParamsAndSendsTheResult) {
  FakeClient client;
  client.service.methods.requests["double"] = [](Session& /*session*/, const Json& params, Reply reply,
                                                 const CancelToken&) {
    reply.result({{"twice", params.at("n").get<int>() * 2}});
  };
  client.initialize();
  EXPECT_EQ(client.ask("double", {{"n", 4}})["result"]["twice"], 8);
}

TEST(Dispatch, KnowsWhatItDoesNotKnow) {
  FakeClient client;
  client.initialize();
  EXPECT_EQ(client.error_of("no/such"), error_code::kMethodNotFound);
  EXPECT_EQ(client.error_of("$/no/such"), error_code::kMethodNotFound);
  EXPECT_EQ(client.error_of("textDocument/didOpen"), error_code::kMethodNotFound);
  EXPECT_EQ(client.error_of("exit"), error_code::kMethodNotFound);
  client.tell("no/such");
  client.tell("$/no/such", {1});
  client.tell("shutdown");
  EXPECT_EQ(client.error_of("no/such"), error_code::kMethodNotFound) << "still there";
}

TEST(Dispatch, StopsExceptions) {
  FakeClient client;
  auto& requests = client.service.methods.requests;
  requests["missing"] = [](Session&, const Json& params, Reply reply, const CancelToken&) {
    reply.result(params.at("x"));
  };
  requests["invalid"] = [](Session&, const Json&, Reply, const CancelToken&) {
    throw protocol::InvalidValue("bad words");
  };
  requests["broken"] = [](Session&, const Json&, Reply, const CancelToken&) { throw std::runtime_error("oh no"); };
  requests["strange"] = [](Session&, const Json&, Reply, const CancelToken&) { throw 7; };
  client.initialize();
  const Json missing = client.ask("missing", Json::object());
  EXPECT_EQ(missing["error"]["code"], error_code::kInvalidParams);
  EXPECT_THAT(missing["error"]["message"].get<std::string>(), ::testing::Not(HasSubstr("json.exception")));
  EXPECT_EQ(client.ask("invalid")["error"], Json({{"code", error_code::kInvalidParams}, {"message", "bad words"}}));
  EXPECT_EQ(client.error_of("broken"), error_code::kInternalError);
  EXPECT_EQ(client.error_of("strange"), error_code::kInternalError);
  EXPECT_TRUE(client.transport->sent.empty()) << "each is answered once";
}

TEST(Dispatch, StopsExceptionsOfNotifications) {
  FakeClient client;
  client.service.methods.notifications["broken"] = [](Session&, const Json& params) { params.at("x"); };
  client.initialize();
  client.tell("broken", Json::object());
  EXPECT_THAT((*client.sent("window/logMessage"))["params"]["message"].get<std::string>(), HasSubstr("broken failed"));
}

TEST(Dispatch, AnswersLater) {
  SlowServer slow;
  FakeClient& client = slow.client;
  const int first = slow.begin();
  const int second = slow.begin();
  slow.replies[1].result("b");
  slow.replies[0].error(error_code::kContentModified, "gone", {{"why", "edited"}});
  EXPECT_EQ((*client.answer_to(second))["result"], "b");
  EXPECT_EQ((*client.answer_to(first))["error"],
            Json({{"code", error_code::kContentModified}, {"message", "gone"}, {"data", {{"why", "edited"}}}}));
}

TEST(Reply, IsGivenOnce) {
  SlowServer slow;
  FakeClient& client = slow.client;
  const int id = slow.begin();
  slow.replies[0].result(1);
  slow.replies[0].result(2);
  slow.replies[0].error(1, "x");
  EXPECT_EQ((*client.answer_to(id))["result"], 1);
  slow.replies.clear();
  EXPECT_FALSE(client.answer_to(id).has_value());
}

TEST(Reply, IsAnErrorWhenItIsForgotten) {
  SlowServer slow;
  FakeClient& client = slow.client;
  client.service.methods.requests["careless"] = [](Session&, const Json&, Reply, const CancelToken&) {};
  EXPECT_EQ(client.error_of("careless"), error_code::kInternalError);
  const int id = slow.begin();
  slow.replies.clear();
  EXPECT_EQ((*client.answer_to(id))["error"]["code"], error_code::kInternalError);
}

TEST(Reply, MovesWithItsDuty) {
  SlowServer slow;
  FakeClient& client = slow.client;
  const int first = slow.begin();
  const int second = slow.begin();
  slow.replies[0] = std::move(slow.replies[1]);
  EXPECT_EQ((*client.answer_to(first))["error"]["code"], error_code::kInternalError) << "overwritten";
  EXPECT_FALSE(client.answer_to(second).has_value());
  slow.replies[0].result(2);
  EXPECT_EQ((*client.answer_to(second))["result"], 2);
}

TEST(Reply, MayOutliveTheSession) {
  SlowServer slow;
  slow.begin();
  slow.client.tell("exit");
  slow.client.loop.poll();
  slow.client.session.reset();
  EXPECT_TRUE(slow.tokens[0].cancelled());
  slow.replies[0].result(1);
}

TEST(Cancel, AnswersAtOnceAndTellsTheWork) {
  SlowServer slow;
  FakeClient& client = slow.client;
  const int id = slow.begin();
  int told = 0;
  slow.tokens[0].on_cancel([&] { ++told; });
  EXPECT_FALSE(slow.tokens[0].cancelled());
  client.tell("$/cancelRequest", {{"id", id}});
  EXPECT_EQ((*client.answer_to(id))["error"]["code"], error_code::kRequestCancelled);
  EXPECT_TRUE(slow.tokens[0].cancelled());
  EXPECT_EQ(told, 1);
  slow.tokens[0].on_cancel([&] { ++told; });
  EXPECT_EQ(told, 2) << "at once";
  slow.replies[0].result("too late");
  client.tell("$/cancelRequest", {{"id", id}});
  EXPECT_FALSE(client.answer_to(id).has_value());
}

TEST(Cancel, AnUnknownRequestIsIgnored) {
  SlowServer slow;
  FakeClient& client = slow.client;
  const int id = slow.begin();
  slow.replies[0].result(1);
  client.tell("$/cancelRequest", {{"id", id}});
  client.tell("$/cancelRequest", {{"id", "other"}});
  client.tell("$/cancelRequest", {{"id", nullptr}});
  EXPECT_FALSE(slow.tokens[0].cancelled());
}

TEST(Cancel, KnowsAnIdThatCameAgain) {
  SlowServer slow;
  FakeClient& client = slow.client;
  const Json request = {{"jsonrpc", "2.0"}, {"id", "same"}, {"method", "slow"}};
  client.say(request);
  client.tell("$/cancelRequest", {{"id", "same"}});
  client.transport->sent.clear();
  client.say(request);
  slow.replies[0].result("of the first");
  EXPECT_TRUE(client.transport->sent.empty());
  slow.replies[1].result("of the second");
  EXPECT_EQ(client.transport->sent.at(0)["result"], "of the second");
}

TEST(Dispatch, RefusesAnIdThatIsInUse) {
  SlowServer slow;
  FakeClient& client = slow.client;
  const Json request = {{"jsonrpc", "2.0"}, {"id", 5}, {"method", "slow"}};
  client.say(request);
  client.say(request);
  EXPECT_EQ(slow.replies.size(), 1U);
  EXPECT_EQ((*client.answer_to(5))["error"]["code"], error_code::kInvalidRequest);
}

TEST(Dispatch, BoundsWhatWaits) {
  SlowServer slow;
  FakeClient& client = slow.client;
  for (int i = 0; i < 4096; ++i) {
    slow.begin();
  }
  EXPECT_EQ(client.error_of("slow"), error_code::kRequestFailed);
  EXPECT_EQ(slow.replies.size(), 4096U);
}

TEST(Dispatch, MayEndTheSessionInsideOfAHandler) {
  FakeClient client;
  client.service.methods.requests["end"] = [](Session& session, const Json&, Reply reply, const CancelToken&) {
    session.end("by a handler");
    reply.result(1);
  };
  client.initialize();
  client.begin("end");
  client.loop.poll();
  EXPECT_EQ(client.exit_code, 1);
}

TEST(Requests, TheClientAnswersOurs) {
  FakeClient client;
  client.initialize();
  std::vector<std::string> got;
  const auto note = [&](const ClientAnswer& answer) {
    const auto* error = std::get_if<protocol::ResponseError>(&answer);
    got.push_back(error != nullptr ? "error " + error->message : std::get<Json>(answer).dump());
  };
  client.session->request("first", {{"a", 1}}, note);
  client.session->request("second", {}, note);
  const Json first = *client.sent("first");
  const Json second = *client.sent("second");
  EXPECT_NE(first["id"], second["id"]);
  EXPECT_EQ(first["params"], Json({{"a", 1}}));
  client.answer(second, 7);
  client.refuse(first);
  client.answer(first, 8);
  EXPECT_THAT(got, ElementsAre("7", "error no"));
}

TEST(Requests, OursCanBeCancelled) {
  FakeClient client;
  client.initialize();
  const std::int64_t id = client.session->request("slow", {});
  client.session->cancel_request(id);
  EXPECT_EQ((*client.sent("$/cancelRequest"))["params"]["id"], id);
  client.refuse(*client.sent("slow"));
  client.session->cancel_request(id);
  EXPECT_FALSE(client.sent("$/cancelRequest").has_value());
}

TEST(Requests, OursAreDroppedAtTheEnd) {
  FakeClient client;
  client.initialize();
  auto held = std::make_shared<int>(1);
  client.session->request("slow", {}, [held](const ClientAnswer&) { ADD_FAILURE(); });
  EXPECT_EQ(held.use_count(), 2);
  client.tell("exit");
  EXPECT_EQ(held.use_count(), 1);
}

TEST(Requests, CallbacksMayFail) {
  FakeClient client;
  client.initialize();
  client.session->request("x", {}, [](const ClientAnswer& answer) { std::get<Json>(answer).at("y"); });
  client.answer(*client.sent("x"), Json::object());
  EXPECT_TRUE(client.sent("window/logMessage").has_value());
}

TEST(Ask, OffersChoices) {
  FakeClient client;
  client.initialize();
  std::vector<std::optional<std::string>> chosen;
  const auto note = [&](std::optional<std::string> choice) { chosen.push_back(std::move(choice)); };
  client.session->ask(protocol::MessageType::kWarning, "Trust?", {"Yes", "No"}, note);
  const Json request = *client.sent("window/showMessageRequest");
  EXPECT_EQ(request["params"],
            Json::parse(R"({"type":2,"message":"Trust?","actions":[{"title":"Yes"},{"title":"No"}]})"));
  client.answer(request, {{"title", "Yes"}});
  client.session->ask(protocol::MessageType::kWarning, "Trust?", {"Yes"}, note);
  client.answer(*client.sent("window/showMessageRequest"), nullptr);
  EXPECT_THAT(chosen, ElementsAre("Yes", std::nullopt));
}

TEST(Ask, ChoosesNothingWhereTheClientCannotAsk) {
  FakeClient client;
  client.initialize();  // LSP has no capability for it: the client is asked
  int answers = 0;
  client.session->ask(protocol::MessageType::kInfo, "?", {"Yes"}, [&](const std::optional<std::string>& choice) {
    EXPECT_FALSE(choice.has_value());
    ++answers;
  });
  EXPECT_EQ(answers, 0);
  client.refuse(*client.sent("window/showMessageRequest"));
  EXPECT_EQ(answers, 1);
}

TEST(Messages, AreShownAndLogged) {
  FakeClient client;
  client.initialize();
  client.session->show(protocol::MessageType::kError, "a");
  client.session->log(protocol::MessageType::kInfo, "b");
  client.session->log(protocol::MessageType::kDebug, "c");
  EXPECT_EQ((*client.sent("window/showMessage"))["params"], Json({{"type", 1}, {"message", "a"}}));
  EXPECT_EQ((*client.sent("window/logMessage"))["params"], Json({{"type", 3}, {"message", "b"}}));
  EXPECT_FALSE(client.sent("window/logMessage").has_value());
}

}  // namespace
}  // namespace ridgeline::lsp
