#include "imports/read_trace.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <istream>
#include <limits>
#include <optional>
#include <streambuf>
#include <string>
#include <unordered_map>
#include <utility>

#include <nlohmann/json.hpp>

#include "imports/import_error.h"

namespace ridgeline::imports {

namespace {

using nlohmann::json;

constexpr std::size_t kMaxDepth = 256;
constexpr std::size_t kMaxName = 16384;  ///< of a string that is kept; the rest is cut off
constexpr std::size_t kMaxDevices = 1024;
/// Of a string beside its characters, which stand in the list and in the index: two objects and a node.
constexpr std::size_t kStringOverhead = 2 * sizeof(std::string) + 32;

/// A stream over a source, for the parser.
class SourceBuffer : public std::streambuf {
 public:
  explicit SourceBuffer(ByteSource source) : source_(std::move(source)), buffer_(std::size_t{1} << 18U) {}

  /// Whether somebody asked for more than there is.
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

enum class Field : std::uint8_t {
  kNone,
  kTraceEvents,
  kDeviceProperties,
  kPhase,
  kCategory,
  kName,
  kProcess,
  kThread,
  kTime,
  kDuration,
  kArgs,
  kExternal,
  kCorrelation,
  kSequence,
  kForwardThread,
  kDevice,
  kStream,
  kBytes,
  kModule,
  kAddress,
  kDeviceId,
  kDeviceType,
  kTotalAllocated,
  kTotalReserved,
  kCallStack,
  kId,
  kGlobalMemory,
};

Field field_of(std::string_view key) {
  static const std::unordered_map<std::string_view, Field> kFields = {
      {"traceEvents", Field::kTraceEvents},
      {"deviceProperties", Field::kDeviceProperties},
      {"computeProperties", Field::kDeviceProperties},
      {"ph", Field::kPhase},
      {"cat", Field::kCategory},
      {"name", Field::kName},
      {"pid", Field::kProcess},
      {"tid", Field::kThread},
      {"ts", Field::kTime},
      {"dur", Field::kDuration},
      {"args", Field::kArgs},
      {"External id", Field::kExternal},
      {"external id", Field::kExternal},
      {"correlation", Field::kCorrelation},
      {"Sequence number", Field::kSequence},
      {"Fwd thread id", Field::kForwardThread},
      {"device", Field::kDevice},
      {"stream", Field::kStream},
      {"bytes", Field::kBytes},
      {"Bytes", Field::kBytes},
      {"Python module id", Field::kModule},
      {"Addr", Field::kAddress},
      {"Device Id", Field::kDeviceId},
      {"Device Type", Field::kDeviceType},
      {"Total Allocated", Field::kTotalAllocated},
      {"Total Reserved", Field::kTotalReserved},
      {"Call stack", Field::kCallStack},
      {"id", Field::kId},
      {"totalGlobalMem", Field::kGlobalMemory},
  };
  const auto found = kFields.find(key);
  return found == kFields.end() ? Field::kNone : found->second;
}

/// A number of the file: whole, or the digits of a broken one.
struct Number {
  std::uint64_t magnitude = 0;
  bool negative = false;
  bool whole = true;
  std::string_view digits{};

  bool unsigned_below(std::uint64_t bound) const { return whole && !negative && magnitude < bound; }
};

/// Microseconds as nanoseconds; false for what is no such number.
bool to_ns(const Number& number, std::uint64_t& ns) {
  if (number.whole) {
    ns = number.magnitude * 1000;
    return number.magnitude <= std::numeric_limits<std::int64_t>::max() / 1000;
  }
  std::string_view digits = number.digits;
  if (digits.starts_with('-')) {
    digits.remove_prefix(1);
  }
  return nanoseconds(digits, ns);
}

/// Files as POSIX writes them.
void use_slashes(std::string& frames) {
  for (std::size_t at = frames.find('\\'); at != std::string::npos; at = frames.find('\\', at)) {
    frames[at] = '/';
  }
}

class Handler : public nlohmann::json_sax<json> {
 public:
  Handler(const TraceLimits& limits, const SourceBuffer& buffer) : limits_(limits), buffer_(buffer) { intern(""); }

  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(std::int64_t value) override {
    return number({value < 0 ? ~static_cast<std::uint64_t>(value) + 1 : static_cast<std::uint64_t>(value), value < 0});
  }
  bool number_unsigned(std::uint64_t value) override { return number({value}); }
  bool number_float(double value, const std::string& digits) override { return number({0, value < 0, false, digits}); }
  bool binary(binary_t& /*value*/) override { return true; }

