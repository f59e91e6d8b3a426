// CUPTI's binary interface, as far as the collector uses it: numbers, functions, and where fields lie in its records.
//
// The user's machine need not have CUPTI's headers, so the facts are stated here; tests/integration/test_cupti_abi.py
// checks them against the headers of every version that torch's wheels bring. From CUDA 11.8 to 13.5 records have grown
// nine times, always at their ends: the fields below have not moved.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ridgeline::agent::cupti {

/// The result of cuptiGetVersion(). 18 is CUDA 11.8 to 12.1; from 13.0 on it is 10000 times the major version and more.
/// Another major version may move fields: it is refused until the test above knows it.
inline constexpr std::uint32_t kOldestVersion = 18;
inline constexpr std::uint32_t kNewestVersion = 139999;

using Result = std::uint32_t;  ///< CUptiResult
inline constexpr Result kSuccess = 0;
inline constexpr Result kMaxLimitReached = 12;      ///< no more records in a buffer
inline constexpr Result kNotInitialised = 15;       ///< among others: no driver
inline constexpr Result kInvalidKind = 21;          ///< the next record of a buffer is not whole
inline constexpr Result kNotPermitted = 35;         ///< CUPTI_ERROR_INSUFFICIENT_PRIVILEGES
inline constexpr Result kMultipleSubscribers = 39;  ///< another tool has subscribed

/// CUpti_ActivityKind
enum class Kind : std::uint32_t {
  kMemcpy = 1,
  kMemset = 2,
  kKernel = 3,
  kConcurrentKernel = 10,
  kOverhead = 17,
  kMemcpyPeer = 22,  ///< from one device to another
};

/// CUpti_ActivityMemcpyKind; "array" is CUDA's own memory for textures, on the device.
enum class CopyKind : std::uint8_t {
  kUnknown = 0,
  kHostToDevice = 1,
  kDeviceToHost = 2,
  kHostToArray = 3,
  kArrayToHost = 4,
  kHostToHost = 9,
  kPeerToPeer = 10,  ///< the last one; all others are within the device
};

/// CUpti_ActivityOverheadKind: those that are CUPTI's own work, and not the driver's.
inline constexpr std::uint32_t kBufferFlush = 1U << 16U;
inline constexpr std::uint32_t kInstrumentation = 2U << 16U;
inline constexpr std::uint32_t kResource = 3U << 16U;
inline constexpr std::uint32_t kBufferRequest = 7U << 16U;
inline constexpr std::uint32_t kThreadObject = 2;  ///< CUPTI_ACTIVITY_OBJECT_THREAD

/// Where the fields of a kernel, a copy or a set lie, in bytes. `bytes` and `name` are 0 where a record has none.
struct ActivityLayout {
  std::size_t start;
  std::size_t end;
  std::size_t device;
  std::size_t stream;
  std::size_t correlation;
  std::size_t bytes;
  std::size_t name;
  std::size_t graph_node;   ///< the id of the node that a graph replayed; 0: it was none. The offset 0: not used
  std::size_t least_bytes;  ///< of the record: what must be readable
};
inline constexpr ActivityLayout kKernelLayout = {16, 24, 40, 48, 92, 0, 104, 144, 152};
inline constexpr ActivityLayout kMemcpyLayout = {16, 24, 32, 40, 44, 8, 0, 64, 72};
inline constexpr ActivityLayout kMemcpyPeerLayout = {16, 24, 32, 40, 60, 8, 0, 0, 64};
inline constexpr ActivityLayout kMemsetLayout = {16, 24, 32, 40, 44, 8, 0, 64, 72};
inline constexpr std::size_t kKindOffset = 0;      ///< of every record
inline constexpr std::size_t kCopyKindOffset = 4;  ///< of both records of copies, one byte

struct OverheadLayout {
  std::size_t kind;
  std::size_t object_kind;
  std::size_t thread;  ///< the lower half of pthread_self(), where the object is a thread
  std::size_t start;
  std::size_t end;
  std::size_t least_bytes;
};
inline constexpr OverheadLayout kOverheadLayout = {4, 8, 16, 24, 32, 40};

