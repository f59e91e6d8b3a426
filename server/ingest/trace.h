// The contents of a trace that a recording can represent: of torch.profiler, or of a report of Nsight Systems.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ridgeline::ingest {

inline constexpr std::uint32_t kNoNumber = 0xffffffffU;
inline constexpr std::uint64_t kNoId = ~std::uint64_t{0};

/// From the outside in, for events that begin and end at the same times.
enum class EventKind : std::uint8_t { kStep, kPython, kAnnotation, kOp, kCall, kMemory, kKernel, kCopy, kSet };

/// Whether the event is work of a device.
constexpr bool is_on_device(EventKind kind) { return kind >= EventKind::kKernel; }

/// Which members are set depends on the kind. Times are nanoseconds.
struct TraceEvent {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t external = kNoId;     ///< "External id" where it is that of the op
  std::uint64_t correlation = kNoId;  ///< of calls and what they ask for
  std::uint32_t name = 0;             ///< string
  std::uint32_t thread = 0;           ///< index into Trace::threads
  std::uint32_t device = 0;           ///< of memory, kernels, copies
  std::uint32_t stream = 0;           ///< of kernels and copies; of Python: the number of its module
  std::int64_t sequence = -1;
  std::uint64_t number = 0;    ///< of ops: "Fwd thread id"; of memory: the address; of copies: bytes
  std::int64_t bytes = 0;      ///< of memory: negative where it was freed
  std::uint64_t total = 0;     ///< of memory: allocated after the event
  std::uint64_t reserved = 0;  ///< of memory: likewise
  std::uint32_t stack = 0;     ///< string: "Call stack" of ops, innermost frame first; empty: none
  EventKind kind = EventKind::kOp;
};

/// What the arguments of a kernel say of the collective that it is: torch 2.2 and later.
struct TraceCollective {
  std::uint32_t event = 0;  ///< of Trace::events
  std::uint32_t call = 0;   ///< string: "allreduce"
  std::uint32_t group = 0;  ///< string: the name of the process group
  std::uint32_t ranks = 0;  ///< string: "[0, 1]", of the group; empty: not known
  std::uint32_t dtype = 0;  ///< string: "Float"
  std::uint64_t elements = 0;
};

/// The arguments of an op (`record_shapes=True`), each a list as compact JSON: strings; 0: not recorded.
struct TraceInputs {
  std::uint32_t event = 0;    ///< of Trace::events
  std::uint32_t sizes = 0;    ///< "[[8,16],[],[[4],[4]]]"
  std::uint32_t types = 0;    ///< "["float","Scalar","TensorList"]"
  std::uint32_t strides = 0;  ///< as the sizes; torch 2.2 and later
  std::uint32_t values = 0;   ///< "["","1",""]", of what is no tensor; torch 2.0 and later
};

struct TraceDevice {
  std::uint32_t index = 0;
  std::string name;
  std::uint64_t bytes = 0;
};

/// How many events of the trace could not be used, or not entirely.
struct TraceLosses {
  std::uint64_t without_time = 0;  ///< no ts, or one that is no time
  std::uint64_t before_zero = 0;   ///< read, and all times shifted
  std::uint64_t negative = 0;      ///< ends before it begins
  std::uint64_t overlapping = 0;   ///< ended after the enclosing event: cut there
  std::uint64_t too_many = 0;      ///< beyond the bounds
  std::uint64_t too_deep = 0;      ///< functions that count for the one at the deepest level that is told apart
};

/// What was wrong with the text of a trace, and what became of it.
struct TraceDamage {
  std::uint64_t places = 0;         ///< where it is not JSON
  std::string first{};              ///< of these: "at byte 1234 (line 5, column 6), near …"
  std::uint64_t repaired = 0;       ///< events that could be read all the same
  std::uint64_t lost = 0;           ///< events that could not
  std::uint64_t unpaired = 0;       ///< events that begin and do not end, or the other way round: left out
  std::uint64_t not_utf8 = 0;       ///< texts with bytes that are not UTF-8
  bool is_cut_off = false;          ///< it ends before its end
  bool has_more = false;            ///< there is something else behind its end
  bool is_archive_damaged = false;  ///< the compressed data is cut off, or not what was written
};

enum class TraceSource : std::uint8_t { kTorchProfiler, kNsightSystems };

/// Whose runtime launched what ran on devices.
enum class TracePlatform : std::uint8_t { kCuda, kRocm, kXpu };

struct Trace {
  TraceSource source = TraceSource::kTorchProfiler;
  TracePlatform platform = TracePlatform::kCuda;
  std::uint32_t main_thread = kNoNumber;  ///< where it is known without steps
  std::vector<TraceEvent> events;         ///< in the file's order
  std::vector<std::string> strings;       ///< 0 is empty
  std::vector<std::uint64_t> threads;     ///< identities, made of process and thread
  std::vector<TraceDevice> devices;
  std::vector<TraceCollective> collectives;  ///< by event
  std::vector<TraceInputs> inputs;           ///< by event; empty where they were not asked for
  std::uint32_t rank = kNoNumber;            ///< of the job that the process was part of; kNoNumber: not known
  std::uint32_t world_size = 0;              ///< ranks of the job; 0: not known
  std::uint64_t base_ns = 0;                 ///< to be added to times, for those since 1970
  TraceLosses losses;
  TraceDamage damage;
  std::uint64_t whole_graphs = 0;  ///< CUDA graphs that were traced as one activity each
  std::string why_no_steps;        ///< part of a sentence, where it was looked for steps and none were found
  std::vector<std::string> notes;  ///< sentences for the user: what was chosen of the file, and how
};

/// Removes the events whose place in `erased`, which has one for each, is true, and what refers to them.
void erase_events(Trace& trace, const std::vector<bool>& erased);

}  // namespace ridgeline::ingest
