#include "jobs/clocks/happens_before.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace ridgeline::jobs {

namespace {

constexpr std::int64_t kLatestNs = 4'000'000'000'000'000'000;  ///< since 1970: the year 2096

base::Error wrong(const RankRecord& record, const std::string& what) {
  return base::error("rank " + std::to_string(record.rank) + ": " + what + "; record the job again");
}

bool in_range(std::int64_t started, std::int64_t ended) {
  return started >= 0 && started <= ended && ended < kLatestNs;
}

std::optional<base::Error> check(const RankRecord& record, const RankRecord& first) {
  if (record.world_size != first.world_size) {
    return wrong(record, "its job has " + std::to_string(record.world_size) + " ranks, that of rank " +
                             std::to_string(first.rank) + " has " + std::to_string(first.world_size));
  }
  for (const Collective& collective : record.collectives) {
    if (collective.group >= record.groups.size()) {
      return wrong(record, "a collective is of no known group");
    }
    if (!in_range(collective.started_ns, collective.ended_ns)) {
      return wrong(record, "a collective ends before it starts, or at no possible time");
    }
  }
  for (const Transfer& transfer : record.transfers) {
    if (!in_range(transfer.started_ns, transfer.ended_ns)) {
      return wrong(record, "a message ends before it starts, or at no possible time");
    }
  }
  return std::nullopt;
}

struct End {
  std::uint32_t machine = 0;
  std::int64_t ns = 0;
};

/// By sender, receiver and transaction.
using Messages = std::map<std::tuple<int, int, std::uint64_t>, End>;

void add_messages(HappensBefore& found, std::span<const RankRecord> ranks, const std::vector<std::uint32_t>& machine) {
  Messages sends;
  std::size_t matched = 0;
  std::size_t receives = 0;
  for (std::size_t place = 0; place < ranks.size(); ++place) {
    for (const Transfer& transfer : ranks[place].transfers) {
      if (!transfer.sends) {
        continue;
      }
      sends.insert({{ranks[place].rank, transfer.peer, transfer.transaction}, {machine[place], transfer.started_ns}});
    }
  }
  for (std::size_t place = 0; place < ranks.size(); ++place) {
    for (const Transfer& transfer : ranks[place].transfers) {
      if (transfer.sends) {
        continue;
      }
      ++receives;
      const auto send = sends.find({transfer.peer, ranks[place].rank, transfer.transaction});
      if (send == sends.end()) {
        continue;
      }
      ++matched;
      if (send->second.machine == machine[place]) {
        continue;
      }
      found.orders.push_back({send->second.machine, machine[place], send->second.ns, transfer.ended_ns});
    }
  }
  found.unmatched += sends.size() + receives - 2 * std::min({matched, sends.size(), receives});
}

/// Whether the rank's start holds back the others' ends, and whether its own end is held back.
struct Role {
  bool contributes = false;
  bool depends = false;
};

Role role_of(const Collective& collective, int rank) {
  const bool root = collective.peer == rank;
  switch (collective.kind) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllGather:
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kBarrier:
      return {true, true};
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kScatter:
      return {root, !root};
    case CollectiveKind::kReduce:
    case CollectiveKind::kGather:
      return {!root, root};
    case CollectiveKind::kSend:
    case CollectiveKind::kReceive:
    case CollectiveKind::kOther:
      return {};
  }
  return {};
}

/// One call on all its ranks, by machine: the latest start that contributes and the earliest end that depends.
struct CallTimes {
  std::map<std::uint32_t, std::int64_t> starts{};
  std::map<std::uint32_t, std::int64_t> ends{};
  bool ends_together = true;  ///< on devices, and all ranks contribute and depend
};

using CallKey = std::tuple<std::vector<int>, std::string, std::uint64_t, CollectiveKind>;

void add_collectives(HappensBefore& found, std::span<const RankRecord> ranks,
                     const std::vector<std::uint32_t>& machine) {
  std::map<CallKey, CallTimes> calls;
  for (std::size_t place = 0; place < ranks.size(); ++place) {
    for (const Collective& collective : ranks[place].collectives) {
      const Role role = role_of(collective, ranks[place].rank);
      if (!role.contributes && !role.depends) {
        continue;
      }
      const Group& group = ranks[place].groups[collective.group];
      CallTimes& call = calls[{group.ranks, group.name, collective.sequence, collective.kind}];
      call.ends_together = call.ends_together && ranks[place].on_device && role.contributes && role.depends;
      if (role.contributes) {
        const auto [at, fresh] = call.starts.try_emplace(machine[place], collective.started_ns);
        if (!fresh) {
          at->second = std::max(at->second, collective.started_ns);
        }
      }
      if (role.depends) {
        const auto [at, fresh] = call.ends.try_emplace(machine[place], collective.ended_ns);
        if (!fresh) {
          at->second = std::min(at->second, collective.ended_ns);
        }
      }
    }
  }
  for (const auto& [key, call] : calls) {
    for (const auto& [from, start] : call.starts) {
      for (const auto& [to, end] : call.ends) {
        if (from != to) {
          found.orders.push_back({from, to, start, end});
        }
      }
    }
    for (auto end = call.ends.begin(); call.ends_together && end != call.ends.end(); ++end) {
      const auto& [machine_of_first, first_ns] = *call.ends.begin();
      if (end != call.ends.begin()) {
        found.ends.push_back({machine_of_first, end->first, first_ns, end->second});
      }
    }
  }
}

}  // namespace

base::Result<HappensBefore> happens_before(std::span<const RankRecord> ranks) {
  HappensBefore found;
  std::vector<std::uint32_t> machine;
  std::set<int> seen;
  for (const RankRecord& record : ranks) {
    if (const auto error = check(record, ranks.front())) {
      return *error;
    }
    if (!seen.insert(record.rank).second) {
      return wrong(record, "there are two records of it");
    }
    const auto known = std::ranges::find(found.machines, record.host);
    machine.push_back(static_cast<std::uint32_t>(known - found.machines.begin()));
    if (known == found.machines.end()) {
      found.machines.push_back(record.host);
    }
  }
  add_messages(found, ranks, machine);
  add_collectives(found, ranks, machine);
  return found;
}

}  // namespace ridgeline::jobs
