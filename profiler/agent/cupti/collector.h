// What devices do while an iteration is recorded: CUPTI, subscribed to and released.
//
// One per process. The control functions are the runner's, called by one thread at a time; the device must be idle at
// begin() and end(). CUPTI calls the rest, on threads of its own too. Needs neither Python nor LibTorch.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "profiler/agent/clock.h"
#include "profiler/agent/cupti/library.h"
#include "profiler/agent/cupti/records.h"
#include "profiler/agent/cupti/watched.h"

namespace ridgeline::agent::cupti {

/// The call that was captured for a node of a graph: its number in the log of a thread.
struct CapturedCall {
  std::uint16_t thread;
  std::uint32_t call;
};

class Collector {
 public:
  /// The one of the process; it is never destroyed, since CUPTI's threads may outlive everything.
  static Collector& instance();

  /// Subscribes; `on_call` is called at both ends of every watched function while a recording goes on.
  /// Returns why that cannot be, for the user; else nothing. Idempotent.
  std::string attach(Library library, Callback on_call);
  bool is_attached() const { return subscriber_ != nullptr; }

  /// Starts what CUPTI records; forgets what was recorded before. The reason where CUPTI refuses, else nothing.
  std::string begin();
  /// Ends it, and waits for the records of all that has run. Idempotent.
  void end();
  /// While a graph is captured outside of a recording, calls are watched too: nothing runs on the device then.
  void begin_capture();
  void end_capture();
  /// A node of a graph: made by `made_by`, where a watched call made it; or a clone of another one, as instances of a
  /// graph have them. CUPTI's callback for kGraphNodeCreated and kGraphNodeCloned.
  void note_graph_node(std::uint32_t function, const void* data, std::optional<CapturedCall> made_by);
  std::optional<CapturedCall> captured_call(std::uint64_t graph_node);
  /// Gives CUPTI back: nothing of it stays at work in the process. Idempotent.
  void detach();

  const WatchedFunctions& watched() const { return watched_; }
  /// Whether a recording goes on; what callbacks ask first.
  bool is_recording() const { return recording_.load(std::memory_order_relaxed); }
  /// A forked child records nothing: CUPTI does not work there.
  void stop_in_child() { recording_.store(false, std::memory_order_relaxed); }
  /// What was recorded since begin(), times in nanoseconds of the recording's clock. Activities that lie outside of the
  /// recording's time are counted as lost: their clock is not ours. Call it after end().
  Records take_records();
  std::size_t activity_count();
  /// The lower half of pthread_self() of the thread that called begin().
  std::uint32_t main_thread() const { return main_thread_; }

 private:
  Collector() = default;
  static void buffer_requested(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records);
  static void buffer_completed(Context context, std::uint32_t stream, std::uint8_t* buffer, std::size_t bytes,
                               std::size_t valid_bytes);
  TickScale::Moment moment() const;
  void stop(std::size_t kinds, std::size_t callbacks);

  Library library_;
  WatchedFunctions watched_;
  Subscriber subscriber_ = nullptr;
  std::atomic<bool> recording_{false};
  bool enabled_ = false;
  bool clock_is_ours_ = false;
  TickScale::Moment first_{};  ///< where the clock is CUPTI's
  TickScale::Moment last_{};
  std::uint64_t begin_ns_ = 0;
  std::uint64_t end_ns_ = 0;
  std::uint32_t main_thread_ = 0;

  std::mutex nodes_mutex_;
  std::unordered_map<std::uint64_t, CapturedCall> nodes_;  ///< by id

  std::mutex mutex_;  ///< of the members below; held for as long as a buffer takes to read
  std::vector<std::unique_ptr<std::uint64_t[]>> buffers_;
  std::vector<std::uint8_t*> free_;
  Records records_;
};

}  // namespace ridgeline::agent::cupti
