#include "ingest/trace_builder.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "ingest/json_string.h"

namespace ridgeline::ingest {

namespace {

constexpr std::size_t kMaxDeviceName = 16384;
constexpr std::size_t kMaxDevices = 1024;

/// Files as POSIX writes them.
void use_slashes(std::string& frames) {
  for (std::size_t at = frames.find('\\'); at != std::string::npos; at = frames.find('\\', at)) {
    frames[at] = '/';
  }
}

/// Processes and threads are numbers, or texts such as "stream 7".
std::uint64_t identity(std::string_view text) {
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

/// "3000.0" of "3000.0.000", which is written where the fraction of a text is appended to a number that has one.
std::string_view without_second_fraction(std::string_view text) {
  const std::size_t last = text.rfind('.');
  const bool is_second = last != std::string_view::npos && text.find('.') < last;
  return is_second && text.find_first_not_of('0', last + 1) == std::string_view::npos ? text.substr(0, last) : text;
}

/// A number of 32 bits; one that is none is as if it were not there.
std::uint32_t small(const Number& value, std::uint32_t otherwise) {
  return value.unsigned_below(kNoNumber) ? static_cast<std::uint32_t>(value.magnitude) : otherwise;
}

}  // namespace

TraceBuilder::TraceBuilder(const TraceLimits& limits)
    : limits_(limits), strings_(trace_.strings, limits.string_bytes) {}

void TraceBuilder::begin_event() {
  event_ = {};
  collective_ = {};
  inputs_ = {};
  seen_ = {};
}

void TraceBuilder::set_text(Field field, std::string_view value) {
  switch (field) {
    case Field::kPhase:
      seen_.phase = value.empty() ? '\0' : value[0];
      break;
    case Field::kCategory:
      seen_.category = strings_.index(value);
      break;
    case Field::kName:
      event_.name = strings_.index(value);
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
      if (const auto number = number_of(without_second_fraction(base::trimmed(value))); number.has_value()) {
        set_number(field, *number);
      } else {
        seen_.bad_time = true;
      }
      break;
    default:
      break;
  }
}

void TraceBuilder::set_number(Field field, const Number& value) {
  if (field == Field::kTime) {
    seen_.has_time = true;
    seen_.is_before_zero = value.negative;
    seen_.bad_time = seen_.bad_time || !to_ns(value, seen_.ts);
  } else if (field == Field::kDuration) {
    seen_.negative = value.negative;
    seen_.bad_time = seen_.bad_time || !to_ns(value, seen_.duration);
  } else if (field == Field::kProcess) {
    seen_.process = value.magnitude;
  } else if (field == Field::kThread) {
    seen_.thread = value.magnitude;
  }
}

void TraceBuilder::set_none(Field field) {
  seen_.bad_time = seen_.bad_time || field == Field::kTime || field == Field::kDuration;
}

void TraceBuilder::set_argument(Field field, std::string_view value) {
  if (field == Field::kCallStack) {
    std::string frames(value);
    use_slashes(frames);
    event_.stack = strings_.index(frames);
    return;
  }
  if (std::uint32_t* const text = text_of_collective(field); text != nullptr) {
    *text = strings_.index(value);
    return;
  }
  // Some versions write numbers of the arguments as text.
  if (const auto number = number_of(base::trimmed(value)); number.has_value()) {
    set_argument(field, *number);
  }
}

void TraceBuilder::set_argument(Field field, const Number& value) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62U;
  const std::uint64_t whole = value.unsigned_below(kMost) ? value.magnitude : 0;
  switch (field) {
    case Field::kExternal:
      event_.external = value.unsigned_below(kNoId) ? value.magnitude : kNoId;
      break;
    case Field::kCorrelation:
      event_.correlation = value.unsigned_below(kNoId) ? value.magnitude : kNoId;
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
    case Field::kElements:
      collective_.elements = whole;
      break;
    default:
      break;
  }
}

void TraceBuilder::set_inputs(Field field, std::string_view list) {
  const std::uint32_t text = strings_.index(list);
  (field == Field::kInputSizes     ? inputs_.sizes
   : field == Field::kInputTypes   ? inputs_.types
   : field == Field::kInputStrides ? inputs_.strides
                                   : inputs_.values) = text;
}

/// Where an argument of a collective is kept; null: it is none.
std::uint32_t* TraceBuilder::text_of_collective(Field field) {
  switch (field) {
    case Field::kCollective:
      return &collective_.call;
    case Field::kDtype:
      return &collective_.dtype;
    case Field::kGroup:
      return &collective_.group;
    case Field::kGroupRanks:
      return &collective_.ranks;
    default:
      return nullptr;
  }
}

void TraceBuilder::set_fact(Field field, const Number& value) {
  if (field == Field::kRank) {
    trace_.rank = small(value, kNoNumber);
  } else if (field == Field::kWorldSize) {
    trace_.world_size = small(value, 0);
  } else if (field == Field::kBaseTime && value.unsigned_below(std::uint64_t{1} << 62U)) {
    trace_.base_ns = value.magnitude;
  }
}

void TraceBuilder::finish_event() {
  if (seen_.phase == 'B' || seen_.phase == 'E') {
    add_mark();
    return;
  }
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
  add_event(*what, *thread);
}

/// The beginning of an event, which is then one that ends at once, or the end.
void TraceBuilder::add_mark() {
  if (!seen_.has_time || seen_.bad_time || seen_.is_before_zero) {
    ++trace_.losses.without_time;
    return;
  }
  const std::optional<std::uint32_t> thread = thread_index();
  if (marks_.size() >= 2 * limits_.events || !thread.has_value()) {
    ++trace_.losses.too_many;
    return;
  }
  SpanMark mark{.time = seen_.ts, .thread = *thread, .name = event_.name};
  if (seen_.phase == 'B') {
    mark.begins = true;
    const std::optional<EventKind> what = kind();
    if (what.has_value() && trace_.events.size() >= limits_.events) {
      ++trace_.losses.too_many;
    } else if (what.has_value()) {
      mark.event = static_cast<std::uint32_t>(trace_.events.size());
      seen_.duration = 0;
      add_event(*what, *thread);
    }
  }
  marks_.push_back(mark);
}

void TraceBuilder::add_event(EventKind kind, std::uint32_t thread) {
  event_.kind = kind;
  event_.thread = thread;
  // Modulo 2⁶⁴, until take() shifts all.
  event_.start = seen_.is_before_zero ? 0 - seen_.ts : seen_.ts;
  event_.end = event_.start + (kind == EventKind::kMemory ? 0 : seen_.duration);
  if (seen_.is_before_zero) {
    ++trace_.losses.before_zero;
    earliest_ = std::max(earliest_, seen_.ts);
  }
  if (kind == EventKind::kMemory) {
    event_.device = seen_.on_device ? event_.device : kNoNumber;
  } else if (kind == EventKind::kPython) {
    use_slashes(trace_.strings[event_.name]);
    event_.stream = seen_.has_stream ? event_.stream : kNoNumber;
  } else if (kind >= EventKind::kKernel) {
    finish_device_fields();
  }
  if (kind == EventKind::kKernel && (collective_.call != 0 || collective_.group != 0)) {
    collective_.event = static_cast<std::uint32_t>(trace_.events.size());
    trace_.collectives.push_back(collective_);
  }
  if (kind == EventKind::kOp && inputs_.sizes != 0) {
    inputs_.event = static_cast<std::uint32_t>(trace_.events.size());
    trace_.inputs.push_back(inputs_);
  }
  trace_.events.push_back(event_);
}

/// Finishes the fields of a kernel or a copy.
void TraceBuilder::finish_device_fields() {
  // Up to torch 2.4, and later where no op is linked, that is the correlation again, and an op's only by chance.
  event_.external = event_.external == event_.correlation ? kNoId : event_.external;
  if (!seen_.has_device) {
    event_.device = static_cast<std::uint32_t>(seen_.process & 0xffffU);
  }
  if (!seen_.has_stream) {
    event_.stream = static_cast<std::uint32_t>(seen_.thread & 0xffffU);
  }
}

void TraceBuilder::add_device(TraceDevice device) {
  if (trace_.devices.size() < kMaxDevices) {
    device.name.resize(std::min(device.name.size(), kMaxDeviceName));
    trace_.devices.push_back(std::move(device));
  }
}

Trace TraceBuilder::take() {
  trace_.losses.too_many += strings_.lost();
  trace_.damage.not_utf8 = strings_.replaced();
  trace_.damage.unpaired = pair_marks(std::move(marks_), trace_);
  if (earliest_ > 0) {
    for (TraceEvent& event : trace_.events) {
      event.start += earliest_;
      event.end += earliest_;
    }
    trace_.base_ns -= earliest_;
  }
  return std::move(trace_);
}

std::optional<EventKind> TraceBuilder::kind() {
  const std::string& name = trace_.strings[event_.name];
  if (seen_.phase == 'i' || seen_.phase == 'I') {
    // Without addresses (torch 1.8) it is unknown what is freed.
    return name == "[memory]" && seen_.has_address ? std::optional(EventKind::kMemory) : std::nullopt;
  }
  if (seen_.phase != 'X' && seen_.phase != 'B') {
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
  // ROCm's calls have either category, and their own names.
  if (category == "xpu_runtime") {
    trace_.platform = TracePlatform::kXpu;
  } else if (category == "hip_runtime" || (category == "cuda_runtime" && name.starts_with("hip"))) {
    trace_.platform = TracePlatform::kRocm;
  }
  const auto found = kKinds.find(category);
  return found == kKinds.end() ? std::nullopt : std::optional(found->second);
}

/// Nothing beyond the most threads.
std::optional<std::uint32_t> TraceBuilder::thread_index() {
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

}  // namespace ridgeline::ingest
