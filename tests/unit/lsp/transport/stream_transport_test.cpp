#include "lsp/transport/stream_transport.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>

#include <boost/asio/io_context.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/lsp/transport/places.h"

namespace ridgeline::lsp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::run_until;
using testing::SocketPair;
using testing::TemporaryFolder;

/// A transport, and what it tells.
struct Told {
  explicit Told(boost::asio::io_context& loop, int input, int output)
      : transport(std::make_shared<StreamTransport>(loop, input, output)) {
    ::signal(SIGPIPE, SIG_IGN);
    transport->start({[this](std::string message) { messages.push_back(std::move(message)); },
                      [this](std::string reason) { ends.push_back(std::move(reason)); }});
  }
  ~Told() { transport->close(); }
  Told(const Told&) = delete;
  Told& operator=(const Told&) = delete;

  std::shared_ptr<StreamTransport> transport;
  std::vector<std::string> messages;
  std::vector<std::string> ends;
};

TEST(StreamTransport, CarriesMessagesBothWays) {
  boost::asio::io_context loop;
  SocketPair pair;
  Told told(loop, pair.ours(), pair.ours());
  pair.write(frame("one") + frame("two"));
  EXPECT_TRUE(run_until(loop, [&] { return told.messages.size() == 2; }));
  EXPECT_THAT(told.messages, ElementsAre("one", "two"));
  told.transport->send("answer");
  EXPECT_TRUE(run_until(loop, [&] { return told.transport->idle(); }));
  EXPECT_EQ(pair.read_some(), frame("answer"));
}

TEST(StreamTransport, ReadsAFileToItsEnd) {
  const TemporaryFolder folder;
  boost::asio::io_context loop;
  const std::string path = folder.file("in", frame("one") + frame("two"));
  Told told(loop, ::open(path.c_str(), O_RDONLY | O_CLOEXEC), ::open("/dev/null", O_WRONLY | O_CLOEXEC));
  loop.run();
  EXPECT_THAT(told.messages, ElementsAre("one", "two"));
  EXPECT_THAT(told.ends, ElementsAre(""));
}

TEST(StreamTransport, WritesToAFile) {
  const TemporaryFolder folder;
  boost::asio::io_context loop;
  const std::string path = folder.file("out", "");
  {
    Told told(loop, ::open("/dev/null", O_RDONLY | O_CLOEXEC), ::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    told.transport->send("one");
    told.transport->send("two");
    loop.run();
    EXPECT_THAT(told.ends, ElementsAre(""));
  }
  EXPECT_EQ(testing::content_of(path), frame("one") + frame("two"));
}

TEST(StreamTransport, TellsWhyTheInputEnds) {
  for (const auto& [bytes, words] : std::vector<std::pair<std::string, std::string>>{
           {"GET / HTTP/1.1\r\n\r\n", "not an LSP client"}, {"Content-Length: 10\r\n\r\nabc", "inside a message"}}) {
    boost::asio::io_context loop;
    SocketPair pair;
    Told told(loop, pair.ours(), pair.ours());
    pair.write(bytes);
    pair.close_theirs();
    loop.run();
    EXPECT_THAT(told.ends, ElementsAre(HasSubstr(words)));
  }
}

TEST(StreamTransport, SendsWhatWaitsBeforeItCloses) {
  boost::asio::io_context loop;
  SocketPair pair;
  Told told(loop, pair.ours(), pair.ours());
  const std::string large(1'000'000, 'x');
  told.transport->send(large);
  told.transport->close();
  std::string got;
  EXPECT_TRUE(run_until(loop, [&] { return (got += pair.read_some()).size() >= frame(large).size(); }));
  loop.run();
  EXPECT_EQ(got, frame(large));
  EXPECT_EQ(pair.read_some(), "");
  EXPECT_TRUE(told.ends.empty());
}

TEST(StreamTransport, EndsWhenTheOtherSideDoesNotRead) {
  boost::asio::io_context loop;
  SocketPair pair;
  Told told(loop, pair.ours(), pair.ours());
  const std::string megabyte(1U << 20U, 'x');
  for (std::size_t sent = 0; sent < kMaxWaitingBytes + 8 * megabyte.size(); sent += megabyte.size()) {
    told.transport->send(megabyte);
    loop.poll();
  }
  EXPECT_THAT(told.ends, ElementsAre(HasSubstr("does not read")));
}

TEST(StreamTransport, EndsWhenTheOtherSideIsGone) {
  boost::asio::io_context loop;
  SocketPair pair;
  Told told(loop, pair.ours(), pair.ours());
  pair.close_theirs();
  told.transport->send("to nobody");
  loop.run();
  EXPECT_EQ(told.ends.size(), 1U);
}

TEST(StreamTransport, GoesOnWithOtherHandlers) {
  boost::asio::io_context loop;
  SocketPair pair;
  auto transport = std::make_shared<StreamTransport>(loop, pair.ours(), pair.ours());
  std::vector<std::string> first;
  std::vector<std::string> second;
  transport->start({[&](std::string message) {
                      first.push_back(std::move(message));
                      transport->start({[&](std::string other) { second.push_back(std::move(other)); }, {}});
                    },
                    {}});
  pair.write(frame("one") + frame("two"));
  EXPECT_TRUE(run_until(loop, [&] { return !second.empty(); }));
  EXPECT_THAT(first, ElementsAre("one"));
  EXPECT_THAT(second, ElementsAre("two"));
  transport->close();
}

TEST(StreamTransport, TellsNothingOnceItIsClosed) {
  boost::asio::io_context loop;
  SocketPair pair;
  auto transport = std::make_shared<StreamTransport>(loop, pair.ours(), pair.ours());
  int messages = 0;
  transport->start({[&](const std::string& /*message*/) {
                      ++messages;
                      transport->close();
                    },
                    [](const std::string& reason) { ADD_FAILURE() << reason; }});
  pair.write(frame("one") + frame("two") + "garbage");
  loop.run();
  EXPECT_EQ(messages, 1);
}

}  // namespace
}  // namespace ridgeline::lsp
