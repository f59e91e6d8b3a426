// The graph of a whole job: the graphs of its ranks, joined by their collectives.
//
// dPRO (MLSys 2022), sections 4.1 and 4.3. Ranks that do the same are one part of the graph, whatever their number: the
// size of the graph depends on how many ranks differ.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "jobs/network/collective_cost.h"
#include "protocol/communication.h"
#include "step/graph/graph.h"
#include "step/simulate/schedule_analysis.h"
#include "step/simulate/simulate.h"

namespace ridgeline::jobs {

/// Which ranks' start the end of a collective waits for.
enum class Awaits : std::uint8_t {
  kAll,   ///< the last rank's, and its own
  kRoot,  ///< the root's, and its own
  kOwn,
};

/// What was recorded of a collective that the network does not tell the duration of.
struct RecordedCall {
  double cost_ns = 0;  ///< from the last start that it waits for to its end on this rank
  Awaits awaits = Awaits::kAll;
  bool is_root = false;
  double alone_ns = 0;    ///< of cost_ns, since the collective before it of its group on this rank was over
  bool overlaps = false;  ///< it began before that
};

/// A task of a rank's graph that stands for a collective: its duration is not used.
struct Call {
  step::TaskId task = 0;
  CollectiveKind kind = CollectiveKind::kAllReduce;
  std::uint64_t sequence = 0;  ///< equal on all ranks of the group
  double bytes = 0;            ///< of the whole tensor
  int bucket = -1;             ///< of DDP; -1: none
  std::uint32_t group = 0;     ///< 0: all ranks; another one: those that call it, and all of its calls are recorded
  std::optional<RecordedCall> recorded{};
};

/// Ranks that do the same at the same time.
struct EqualRanks {
  std::vector<int> ranks{};
  step::Graph graph{};  ///< of one of them; it has an end
  std::vector<Call> calls{};
};

struct Network {
  Algorithm algorithm = Algorithm::kRing;
  Link slowest{};            ///< of those that a ring or tree over all ranks uses
  int ranks_of_machine = 1;  ///< messages between the same two machines share a link, which is like the slowest
};

enum class Joining : std::uint8_t {
  kWhole,    ///< a collective takes cost_ns over the slowest link after its last rank began
  kMessages  ///< each message is a task on the link of its machines, which messages share in equal parts
};

struct JobGraph {
  struct Part {
    std::vector<int> ranks{};
    step::TaskId first = 0;  ///< of its tasks, which have their order from the rank's graph
    step::TaskId count = 0;
    std::vector<step::MemoryChange> memory{};  ///< tasks as in the job's graph
    std::int64_t bytes_at_start = 0;
  };
  struct Collective {
    CollectiveKind kind = CollectiveKind::kAllReduce;
    std::uint64_t sequence = 0;
    int bucket = -1;
    std::vector<std::size_t> parts{};    ///< that call it; ascending
    std::vector<step::TaskId> starts{};  ///< of each; it takes no time
    std::vector<step::TaskId> ends{};    ///< of each; it takes no time
  };
  step::Graph graph{};
  std::vector<Part> parts{};
  std::vector<Collective> collectives{};
};

/// All ranks take part in all collectives of group 0. A recorded call takes what was recorded, whatever the joining,
/// and is of a part with one rank. Fails when ranks call different collectives, when a kind is not modelled, when a
/// rank is in two parts, and when there would be too many resources or messages.
base::Result<JobGraph> join(const std::vector<EqualRanks>& ranks, const Network& network, Joining joining);

/// The memory peak of one rank of the part.
step::MemoryPeak memory_peak(const JobGraph& job, std::size_t part, const step::Schedule& schedule);

}  // namespace ridgeline::jobs
