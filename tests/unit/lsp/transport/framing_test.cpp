#include "lsp/transport/framing.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace ridgeline::lsp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// What comes out of these pieces: messages, and "error: ..." at the end when there is one.
std::vector<std::string> read(const std::vector<std::string>& pieces, std::size_t limit = 1000) {
  MessageReader reader(limit);
  std::vector<std::string> got;
  for (const std::string& piece : pieces) {
    reader.feed(piece);
    while (auto next = reader.next()) {
      if (const auto* error = std::get_if<FramingError>(&*next)) {
        got.push_back("error: " + error->what);
        return got;
      }
      got.push_back(std::get<std::string>(*next));
    }
  }
  return got;
}

void expect_error(const std::string& bytes, const std::string& words) {
  EXPECT_THAT(read({bytes}), ElementsAre(::testing::AllOf(HasSubstr("error: "), HasSubstr(words)))) << bytes;
}

TEST(Framing, ReadsWhatItWrites) {
  EXPECT_EQ(frame("äö"), "Content-Length: 4\r\n\r\näö");
  EXPECT_THAT(read({frame("one") + frame("") + frame("a\r\n\r\nb")}), ElementsAre("one", "", "a\r\n\r\nb"));
}

TEST(Framing, ReadsMessagesSplitAnywhere) {
  const std::string stream = frame("first") + frame("Content-Length: 3\r\n\r\n") + frame("");
  for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
    EXPECT_THAT(read({stream.substr(0, cut), stream.substr(cut)}),
                ElementsAre("first", "Content-Length: 3\r\n\r\n", ""));
  }
  std::vector<std::string> bytes;
  for (const char byte : stream) {
    bytes.emplace_back(1, byte);
  }
  EXPECT_THAT(read(bytes), ElementsAre("first", "Content-Length: 3\r\n\r\n", ""));
}

TEST(Framing, IgnoresOtherHeadersAndCase) {
  EXPECT_THAT(read({"content-length:2\r\nX-Other: a:b\r\n\r\nhi"}), ElementsAre("hi"));
  EXPECT_THAT(read({"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nCONTENT-LENGTH: \t2 \r\n\r\nhi"}),
              ElementsAre("hi"));
  EXPECT_THAT(read({frame("a") + "X: 1\r\nContent-Length: 1\r\n\r\nb"}), ElementsAre("a", "b"));
  EXPECT_THAT(read({"Content-Length: 2\r\nContent-Length: 2\r\n\r\nhi"}), ElementsAre("hi"));
}

TEST(Framing, RefusesAnotherProtocolByItsFirstByte) {
  expect_error("G", "not an LSP client");
  expect_error("POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi", "not an LSP client");
  expect_error("\x16\x03\x01", "not an LSP client");
  expect_error("CONNECT", "not an LSP client");
  expect_error("{\"jsonrpc\"", "not an LSP client");
  expect_error("\r\n", "not an LSP client");
  expect_error(std::string(1, '\0'), "not an LSP client");
}

TEST(Framing, RefusesBadHeaders) {
  expect_error("Content-Type: x\r\n\r\n", "has no Content-Length");
  for (const char* value : {"", "-1", "+1", "0x10", "1 2", "1,1", "99999999999999999999", "two", "1.0"}) {
    expect_error(std::string("Content-Length: ") + value + "\r\n\r\n", "not a number");
  }
  expect_error("Content-Length: 1\r\nContent-Length: 2\r\n\r\n", "not a number");
  expect_error("Content-Length 1\r\n\r\n", "NAME: VALUE");
  expect_error("Content-Length : 1\r\n\r\n", "NAME: VALUE");
  expect_error("Content-length / HTTP/1.1\r\nHost: localhost\r\n\r\n", "NAME: VALUE");
  expect_error("Content-Length: 1\r\n: 2\r\n\r\n", "NAME: VALUE");
}

TEST(Framing, BoundsHeaders) {
  const std::string start = "Content-Length: 1\r\nX: ";
  EXPECT_THAT(read({start + std::string(kMaxHeaderBytes - start.size() - 4, 'x') + "\r\n\r\n1"}), ElementsAre("1"));
  expect_error(start + std::string(kMaxHeaderBytes, 'x'), "longer than 8192");
}

TEST(Framing, BoundsMessagesBeforeTheyCome) {
  EXPECT_THAT(read({frame(std::string(1000, 'x'))}), ElementsAre(std::string(1000, 'x')));
  expect_error("Content-Length: 1001\r\n\r\n", "longer than 1000");
}

TEST(Framing, TakesAnotherLimitForTheNextMessage) {
  MessageReader reader(2);
  reader.feed(frame("ab") + frame("abc"));
  EXPECT_EQ(std::get<std::string>(*reader.next()), "ab");
  reader.limit(3);
  EXPECT_EQ(std::get<std::string>(*reader.next()), "abc");
}

TEST(Framing, GivesNothingButTheErrorAfterIt) {
  MessageReader reader(10);
  reader.feed("Content-Length: 11\r\n\r\n");
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(std::holds_alternative<FramingError>(*reader.next()));
    reader.feed(frame("good"));
  }
}

TEST(Framing, KnowsWhenItIsBetweenMessages) {
  MessageReader reader(10);
  EXPECT_TRUE(reader.at_boundary());
  reader.feed("Content-Length: 1\r\n\r\n");
  EXPECT_FALSE(reader.next().has_value());
  EXPECT_FALSE(reader.at_boundary());
  reader.feed("x");
  EXPECT_TRUE(reader.next().has_value());
  EXPECT_TRUE(reader.at_boundary());
}

TEST(Framing, ReadsALargeMessageInManyPieces) {
  const std::string large(5'000'000, 'x');
  const std::string stream = frame(large) + frame("end");
  MessageReader reader(large.size());
  std::vector<std::string> got;
  for (std::size_t at = 0; at < stream.size(); at += 4096) {
    reader.feed(stream.substr(at, 4096));
    while (auto next = reader.next()) {
      got.push_back(std::get<std::string>(*next));
    }
  }
  EXPECT_EQ(got, (std::vector<std::string>{large, "end"}));
}

}  // namespace
}  // namespace ridgeline::lsp
