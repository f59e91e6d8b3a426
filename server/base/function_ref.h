// A function that is called, but not kept.
#pragma once

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace ridgeline::base {

template <typename Signature>
class FunctionRef;

/// Refers to something callable, for a parameter that is only called during the call. Neither owns nor copies it: do
/// not store one, or keep one across a `co_await`; std::function is for that. As large as two pointers; never empty.
template <typename R, typename... Arguments>
class FunctionRef<R(Arguments...)> {
 public:
  template <typename F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef> && std::is_object_v<std::remove_reference_t<F>> &&
             std::is_invocable_r_v<R, F&, Arguments...>)
  FunctionRef(F&& function)  // NOLINT(google-explicit-constructor,cppcoreguidelines-missing-std-forward): only named
      : object_(std::addressof(function)), call_([](const void* object, Arguments... arguments) -> R {
          // It was const only if F is.
          auto& called = *static_cast<std::remove_reference_t<F>*>(const_cast<void*>(object));
          if constexpr (std::is_void_v<R>) {
            std::invoke(called, std::forward<Arguments>(arguments)...);
          } else {
            return std::invoke(called, std::forward<Arguments>(arguments)...);
          }
        }) {}

  R operator()(Arguments... arguments) const { return call_(object_, std::forward<Arguments>(arguments)...); }

 private:
  const void* object_;
  R (*call_)(const void* object, Arguments... arguments);
};

}  // namespace ridgeline::base
