// What a reader of an imported profile must know about the trace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ingest/trace.h"
#include "ingest/trace_memory.h"

namespace ridgeline::ingest {

/// What was found in a trace, and what was not.
struct TraceContents {
  TraceSource source = TraceSource::kTorchProfiler;
  std::vector<std::string> notes{};
  std::string why_no_steps{};  ///< Trace::why_no_steps
  bool has_steps = false;
  bool has_python = false;       ///< functions, with the lines where they begin
  bool has_call_stacks = false;  ///< of ops, with the lines that ran
  bool has_operations = false;
  bool has_kernels = false;
  std::uint64_t launches = 0;
  std::uint64_t whole_graphs = 0;  ///< Trace::whole_graphs
  bool has_device = false;
  bool has_batch_size = false;  ///< from the user
  bool guessed_files = false;   ///< the user's files were recognised by their names only
  std::string project_root;
  MemoryKnown memory = MemoryKnown::kNothing;
  TraceLosses losses{};
  TraceDamage damage{};
};

/// What was wrong with the file and its events, and what became of that, as one phrase. Empty where nothing was, or
/// nothing that changes what is known.
std::string what_damaged(const TraceDamage& damage, const TraceLosses& losses);

/// Sentences for the user, what matters most first. Pure.
std::vector<std::string> import_warnings(const TraceContents& contents);

}  // namespace ridgeline::ingest
