#include "imports/read_trace.h"

#include <istream>
#include <streambuf>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "imports/import_error.h"
#include "imports/trace_builder.h"
#include "imports/trace_field.h"
#include "imports/trace_number.h"

namespace ridgeline::imports {

namespace {

using nlohmann::json;

constexpr std::size_t kMaxDepth = 256;
constexpr std::size_t kMaxInputs = 16384;  ///< characters of a list of inputs; a longer one is not kept

/// A stream over a source, for the parser.
class SourceBuffer : public std::streambuf {
 public:
  explicit SourceBuffer(ByteSource source) : source_(std::move(source)), buffer_(std::size_t{1} << 18U) {}

  /// Whether the parser reached the end.
  bool ended() const { return ended_; }

 protected:
  int_type underflow() override {
    const std::size_t count = source_(std::span(buffer_));
    ended_ = count == 0;
    setg(buffer_.data(), buffer_.data(), buffer_.data() + count);
    return count == 0 ? traits_type::eof() : traits_type::to_int_type(buffer_[0]);
  }

 private:
  ByteSource source_;
  std::vector<char> buffer_;
  bool ended_ = false;
};

class Handler : public nlohmann::json_sax<json> {
 public:
  Handler(const TraceLimits& limits, const SourceBuffer& buffer)
      : builder_(limits), with_inputs_(limits.inputs), buffer_(buffer) {}

  bool null() override { return constant("null"); }
  bool boolean(bool value) override { return constant(value ? "true" : "false"); }
  bool number_integer(std::int64_t value) override {
    return number({value < 0 ? ~static_cast<std::uint64_t>(value) + 1 : static_cast<std::uint64_t>(value), value < 0});
  }
  bool number_unsigned(std::uint64_t value) override { return number({value}); }
  bool number_float(double value, const std::string& digits) override { return number({0, value < 0, false, digits}); }
  bool binary(binary_t& /*value*/) override { return true; }

  bool string(string_t& value) override {
    if (in(Context::kEvent)) {
      builder_.set_text(field_, value);
    } else if (in(Context::kArgs)) {
      builder_.set_argument(field_, value);
    } else if (in(Context::kInputs)) {
      add_input(json(value).dump(-1, ' ', false, json::error_handler_t::replace));
    } else if (in(Context::kDevice) && field_ == Field::kName) {
      device_.name = value;
    }
    return true;
  }

  bool key(string_t& value) override {
    field_ = field_of(value);
    return true;
  }

  bool start_object(std::size_t /*count*/) override {
    if (contexts_.empty()) {
      return push(Context::kTop);
    }
    if (in(Context::kEvents)) {
      builder_.begin_event();
      return push(Context::kEvent);
    }
    if (in(Context::kDevices)) {
      device_ = {};
      return push(Context::kDevice);
    }
    if (in(Context::kTop) && field_ == Field::kDistributed) {
      return push(Context::kDistributed);
    }
    return push(in(Context::kEvent) && field_ == Field::kArgs ? Context::kArgs : Context::kOther);
  }

  bool end_object() override {
    if (in(Context::kEvent)) {
      builder_.finish_event();
    } else if (in(Context::kDevice)) {
      builder_.add_device(std::move(device_));
    }
    return pop();
  }

  bool start_array(std::size_t /*count*/) override {
    const bool events = contexts_.empty() || (in(Context::kTop) && field_ == Field::kTraceEvents);
    found_events_ = found_events_ || events;
    if (in(Context::kInputs) || (with_inputs_ && in(Context::kArgs) && is_list_of_inputs(field_))) {
      begin_inputs();
      return push(Context::kInputs);
    }
    const bool devices = in(Context::kTop) && field_ == Field::kDeviceProperties;
    return push(events ? Context::kEvents : devices ? Context::kDevices : Context::kOther);
  }

  bool end_array() override {
    const bool inputs = in(Context::kInputs);
    pop();
    if (inputs && inputs_.size() < kMaxInputs) {
      inputs_ += ']';
    }
    if (inputs && in(Context::kArgs) && inputs_.size() < kMaxInputs) {
      builder_.set_inputs(inputs_field_, inputs_);
    }
    return true;
  }

  bool parse_error(std::size_t position, const std::string& /*token*/, const json::exception& /*problem*/) override {
    throw ImportError(buffer_.ended() ? "The trace ends too early, after " + std::to_string(position) +
                                            " bytes: its last part is missing."
                                      : "The trace is not valid JSON at byte " + std::to_string(position) + ".");
  }

  Trace take() {
    if (!found_events_) {
      throw ImportError("Not a valid trace: this JSON has no list of traceEvents.");
    }
    if (builder_.is_legacy()) {
      throw ImportError(
          "The trace is one of the old autograd profiler (torch.autograd.profiler), which cannot be imported: record "
          "it "
          "with torch.profiler.");
    }
    return builder_.take();
  }

 private:
  enum class Context : std::uint8_t { kTop, kEvents, kEvent, kArgs, kInputs, kDevices, kDevice, kDistributed, kOther };
  bool in(Context context) const { return !contexts_.empty() && contexts_.back() == context; }
  bool push(Context context) {
    if (contexts_.size() >= kMaxDepth) {
      throw ImportError("Not a valid trace: its values are nested too deeply.");
    }
    contexts_.push_back(context);
    return true;
  }
  bool pop() {
    contexts_.pop_back();
    field_ = Field::kNone;
    return true;
  }

  bool constant(std::string_view text) {
    if (in(Context::kInputs)) {
      add_input(text);
    }
    return true;
  }

  void begin_inputs() {
    if (in(Context::kArgs)) {
      inputs_field_ = field_;
      inputs_ = '[';
    } else {
      add_input("[");
    }
  }

  /// A value of a list of inputs, or the beginning of a list in it.
  void add_input(std::string_view text) {
    if (inputs_.size() >= kMaxInputs) {
      return;
    }
    if (inputs_.back() != '[') {
      inputs_ += ',';
    }
    inputs_ += text;
  }

  bool number(const Number& value) {
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
    return true;
  }

  TraceBuilder builder_;
  bool with_inputs_;
  const SourceBuffer& buffer_;
  std::string inputs_;  ///< of the event, as far as they are read
  Field inputs_field_ = Field::kNone;
  std::vector<Context> contexts_;
  Field field_ = Field::kNone;
  TraceDevice device_;
  bool found_events_ = false;
};

}  // namespace

Trace read_trace(ByteSource source, const TraceLimits& limits) {
  SourceBuffer buffer(bounded_json(decompressed(std::move(source), limits.file_bytes), limits.tokens));
  std::istream stream(&buffer);
  stream.exceptions(std::ios::badbit);  // what the source throws is passed on
  Handler handler(limits, buffer);
  json::sax_parse(stream, &handler);
  return handler.take();
}

}  // namespace ridgeline::imports
