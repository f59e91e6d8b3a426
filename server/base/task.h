// Coroutines on an Asio loop: a sequence of asynchronous steps as one function.
#pragma once

#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "base/lifetime.h"

namespace ridgeline::base {

/// Runs on the loop that it was started on, between one co_await and the next. Parameters are taken by value: what a
/// reference names has to outlive the task. What is awaited is a task with a name, moved: GCC 12 destroys objects that
/// are made within the expression of a co_await twice (tests/layers).
template <typename T>
using Task = boost::asio::awaitable<T>;

/// Thrown to end a task whose owner has been destroyed.
struct OwnerGone {};

/// Starts `task` on the loop. One that throws OwnerGone just ends; anything else that it throws leaves loop.run().
inline void start(boost::asio::io_context& loop, Task<void> task) {
  boost::asio::co_spawn(loop, std::move(task), [](const std::exception_ptr& thrown) {
    if (thrown != nullptr) {
      try {
        std::rethrow_exception(thrown);
      } catch (const OwnerGone&) {  // NOLINT(bugprone-empty-catch): it just ends
      }
    }
  });
}

/// Waits for what `begin` reports by the function that it is given: `void(T)`, copyable, to be called once and on the
/// loop. When all copies are destroyed uncalled, the task ends there, as if OwnerGone were thrown.
template <typename T, typename Begin>
Task<T> callback(Begin begin) {
  return boost::asio::async_initiate<const boost::asio::use_awaitable_t<>, void(T)>(
      [](auto handler, Begin action) {
        auto shared = std::make_shared<decltype(handler)>(std::move(handler));
        action([shared](T value) { std::move (*shared)(std::move(value)); });
      },
      boost::asio::use_awaitable, std::move(begin));
}

/// The task's value; throws OwnerGone when the owner of `lifetime` has been destroyed meanwhile.
template <typename T>
Task<T> while_alive(const Lifetime& lifetime, Task<T> task) {
  const auto alive = lifetime.watch();
  T value = co_await std::move(task);
  if (alive.expired()) {
    throw OwnerGone();
  }
  co_return value;
}

/// What `work` returns, called on the pool: for what may wait for a disk. The task goes on where it was.
template <typename Work>
Task<std::invoke_result_t<Work>> run_on(boost::asio::thread_pool& pool, Work work) {
  auto called = [](Work inner) -> Task<std::invoke_result_t<Work>> { co_return inner(); };
  auto result = boost::asio::co_spawn(pool.get_executor(), called(std::move(work)), boost::asio::use_awaitable);
  co_return co_await std::move(result);
}

}  // namespace ridgeline::base
