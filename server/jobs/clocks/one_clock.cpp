#include "jobs/clocks/one_clock.h"

#include <algorithm>
#include <utility>

#include "jobs/clocks/happens_before.h"

namespace ridgeline::jobs {

namespace {

void shift(RankRecord& record, const ClockOffset& clock) {
  const auto to_first = [&](std::int64_t& ns) { ns = clock.aligned(ns); };
  for (Iteration& iteration : record.iterations) {
    to_first(iteration.started_ns);
    to_first(iteration.ended_ns);
  }
  for (Collective& collective : record.collectives) {
    to_first(collective.called_ns);
    to_first(collective.started_ns);
    to_first(collective.ended_ns);
  }
  for (Interval& interval : record.computing) {
    to_first(interval.started_ns);
    to_first(interval.ended_ns);
  }
  for (Transfer& transfer : record.transfers) {
    to_first(transfer.started_ns);
    to_first(transfer.ended_ns);
  }
}

}  // namespace

base::Result<OneClock> on_one_clock(std::vector<RankRecord> records) {
  auto orders = happens_before(records);
  if (!orders) {
    return orders.error();
  }
  auto clocks = align_clocks(*orders);
  if (!clocks) {
    return clocks.error();
  }
  for (RankRecord& record : records) {
    const auto machine = std::ranges::find(orders->machines, record.host) - orders->machines.begin();
    if (machine > 0) {
      shift(record, (*clocks)[static_cast<std::size_t>(machine)]);
    }
    record.host = orders->machines.front();
  }
  return OneClock{std::move(records), std::move(orders->machines), std::move(*clocks)};
}

}  // namespace ridgeline::jobs
