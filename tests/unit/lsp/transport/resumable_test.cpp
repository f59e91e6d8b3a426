#include "lsp/transport/resumable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "lsp/transport/peeked.h"
#include "lsp/transport/stream_transport.h"

namespace ridgeline::lsp {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kId = "00112233445566778899aabbccddeeff";

std::pair<std::shared_ptr<Transport>, std::shared_ptr<Transport>> connection(boost::asio::io_context& loop) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  return {std::make_shared<StreamTransport>(loop, ends[0], ends[0]),
          std::make_shared<StreamTransport>(loop, ends[1], ends[1])};
}

/// Two sides of a link and what each of them has been told.
class ResumableTest : public ::testing::Test {
 protected:
  struct Side {
    std::shared_ptr<Resumable> link;
    std::vector<std::string> messages;
    std::vector<std::string> ends;
    int detached = 0;
  };

  void SetUp() override {
    ::signal(SIGPIPE, SIG_IGN);  // as `serve` and `remote` do
    for (Side* side : {&one_, &other_}) {
      side->link = std::make_shared<Resumable>(loop_);
      side->link->on_detach([side](const std::string&) { ++side->detached; });
      side->link->start({[side](std::string message) { side->messages.push_back(std::move(message)); },
                         [side](std::string reason) { side->ends.push_back(std::move(reason)); }});
    }
  }

  void attach() {
    auto [here, there] = connection(loop_);
    wire_ = here;
    const std::uint64_t received = one_.link->received();
    one_.link->attach(here, other_.link->received());
    other_.link->attach(there, received);
  }
  /// As when a cable is pulled: what is on its way is lost.
  void cut() {
    if (one_.link->attached()) {
      wire_->close();
    }
    run();
  }
  void run() {
    loop_.restart();
    loop_.run_for(std::chrono::milliseconds(5));
    loop_.poll();  // on a busy machine nothing may have run in that time
  }

  boost::asio::io_context loop_;
  Side one_;
  Side other_;
  std::shared_ptr<Transport> wire_;
};

TEST_F(ResumableTest, CarriesMessagesBothWays) {
  attach();
  one_.link->send("{1}");
  other_.link->send("{2}");
  run();
  EXPECT_THAT(other_.messages, ElementsAre("{1}"));
  EXPECT_THAT(one_.messages, ElementsAre("{2}"));
}

TEST_F(ResumableTest, KeepsWhatIsSentWithoutAConnection) {
  one_.link->send("{1}");
  EXPECT_FALSE(one_.link->idle());
  attach();
  run();
  EXPECT_THAT(other_.messages, ElementsAre("{1}"));
  loop_.restart();
  loop_.run_for(std::chrono::milliseconds(300));  // an acknowledgement waits for others
  EXPECT_TRUE(one_.link->idle());
}

TEST_F(ResumableTest, TellsThatTheConnectionIsGoneAndNotTheLink) {
  attach();
  run();
  cut();
  EXPECT_EQ(other_.detached, 1);
  EXPECT_THAT(other_.ends, IsEmpty());
  EXPECT_FALSE(other_.link->attached());
}

/// However often the connection breaks, each message comes once and in order.
TEST_F(ResumableTest, LosesAndDoublesNothing) {
  std::mt19937 random(7);
  std::vector<std::string> to_other;
  std::vector<std::string> to_one;
  for (int step = 0; step < 2000; ++step) {
    switch (random() % 8) {
      case 0:
        cut();
        break;
      case 1:
        attach();
        break;
      case 2:
        run();
        break;
      case 3:
      case 4:
        to_one.push_back("{\"to\": \"one\", \"n\": " + std::to_string(step) + "}");
        other_.link->send(to_one.back());
        break;
      default:
        to_other.push_back("{\"n\": " + std::to_string(step) + std::string(random() % 3000, ' ') + "}");
        one_.link->send(to_other.back());
    }
  }
  attach();
  for (int i = 0; i < 200 && (one_.messages.size() < to_one.size() || other_.messages.size() < to_other.size()); ++i) {
    run();
  }
  EXPECT_EQ(one_.messages, to_one);
  EXPECT_EQ(other_.messages, to_other);
}

TEST_F(ResumableTest, EndsOnBothSides) {
  attach();
  one_.link->send("{last}");
  one_.link->close();
  run();
  EXPECT_THAT(other_.messages, ElementsAre("{last}"));
  EXPECT_THAT(other_.ends, ElementsAre(""));
  EXPECT_THAT(one_.ends, IsEmpty()) << "who closes knows";
}

TEST_F(ResumableTest, GivesUpWhenTheOtherSideHasLostCount) {
  auto [here, there] = connection(loop_);
  one_.link->attach(here, 5);
  run();
  ASSERT_EQ(one_.ends.size(), 1U);
  EXPECT_THAT(one_.ends[0], ::testing::HasSubstr("lost count"));
}

TEST_F(ResumableTest, BoundsWhatWaits) {
  const std::string message(std::size_t{20} << 20U, 'x');
  for (int i = 0; i < 4; ++i) {
    one_.link->send(message);
  }
  run();
  EXPECT_EQ(one_.ends.size(), 1U);
}

TEST(LinkGreeting, ReadsWhatItWrites) {
  const auto read = parse_greeting(encode({kId, 17}));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->id, kId);
  EXPECT_EQ(read->received, 17U);
}

TEST(LinkGreeting, IsStrict) {
  const std::string id = kId;
  const std::vector<std::string> frames = {"",
                                           "link",
                                           "link " + id,
                                           "link " + id + " ",
                                           "link " + id + " -1",
                                           "link " + id + " 1 ",
                                           "link " + id + " 1x",
                                           "link  " + id + " 1",
                                           "link " + id + "0 1",
                                           "link " + id.substr(1) + "g 1",
                                           "{\"link\": 1}",
                                           "link " + id + " 99999999999999999999999"};
  for (const std::string& frame : frames) {
    EXPECT_FALSE(parse_greeting(frame).has_value()) << frame;
  }
}

TEST(Peek, GivesTheFirstMessageAgain) {
  boost::asio::io_context loop;
  auto [here, there] = connection(loop);
  std::vector<std::string> messages;
  std::vector<std::string> ends;
  std::string first;
  std::shared_ptr<Transport> kept;
  const auto stop = peek(
      loop, here,
      [&](std::shared_ptr<Transport> known, const std::string& message) {
        first = message;
        kept = std::move(known);
      },
      [] { FAIL(); });
  for (const char* message : {"{1}", "{2}", "{3}"}) {
    there->send(message);
  }
  loop.run_for(std::chrono::milliseconds(20));
  EXPECT_EQ(first, "{1}");
  ASSERT_NE(kept, nullptr);
  kept->start({[&](std::string message) { messages.push_back(std::move(message)); },
               [&](std::string reason) { ends.push_back(std::move(reason)); }});
  there->send("{4}");
  there->close();
  loop.restart();
  loop.run_for(std::chrono::milliseconds(20));
  EXPECT_THAT(messages, ElementsAre("{1}", "{2}", "{3}", "{4}"));
  EXPECT_EQ(ends.size(), 1U);
  kept->close();
}

TEST(Peek, LetsGoOfAConnectionThatSaysNothing) {
  boost::asio::io_context loop;
  auto [here, there] = connection(loop);
  int ended = 0;
  peek(
      loop, here, [](const std::shared_ptr<Transport>&, const std::string&) { FAIL(); }, [&] { ++ended; });
  there->close();
  loop.run_for(std::chrono::milliseconds(20));
  EXPECT_EQ(ended, 1);
}

}  // namespace
}  // namespace ridgeline::lsp
