#include "jobs/clocks/align_clocks.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "jobs/clocks/align_by_ends.h"
#include "jobs/clocks/linear_program.h"

namespace ridgeline::jobs {

namespace {

constexpr std::size_t kMostAtOnce = 16;
constexpr double kMostDrift = 1e-3;      ///< two clocks that NTP slews apart, each by its most of 500 ppm
constexpr double kUsualDrift = 1e-4;     ///< of two clocks that are right within 50 ppm
constexpr double kLeastSlack = 2e-3;     ///< microseconds: rounding to nanoseconds then keeps every order
constexpr double kSettledWithin = 5e-4;  ///< microseconds: so much less keeps a slack that was found possible
constexpr std::int64_t kLongestNs = 1'000'000'000'000'000;  ///< 11 days

/// The offset of machine m > 0 is base + variable 2(m-1) + variable 2(m-1)+1 × position, in microseconds; the position
/// goes from -1 to 1 while the machine's record lasts, or less where another's lasts longer.
struct Problem {
  const HappensBefore& recorded;
  std::vector<ClockOffset> clocks;
  double half_ns = 1;
  std::vector<Row> rows;  ///< one for each order, then the bounds of the drift

  double position(std::size_t machine, std::int64_t ns) const {
    const ClockOffset& clock = clocks[machine];
    const double from_begin = static_cast<double>(ns - clock.begin_ns);
    return (from_begin - static_cast<double>(clock.end_ns - clock.begin_ns) / 2) / half_ns;
  }
};

std::optional<base::Error> find_spans(Problem& problem) {
  const auto widen = [&](std::uint32_t machine, std::int64_t ns) {
    ClockOffset& clock = problem.clocks[machine];
    clock.begin_ns = std::min(clock.begin_ns, ns);
    clock.end_ns = std::max(clock.end_ns, ns);
  };
  for (ClockOffset& clock : problem.clocks) {
    clock.begin_ns = std::numeric_limits<std::int64_t>::max();
    clock.end_ns = std::numeric_limits<std::int64_t>::min();
  }
  for (const Order& order : problem.recorded.orders) {
    widen(order.from, order.before_ns);
    widen(order.to, order.after_ns);
  }
  for (std::size_t machine = 0; machine < problem.clocks.size(); ++machine) {
    const ClockOffset& clock = problem.clocks[machine];
    const std::string& name = problem.recorded.machines[machine];
    if (clock.begin_ns > clock.end_ns) {
      return base::error("the clock of " + name + " cannot be aligned: no message from or to it was recorded");
    }
    if (clock.end_ns - clock.begin_ns > kLongestNs) {
      return base::error("the record of " + name + " lasts more than 11 days by its clock, which was set meanwhile");
    }
    problem.half_ns = std::max(problem.half_ns, static_cast<double>(clock.end_ns - clock.begin_ns) / 2);
  }
  return std::nullopt;
}

/// Offsets without drift along a tree of machines that exchanged something: so near that the rest is small.
std::optional<base::Error> find_bases(Problem& problem) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> least;  ///< of offset(second) - offset(first)
  for (const Order& order : problem.recorded.orders) {
    const std::int64_t bound = order.before_ns - order.after_ns;
    const auto [at, fresh] = least.try_emplace({order.from, order.to}, bound);
    if (!fresh) {
      at->second = std::max(at->second, bound);
    }
  }
  std::vector<bool> known(problem.clocks.size());
  std::vector<std::uint32_t> queue = {0};
  known[0] = true;
  for (std::size_t at = 0; at < queue.size(); ++at) {
    for (std::uint32_t other = 0; other < known.size(); ++other) {
      const auto low = least.find({queue[at], other});
      const auto high = least.find({other, queue[at]});
      if (known[other] || (low == least.end() && high == least.end())) {
        continue;
      }
      const std::int64_t lowest = low != least.end() ? low->second : -high->second;
      const std::int64_t highest = high != least.end() ? -high->second : lowest;
      problem.clocks[other].base_ns = problem.clocks[queue[at]].base_ns + lowest + (highest - lowest) / 2;
      known[other] = true;
      queue.push_back(other);
    }
  }
  const auto lost = std::ranges::find(known, false);
  if (lost == known.end()) {
    return std::nullopt;
  }
  return base::error("the clock of " + problem.recorded.machines[static_cast<std::size_t>(lost - known.begin())] +
                     " cannot be aligned to that of " + problem.recorded.machines[0] +
                     ": nothing was recorded between them");
}

Row row_of(const Problem& problem, const Order& order) {
  const auto base = problem.clocks[order.to].base_ns - problem.clocks[order.from].base_ns;
  Row row{.bound = static_cast<double>(order.after_ns - order.before_ns + base) / 1e3};
  if (order.from > 0) {
    row.terms[0] = {2 * (order.from - 1UL), 1};
    row.terms[1] = {2 * (order.from - 1UL) + 1, problem.position(order.from, order.before_ns)};
  }
  if (order.to > 0) {
    row.terms[2] = {2 * (order.to - 1UL), -1};
    row.terms[3] = {2 * (order.to - 1UL) + 1, -problem.position(order.to, order.after_ns)};
  }
  return row;
}

void make_rows(Problem& problem) {
  for (const Order& order : problem.recorded.orders) {
    problem.rows.push_back(row_of(problem, order));
  }
  const double most = kMostDrift * problem.half_ns / 1e3;
  for (std::size_t machine = 1; machine < problem.clocks.size(); ++machine) {
    for (const double sign : {1.0, -1.0}) {
      Row row{.bound = most};
      row.terms[0] = {2 * (machine - 1) + 1, sign};
      problem.rows.push_back(row);
    }
  }
}

base::Error unsolved(const Problem& problem, Optimum::Outcome outcome) {
  switch (outcome) {
    case Optimum::Outcome::kUnbounded: {
      return base::error("the clocks of " + problem.recorded.machines[0] +
                         " and the other machines cannot be aligned: between some of them messages went in one "
                         "direction only; record collectives of all ranks");
    }
    case Optimum::Outcome::kInfeasible: {
      return base::error(
          "no offsets of the machines' clocks agree with the order of what was sent and received: a clock was set "
          "while the job was recorded, or records are of different runs; record the job again");
    }
    case Optimum::Outcome::kFound:
    case Optimum::Outcome::kNotSolved:
      break;
  }
  return base::error("the offsets of the machines' clocks were not found in the steps that are allowed");
}

/// Pairs of machines, each with its slack where it is settled: that of its tightest order in either direction.
using Slacks = std::map<std::pair<std::uint32_t, std::uint32_t>, std::optional<double>>;

/// The orders with the slack of their pair, where it is not settled as the last variable.
std::vector<Row> rows_with_slack(const Problem& problem, const Slacks& slacks, std::size_t tightest) {
  std::vector<Row> rows = problem.rows;
  for (std::size_t place = 0; place < problem.recorded.orders.size(); ++place) {
    const Order& order = problem.recorded.orders[place];
    const std::optional<double>& slack = slacks.at(std::minmax(order.from, order.to));
    if (slack.has_value()) {
      rows[place].bound -= *slack - kSettledWithin;
    } else {
      rows[place].terms[4] = {tightest, 1};
    }
  }
  Row least{.bound = -kLeastSlack};
  least.terms[0] = {tightest, -1};
  rows.push_back(least);
  return rows;
}

/// Fixes the slack of the pairs that decide an optimum at that of the tightest. False where it fixes no further pair.
bool settle(const Problem& problem, const Optimum& found, Slacks& slacks) {
  bool any = false;
  for (const std::size_t place : found.deciding) {
    if (place >= problem.recorded.orders.size()) {
      continue;
    }
    const Order& order = problem.recorded.orders[place];
    std::optional<double>& slack = slacks[std::minmax(order.from, order.to)];
    any = any || !slack.has_value();
    if (!slack.has_value()) {
      slack = found.variables.back();
    }
  }
  return any;
}

/// Maximises the slack of the tightest pair of machines, then that of the tightest of the others, and so on until all
/// offsets and drifts are known. The sum of all slacks would not do: pairs that only ever wait in one direction, as
/// for a rank that is late in each step, have the more slack the further their clocks are put apart.
Optimum centre(const Problem& problem) {
  const std::size_t tightest = 2 * (problem.clocks.size() - 1);
  Slacks slacks;
  for (const Order& order : problem.recorded.orders) {
    slacks[std::minmax(order.from, order.to)];
  }
  std::vector<double> gain(tightest + 1);
  gain[tightest] = 1;
  std::vector<Row> deciding;
  Optimum best;
  do {
    const std::vector<Row> rows = rows_with_slack(problem, slacks, tightest);
    Optimum found = maximise(gain, rows);
    const bool is_known = best.outcome == Optimum::Outcome::kFound;  // rounding may leave no room for a next one
    if (is_known && found.outcome != Optimum::Outcome::kFound && found.outcome != Optimum::Outcome::kUnbounded) {
      break;
    }
    best = std::move(found);
    if (best.outcome != Optimum::Outcome::kFound || !settle(problem, best, slacks)) {
      break;
    }
    for (const std::size_t place : best.deciding) {
      deciding.push_back(rows[place]);
    }
  } while (rank_of(deciding, tightest) < tightest &&
           std::ranges::any_of(slacks, [](const auto& one) { return !one.second.has_value(); }));
  return best;
}

/// With drifts as clocks usually have them, where the orders allow these: a short record says little of them.
Optimum estimate(const Problem& problem) {
  Problem usual = problem;
  for (std::size_t row = problem.recorded.orders.size(); row < usual.rows.size(); ++row) {
    usual.rows[row].bound *= kUsualDrift / kMostDrift;
  }
  Optimum found = centre(usual);
  return found.outcome == Optimum::Outcome::kFound ? found : centre(problem);
}

/// The offset of the machine at its time `ns`, of all that the orders allow.
base::Result<OffsetRange> range_of(const Problem& problem, const std::vector<double>& centre, std::size_t machine,
                                   std::int64_t ns) {
  const std::size_t variable = 2 * (machine - 1);
  const double position = problem.position(machine, ns);
  std::vector<double> gain(2 * (problem.clocks.size() - 1));
  gain[variable] = 1;
  gain[variable + 1] = position;
  const Optimum highest = maximise(gain, problem.rows);
  if (highest.outcome != Optimum::Outcome::kFound) {
    return unsolved(problem, highest.outcome);
  }
  gain[variable] = -1;
  gain[variable + 1] = -position;
  const Optimum lowest = maximise(gain, problem.rows);
  if (lowest.outcome != Optimum::Outcome::kFound) {
    return unsolved(problem, lowest.outcome);
  }
  return OffsetRange{1e3 * (centre[variable] + centre[variable + 1] * position), -1e3 * lowest.value,
                     1e3 * highest.value};
}

/// Whether the ranges leave little open of the drift.
bool shows_drift(const ClockOffset& clock) {
  const auto span = static_cast<double>(clock.end_ns - clock.begin_ns);
  const double open = clock.at_end.highest - clock.at_end.lowest + clock.at_begin.highest - clock.at_begin.lowest;
  return 1e6 * open / 2 <= kMostUnsurePpm * span;
}

base::Result<std::vector<ClockOffset>> align_at_once(const HappensBefore& recorded) {
  const std::size_t machines = recorded.machines.size();
  Problem problem{.recorded = recorded, .clocks = std::vector<ClockOffset>(machines), .rows = {}};
  if (machines < 2) {
    return problem.clocks;
  }
  if (const auto error = find_spans(problem)) {
    return *error;
  }
  if (const auto error = find_bases(problem)) {
    return *error;
  }
  make_rows(problem);
  const Optimum found = estimate(problem);
  if (found.outcome != Optimum::Outcome::kFound) {
    return unsolved(problem, found.outcome);
  }
  for (std::size_t machine = 1; machine < machines; ++machine) {
    ClockOffset& clock = problem.clocks[machine];
    const auto begin = range_of(problem, found.variables, machine, clock.begin_ns);
    if (!begin) {
      return begin.error();
    }
    const auto end = range_of(problem, found.variables, machine, clock.end_ns);
    if (!end) {
      return end.error();
    }
    clock.at_begin = *begin;
    clock.at_end = *end;
    clock.drift_known = shows_drift(clock);
  }
  return problem.clocks;
}

/// The orders between two machines, of which the first has an aligned clock: as machines 0 and 1.
HappensBefore orders_between(const HappensBefore& recorded, std::uint32_t known, const ClockOffset& clock,
                             std::uint32_t other) {
  HappensBefore pair{.machines = {recorded.machines[known], recorded.machines[other]}};
  for (const Order& order : recorded.orders) {
    if (order.from == known && order.to == other) {
      pair.orders.push_back({0, 1, clock.aligned(order.before_ns), order.after_ns});
    } else if (order.from == other && order.to == known) {
      pair.orders.push_back({1, 0, order.before_ns, clock.aligned(order.after_ns)});
    }
  }
  return pair;
}

/// Along a tree, breadth first.
base::Result<std::vector<ClockOffset>> align_one_by_one(const HappensBefore& recorded) {
  std::vector<ClockOffset> clocks(recorded.machines.size());
  std::vector<bool> known(clocks.size());
  std::vector<std::set<std::uint32_t>> exchanged(clocks.size());
  for (const Order& order : recorded.orders) {
    exchanged[order.from].insert(order.to);
    exchanged[order.to].insert(order.from);
  }
  std::vector<std::uint32_t> queue = {0};
  known[0] = true;
  for (std::size_t at = 0; at < queue.size(); ++at) {
    const std::uint32_t from = queue[at];
    for (const std::uint32_t other : exchanged[from]) {
      if (known[other]) {
        continue;
      }
      const auto aligned = align_at_once(orders_between(recorded, from, clocks[from], other));
      if (!aligned) {
        return aligned.error();
      }
      ClockOffset& clock = clocks[other] = aligned->at(1);
      clock.widen(from == 0 ? ClockOffset{} : clocks[from]);
      known[other] = true;
      queue.push_back(other);
    }
  }
  const auto lost = std::ranges::find(known, false);
  if (lost == known.end()) {
    return clocks;
  }
  return base::error("the clock of " + recorded.machines[static_cast<std::size_t>(lost - known.begin())] +
                     " cannot be aligned: nothing was recorded between it and the others");
}

}  // namespace

base::Result<std::vector<ClockOffset>> align_clocks(const HappensBefore& recorded) {
  if (auto by_ends = align_by_ends(recorded); by_ends && recorded.machines.size() > 1) {
    return std::move(*by_ends);
  }
  return recorded.machines.size() > kMostAtOnce ? align_one_by_one(recorded) : align_at_once(recorded);
}

}  // namespace ridgeline::jobs
