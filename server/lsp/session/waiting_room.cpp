#include "lsp/session/waiting_room.h"

#include <utility>

namespace ridgeline::lsp {

void WaitingRoom::add(base::FunctionRef<Close(base::Callback leave)> begin) {
  while (waiting_.size() >= most_) {
    waiting_.extract(waiting_.begin()).mapped()();
  }
  const std::uint64_t number = ++last_;
  waiting_[number] = begin([this, number] { waiting_.erase(number); });
}

void WaitingRoom::clear() {
  for (const auto& [number, turn_away] : std::exchange(waiting_, {})) {
    turn_away();
  }
}

}  // namespace ridgeline::lsp
