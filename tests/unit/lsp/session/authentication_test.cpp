#include "lsp/session/authentication.h"

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/unit/lsp/session/fake_client.h"
#include "tests/unit/lsp/transport/places.h"

namespace ridgeline::lsp {
namespace {

using ::testing::ElementsAre;
using testing::FakeTransport;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kToken(64, 'a');

struct Door {
  explicit Door(std::chrono::milliseconds time = std::chrono::seconds(30)) {
    give_up = authenticate(
        loop, transport, kToken, {time, 1000}, [this](auto connection) { let_in.push_back(std::move(connection)); },
        [this](std::string reason) { refused.push_back(std::move(reason)); });
  }
  boost::asio::io_context loop;
  std::shared_ptr<FakeTransport> transport = std::make_shared<FakeTransport>();
  std::vector<std::shared_ptr<Transport>> let_in;
  std::vector<std::string> refused;
  std::function<void()> give_up;
};

std::string message(const std::string& token, const std::string& more = "") {
  return R"({"jsonrpc":"2.0",)" + more + R"("method":"ridgeline/authenticate","params":{"token":")" + token + "\"}}";
}

TEST(Authentication, OpensToTheToken) {
  Door door;
  EXPECT_EQ(door.transport->limit, 1000U);
  door.transport->receive(message(kToken));
  EXPECT_EQ(door.let_in.size(), 1U);
  EXPECT_EQ(door.transport->limit, kMaxMessageBytes);
  EXPECT_THAT(door.transport->sent, IsEmpty());
  door.loop.run();
  EXPECT_THAT(door.refused, IsEmpty());
  EXPECT_FALSE(door.transport->closed);
}

TEST(Authentication, AnswersARequest) {
  Door door;
  door.transport->receive(message(kToken, R"("id":1,)"));
  EXPECT_EQ(door.transport->sent.at(0), testing::Json::parse(R"({"jsonrpc":"2.0","id":1,"result":null})"));
  EXPECT_EQ(door.let_in.size(), 1U);
}

TEST(Authentication, RefusesEverythingElse) {
  for (const std::string& text :
       {message(std::string(64, 'b')), message(""), message(kToken + "a"), message(kToken.substr(1)),
        std::string("nonsense"), std::string(R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{}})"),
        std::string(R"({"jsonrpc":"2.0","method":"ridgeline/authenticate"})"),
        std::string(R"({"jsonrpc":"2.0","method":"ridgeline/authenticate","params":{"token":7}})"),
        std::string(R"({"jsonrpc":"2.0","id":1,"result":null})"), "[" + message(kToken) + "]"}) {
    Door door;
    door.transport->receive(text);
    EXPECT_EQ(door.refused.size(), 1U) << text;
    EXPECT_TRUE(door.transport->closed);
    EXPECT_THAT(door.let_in, IsEmpty()) << text;
    door.transport->handlers.on_end("");
    EXPECT_EQ(door.refused.size(), 1U);
  }
}

TEST(Authentication, TellsARequestWhy) {
  Door door;
  door.transport->receive(message("wrong", R"("id":"x",)"));
  EXPECT_THAT(door.transport->sent.at(0)["error"]["message"].get<std::string>(), HasSubstr("wrong"));
}

TEST(Authentication, WaitsOnlySoLong) {
  Door door(std::chrono::milliseconds(1));
  door.loop.run();
  EXPECT_THAT(door.refused, ElementsAre(HasSubstr("in time")));
  EXPECT_TRUE(door.transport->closed);
}

TEST(Authentication, CanBeGivenUp) {
  Door door;
  door.give_up();
  EXPECT_TRUE(door.transport->closed);
  door.loop.run();
  door.give_up();
  EXPECT_EQ(door.refused.size(), 1U);

  Door open;
  open.transport->receive(message(kToken));
  open.give_up();
  EXPECT_FALSE(open.transport->closed);
}

TEST(Authentication, HearsTheEndOfInput) {
  Door door;
  door.transport->handlers.on_end("too long");
  EXPECT_THAT(door.refused, ElementsAre("too long"));
}

TEST(SameSecret, ComparesAllOfIt) {
  EXPECT_TRUE(same_secret("", ""));
  EXPECT_TRUE(same_secret("abc", "abc"));
  EXPECT_FALSE(same_secret("abc", "abd"));
  EXPECT_FALSE(same_secret("abc", "bbc"));
  EXPECT_FALSE(same_secret("abc", "ab"));
  EXPECT_FALSE(same_secret("", "a"));
}

}  // namespace
}  // namespace ridgeline::lsp