  bool string(string_t& value) override {
    if (in(Context::kEvent)) {
      set_text(value);
    } else if (in(Context::kArgs) && field_ == Field::kCallStack) {
      use_slashes(value);
      event_.stack = intern(value);
    } else if (in(Context::kArgs)) {
      number_in_text(value);
    } else if (in(Context::kDevice) && field_ == Field::kName) {
      device_.name = value.substr(0, kMaxName);
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
      event_ = {};
      seen_ = {};
      return push(Context::kEvent);
    }
    if (in(Context::kDevices)) {
      device_ = {};
      return push(Context::kDevice);
    }
    return push(in(Context::kEvent) && field_ == Field::kArgs ? Context::kArgs : Context::kOther);
  }

  bool end_object() override {
    if (in(Context::kEvent)) {
      finish_event();
    } else if (in(Context::kDevice) && trace_.devices.size() < kMaxDevices) {
      trace_.devices.push_back(std::move(device_));
    }
    return pop();
  }

  bool start_array(std::size_t /*count*/) override {
    const bool events = contexts_.empty() || (in(Context::kTop) && field_ == Field::kTraceEvents);
    found_events_ = found_events_ || events;
    const bool devices = in(Context::kTop) && field_ == Field::kDeviceProperties;
    return push(events ? Context::kEvents : devices ? Context::kDevices : Context::kOther);
  }

  bool end_array() override { return pop(); }

  bool parse_error(std::size_t position, const std::string& /*token*/, const json::exception& /*problem*/) override {
    throw ImportError(buffer_.ended() ? "The trace ends too early, after " + std::to_string(position) +
                                            " bytes: its last part is missing."
                                      : "The trace is no valid JSON at byte " + std::to_string(position) + ".");
  }

  Trace take() {
    if (!found_events_) {
      throw ImportError("Not a valid trace: this JSON has no list of traceEvents.");
    }
    if (legacy_ && trace_.events.empty()) {
      throw ImportError(
          "The trace is one of the old autograd profiler (torch.autograd.profiler), which is not read: record it with "
          "torch.profiler.");
    }
    return std::move(trace_);
  }

 private:
  enum class Context : std::uint8_t { kTop, kEvents, kEvent, kArgs, kDevices, kDevice, kOther };
  struct Seen {
    char phase = 0;
    std::uint32_t category = 0;
    std::uint64_t process = 0;
    std::uint64_t thread = 0;
    std::uint64_t ts = 0;
    std::uint64_t duration = 0;
    bool has_time = false;
    bool bad_time = false;
    bool negative = false;
    bool has_device = false;
    bool has_stream = false;
    bool has_address = false;
    bool on_device = false;  ///< a memory event's device is none of the CPU's
  };

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

  std::uint32_t intern(std::string_view text) {
    text = text.substr(0, kMaxName);
    const auto found = strings_.find(std::string(text));
    if (found != strings_.end()) {
      return found->second;
    }
    const std::size_t held = 2 * text.size() + kStringOverhead;
    if (held > limits_.string_bytes - std::min(limits_.string_bytes, string_bytes_)) {
      ++trace_.losses.too_many;
      return 0;
    }
    string_bytes_ += held;
    const auto index = static_cast<std::uint32_t>(trace_.strings.size());
    trace_.strings.emplace_back(text);
    strings_.emplace(text, index);
    return index;
  }

  /// Processes and threads are numbers, or words such as "stream 7".
  static std::uint64_t identity(std::string_view text) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size()) {
      return number;
    }
    for (const char letter : text) {
      number = (number ^ static_cast<unsigned char>(letter)) * 0x100000001B3ULL;
    }
    return number | (std::uint64_t{1} << 63U);
  }

  void set_text(const std::string& value) {
    switch (field_) {
      case Field::kPhase:
        seen_.phase = value.empty() ? '\0' : value[0];
        break;
      case Field::kCategory:
        seen_.category = intern(value);
        break;
      case Field::kName:
        event_.name = intern(value);
        break;
      case Field::kProcess:
        seen_.process = identity(value);
        legacy_ = legacy_ || value == "CPU functions";
        break;
      case Field::kThread:
        seen_.thread = identity(value);
        break;
      case Field::kTime:
      case Field::kDuration:
        seen_.bad_time = true;
        break;
      default:
        break;
    }
  }

  /// Some versions write numbers of the arguments as text.
  void number_in_text(const std::string& value) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (!value.empty() && error == std::errc() && end == value.data() + value.size()) {
      set_argument({number});
    }
  }

