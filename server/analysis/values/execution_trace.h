// What a rank executed, as nodes that wait for each other: MLCommons Chakra's execution traces.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocol/communication.h"

namespace ridgeline::analysis {

struct ExecutionNode {
  enum class Type : std::uint8_t { kOther, kMemory, kCompute, kSend, kReceive, kCollective };
  std::uint64_t id = 0;
  std::string name{};
  Type type = Type::kOther;
  std::vector<std::uint64_t> after{};  ///< ids of those that it waits for
  std::uint64_t duration_us = 0;
  bool on_host = true;
  jobs::CollectiveKind kind = jobs::CollectiveKind::kOther;  ///< of communication
  std::string group{};                                       ///< of a collective, its name
  std::uint64_t bytes = 0;                                   ///< of communication
  int root = -1;                                             ///< of a collective; -1: none
  int from = -1;                                             ///< of a message: ranks, and what tells it from others
  int to = -1;
  std::int64_t tag = 0;
  std::string line{};  ///< "train.py:22", as Ridgeline's own traces have it; empty: not known
};

struct ExecutionTrace {
  int rank = 0;
  std::vector<ExecutionNode> nodes;  ///< as in the file; ids are distinct
};

}  // namespace ridgeline::analysis
