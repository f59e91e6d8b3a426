// Connections whose peer is not known yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "base/callback.h"
#include "base/function_ref.h"

namespace ridgeline::lsp {

/// Holds connections, at most `most`: a further one replaces the one that has waited longest, since our clients send
/// their first message at once. Lives on the loop.
class WaitingRoom {
 public:
  /// Closes the connection; does nothing once the wait is over.
  using Close = base::Callback;

  explicit WaitingRoom(std::size_t most = 64) : most_(most) {}
  WaitingRoom(const WaitingRoom&) = delete;
  WaitingRoom& operator=(const WaitingRoom&) = delete;
  WaitingRoom(WaitingRoom&&) = delete;
  WaitingRoom& operator=(WaitingRoom&&) = delete;
  ~WaitingRoom() { clear(); }

  /// `begin` begins to wait for a connection's first message. It gets what to call once, from the loop, when the wait
  /// is over, however it ended.
  void add(base::FunctionRef<Close(base::Callback leave)> begin);
  /// Closes all.
  void clear();
  std::size_t size() const { return waiting_.size(); }

 private:
  std::size_t most_;
  std::map<std::uint64_t, Close> waiting_;  ///< by order of arrival
  std::uint64_t last_ = 0;
};

}  // namespace ridgeline::lsp
