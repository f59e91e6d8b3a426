#include "lsp/session/waiting_room.h"

#include <gmock/gmock.h>

#include <memory>
#include <vector>

#include "lsp/session/authentication.h"
#include "tests/unit/lsp/session/fake_client.h"

namespace ridgeline::lsp {
namespace {

using ::testing::ElementsAre;
using testing::FakeTransport;

/// Connections, by the order in which they come.
struct Entrance {
  explicit Entrance(std::size_t most, std::chrono::milliseconds patience = std::chrono::hours(1))
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
  Entrance entrance(2);
  entrance.come();
  entrance.come();
  EXPECT_THAT(entrance.closed(), ElementsAre(false, false));
  entrance.come();
  EXPECT_THAT(entrance.closed(), ElementsAre(true, false, false)) << "who has waited longest";
  EXPECT_EQ(entrance.room.size(), 2U);
}

TEST(WaitingRoom, DoesNotCountWhoHasShownTheToken) {
  Entrance entrance(2);
  entrance.come();
  entrance.show_token(0);
  EXPECT_EQ(entrance.room.size(), 0U);
  entrance.come();
  entrance.come();
  entrance.come();
  EXPECT_THAT(entrance.closed(), ElementsAre(false, true, false, false));
}

TEST(WaitingRoom, ForgetsWhoseTimeIsOver) {
  Entrance entrance(2, std::chrono::milliseconds(1));
  entrance.come();
  entrance.come();
  entrance.loop.run();
  EXPECT_THAT(entrance.closed(), ElementsAre(true, true));
  EXPECT_EQ(entrance.room.size(), 0U);
}

TEST(WaitingRoom, TurnsAllAwayAtTheEnd) {
  Entrance entrance(3);
  entrance.come();
  entrance.come();
  entrance.show_token(0);
  entrance.room.clear();
  EXPECT_THAT(entrance.closed(), ElementsAre(false, true));
  EXPECT_EQ(entrance.room.size(), 0U);
}

}  // namespace
}  // namespace ridgeline::lsp
