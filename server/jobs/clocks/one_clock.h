// The records of ranks on several machines, with all times by one clock.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "jobs/clocks/align_clocks.h"
#include "protocol/communication.h"

namespace ridgeline::jobs {

struct OneClock {
  /// As they were given, but for their times, which are by the clock of the first machine, and their `host`, which is
  /// its name.
  std::vector<RankRecord> records;
  std::vector<std::string> machines;  ///< by their first rank
  std::vector<ClockOffset> clocks;    ///< of each machine
};

/// Fails as happens_before() and align_clocks() do. Of one machine nothing is changed. Pure.
base::Result<OneClock> on_one_clock(std::vector<RankRecord> records);

}  // namespace ridgeline::jobs
