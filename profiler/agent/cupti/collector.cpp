#include "profiler/agent/cupti/collector.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <utility>

namespace ridgeline::agent::cupti {

namespace {

constexpr std::size_t kBufferBytes = std::size_t{2} << 20U;
constexpr std::size_t kMaxBuffers = 64;
constexpr std::size_t kMaxActivities = std::size_t{4} << 20U;
constexpr std::size_t kMaxNodes = std::size_t{1} << 20U;
constexpr std::uint32_t kForced = 1;  // CUPTI_ACTIVITY_FLAG_FLUSH_FORCED: also buffers that are not full
constexpr std::array<Kind, 5> kKinds = {Kind::kConcurrentKernel, Kind::kMemcpy, Kind::kMemcpyPeer, Kind::kMemset,
                                        Kind::kOverhead};

std::string refusal(const Functions& functions, Result result) {
  if (result == kMultipleSubscribers) {
    return "another tool uses CUPTI in this process, and CUPTI serves only one. Is the step run by torch.profiler, "
           "Nsight "
           "Systems or another profiler?";
  }
  if (result == kNotPermitted) {
    return "this user may not profile the device. An administrator can allow it: "
           "https://developer.nvidia.com/ERR_NVGPUCTRPERM";
  }
  return describe(functions, result);
}

}  // namespace

Collector& Collector::instance() {
  static auto* collector = new Collector;
  return *collector;
}

std::string Collector::attach(Library library, Callback on_call) {
  if (is_attached()) {
    return {};
  }
  if (!library.error.empty()) {
    return library.error;
  }
  library_ = std::move(library);
  const Functions& functions = library_.functions;
  Subscriber subscriber = nullptr;
  Result result = functions.subscribe(&subscriber, on_call, nullptr);
  if (result != kSuccess || subscriber == nullptr) {
    return refusal(functions, result);
  }
  // Before any kind is enabled: the records of kernels are then in this clock too.
  clock_is_ours_ = functions.register_timestamp(&now_ns) == kSuccess;
  result = functions.register_callbacks(&buffer_requested, &buffer_completed);
  if (result != kSuccess) {
    functions.unsubscribe(subscriber);
    return refusal(functions, result);
  }
  if (watched_.all().empty()) {
    watched_ = WatchedFunctions(functions);
  }
  subscriber_ = subscriber;
  // Where these are refused, what graphs replay stays on the line that launches them.
  functions.enable_callback(1, subscriber_, kResourceDomain, kGraphNodeCreated);
  functions.enable_callback(1, subscriber_, kResourceDomain, kGraphNodeCloned);
  return {};
}

void Collector::begin_capture() {
  if (!is_attached() || enabled_) {
    return;
  }
  for (const WatchedFunction& watched : watched_.all()) {
    library_.functions.enable_callback(1, subscriber_, watched.domain, watched.function);
  }
  recording_.store(true, std::memory_order_relaxed);
}

void Collector::end_capture() {
  if (!is_attached() || enabled_) {
    return;
  }
  recording_.store(false, std::memory_order_relaxed);
  for (const WatchedFunction& watched : watched_.all()) {
    library_.functions.enable_callback(0, subscriber_, watched.domain, watched.function);
  }
}

void Collector::note_graph_node(std::uint32_t function, const void* data, std::optional<CapturedCall> made_by) {
  const auto* resource = static_cast<const ResourceData*>(data);
  if (resource == nullptr || resource->descriptor == nullptr) {
    return;
  }
  const auto& graph = *static_cast<const GraphData*>(resource->descriptor);
  std::uint64_t node = 0;
  if (library_.functions.get_graph_node_id(graph.node, &node) != kSuccess) {
    return;
  }
  std::uint64_t original = 0;
  const bool is_clone = function == kGraphNodeCloned;
  if (is_clone && library_.functions.get_graph_node_id(graph.original_node, &original) != kSuccess) {
    return;
  }
  const std::lock_guard lock(nodes_mutex_);
  if (is_clone) {
    const auto found = nodes_.find(original);
    made_by = found == nodes_.end() ? std::nullopt : std::optional(found->second);
  }
  if (made_by.has_value() && nodes_.size() < kMaxNodes) {
    nodes_[node] = *made_by;
  }
}

std::optional<CapturedCall> Collector::captured_call(std::uint64_t graph_node) {
  const std::lock_guard lock(nodes_mutex_);
  const auto found = nodes_.find(graph_node);
  return found == nodes_.end() ? std::nullopt : std::optional(found->second);
}

void Collector::stop(std::size_t kinds, std::size_t callbacks) {
  const Functions& functions = library_.functions;
  for (std::size_t i = 0; i < callbacks; ++i) {
    functions.enable_callback(0, subscriber_, watched_.all()[i].domain, watched_.all()[i].function);
  }
  functions.flush_all(kForced);
  for (std::size_t i = 0; i < kinds; ++i) {
    functions.disable(kKinds[i]);
  }
  recording_.store(false, std::memory_order_relaxed);
  enabled_ = false;
}

std::string Collector::begin() {
  if (!is_attached() || enabled_) {
    return {};
  }
  {
    const std::lock_guard lock(mutex_);
    records_ = {};
  }
  const Functions& functions = library_.functions;
  main_thread_ = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(::pthread_self()));
  begin_ns_ = now_ns();
  end_ns_ = begin_ns_;
  first_ = moment();
  recording_.store(true, std::memory_order_relaxed);
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    const Result result = functions.enable(kKinds[i]);
    if (result != kSuccess && kKinds[i] != Kind::kOverhead) {  // without that one, only CUPTI's own work is unknown
      stop(i, 0);
      return refusal(functions, result);
    }
  }
  for (std::size_t i = 0; i < watched_.all().size(); ++i) {
    const WatchedFunction& watched = watched_.all()[i];
    const Result result = functions.enable_callback(1, subscriber_, watched.domain, watched.function);
    if (result != kSuccess) {
      stop(kKinds.size(), i);
      return refusal(functions, result);
    }
  }
  enabled_ = true;
  return {};
}