/// CUpti_CallbackDomain
inline constexpr std::uint32_t kDriverDomain = 1;
inline constexpr std::uint32_t kRuntimeDomain = 2;
inline constexpr std::uint32_t kResourceDomain = 3;
/// CUpti_CallbackIdResource
inline constexpr std::uint32_t kGraphNodeCreated = 13;
inline constexpr std::uint32_t kGraphNodeCloned = 20;
/// Functions are numbered from 1; CUDA 13.0 has 806 in the driver.
inline constexpr std::uint32_t kMaxFunctions = 4096;

/// CUpti_CallbackData
struct CallbackData {
  std::uint32_t site;  ///< 0: the function begins, 1: it ends
  const char* function_name;
  const void* parameters;
  void* return_value;
  const char* symbol_name;
  void* context;
  std::uint32_t context_id;
  std::uint64_t* correlation_data;  ///< ours, from the begin of a call to its end; 0 at first
  std::uint32_t correlation;
};

/// CUpti_GraphData, as far as it is used: handles of the driver.
struct GraphData {
  void* graph;
  void* original_graph;
  void* node;
  void* original_node;  ///< of a clone: that of the graph which is instantiated
};

/// CUpti_ResourceData
struct ResourceData {
  void* context;
  void* handle;
  const void* descriptor;  ///< of a node: its GraphData
};

using Subscriber = void*;
using Context = void*;
using Callback = void (*)(void* user, std::uint32_t domain, std::uint32_t function, const void* data);
using BufferRequested = void (*)(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records);
using BufferCompleted = void (*)(Context context, std::uint32_t stream, std::uint8_t* buffer, std::size_t bytes,
                                 std::size_t valid_bytes);
using Timestamp = std::uint64_t (*)();
using NextRecord = Result (*)(std::uint8_t* buffer, std::size_t valid_bytes, void** record);

/// Every function that is used: the member and the symbol's name after "cupti".
#define RIDGELINE_CUPTI_FUNCTIONS(FUNCTION)                                                            \
  FUNCTION(get_version, GetVersion, (std::uint32_t*))                                                  \
  FUNCTION(get_result_string, GetResultString, (Result, const char**))                                 \
  FUNCTION(subscribe, Subscribe, (Subscriber*, Callback, void*))                                       \
  FUNCTION(unsubscribe, Unsubscribe, (Subscriber))                                                     \
  FUNCTION(enable_callback, EnableCallback, (std::uint32_t, Subscriber, std::uint32_t, std::uint32_t)) \
  FUNCTION(get_callback_name, GetCallbackName, (std::uint32_t, std::uint32_t, const char**))           \
  FUNCTION(register_callbacks, ActivityRegisterCallbacks, (BufferRequested, BufferCompleted))          \
  FUNCTION(enable, ActivityEnable, (Kind))                                                             \
  FUNCTION(disable, ActivityDisable, (Kind))                                                           \
  FUNCTION(flush_all, ActivityFlushAll, (std::uint32_t))                                               \
  FUNCTION(next_record, ActivityGetNextRecord, (std::uint8_t*, std::size_t, void**))                   \
  FUNCTION(dropped_records, ActivityGetNumDroppedRecords, (Context, std::uint32_t, std::size_t*))      \
  FUNCTION(get_timestamp, GetTimestamp, (std::uint64_t*))                                              \
  FUNCTION(register_timestamp, ActivityRegisterTimestampCallback, (Timestamp))                         \
  FUNCTION(get_graph_node_id, GetGraphNodeId, (void*, std::uint64_t*))                                 \
  FUNCTION(finalize, Finalize, ())

struct Functions {
#define RIDGELINE_CUPTI_MEMBER(member, symbol, parameters) Result(*member) parameters = nullptr;
  RIDGELINE_CUPTI_FUNCTIONS(RIDGELINE_CUPTI_MEMBER)
#undef RIDGELINE_CUPTI_MEMBER
};

}  // namespace ridgeline::agent::cupti