  bool number(const Number& value) {
    if (in(Context::kEvent)) {
      set_number(value);
    } else if (in(Context::kArgs)) {
      set_argument(value);
    } else if (in(Context::kDevice) && value.unsigned_below(std::uint64_t{1} << 62U)) {
      if (field_ == Field::kId) {
        device_.index = static_cast<std::uint32_t>(value.magnitude);
      } else if (field_ == Field::kGlobalMemory) {
        device_.bytes = value.magnitude;
      }
    }
    return true;
  }

  void set_number(const Number& value) {
    if (field_ == Field::kTime) {
      seen_.has_time = true;
      seen_.bad_time = seen_.bad_time || value.negative || !to_ns(value, seen_.ts);
    } else if (field_ == Field::kDuration) {
      seen_.negative = value.negative;
      seen_.bad_time = seen_.bad_time || !to_ns(value, seen_.duration);
    } else if (field_ == Field::kProcess) {
      seen_.process = value.magnitude;
    } else if (field_ == Field::kThread) {
      seen_.thread = value.magnitude;
    }
  }

  /// A number of 32 bits; one that is none is as if it were not there.
  static std::uint32_t small(const Number& value, std::uint32_t otherwise) {
    return value.unsigned_below(kNoNumber) ? static_cast<std::uint32_t>(value.magnitude) : otherwise;
  }

  void set_argument(const Number& value) {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 62U;
    const std::uint64_t whole = value.unsigned_below(kMost) ? value.magnitude : 0;
    switch (field_) {
      case Field::kExternal:
        event_.external = small(value, kNoNumber);
        break;
      case Field::kCorrelation:
        event_.correlation = small(value, kNoNumber);
        break;
      case Field::kSequence:
        event_.sequence = value.unsigned_below(kMost) ? static_cast<std::int64_t>(whole) : -1;
        break;
      case Field::kForwardThread:
        event_.number = whole;
        break;
      case Field::kDevice:
      case Field::kDeviceId:
        seen_.has_device = value.unsigned_below(kNoNumber);
        event_.device = small(value, 0);
        break;
      case Field::kDeviceType:
        seen_.on_device = value.magnitude != 0;
        break;
      case Field::kStream:
      case Field::kModule:
        seen_.has_stream = value.unsigned_below(kNoNumber);
        event_.stream = small(value, 0);
        break;
      case Field::kBytes:
        if (value.whole && value.magnitude < kMost) {
          event_.bytes = static_cast<std::int64_t>(value.magnitude) * (value.negative ? -1 : 1);
        }
        break;
      case Field::kAddress:
        seen_.has_address = true;
        event_.number = value.negative ? ~value.magnitude + 1 : value.magnitude;
        break;
      case Field::kTotalAllocated:
        event_.total = whole;
        break;
      case Field::kTotalReserved:
        event_.reserved = whole;
        break;
      default:
        break;
    }
  }

  std::optional<EventKind> kind() const {
    const std::string& name = trace_.strings[event_.name];
    if (seen_.phase == 'i' || seen_.phase == 'I') {
      // Without addresses (torch 1.8) nothing tells what is freed.
      return name == "[memory]" && seen_.has_address ? std::optional(EventKind::kMemory) : std::nullopt;
    }
    if (seen_.phase != 'X') {
      return std::nullopt;
    }
    std::string category = trace_.strings[seen_.category];
    std::ranges::transform(category, category.begin(), [](unsigned char letter) { return std::tolower(letter); });
    const bool host = category == "cpu_op" || category == "operator" || category == "user_annotation";
    if (host) {
      return name.starts_with("ProfilerStep#") ? EventKind::kStep
             : category == "user_annotation"   ? EventKind::kAnnotation
                                               : EventKind::kOp;
    }
    static const std::unordered_map<std::string_view, EventKind> kKinds = {
        {"python_function", EventKind::kPython}, {"cuda_runtime", EventKind::kCall}, {"cuda_driver", EventKind::kCall},
        {"runtime", EventKind::kCall},           {"hip_runtime", EventKind::kCall},  {"xpu_runtime", EventKind::kCall},
        {"kernel", EventKind::kKernel},          {"gpu_memcpy", EventKind::kCopy},   {"memcpy", EventKind::kCopy},
        {"gpu_memset", EventKind::kSet},         {"memset", EventKind::kSet}};
    const auto found = kKinds.find(category);
    return found == kKinds.end() ? std::nullopt : std::optional(found->second);
  }

