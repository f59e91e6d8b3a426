#include "protocol/worker_frame.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ridgeline::protocol {
namespace {

std::string header(std::uint8_t kind, std::uint32_t length, std::uint8_t version = kWorkerProtocolVersion) {
  std::string bytes = {'R', 'L', static_cast<char>(version), static_cast<char>(kind)};
  for (unsigned shift = 0; shift < 32; shift += 8) {
    bytes.push_back(static_cast<char>((length >> shift) & 0xFFU));
  }
  return bytes;
}

std::string chunk(const std::string& payload) {
  return header(2, static_cast<std::uint32_t>(payload.size())) + payload;
}

/// What a decoder gives for these pieces: payloads, and "error: ..." at the end when there is one.
std::vector<std::string> decode(const std::vector<std::string>& pieces) {
  FrameDecoder decoder;
  std::vector<std::string> got;
  for (const std::string& piece : pieces) {
    decoder.feed(piece);
    while (auto next = decoder.next()) {
      if (const auto* error = std::get_if<FrameError>(&*next)) {
        got.push_back("error: " + error->what);
        return got;
      }
      got.push_back(std::get<Frame>(*next).payload);
    }
  }
  return got;
}

void expect_error(const std::string& bytes, const std::string& words) {
  const std::vector<std::string> got = decode({bytes});
  ASSERT_EQ(got.size(), 1U) << bytes;
  EXPECT_NE(got[0].find("error: "), std::string::npos);
  EXPECT_NE(got[0].find(words), std::string::npos) << got[0];
}

TEST(FrameDecoder, ReadsWhatWasEncoded) {
  FrameDecoder decoder;
  decoder.feed(encode_message(R"({"type":"ready"})"));
  const auto next = decoder.next();
  ASSERT_TRUE(next.has_value());
  const Frame& frame = std::get<Frame>(*next);
  EXPECT_EQ(frame.kind, FrameKind::kMessage);
  EXPECT_EQ(frame.payload, R"({"type":"ready"})");
  EXPECT_FALSE(decoder.next().has_value());
}

TEST(FrameDecoder, KeepsEveryByteOfAPayload) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) {
    all.push_back(static_cast<char>(byte));
  }
  FrameDecoder decoder;
  decoder.feed(chunk(all));
  const auto next = decoder.next();
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(std::get<Frame>(*next).kind, FrameKind::kBytes);
  EXPECT_EQ(std::get<Frame>(*next).payload, all);
}

TEST(FrameDecoder, ReadsFramesSplitAnywhere) {
  const std::string stream = encode_message("first") + chunk("") + encode_message("") + chunk("RL\x01\x01");
  const std::vector<std::string> wanted = {"first", "", "", "RL\x01\x01"};
  for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
    EXPECT_EQ(decode({stream.substr(0, cut), stream.substr(cut)}), wanted) << cut;
  }
  std::vector<std::string> bytes;
  for (const char byte : stream) {
    bytes.emplace_back(1, byte);
  }
  EXPECT_EQ(decode(bytes), wanted);
}

TEST(FrameDecoder, TakesPayloadsUpToTheLimits) {
  FrameDecoder decoder;
  const std::string large(kMaxChunkBytes, 'x');
  const std::string largest(kMaxMessageBytes, 'y');
  for (int round = 0; round < 3; ++round) {
    decoder.feed(chunk(large) + encode_message(largest).substr(0, 1000));
    EXPECT_EQ(std::get<Frame>(*decoder.next()).payload, large);
    EXPECT_FALSE(decoder.next().has_value());
    decoder.feed(encode_message(largest).substr(1000));
    EXPECT_EQ(std::get<Frame>(*decoder.next()).payload, largest);
  }
}

TEST(FrameDecoder, RefusesWhatIsNotAFrame) {
  expect_error("Traceback (most recent call last):", "not a frame");
  expect_error("RX\x01\x01\x01\x01\x01\x01", "not a frame");
  expect_error("XL\x01\x01\x01\x01\x01\x01", "not a frame");
}

TEST(FrameDecoder, RefusesAnotherVersion) { expect_error(header(1, 2, 9), "version 9"); }

TEST(FrameDecoder, RefusesAnotherKind) {
  expect_error(header(0, 2), "no known kind");
  expect_error(header(3, 2), "no known kind");
  expect_error(header(255, 2), "no known kind");
}

TEST(FrameDecoder, RefusesALengthBeyondTheLimitBeforeItsBytesCome) {
  expect_error(header(1, kMaxMessageBytes + 1), "too large");
  expect_error(header(2, kMaxChunkBytes + 1), "too large");
  expect_error(header(2, 0xFFFFFFFFU), "too large");
}

TEST(FrameDecoder, GivesNothingButTheErrorAfterIt) {
  FrameDecoder decoder;
  decoder.feed(encode_message("good") + "this is garbage");
  EXPECT_EQ(std::get<Frame>(*decoder.next()).payload, "good");
  for (int round = 0; round < 3; ++round) {
    const auto next = decoder.next();
    ASSERT_TRUE(next.has_value());
    EXPECT_TRUE(std::holds_alternative<FrameError>(*next));
    decoder.feed(encode_message("too late"));
  }
}

TEST(FrameDecoder, NeedsTheWholeHeader) {
  FrameDecoder decoder;
  EXPECT_FALSE(decoder.next().has_value());
  decoder.feed("RL\x01\x01");
  EXPECT_FALSE(decoder.next().has_value());
}

}  // namespace
}  // namespace ridgeline::protocol
