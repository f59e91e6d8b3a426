// The rows of a report's tables as events of a trace, of all processes.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "ingest/read_trace.h"
#include "ingest/trace.h"
#include "store/foreign_tables.h"

namespace ridgeline::ingest {

/// A thread is named by its process and its number in it; the process itself has the number 0.
constexpr std::uint64_t process_of(std::uint64_t thread) { return thread & ~std::uint64_t{0xffffff}; }
constexpr std::uint32_t pid_of(std::uint64_t thread) { return static_cast<std::uint32_t>((thread >> 24U) & 0xffffffU); }

struct NsysRows {
  Trace trace;                             ///< events in the order of the tables; threads are global numbers
  std::vector<std::uint32_t> user_ranges;  ///< events: annotations in NVTX's own domain
  std::unordered_map<std::uint64_t, std::string> process_names;
};

/// Throws ImportError where there are more events than `limits` has, and ForeignTablesError. A range without an end, as
/// of a process that was killed, is counted as one without a time.
NsysRows read_nsys_rows(store::ForeignTables& tables, const TraceLimits& limits);

}  // namespace ridgeline::ingest
