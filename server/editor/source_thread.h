// The thread that parses open documents, so that the loop, which serves everyone, never does.
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

namespace ridgeline::editor {

/// Runs tasks in slices. Groups (sessions) take turns, and so do the tasks of a group: a text that takes long to parse
/// does not delay the others. May be called from any thread.
class SourceThread {
 public:
  using Group = std::uint64_t;
  /// Works for some milliseconds. True: there is more to do; it is called again when its turn comes. Destroyed on the
  /// thread, too.
  using Work = std::function<bool()>;

  SourceThread();
  /// Waits for the running slice, and drops queued work.
  ~SourceThread();
  SourceThread(const SourceThread&) = delete;
  SourceThread& operator=(const SourceThread&) = delete;

  void add(Group group, Work work);
  /// Runs nothing after the current slice, which ends soon if it checks stopping().
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

}  // namespace ridgeline::editor
