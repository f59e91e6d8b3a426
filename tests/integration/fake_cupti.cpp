// A libcupti for machines without a GPU: the real functions and records, and a fake device.
//
// Tests build it as a shared library. `fake_*` are their side: what user code launches, and how CUPTI misbehaves.
// The device runs one thing after the other, each from its request on, for as long as the test says.
#include <pthread.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#define CUPTI extern "C" __attribute__((visibility("default")))

namespace {

using Result = std::uint32_t;
constexpr Result kSuccess = 0, kInvalidParameter = 1, kMaxLimitReached = 12, kNotInitialised = 15, kInvalidKind = 21,
                 kMultipleSubscribers = 39;

enum Kind : std::uint32_t { kMemcpy = 1, kMemset = 2, kConcurrentKernel = 10, kOverhead = 17, kMemcpyPeer = 22 };

struct CallbackData {
  std::uint32_t site;
  const char* function_name;
  const void* parameters;
  void* return_value;
  const char* symbol_name;
  void* context;
  std::uint32_t context_id;
  std::uint64_t* correlation_data;
  std::uint32_t correlation;
};

using Callback = void (*)(void*, std::uint32_t, std::uint32_t, const void*);
using Requested = void (*)(std::uint8_t**, std::size_t*, std::size_t*);
using Completed = void (*)(void*, std::uint32_t, std::uint8_t*, std::size_t, std::size_t);
using Timestamp = std::uint64_t (*)();

struct Function {
  std::uint32_t domain;
  std::uint32_t number;
  const char* name;
};
// As they are numbered and named in CUDA 11.8 and later.
constexpr Function kCudaLaunchKernel{2, 211, "cudaLaunchKernel_v7000"};
constexpr Function kCudaGraphLaunch{2, 311, "cudaGraphLaunch_v10000"};
constexpr Function kCudaMemcpyAsync{2, 41, "cudaMemcpyAsync_v3020"};
constexpr Function kCudaMemsetAsync{2, 51, "cudaMemsetAsync_v3020"};
constexpr Function kCudaDeviceSynchronize{2, 165, "cudaDeviceSynchronize_v3020"};
constexpr Function kCudaGetDevice{2, 17, "cudaGetDevice_v3020"};
constexpr Function kCuLaunchKernel{1, 307, "cuLaunchKernel"};
constexpr Function kFunctions[] = {kCudaLaunchKernel,      kCudaGraphLaunch, kCudaMemcpyAsync, kCudaMemsetAsync,
                                   kCudaDeviceSynchronize, kCudaGetDevice,   kCuLaunchKernel};

std::recursive_mutex g_mutex;
std::map<std::string, long> g_options;  // what a test has set; 0 else
std::map<std::string, long> g_counts;   // the calls of CUPTI's functions
std::set<std::string> g_names;
std::set<std::uint32_t> g_kinds;
std::set<std::pair<std::uint32_t, std::uint32_t>> g_callbacks;
Callback g_callback = nullptr;
Requested g_requested = nullptr;
Completed g_completed = nullptr;
Timestamp g_timestamp = nullptr;
int g_subscriber = 0;
std::uint32_t g_correlation = 0;
std::uint64_t g_free_at = 0;  // of the device
std::uint8_t* g_buffer = nullptr;
std::size_t g_bytes = 0;
std::size_t g_used = 0;
std::size_t g_dropped = 0;
std::deque<std::vector<std::uint8_t>> g_held;  // records that come late

// The nodes of one graph that was captured, and of the instance that was made of it: ids and kernels.
std::uint64_t g_last_node = 0;
std::vector<std::pair<std::uint64_t, std::string>> g_captured;
std::vector<std::pair<std::uint64_t, std::string>> g_instance;

long option(const char* name) {
  const auto found = g_options.find(name);
  return found == g_options.end() ? 0 : found->second;
}

Result count(const char* name) {
  ++g_counts[name];
  return static_cast<Result>(option(name));  // an option of the same name is the answer
}

std::uint64_t clock_ns(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

std::uint64_t now() { return g_timestamp != nullptr ? g_timestamp() : clock_ns(CLOCK_REALTIME); }

std::uint32_t version() { return static_cast<std::uint32_t>(option("version") == 0 ? 26 : option("version")); }

std::size_t bytes_of(std::uint32_t kind) {
  const bool is_new = version() >= 26;  // CUDA 12.8
  switch (kind) {
    case kConcurrentKernel:
      return version() >= 130500 ? 248 : version() >= 130001 ? 216 : version() >= 22 ? 208 : 200;
    case kMemcpy:
      return version() >= 130500 ? 112 : is_new ? 96 : 88;
    case kMemset:
      return version() >= 130500 ? 104 : 88;
    case kMemcpyPeer:
      return 96;
    case kOverhead:
      return version() >= 22 ? 56 : 40;
    default:
      return 0;
  }
}

void complete(std::uint8_t* buffer, std::size_t bytes, std::size_t used) {
  // On a thread of its own, as CUPTI does.
  std::thread([=] { g_completed(nullptr, 0, buffer, bytes, used); }).join();
}

void write(const std::vector<std::uint8_t>& record) {
  if (g_buffer != nullptr && g_used + record.size() > g_bytes) {
    complete(g_buffer, g_bytes, g_used);
    g_buffer = nullptr;
  }
  if (g_buffer == nullptr) {
    std::size_t most = 0;
    g_used = 0;
    g_requested(&g_buffer, &g_bytes, &most);
    if (option("small buffers") != 0) {
      g_bytes = std::min<std::size_t>(g_bytes, static_cast<std::size_t>(option("small buffers")));
    }
  }
  if (g_buffer == nullptr || g_bytes < record.size() || option("drop") != 0) {
    ++g_dropped;
    return;
  }
  std::memcpy(g_buffer + g_used, record.data(), record.size());
  g_used += record.size();
}

template <typename T>
void put(std::vector<std::uint8_t>& record, std::size_t offset, T value) {
  std::memcpy(record.data() + offset, &value, sizeof(value));
}

/// A record of something that takes `ns` on the device, requested now.
void run(std::uint32_t kind, std::uint32_t correlation, std::uint64_t ns, const char* name, std::uint64_t bytes,
         std::uint8_t copy_kind, std::uint64_t graph_node = 0) {
  const std::uint64_t start = std::max(now(), g_free_at);
  g_free_at = start + ns;
  if (g_kinds.count(kind) == 0) {
    return;
  }
  std::vector<std::uint8_t> record(bytes_of(kind), 0xA5);
  put(record, 0, kind);
  const bool is_kernel = kind == kConcurrentKernel;
  const std::uint64_t moved = static_cast<std::uint64_t>(option("clock is off"));
  put(record, 16, option("unfinished") != 0 ? std::uint64_t{0} : start + moved);
  put(record, 24, option("unfinished") != 0 ? std::uint64_t{0} : start + ns + moved);
  put(record, is_kernel ? 40 : 32, std::uint32_t{0});
  put(record, is_kernel ? 48 : 40, std::uint32_t{7});
  put(record, is_kernel ? 92 : kind == kMemcpyPeer ? 60 : 44, correlation);
  if (is_kernel) {
    put(record, 104, g_names.insert(name).first->c_str());
    put(record, 144, graph_node);
  } else {
    put(record, 8, bytes);
  }
  if (kind == kMemcpy || kind == kMemset) {
    put(record, 64, graph_node);
  }
  if (kind == kMemcpy || kind == kMemcpyPeer) {
    put(record, 4, copy_kind);
  }
  if (option("late") != 0) {
    g_held.push_front(record);  // and in the wrong order
  } else {
    write(record);
  }
}

/// Reports one end of a call to the subscriber.
void report(const Function& function, std::uint32_t site, std::uint32_t correlation, std::uint64_t& data) {
  if (g_callback == nullptr || g_callbacks.count({function.domain, function.number}) == 0) {
    return;
  }
  const CallbackData call{site, function.name, nullptr, nullptr, nullptr, nullptr, 1, &data, correlation};
  g_callback(nullptr, function.domain, function.number, &call);
}

/// A node of a graph was made, or cloned from `original`, by a callback of the resource domain.
void report_node(std::uint32_t callback, std::uint64_t node, std::uint64_t original) {
  if (g_callback == nullptr || g_callbacks.count({3, callback}) == 0) {
    return;
  }
  const auto handle = [](std::uint64_t number) { return reinterpret_cast<void*>(number); };
  struct {
    void *graph, *original_graph, *node, *original_node;
  } const graph{nullptr, nullptr, handle(node), handle(original)};
  struct {
    void *context, *handle;
    const void* descriptor;
  } const resource{nullptr, nullptr, &graph};
  g_callback(nullptr, 3, callback, &resource);
}

template <typename Body>
void call(const Function& function, Body body) {
  std::uint64_t data = 0;
  std::uint32_t correlation = 0;
  {
    const std::lock_guard lock(g_mutex);
    correlation = ++g_correlation;
  }
  report(function, 0, correlation, data);
  {
    const std::lock_guard lock(g_mutex);
    body(correlation);
  }
  report(function, 1, correlation, data);
}

}  // namespace

// ---- CUPTI's side ---------------------------------------------------------------------------------------------------

CUPTI Result cuptiGetVersion(std::uint32_t* result) {
  *result = version();
  return count("GetVersion");
}
CUPTI Result cuptiGetResultString(Result result, const char** description) {
  static thread_local std::string text;
  text = "CUPTI_ERROR_" + std::to_string(result);
  *description = text.c_str();
  return kSuccess;
}
CUPTI Result cuptiSubscribe(void** subscriber, Callback callback, void* /*user*/) {
  if (g_callback != nullptr) {
    return kMultipleSubscribers;
  }
  const Result result = count("Subscribe");
  if (result == kSuccess) {
    g_callback = callback;
    *subscriber = &g_subscriber;
  }
  return result;
}
CUPTI Result cuptiUnsubscribe(void* subscriber) {
  if (subscriber != &g_subscriber) {
    return kInvalidParameter;
  }
  g_callback = nullptr;
  g_callbacks.clear();
  return count("Unsubscribe");
}
CUPTI Result cuptiEnableCallback(std::uint32_t enable, void* subscriber, std::uint32_t domain, std::uint32_t number) {
  if (subscriber != &g_subscriber) {
    return kInvalidParameter;
  }
  const Result result = count("EnableCallback");
  if (enable == 0) {
    g_callbacks.erase({domain, number});
  } else if (result == kSuccess) {
    g_callbacks.insert({domain, number});
  }
  return result;
}
CUPTI Result cuptiGetCallbackName(std::uint32_t domain, std::uint32_t number, const char** name) {
  for (const Function& function : kFunctions) {
    if (function.domain == domain && function.number == number) {
      *name = function.name;
      return kSuccess;
    }
  }
  return kInvalidParameter;
}
CUPTI Result cuptiActivityRegisterCallbacks(Requested requested, Completed completed) {
  g_requested = requested;
  g_completed = completed;
  return count("ActivityRegisterCallbacks");
}
CUPTI Result cuptiActivityEnable(std::uint32_t kind) {
  const Result result = option("refused kind") == static_cast<long>(kind) ? kNotInitialised : count("ActivityEnable");
  if (result == kSuccess) {
    g_kinds.insert(kind);
  }
  return result;
}
CUPTI Result cuptiActivityDisable(std::uint32_t kind) {
  g_kinds.erase(kind);
  return count("ActivityDisable");
}
CUPTI Result cuptiActivityFlushAll(std::uint32_t /*flag*/) {
  const std::lock_guard lock(g_mutex);
  for (; !g_held.empty(); g_held.pop_front()) {
    write(g_held.front());
  }
  if (g_buffer != nullptr) {
    complete(g_buffer, g_bytes, g_used);
    g_buffer = nullptr;
  }
  return count("ActivityFlushAll");
}
CUPTI Result cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid_bytes, void** record) {
  std::uint8_t* at = buffer;
  std::uint32_t kind = 0;
  if (*record != nullptr) {
    std::memcpy(&kind, *record, sizeof(kind));
    at = static_cast<std::uint8_t*>(*record) + bytes_of(kind);
  }
  if (at + sizeof(kind) > buffer + valid_bytes) {
    return kMaxLimitReached;
  }
  std::memcpy(&kind, at, sizeof(kind));
  *record = option("wild records") != 0 ? buffer - 64 : at;
  return bytes_of(kind) == 0 ? kInvalidKind : kSuccess;
}
CUPTI Result cuptiActivityGetNumDroppedRecords(void* /*context*/, std::uint32_t /*stream*/, std::size_t* dropped) {
  *dropped = g_dropped;
  g_dropped = 0;
  return kSuccess;
}
CUPTI Result cuptiGetTimestamp(std::uint64_t* timestamp) {
  *timestamp = now();
  return kSuccess;
}
CUPTI Result cuptiActivityRegisterTimestampCallback(Timestamp timestamp) {
  const Result result = count("ActivityRegisterTimestampCallback");
  g_timestamp = result == kSuccess ? timestamp : nullptr;
  g_free_at = 0;  // it was read from the other clock
  return result;
}
CUPTI Result cuptiGetGraphNodeId(void* node, std::uint64_t* id) {
  *id = reinterpret_cast<std::uintptr_t>(node);  // these nodes have no other address
  return count("GetGraphNodeId");
}
CUPTI Result cuptiFinalize() {
  g_timestamp = nullptr;
  return count("Finalize");
}

