// A Trace, built from the fields of its JSON one after the other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ingest/read_trace.h"
#include "ingest/span_marks.h"
#include "ingest/trace.h"
#include "ingest/trace_field.h"
#include "ingest/trace_number.h"
#include "ingest/trace_strings.h"

namespace ridgeline::ingest {

class TraceBuilder {
 public:
  /// `limits` must outlive it.
  explicit TraceBuilder(const TraceLimits& limits);

  void begin_event();
  /// A member of the event itself.
  void set_text(Field field, std::string_view value);
  void set_number(Field field, const Number& value);
  /// A member whose value is neither.
  void set_none(Field field);
  /// A member of the event's "args".
  void set_argument(Field field, std::string_view value);
  void set_argument(Field field, const Number& value);
  /// Sets a list that is_list_of_inputs() names, as compact JSON.
  void set_inputs(Field field, std::string_view list);
  /// A member of the whole file, or of its "distributedInfo".
  void set_fact(Field field, const Number& value);
  /// Adds the event, or counts it as lost, or leaves it out when it is of no kind that is imported.
  void finish_event();

  void add_device(TraceDevice device);

  std::size_t event_count() const { return trace_.events.size() + marks_.size(); }

  /// Whether events of the profiler before Kineto were seen, and none that could be used.
  bool is_legacy() const { return legacy_ && trace_.events.empty(); }
  /// The trace, of whose damage only the texts and the unpaired events are known here; the builder is empty afterwards.
  Trace take();

 private:
  struct Seen {
    char phase = 0;
    std::uint32_t category = 0;
    std::uint64_t process = 0;
    std::uint64_t thread = 0;
    std::uint64_t ts = 0;
    std::uint64_t duration = 0;
    bool has_time = false;
    bool bad_time = false;
    bool is_before_zero = false;
    bool negative = false;
    bool has_device = false;
    bool has_stream = false;
    bool has_address = false;
    bool on_device = false;  ///< a memory event's device is none of the CPU's
  };

  std::optional<EventKind> kind();
  void add_event(EventKind kind, std::uint32_t thread);
  void add_mark();
  void finish_device_fields();
  std::uint32_t* text_of_collective(Field field);
  std::optional<std::uint32_t> thread_index();

  const TraceLimits& limits_;
  Trace trace_;
  TraceEvent event_;
  TraceCollective collective_;  ///< of the event, where `call` or `group` is set
  TraceInputs inputs_;          ///< of the event, where `sizes` is set
  Seen seen_;
  std::uint64_t earliest_ = 0;  ///< how long before zero
  bool legacy_ = false;         ///< has processes of the profiler before Kineto
  TraceStrings strings_;
  std::vector<SpanMark> marks_;
  std::unordered_map<std::uint64_t, std::uint32_t> threads_;
};

}  // namespace ridgeline::ingest
