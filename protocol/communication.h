// What the ranks of a job sent each other during the iterations that were recorded.
//
// After dPRO (Hu et al., MLSys 2022), section 4.1: collectives as the framework calls them, and below them the sends
// and receives of single messages. All times are nanoseconds of the clock of the rank's own machine; clocks of
// different machines are not aligned.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ridgeline::jobs {

enum class CollectiveKind : std::uint8_t {
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kBroadcast,
  kReduce,
  kGather,
  kScatter,
  kAllToAll,
  kBarrier,
  kSend,     ///< point to point
  kReceive,  ///< point to point
  kOther,
};

/// A process group.
struct Group {
  std::string name;
  std::string backend;     ///< "gloo", "nccl"
  std::vector<int> ranks;  ///< of the job, in the order of the group
};

/// A call of torch.distributed, or of DDP for a bucket.
struct Collective {
  CollectiveKind kind = CollectiveKind::kOther;
  std::uint32_t group = 0;  ///< of RankRecord::groups
  /// Collectives of the group before this one: equal on all of its ranks. Of send and recv the transaction of its
  /// message: equal at both ends.
  std::uint64_t sequence = 0;
  std::uint64_t bytes = 0;      ///< of the tensors of this rank
  std::string dtype;            ///< "float32"
  int peer = -1;                ///< rank of the job that is sent to or received from, or the root; -1: all
  std::int64_t called_ns = 0;   ///< the call by the host
  std::int64_t started_ns = 0;  ///< its first byte, or kernel, or turn on the group's own thread
  std::int64_t ended_ns = 0;    ///< its result is there: the group's thread notes it, or who waited for it goes on
  std::int64_t waited_ns = 0;   ///< how long host threads waited for the result
  std::uint32_t iteration = 0;  ///< of RankRecord::iterations, in which it was called
  int bucket = -1;              ///< of DDP; -1: not by DDP
  std::vector<std::string> parameters{};         ///< of the bucket, by their names
  std::vector<std::uint64_t> parameter_bytes{};  ///< of each of them; empty: not recorded
  std::string file{};  ///< the user line that called it; of a bucket, that which runs backward
  int line = 0;
};

/// A message between two ranks, as one end saw it.
struct Transfer {
  std::uint32_t collective = 0;   ///< of RankRecord::collectives
  bool sends = false;             ///< otherwise it receives
  int peer = 0;                   ///< rank of the job
  std::uint64_t transaction = 0;  ///< counts the messages from sender to receiver: equal at both ends
  std::uint64_t bytes = 0;
  std::int64_t started_ns = 0;  ///< of a receive: when it was posted, which may be before the data was on its way
  std::int64_t ended_ns = 0;
};

struct Iteration {
  std::int64_t step = 0;  ///< how many steps the script had taken: equal on all ranks
  std::int64_t started_ns = 0;
  std::int64_t ended_ns = 0;
};

/// A stretch of time.
struct Interval {
  std::int64_t started_ns = 0;
  std::int64_t ended_ns = 0;
};

/// The recording of one process of the job.
struct RankRecord {
  int rank = 0;
  int world_size = 1;
  std::string host;
  std::vector<Group> groups{};
  std::vector<Iteration> iterations{};
  std::vector<Collective> collectives{};  ///< as they were called
  std::vector<Transfer> transfers{};      ///< as they began
  /// Collectives are kernels of a device, which waits in them for the other ranks: Collective::waited_ns is not used.
  bool on_device = false;
  std::vector<Interval> computing{};  ///< when the device runs other kernels or copies; in order, and apart
};

}  // namespace ridgeline::jobs
