// The JSON of Chrome's trace viewer, event by event.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ridgeline::report {

/// A row of the viewer: a thread of a process.
struct Track {
  std::uint64_t process = 0;
  std::uint64_t thread = 0;
};

/// A span of time, in nanoseconds since the start of the trace.
struct TraceSpan {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
};

/// Named values of an event; those that are empty are left out.
using Arguments = std::vector<std::pair<std::string_view, std::string_view>>;

/// Times become microseconds with three digits: none is rounded. Strings may hold anything.
class TraceWriter {
 public:
  void name_process(std::uint64_t process, std::string_view name);
  void name_track(Track track, std::string_view name);
  void slice(Track track, std::string_view name, std::string_view category, TraceSpan span,
             const Arguments& arguments = {});
  void counter(std::uint64_t process, std::string_view name, std::uint64_t time, std::uint64_t bytes);
  /// An arrow from the slice that is open at `from` to the one that is open at `to`.
  void arrow(Track from, std::uint64_t from_time, Track to, std::uint64_t to_time);

  /// The whole trace; `description` is shown as its metadata.
  std::string take(std::string_view description) &&;

 private:
  void begin(std::string_view phase, Track track, std::string_view name);
  void end() { text_ += "},\n"; }

  std::string text_;
  std::uint64_t arrows_ = 0;
};

}  // namespace ridgeline::report
