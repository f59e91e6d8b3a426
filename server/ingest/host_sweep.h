// What the host's threads did, event by event: ops, calls, allocator events and their Python stacks.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ingest/columns_builder.h"
#include "ingest/trace.h"
#include "ingest/trace_files.h"

namespace ridgeline::ingest {

/// A call before its place among the others is known.
struct PendingCall {
  std::uint16_t thread = 0;
  recording::Call kind = recording::Call::kOther;
  std::uint32_t name = 0;
  std::uint32_t op = recording::kNone;
  std::uint32_t node = 0;
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t correlation = kNoId;
};

struct PendingMemory {
  std::uint32_t event = 0;  ///< of the trace
  std::uint32_t op = recording::kNone;
  std::uint32_t node = 0;
  std::uint16_t thread = 0;
};

struct HostSweep {
  std::vector<PendingCall> calls;
  std::vector<PendingMemory> memory;
  std::vector<std::uint32_t> op_event;                              ///< of the trace, by op
  std::unordered_map<std::uint64_t, std::uint32_t> op_of_external;  ///< of the requested external ids
  std::unordered_map<std::uint64_t, std::uint64_t> module_calls;    ///< instance → all calls
  bool has_python = false;                                          ///< functions, with the lines where they begin
  bool has_call_stacks = false;                                     ///< of ops, with the lines that ran
};

/// `order`: the trace's threads, that of the iterations first. Ops, stacks, instances and samples are added to
/// `builder`; events that overlap are cut and counted in `losses`.
HostSweep sweep_host(const Trace& trace, const std::vector<std::uint32_t>& order, const TraceFiles& files,
                     const std::unordered_set<std::uint64_t>& externals, ColumnsBuilder& builder, TraceLosses& losses);

}  // namespace ridgeline::ingest