// ---- The tests' side ------------------------------------------------------------------------------------------------

/// An option by its name here; or, by the name of a function without "cupti", what that answers. Empty: forget all.
CUPTI void fake_set(const char* name, long value) {
  const std::lock_guard lock(g_mutex);
  if (*name == '\0') {
    g_options.clear();
    g_counts.clear();
    g_held.clear();
    g_free_at = 0;
  } else {
    g_options[name] = value;
  }
}
CUPTI long fake_count(const char* name) { return g_counts[name]; }
/// What CUPTI is still set to do: kinds of activities, callbacks, a subscriber, buffers.
CUPTI long fake_left() {
  return static_cast<long>(g_kinds.size() + g_callbacks.size()) + (g_callback != nullptr ? 1 : 0) +
         (g_buffer != nullptr ? 1 : 0);
}

/// A kernel by the runtime, which calls the driver; the record has the number of either.
CUPTI void fake_launch(const char* name, std::uint64_t ns) {
  call(kCudaLaunchKernel, [&](std::uint32_t runtime) {
    call(kCuLaunchKernel, [&](std::uint32_t driver) {
      run(kConcurrentKernel, option("number of the driver") != 0 ? driver : runtime, ns, name, 0, 0);
    });
  });
}
/// A kernel by the driver alone, as Triton launches.
CUPTI void fake_driver_launch(const char* name, std::uint64_t ns) {
  call(kCuLaunchKernel, [&](std::uint32_t correlation) { run(kConcurrentKernel, correlation, ns, name, 0, 0); });
}
/// A CUDA graph of several kernels.
CUPTI void fake_graph(int kernels, std::uint64_t ns) {
  call(kCudaGraphLaunch, [&](std::uint32_t correlation) {
    for (int i = 0; i < kernels; ++i) {
      run(kConcurrentKernel, correlation, ns, ("node" + std::to_string(i)).c_str(), 0, 0);
    }
  });
}
/// A kernel is captured: a node of the graph is made, and nothing runs.
CUPTI void fake_capture(const char* name) {
  call(kCudaLaunchKernel, [&](std::uint32_t) {
    g_captured.emplace_back(++g_last_node, name);
    report_node(13, g_last_node, 0);
  });
}
/// An instance of the graph is made, whose nodes are clones; what was captured before is forgotten.
CUPTI void fake_instantiate() {
  g_instance.clear();
  for (const auto& [node, name] : g_captured) {
    g_instance.emplace_back(++g_last_node, name);
    report_node(20, g_last_node, node);
  }
  g_captured.clear();
}
CUPTI void fake_replay(std::uint64_t ns) {
  call(kCudaGraphLaunch, [&](std::uint32_t correlation) {
    for (const auto& [node, name] : g_instance) {
      run(kConcurrentKernel, correlation, ns, name.c_str(), 0, 0, node);
    }
  });
}
CUPTI void fake_copy(int copy_kind, std::uint64_t bytes, std::uint64_t ns) {
  call(kCudaMemcpyAsync, [&](std::uint32_t correlation) {
    run(copy_kind == 10 ? kMemcpyPeer : kMemcpy, correlation, ns, "", bytes, static_cast<std::uint8_t>(copy_kind));
  });
}
CUPTI void fake_fill(std::uint64_t bytes, std::uint64_t ns) {
  call(kCudaMemsetAsync, [&](std::uint32_t correlation) { run(kMemset, correlation, ns, "", bytes, 0); });
}
/// Waits until the device is idle.
CUPTI void fake_synchronise() {
  call(kCudaGetDevice, [](std::uint32_t) {});
  call(kCudaDeviceSynchronize, [&](std::uint32_t) {
    while (now() < g_free_at) {
    }
  });
}
/// Work of CUPTI's own on this thread, that long.
CUPTI void fake_overhead(std::uint64_t ns) {
  const std::lock_guard lock(g_mutex);
  const std::uint64_t start = now();
  while (now() < start + ns) {
  }
  if (g_kinds.count(kOverhead) == 0) {
    return;
  }
  std::vector<std::uint8_t> record(bytes_of(kOverhead), 0);
  put(record, 0, static_cast<std::uint32_t>(kOverhead));
  put(record, 4, std::uint32_t{2U << 16U});
  put(record, 8, std::uint32_t{2});
  put(record, 16, static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(::pthread_self())));
  put(record, 24, start);
  put(record, 32, now());
  write(record);
}
/// A record that starts like a kernel's and is only that long.
CUPTI void fake_cut_off(std::size_t bytes) {
  const std::lock_guard lock(g_mutex);
  std::vector<std::uint8_t> record(std::max<std::size_t>(bytes, 4), 0xA5);
  put(record, 0, static_cast<std::uint32_t>(kConcurrentKernel));
  write(record);
  cuptiActivityFlushAll(0);
}
