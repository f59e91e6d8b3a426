// What decides how long the iteration of a job takes: ranks, lines and buckets of its critical path, and late_ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/values/job_report.h"
#include "jobs/replay/job_graph.h"

namespace ridgeline::jobs {

/// Time of the critical path that belongs together.
struct PathShare {
  int part = -1;           ///< of JobGraph::parts; -1: of a collective or a message
  std::uint32_t line = 0;  ///< of Graph::lines, when of a part; 0: none
  int collective = -1;     ///< of JobGraph::collectives; -1: of a part, or of a message
  std::int64_t ns = 0;
};

/// The longest first; they sum to the iteration. Of a job that is joined whole, what a collective takes after its last
/// rank began is the collective's; with messages, each message is by itself and only the last latency is.
std::vector<PathShare> critical_shares(const JobGraph& job, const step::Schedule& schedule);

/// A part that others wait for.
struct LateRank {
  std::size_t part = 0;
  std::int64_t late_ns = 0;    ///< how much later collectives began than the next latest part would have let them
  std::uint32_t line = 0;      ///< of Graph::lines: where it takes most more than the median of the others; 0: nowhere
  std::int64_t excess_ns = 0;  ///< by how much
};

/// The one that delays most first. None where parts are equally late.
std::vector<LateRank> late_ranks(const JobGraph& job, const step::Schedule& schedule);

/// What the thread of a rank's graph does by line: means of one of its `steps` steps, the longest first. Work of no
/// line of the user's is left out.
std::vector<analysis::LineTime> thread_times(const step::Graph& rank, std::size_t steps);

}  // namespace ridgeline::jobs
