// The thread that reads the sources of open documents: the loop, which everybody waits for, never does.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace ridgeline::methods {

/// Runs work in slices. Groups (sessions) take turns, and so do the works of a group: a text that takes long keeps
/// nobody else's from being read. May be called from any thread.
class SourceThread {
 public:
  using Group = std::uint64_t;
  /// Does a part of it, for some milliseconds. True: there is more, call it again in its turn. It is destroyed on the
  /// thread, too.
  using Work = std::function<bool()>;

  SourceThread();
  /// Waits for the slice that runs. Work that waits is dropped.
  ~SourceThread();
  SourceThread(const SourceThread&) = delete;
  SourceThread& operator=(const SourceThread&) = delete;

  void add(Group group, Work work);
  /// Nothing is run after the present slice, and that ends soon if it looks at stopping().
  void stop();
  std::shared_ptr<const std::atomic<bool>> stopping() const { return stopping_; }

 private:
  void run();
  std::optional<std::pair<Group, Work>> next();
  void run_slice(Group group, Work work);

  std::shared_ptr<std::atomic<bool>> stopping_ = std::make_shared<std::atomic<bool>>(false);
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Group, std::deque<Work>> waiting_;  ///< under mutex_; no deque is empty
  Group last_ = 0;                             ///< under mutex_: whose turn it was
  std::thread thread_;
};

}  // namespace ridgeline::methods
