// A report of Nsight Systems, exported as SQLite, becomes a Trace.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ingest/read_trace.h"
#include "ingest/step_boundary.h"
#include "ingest/trace.h"
#include "store/foreign_tables.h"

namespace ridgeline::ingest {

struct NsysOptions {
  std::optional<std::uint32_t> process{};  ///< the one that is read, of several; none: that with most steps
  StepBoundary boundary{};
};

/// What is read of one process: CUDA's calls, kernels, copies and synchronisations, and NVTX ranges. Every table and
/// every column may be missing, since versions differ. The steps are those of find_steps(). Throws ImportError for
/// files that are none of Nsight Systems, have nothing of that, are damaged, or have more events than `limits`.
Trace read_nsys(store::ForeignTables& tables, const NsysOptions& options = {}, const TraceLimits& limits = {});

/// Whether the file is a report that was not exported, going by its name and its first bytes.
bool is_unexported_report(std::string_view path, std::string_view first_bytes);

}  // namespace ridgeline::ingest
