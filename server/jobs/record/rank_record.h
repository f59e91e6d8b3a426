// What a rank sent and received, from its recording and what its process says of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/values/input.h"
#include "protocol/communication.h"
#include "protocol/communication_trace.h"
#include "protocol/recording.h"

namespace ridgeline::jobs {

/// A message of Gloo's with the collective that it belongs to; its peer is known once all ranks are.
struct TracedMessage {
  Transfer transfer;             ///< `peer` and `transaction` are set by connect_ranks()
  std::uint32_t connection = 0;  ///< of TracedRank::connections
  std::uint64_t place = 0;       ///< of send and recv its position in the connection, else its number in the collective
};

struct TracedRank {
  RankRecord record;  ///< without transfers
  std::vector<TracedMessage> messages;
  std::vector<protocol::Connection> connections;
  std::vector<std::string> warnings;  ///< what is missing, as sentences
};

/// Joins the calls that torch's flight recorder names to the operations of the recording: `c10d::…` on the thread that
/// calls, and `gloo:…` on the thread of the group, or the kernels of NCCL that the call launched. Where they do not
/// agree in number and kind, there are no collectives but a warning. Pure; takes time linear in the recording.
TracedRank trace_rank(const recording::Recording& recording, const protocol::CommunicationTrace& trace,
                      const analysis::SourceScope& scope, int rank, int world_size);

/// The records of all ranks with their transfers: a connection's peer is the rank that has the same connection from the
/// other side or, in a group of two ranks, the other one. Messages whose peer is not known, or whose ends do not agree
/// on their bytes, are left out, and `warnings` says how many.
std::vector<RankRecord> connect_ranks(std::vector<TracedRank> ranks, std::vector<std::string>& warnings);

}  // namespace ridgeline::jobs
