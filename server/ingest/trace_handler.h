// What the values of a trace's JSON mean, as they come one after the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/trace_builder.h"
#include "ingest/trace_field.h"
#include "ingest/trace_number.h"

namespace ridgeline::ingest {

/// Views are used before a call returns.
class TraceHandler {
 public:
  /// `limits` must outlive it.
  explicit TraceHandler(const TraceLimits& limits) : builder_(limits), with_inputs_(limits.inputs) {}

  void key(std::string_view name) { field_ = field_of(name); }
  void string(std::string_view value);
  void number(const Number& value);
  /// A word that is no number: null, true, NaN.
  void constant(std::string_view word);
  void start_object();
  void end_object();
  void start_array();
  void end_array();

  /// How many objects and lists are open.
  std::size_t depth() const { return levels_.size(); }
  bool is_in_list() const { return !levels_.empty() && levels_.back().is_list; }
  /// What begins next may be an event.
  bool is_in_events() const { return in(Context::kEvents); }

  bool is_in_event() const {
    return std::ranges::any_of(levels_, [](const Level& level) { return level.context == Context::kEvent; });
  }

  /// Leaves all that is open but the list of events: the next value is one. `in_object`: it is a member of the whole
  /// trace, and not all of it.
  void return_to_events(bool in_object);

  bool has_events() const { return builder_.event_count() > 0; }
  /// Throws ImportError where there is no list of events, or one of an old format.
  Trace take();

 private:
  enum class Context : std::uint8_t { kTop, kEvents, kEvent, kArgs, kInputs, kDevices, kDevice, kDistributed, kOther };
  struct Level {
    Context context;
    bool is_list;
  };

  bool in(Context context) const { return !levels_.empty() && levels_.back().context == context; }
  void push(Context context, bool is_list);
  void pop();
  void begin_inputs();
  void add_input(std::string_view text);

  TraceBuilder builder_;
  bool with_inputs_;
  std::string inputs_;  ///< of the event, as far as they are read
  Field inputs_field_ = Field::kNone;
  std::vector<Level> levels_;
  Field field_ = Field::kNone;
  TraceDevice device_;
  bool found_events_ = false;
};

}  // namespace ridgeline::ingest
