#include "methods/server.h"

#include <gtest/gtest.h>

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <thread>

#include "tests/unit/session/fake_client.h"

namespace ridgeline::methods {
namespace {

using protocol::Json;

/// The pause after a change, and the session's end, fall into one turn of the loop.
TEST(Server, MayLoseASessionWhoseTimerHasExpired) {
  session::testing::FakeClient client;
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

}  // namespace
}  // namespace ridgeline::methods
