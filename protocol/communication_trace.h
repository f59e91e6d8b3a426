// What a rank of a job sends of its communication during the recorded steps, beside its recording. Untrusted, as all
// that the user's processes send. server/jobs/record makes a jobs::RankRecord of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "protocol/communication.h"

namespace ridgeline::protocol {

/// A collective, as torch's flight recorder names it.
struct CollectiveCall {
  std::uint32_t group = 0;     ///< of CommunicationTrace::groups
  std::uint64_t sequence = 0;  ///< collectives of the group before it
  std::string kind;            ///< "all_reduce"
  std::uint64_t bytes = 0;     ///< of the tensors that go in
  std::string dtype;
};

/// A call of send or recv.
struct PointToPointCall {
  std::string function;  ///< of ProcessGroup: "send", "recv", "recv_anysource"
  std::uint32_t group = 0;
  int peer = -1;          ///< rank of the job; -1: any
  std::uint64_t tag = 0;  ///< the caller's
  std::uint64_t bytes = 0;
  std::string dtype;
};

/// A bucket of DistributedDataParallel, in the order of the all-reduces.
struct Bucket {
  int replica = 0;  ///< counts the DistributedDataParallel modules of the process
  int index = 0;
  std::uint64_t bytes = 0;
  std::vector<std::string> parameters;
  std::vector<std::uint64_t> sizes;  ///< bytes by parameter
};

struct Connection {
  std::string local;   ///< "127.0.0.1:41233"
  std::string remote;  ///< likewise
};

/// How Gloo's TCP transport uses a message.
enum class MessageKind : std::uint8_t { kBuffer = 0, kUnboundBuffer = 1, kSendReady = 2, kReceiveReady = 3 };

/// A message at a socket of Gloo's, as profiler/agent/gloo_messages.h has it.
struct GlooMessage {
  std::int64_t started_ns = 0;
  std::int64_t ended_ns = 0;
  std::uint64_t slot = 0;
  std::uint64_t bytes = 0;
  std::uint32_t connection = 0;  ///< of CommunicationTrace::connections
  MessageKind kind = MessageKind::kBuffer;
  bool sent = false;
  std::int64_t position = -1;  ///< of its first byte among all that the connection has carried this way; -1: not known
};

/// A call of Work.wait() by the thread that runs the steps.
struct WaitSpan {
  std::int64_t started_ns = 0;
  std::int64_t ended_ns = 0;
};

struct CommunicationTrace {
  std::string host;
  std::vector<std::int64_t> steps;  ///< numbers of the recorded iterations
  std::vector<jobs::Group> groups;
  std::vector<CollectiveCall> calls;  ///< as they were called
  std::vector<PointToPointCall> point_to_point;
  std::vector<WaitSpan> waits;
  std::vector<Bucket> buckets;
  std::vector<Connection> connections;
  std::vector<GlooMessage> messages;  ///< as they ended
  std::vector<std::string> warnings;  ///< what is missing, as sentences
};

inline constexpr std::size_t kMaxGroups = 4096;
inline constexpr std::size_t kMaxGroupRanks = 1U << 17U;
inline constexpr std::size_t kMaxCalls = 1U << 16U;
inline constexpr std::size_t kMaxMessages = 1U << 17U;
inline constexpr std::size_t kMaxConnections = 8192;

/// Throws std::exception where a member is missing or invalid.
CommunicationTrace communication_trace_from(const nlohmann::json& value);

}  // namespace ridgeline::protocol
