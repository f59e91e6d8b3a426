// Which event on one machine cannot have been before which on another, as the ranks of a job recorded them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "protocol/communication.h"

namespace ridgeline::jobs {

/// `before_ns`, by the clock of machine `from`, was not after `after_ns`, by that of machine `to`.
struct Order {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::int64_t before_ns = 0;
  std::int64_t after_ns = 0;
};

/// The end, by the clocks of two machines, of one collective on devices whose result every rank gets from all ranks.
struct CommonEnd {
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  std::int64_t first_ns = 0;
  std::int64_t second_ns = 0;
};

struct HappensBefore {
  std::vector<std::string> machines{};  ///< hosts, as they first appear: machine 0 is that of the first rank
  std::vector<Order> orders{};          ///< between different machines
  std::vector<CommonEnd> ends{};        ///< likewise
  std::size_t unmatched = 0;            ///< sends or receives whose other end was not recorded
};

/// A receive ends after its send started; a collective ends on no rank before the last rank that contributes to it
/// began. Fails when records are of different jobs, one rank is there twice, or an index or a time is out of range.
base::Result<HappensBefore> happens_before(std::span<const RankRecord> ranks);

}  // namespace ridgeline::jobs
