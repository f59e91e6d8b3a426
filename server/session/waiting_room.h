// Connections whose other end has not said yet who it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>

namespace ridgeline::session {

/// Holds at most so many: who comes then takes the place of the one that has waited longest, since a client of ours
/// speaks as soon as it is connected. Lives on the loop.
class WaitingRoom {
 public:
  /// Closes the connection; does nothing once the wait is over.
  using TurnAway = std::function<void()>;

  explicit WaitingRoom(std::size_t most = 64) : most_(most) {}
  WaitingRoom(const WaitingRoom&) = delete;
  WaitingRoom& operator=(const WaitingRoom&) = delete;
  WaitingRoom(WaitingRoom&&) = delete;
  WaitingRoom& operator=(WaitingRoom&&) = delete;
  ~WaitingRoom() { clear(); }

  /// `begin` begins to wait for a connection's first message. It gets what to call once, from the loop, when the wait
  /// is over, however it ended.
  void add(const std::function<TurnAway(std::function<void()> leave)>& begin);
  /// Turns all away.
  void clear();
  std::size_t size() const { return waiting_.size(); }

 private:
  std::size_t most_;
  std::map<std::uint64_t, TurnAway> waiting_;  ///< by when they came
  std::uint64_t last_ = 0;
};

}  // namespace ridgeline::session
