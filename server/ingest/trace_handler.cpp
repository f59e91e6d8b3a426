#include "ingest/trace_handler.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "ingest/import_error.h"
#include "ingest/json_string.h"

namespace ridgeline::ingest {

namespace {

constexpr std::size_t kMaxDepth = 256;
constexpr std::size_t kMaxInputs = 16384;  ///< characters of a list of inputs; a longer one is not kept

}  // namespace

void TraceHandler::string(std::string_view value) {
  if (in(Context::kEvent)) {
    builder_.set_text(field_, value);
  } else if (in(Context::kArgs)) {
    builder_.set_argument(field_, value);
  } else if (in(Context::kInputs)) {
    using nlohmann::json;
    add_input(json(value).dump(-1, ' ', false, json::error_handler_t::replace));
  } else if (in(Context::kDevice) && field_ == Field::kName) {
    device_.name = valid_utf8(value);
  }
}

void TraceHandler::number(const Number& value) {
  if (in(Context::kEvent)) {
    builder_.set_number(field_, value);
  } else if (in(Context::kArgs)) {
    builder_.set_argument(field_, value);
  } else if (in(Context::kInputs)) {
    add_input(value.whole ? (value.negative ? "-" : "") + std::to_string(value.magnitude) : "null");
  } else if (in(Context::kDevice) && value.unsigned_below(std::uint64_t{1} << 62U)) {
    if (field_ == Field::kId) {
      device_.index = static_cast<std::uint32_t>(value.magnitude);
    } else if (field_ == Field::kGlobalMemory) {
      device_.bytes = value.magnitude;
    }
  } else if (in(Context::kTop) || in(Context::kDistributed)) {
    builder_.set_fact(field_, value);
  }
}

void TraceHandler::constant(std::string_view word) {
  if (in(Context::kInputs)) {
    add_input(word == "true" || word == "false" ? word : "null");
  } else if (in(Context::kEvent)) {
    builder_.set_none(field_);
  }
}

void TraceHandler::start_object() {
  if (levels_.empty()) {
    push(Context::kTop, false);
  } else if (in(Context::kEvents)) {
    builder_.begin_event();
    push(Context::kEvent, false);
  } else if (in(Context::kDevices)) {
    device_ = {};
    push(Context::kDevice, false);
  } else if (in(Context::kTop) && field_ == Field::kDistributed) {
    push(Context::kDistributed, false);
  } else {
    push(in(Context::kEvent) && field_ == Field::kArgs ? Context::kArgs : Context::kOther, false);
  }
}

void TraceHandler::end_object() {
  if (in(Context::kEvent)) {
    builder_.finish_event();
  } else if (in(Context::kDevice)) {
    builder_.add_device(std::move(device_));
  }
  pop();
}

void TraceHandler::start_array() {
  const bool events = levels_.empty() || (in(Context::kTop) && field_ == Field::kTraceEvents);
  found_events_ = found_events_ || events;
  if (in(Context::kInputs) || (with_inputs_ && in(Context::kArgs) && is_list_of_inputs(field_))) {
    begin_inputs();
    push(Context::kInputs, true);
    return;
  }
  const bool devices = in(Context::kTop) && field_ == Field::kDeviceProperties;
  push(events ? Context::kEvents : devices ? Context::kDevices : Context::kOther, true);
}

void TraceHandler::end_array() {
  const bool inputs = in(Context::kInputs);
  pop();
  if (inputs && inputs_.size() < kMaxInputs) {
    inputs_ += ']';
  }
  if (inputs && in(Context::kArgs) && inputs_.size() < kMaxInputs) {
    builder_.set_inputs(inputs_field_, inputs_);
  }
}

void TraceHandler::return_to_events(bool in_object) {
  found_events_ = true;
  levels_.clear();
  if (in_object) {
    push(Context::kTop, false);
  }
  push(Context::kEvents, true);
  field_ = Field::kNone;
}

Trace TraceHandler::take() {
  if (!found_events_) {
    throw ImportError("Not a valid trace: this JSON has no list of traceEvents.");
  }
  if (builder_.is_legacy()) {
    throw ImportError(
        "The trace is one of the old autograd profiler (torch.autograd.profiler), which cannot be imported: record it "
        "with torch.profiler.");
  }
  return builder_.take();
}

void TraceHandler::push(Context context, bool is_list) {
  if (levels_.size() >= kMaxDepth) {
    throw ImportError("Not a valid trace: its values are nested too deeply.");
  }
  levels_.push_back({context, is_list});
}

void TraceHandler::pop() {
  levels_.pop_back();
  field_ = Field::kNone;
}

void TraceHandler::begin_inputs() {
  if (in(Context::kArgs)) {
    inputs_field_ = field_;
    inputs_ = '[';
  } else {
    add_input("[");
  }
}

/// A value of a list of inputs, or the beginning of a list in it.
void TraceHandler::add_input(std::string_view text) {
  if (inputs_.size() >= kMaxInputs) {
    return;
  }
  if (inputs_.back() != '[') {
    inputs_ += ',';
  }
  inputs_ += text;
}

}  // namespace ridgeline::ingest