void Collector::end() {
  if (enabled_) {
    stop(kKinds.size(), watched_.all().size());
    last_ = moment();
    end_ns_ = now_ns();
  }
}

void Collector::detach() {
  if (!is_attached()) {
    return;
  }
  end();
  library_.functions.unsubscribe(subscriber_);
  // The device is idle and the records are here: as its documentation requires, and no function of CUDA is running.
  library_.functions.finalize();
  subscriber_ = nullptr;
  const std::lock_guard lock(nodes_mutex_);
  nodes_.clear();
}

TickScale::Moment Collector::moment() const {
  if (clock_is_ours_) {
    return {};
  }
  // The tightest of a few readings: nothing interrupted that one.
  TickScale::Moment best{};
  std::uint64_t width = ~std::uint64_t{0};
  for (int i = 0; i < 8; ++i) {
    std::uint64_t theirs = 0;
    const std::uint64_t before = now_ns();
    const bool is_read = library_.functions.get_timestamp(&theirs) == kSuccess;
    const std::uint64_t after = now_ns();
    if (is_read && after - before < width) {
      width = after - before;
      best = {theirs, before + width / 2};
    }
  }
  return best;
}

std::size_t Collector::activity_count() {
  const std::lock_guard lock(mutex_);
  return records_.activities.size();
}

Records Collector::take_records() {
  const std::lock_guard lock(mutex_);
  Records records = std::exchange(records_, {});
  const TickScale scale(first_, last_);
  const auto translate = [&](auto& each) {
    if (!clock_is_ours_) {
      each.start = scale.ns(each.start);
      each.end = scale.ns(each.end);
    }
    return each.start >= begin_ns_ && each.end <= end_ns_ && each.start <= each.end;
  };
  const auto keep = [&](auto& all) {
    std::size_t kept = 0;
    for (auto each : all) {
      if (translate(each)) {
        all[kept++] = each;
      }
    }
    const std::size_t outside = all.size() - kept;
    all.resize(kept);
    return outside;
  };
  records.lost += keep(records.activities);
  keep(records.overheads);
  std::stable_sort(records.activities.begin(), records.activities.end(),
                   [](const DeviceActivity& a, const DeviceActivity& b) { return a.start < b.start; });
  return records;
}

void Collector::buffer_requested(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
  Collector& self = instance();
  const std::lock_guard lock(self.mutex_);
  *most_records = 0;  // as many as there is room for
  if (self.free_.empty() && self.buffers_.size() < kMaxBuffers) {
    self.buffers_.emplace_back(new (std::nothrow) std::uint64_t[kBufferBytes / sizeof(std::uint64_t)]);
    if (self.buffers_.back() == nullptr) {
      self.buffers_.pop_back();
    } else {
      self.free_.push_back(reinterpret_cast<std::uint8_t*>(self.buffers_.back().get()));
    }
  }
  // Without a buffer CUPTI drops records, and counts them.
  *buffer = self.free_.empty() ? nullptr : self.free_.back();
  *bytes = self.free_.empty() ? 0 : kBufferBytes;
  if (!self.free_.empty()) {
    self.free_.pop_back();
  }
}

void Collector::buffer_completed(Context context, std::uint32_t stream, std::uint8_t* buffer, std::size_t /*bytes*/,
                                 std::size_t valid_bytes) {
  Collector& self = instance();
  const std::lock_guard lock(self.mutex_);
  std::size_t dropped = 0;
  if (self.library_.functions.dropped_records(context, stream, &dropped) == kSuccess) {
    self.records_.lost += dropped;
  }
  if (buffer == nullptr) {
    return;
  }
  if (self.is_recording()) {
    read_records(buffer, std::min(valid_bytes, kBufferBytes), self.library_.functions.next_record, kMaxActivities,
                 self.records_);
  }
  self.free_.push_back(buffer);
}

}  // namespace ridgeline::agent::cupti
