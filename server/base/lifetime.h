// Callbacks that do nothing once their owner has been destroyed.
#pragma once

#include <memory>
#include <utility>

namespace ridgeline::base {

/// A member of an object that hands out callbacks to itself: the last member, so that it is destroyed first. The
/// callbacks and the object's destructor run on one thread.
class Lifetime {
 public:
  Lifetime() = default;
  Lifetime(const Lifetime&) = delete;
  Lifetime& operator=(const Lifetime&) = delete;
  Lifetime(Lifetime&&) = delete;
  Lifetime& operator=(Lifetime&&) = delete;
  ~Lifetime() = default;

  /// Expires when this is destroyed.
  std::weak_ptr<const void> watch() const { return token_; }

  /// `action`, which does nothing once this has been destroyed. What `action` owns may live longer.
  template <typename Action>
  auto guard(Action action) const {
    return [token = watch(), action = std::move(action)](auto&&... arguments) {
      if (!token.expired()) {
        action(std::forward<decltype(arguments)>(arguments)...);
      }
    };
  }

 private:
  std::shared_ptr<const void> token_ = std::make_shared<char>();
};

}  // namespace ridgeline::base
