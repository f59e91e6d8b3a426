// A job of which each rank was recorded by torch.profiler on a device: its ranks as `ridgeline profile --job` has them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/values/input.h"
#include "analysis/values/traced_rank.h"
#include "base/result.h"
#include "protocol/communication.h"
#include "protocol/recording.h"

namespace ridgeline::jobs {

struct RankTrace {
  std::string file;  ///< for messages
  std::string host;  ///< empty: not known
  analysis::TracedRank traced{};
  recording::Recording recording{};  ///< of the same trace
  analysis::SourceScope scope{};
};

struct TracedJob {
  std::vector<RankRecord> records;    ///< by rank
  std::vector<std::string> warnings;  ///< what is not known, as sentences
};

/// Records whose collectives are kernels (RankRecord::on_device): they begin where the rank's kernel does. Of traces
/// that name no process groups, the collectives of one kind on one stream are numbered within each step, and belong to
/// all ranks. Where no host is known, clocks whose times contradict no order of events are taken to be one. Fails when
/// a trace does not tell its rank, steps or collectives, when a rank is there twice, and, without process groups, when
/// the ranks call different collectives. Pure.
base::Result<TracedJob> traced_job(std::vector<RankTrace> traces);

/// Bytes of an element of a type as torch's traces name it ("Float", "BFloat16"); 0: not known.
std::uint64_t element_bytes(std::string_view dtype);

}  // namespace ridgeline::jobs
