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
/// not store one, or keep one across a `co_await`; a callback that is kept is for that. As large as two pointers; never
/// empty.
template <typename R, typename... Arguments>
class FunctionRef<R(Arguments...)> {
 public:
  template <typename F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef> && std::is_invocable_r_v<R, F&, Arguments...>)
  FunctionRef(F&& function) {  // NOLINT(google-explicit-constructor,cppcoreguidelines-missing-std-forward): only named
    using Called = std::remove_reference_t<F>;
    if constexpr (std::is_function_v<Called>) {
      target_.function = reinterpret_cast<void (*)()>(&function);
      call_ = [](Target target, Arguments... arguments) -> R {
        return invoked(*reinterpret_cast<Called*>(target.function), std::forward<Arguments>(arguments)...);
      };
    } else {
      target_.object = std::addressof(function);
      call_ = [](Target target, Arguments... arguments) -> R {
        // It was const only if F is.
        auto& called = *static_cast<Called*>(const_cast<void*>(target.object));
        return invoked(called, std::forward<Arguments>(arguments)...);
      };
    }
  }

  R operator()(Arguments... arguments) const { return call_(target_, std::forward<Arguments>(arguments)...); }

 private:
  union Target {
    const void* object;
    void (*function)();
  };

  template <typename F>
  static R invoked(F& called, Arguments... arguments) {
    if constexpr (std::is_void_v<R>) {
      std::invoke(called, std::forward<Arguments>(arguments)...);
    } else {
      return std::invoke(called, std::forward<Arguments>(arguments)...);
    }
  }

  Target target_{};
  R (*call_)(Target target, Arguments... arguments) = nullptr;
};

}  // namespace ridgeline::base
