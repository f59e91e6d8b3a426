#include "session/waiting_room.h"

#include <gmock/gmock.h>

#include <memory>
#include <vector>

#include "session/authentication.h"
#include "tests/unit/session/fake_client.h"

namespace ridgeline::session {
namespace {

using ::testing::ElementsAre;
using testing::FakeTransport;

/// Connections, by the order in which they come.
struct Door {
  explicit Door(std::size_t most, std::chrono::milliseconds patience = std::chrono::hours(1))
      : room(most), time(patience) {}

  void come() {
    connections.push_back(std::make_shared<FakeTransport>());
    room.add([&](const std::function<void()>& leave) {
      return authenticate(
          loop, connections.back(), "secret", {time, 1000}, [leave](const auto& /*connection*/) { leave(); },
          [leave](const std::string& /*reason*/) { leave(); });
    });
  }
  std::vector<bool> closed() const {
    std::vector<bool> all;
    for (const auto& connection : connections) {
      all.push_back(connection->closed);
    }
    return all;
  }
  void show_token(std::size_t connection) {
    connections[connection]->receive(
        R"({"jsonrpc":"2.0","method":"ridgeline/authenticate","params":{"token":"secret"}})");
  }

  boost::asio::io_context loop;
  WaitingRoom room;
  std::chrono::milliseconds time;
  std::vector<std::shared_ptr<FakeTransport>> connections;
};

TEST(WaitingRoom, HoldsOnlySoMany) {
  Door door(2);
  door.come();
  door.come();
  EXPECT_THAT(door.closed(), ElementsAre(false, false));
  door.come();
  EXPECT_THAT(door.closed(), ElementsAre(true, false, false)) << "who has waited longest";
  EXPECT_EQ(door.room.size(), 2U);
}

TEST(WaitingRoom, DoesNotCountWhoHasShownTheToken) {
  Door door(2);
  door.come();
  door.show_token(0);
  EXPECT_EQ(door.room.size(), 0U);
  door.come();
  door.come();
  door.come();
  EXPECT_THAT(door.closed(), ElementsAre(false, true, false, false));
}

TEST(WaitingRoom, ForgetsWhoseTimeIsOver) {
  Door door(2, std::chrono::milliseconds(1));
  door.come();
  door.come();
  door.loop.run();
  EXPECT_THAT(door.closed(), ElementsAre(true, true));
  EXPECT_EQ(door.room.size(), 0U);
}

TEST(WaitingRoom, TurnsAllAwayAtTheEnd) {
  Door door(3);
  door.come();
  door.come();
  door.show_token(0);
  door.room.clear();
  EXPECT_THAT(door.closed(), ElementsAre(false, true));
  EXPECT_EQ(door.room.size(), 0U);
}

}  // namespace
}  // namespace ridgeline::session
