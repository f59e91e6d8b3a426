#include "lsp/transport/local_pair.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>
#include <variant>
#include <vector>

#include "lsp/transport/framing.h"

namespace ridgeline::lsp {
namespace {

TEST(LocalPair, CarriesMessagesAndTheEnd) {
  boost::asio::io_context loop;
  auto [one, other] = make_local_pair(loop);
  std::vector<std::string> got;
  bool ended = false;
  one->send("before it starts");
  other->start({[&](std::string message) { got.push_back(std::move(message)); }, [&](std::string) { ended = true; }});
  one->send("after");
  EXPECT_TRUE(got.empty());  // never from within a call
  loop.run();
  EXPECT_EQ(got, (std::vector<std::string>{"before it starts", "after"}));
  EXPECT_FALSE(ended);
  one->close();
  loop.restart();
  loop.run();
  EXPECT_TRUE(ended);
  other->send("to nobody");
}

TEST(MessageReader, ReadsLines) {
  MessageReader reader(10, Framing::kLine);
  reader.feed("{\"a\"");
  EXPECT_FALSE(reader.next().has_value());
  reader.feed(":1}\n\n  \r\nx\n");
  EXPECT_EQ(std::get<std::string>(*reader.next()), "{\"a\":1}");
  EXPECT_EQ(std::get<std::string>(*reader.next()), "x");
  EXPECT_FALSE(reader.next().has_value());
  EXPECT_TRUE(reader.at_boundary());
  reader.feed("longer than ten bytes");
  EXPECT_TRUE(std::holds_alternative<FramingError>(*reader.next()));
  EXPECT_EQ(frame("x", Framing::kLine), "x\n");
}

}  // namespace
}  // namespace ridgeline::lsp
