// The links between the processes of a cluster, measured.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "jobs/record/network.h"

namespace ridgeline::app {

/// One process of several machines.
struct NetworkProcess {
  int rank = 0;
  std::string address;  ///< of rank 0, HOST:PORT
};

struct NetworkQuestion {
  std::string python;  ///< with torch; empty: found
  int ranks = 4;
  std::optional<NetworkProcess> process{};  ///< absent: all ranks are on this machine
  double seconds = 0.5;                     ///< for each size of message
  int largest_mib = 256;
};

/// Runs the processes of this machine, and waits for them for half an hour at most. Rank 0 has the figures, others have
/// none. The error is a sentence for the user.
base::Result<std::optional<jobs::MeasuredNetwork>> measure_network(const NetworkQuestion& question);

}  // namespace ridgeline::app