  void finish_event() {
    const std::optional<EventKind> what = kind();
    if (!what.has_value()) {
      return;
    }
    if (!seen_.has_time || seen_.bad_time) {
      ++trace_.losses.without_time;
      return;
    }
    if (seen_.negative) {
      ++trace_.losses.negative;
      return;
    }
    const std::optional<std::uint32_t> thread = thread_index();
    if (trace_.events.size() >= limits_.events || !thread.has_value()) {
      ++trace_.losses.too_many;
      return;
    }
    event_.kind = *what;
    event_.start = seen_.ts;
    event_.end = seen_.ts + (*what == EventKind::kMemory ? 0 : seen_.duration);
    if (*what == EventKind::kMemory) {
      event_.device = seen_.on_device ? event_.device : kNoNumber;
    } else if (*what == EventKind::kPython) {
      use_slashes(trace_.strings[event_.name]);
      event_.stream = seen_.has_stream ? event_.stream : kNoNumber;
    } else if (*what >= EventKind::kKernel) {
      // Up to torch 2.4, and later where no op is linked, that is the correlation again, and an op's only by chance.
      event_.external = event_.external == event_.correlation ? kNoNumber : event_.external;
      if (!seen_.has_device) {
        event_.device = static_cast<std::uint32_t>(seen_.process & 0xffffU);
      }
      if (!seen_.has_stream) {
        event_.stream = static_cast<std::uint32_t>(seen_.thread & 0xffffU);
      }
    }
    event_.thread = *thread;
    trace_.events.push_back(event_);
  }

  /// Nothing beyond the most threads.
  std::optional<std::uint32_t> thread_index() {
    const std::uint64_t identity = seen_.process * 0x9E3779B97F4A7C15ULL ^ seen_.thread;
    const auto found = threads_.find(identity);
    if (found != threads_.end()) {
      return found->second;
    }
    if (trace_.threads.size() >= limits_.threads) {
      return std::nullopt;
    }
    const auto index = static_cast<std::uint32_t>(trace_.threads.size());
    threads_.emplace(identity, index);
    trace_.threads.push_back(identity);
    return index;
  }

  const TraceLimits& limits_;
  const SourceBuffer& buffer_;
  Trace trace_;
  std::vector<Context> contexts_;
  Field field_ = Field::kNone;
  TraceEvent event_;
  TraceDevice device_;
  Seen seen_;
  bool found_events_ = false;
  bool legacy_ = false;  ///< has processes of the profiler before Kineto
  std::size_t string_bytes_ = 0;
  std::unordered_map<std::string, std::uint32_t> strings_;
  std::unordered_map<std::uint64_t, std::uint32_t> threads_;
};

}  // namespace

bool nanoseconds(std::string_view microseconds, std::uint64_t& ns) {
  const std::size_t exponent = microseconds.find_first_of("eE");
  if (exponent != std::string_view::npos) {
    // No writer of traces uses one where digits matter.
    double value = 0;
    const auto [end, error] = std::from_chars(microseconds.data(), microseconds.data() + microseconds.size(), value);
    const bool good = error == std::errc() && value >= 0 && value < 9e15;
    ns = good ? static_cast<std::uint64_t>(std::llround(value * 1000)) : 0;
    return good;
  }
  const std::size_t point = std::min(microseconds.find('.'), microseconds.size());
  std::uint64_t whole = 0;
  const std::string_view before = microseconds.substr(0, point);
  const auto [end, error] = std::from_chars(before.data(), before.data() + before.size(), whole);
  if (error != std::errc() || end != before.data() + before.size() ||
      whole > std::numeric_limits<std::int64_t>::max() / 1000 - 1) {
    return false;
  }
  ns = whole * 1000;
  std::uint64_t unit = 100;
  for (const char digit : microseconds.substr(std::min(point + 1, microseconds.size()))) {
    if (digit < '0' || digit > '9') {
      return false;
    }
    ns += unit * static_cast<std::uint64_t>(digit - '0');
    unit /= 10;
  }
  return true;
}

Trace read_trace(ByteSource source, const TraceLimits& limits) {
  SourceBuffer buffer(bounded_json(decompressed(std::move(source), limits.file_bytes), limits.tokens));
  std::istream stream(&buffer);
  stream.exceptions(std::ios::badbit);  // what the source throws is passed on
  Handler handler(limits, buffer);
  json::sax_parse(stream, &handler);
  return handler.take();
}

}  // namespace ridgeline::imports
