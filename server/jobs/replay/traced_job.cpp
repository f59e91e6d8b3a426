#include "jobs/replay/traced_job.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/attribution/attribution.h"
#include "analysis/breakdown/breakdown.h"
#include "jobs/clocks/align_by_ends.h"
#include "jobs/clocks/happens_before.h"
#include "jobs/record/kinds.h"

namespace ridgeline::jobs {

namespace {

using analysis::TracedCollective;

constexpr int kMaxRanks = 100'000;  ///< of a job
constexpr int kMostLevels = 8;      ///< of operations around the launch of a collective
constexpr std::size_t kMaxGroups = 256;
/// Clocks that are nearer are taken to be one: those of two machines rarely are.
constexpr double kOneClockNs = 20'000;
constexpr std::uint64_t kSince1970 = 1'000'000'000'000'000'000;  ///< in the year 2001: no trace is older

base::Error wrong(const RankTrace& trace, const std::string& what) { return base::error(trace.file + " " + what); }

CollectiveKind kind_of(const TracedCollective& one) {
  std::string name = one.call.empty() ? one.kernel : one.call;
  std::ranges::transform(name, name.begin(), [](unsigned char letter) { return std::tolower(letter); });
  const CollectiveKind kind = kind_of_call(name);
  // Which rank the other end is, no trace tells.
  return kind == CollectiveKind::kSend || kind == CollectiveKind::kReceive ? CollectiveKind::kOther : kind;
}

/// Makes the record of one trace.
class RecordMaker {
 public:
  RecordMaker(const RankTrace& trace, bool has_groups)
      : trace_(trace),
        recording_(trace.recording),
        has_groups_(has_groups),
        attribution_(analysis::attribute(trace.recording, trace.scope)) {}

  base::Result<RankRecord> make() {
    record_.rank = trace_.traced.rank;
    record_.world_size = trace_.traced.world_size;
    record_.host = trace_.host;
    record_.on_device = true;
    if (const auto error = check()) {
      return *error;
    }
    const bool relative = recording_.iteration_start().front() < kSince1970;
    base_ns_ = relative ? static_cast<std::int64_t>(trace_.traced.base_ns) : 0;
    add_steps();
    find_activities();
    for (const TracedCollective& one : trace_.traced.collectives) {
      if (one.device == device_) {
        add(one);
      }
    }
    if (record_.groups.size() > kMaxGroups) {
      return wrong(trace_, "has collectives of more than " + std::to_string(kMaxGroups) + " process groups");
    }
    std::ranges::stable_sort(record_.collectives, {}, &Collective::called_ns);
    number();
    return std::move(record_);
  }

 private:
  std::optional<base::Error> check() const {
    if (record_.rank < 0 || record_.world_size <= record_.rank || record_.world_size > kMaxRanks) {
      return wrong(trace_,
                   "does not tell its rank: record it with torch.profiler while torch.distributed is initialised");
    }
    if (trace_.traced.steps.empty()) {
      return wrong(trace_, "has no steps: call step() of the profiler after each");
    }
    if (trace_.traced.collectives.empty()) {
      return wrong(
          trace_,
          "has no kernels of NCCL or RCCL; of ranks on CPUs, `ridgeline profile --job` records who waits for whom");
    }
    return std::nullopt;
  }

  std::int64_t time(std::uint64_t ns) const { return static_cast<std::int64_t>(ns) + base_ns_; }

  void add_steps() {
    const std::map<std::uint64_t, std::int64_t> numbers(trace_.traced.steps.begin(), trace_.traced.steps.end());
    for (std::size_t i = 0; i < recording_.iteration_start().size(); ++i) {
      const std::uint64_t start = recording_.iteration_start()[i];
      const auto number = numbers.find(start);
      if (number == numbers.end()) {
        continue;
      }
      record_.iterations.push_back({number->second, time(start), time(recording_.iteration_end()[i])});
    }
  }

  /// Finds the activities of the device with most collectives.
  void find_activities() {
    std::map<std::uint32_t, std::size_t> count;
    for (const TracedCollective& one : trace_.traced.collectives) {
      ++count[one.device];
    }
    device_ = std::ranges::max_element(count, {}, [](const auto& entry) { return entry.second; })->first;
    for (std::size_t i = 0; i < recording_.activity_start().size(); ++i) {
      if (recording_.activity_device()[i] != device_) {
        continue;
      }
      const std::uint64_t start = recording_.activity_start()[i];
      if (analysis::is_collective_kernel(recording_.string(recording_.activity_name()[i]))) {
        kernels_.emplace(std::pair(start, recording_.activity_stream()[i]), i);
      } else {
        add_computing({time(start), time(recording_.activity_end()[i])});
      }
    }
  }

  /// Activities come by their start.
  void add_computing(Interval one) {
    auto& all = record_.computing;
    if (!all.empty() && one.started_ns <= all.back().ended_ns) {
      all.back().ended_ns = std::max(all.back().ended_ns, one.ended_ns);
    } else if (one.started_ns < one.ended_ns) {
      all.push_back(one);
    }
  }

  void add(const TracedCollective& traced) {
    Collective one;
    one.kind = kind_of(traced);
    one.bytes = traced.elements * element_bytes(traced.dtype);
    one.dtype = traced.dtype;
    one.started_ns = time(traced.start);
    one.ended_ns = time(traced.end);
    one.called_ns = one.started_ns;
    const auto kernel = kernels_.find({traced.start, traced.stream});
    const std::uint32_t call = kernel == kernels_.end() ? recording::kNone : recording_.activity_call()[kernel->second];
    if (call != recording::kNone) {
      one.called_ns = time(recording_.call_start()[call]);
      add_line(recording_.call_op()[call], one);
      if (one.kind == CollectiveKind::kOther && is_all_to_all(recording_.call_op()[call])) {
        one.kind = CollectiveKind::kAllToAll;
      }
    }
    const auto after = std::ranges::upper_bound(record_.iterations, one.called_ns, {}, &Iteration::started_ns);
    if (after == record_.iterations.begin() || one.called_ns >= std::prev(after)->ended_ns) {
      return;
    }
    one.iteration = static_cast<std::uint32_t>(std::prev(after) - record_.iterations.begin());
    one.group = group_of(traced);
    record_.collectives.push_back(std::move(one));
  }

  /// An all-to-all is sends and receives for NCCL, whose kernels are called so: who called it knows.
  bool is_all_to_all(std::uint32_t op) const {
    for (int level = 0; op != recording::kNone && level < kMostLevels; ++level) {
      std::string name(recording_.string(recording_.op_name()[op]));
      std::ranges::transform(name, name.begin(), [](unsigned char letter) { return std::tolower(letter); });
      if (kind_of_call(name) == CollectiveKind::kAllToAll) {
        return true;
      }
      op = recording_.op_parent()[op];
    }
    return false;
  }

  void add_line(std::uint32_t op, Collective& to) const {
    if (op == recording::kNone) {
      return;
    }
    const analysis::LineId line = attribution_.tree[attribution_.owner[op]].self_line;
    if (line == 0) {
      return;
    }
    const analysis::Location place = analysis::location_of(line, recording_, attribution_.tree, trace_.scope);
    to.file = place.file;
    to.line = static_cast<int>(place.line);
  }

  std::uint32_t group_of(const TracedCollective& one) {
    std::string name = has_groups_ ? one.group : "stream " + std::to_string(stream_number(one.stream));
    for (const int rank : one.ranks) {
      name += " " + std::to_string(rank);
    }
    const auto found = std::ranges::find(record_.groups, name, &Group::name);
    if (found != record_.groups.end()) {
      return static_cast<std::uint32_t>(found - record_.groups.begin());
    }
    if (record_.groups.size() > kMaxGroups) {
      return 0;
    }
    std::vector<int> ranks = one.ranks;
    for (int rank = 0; one.ranks.empty() && rank < record_.world_size; ++rank) {
      ranks.push_back(rank);
    }
    record_.groups.push_back({name, "nccl", std::move(ranks)});
    return static_cast<std::uint32_t>(record_.groups.size() - 1);
  }

  /// Streams have other numbers on each rank: they are counted as they first have a collective.
  std::size_t stream_number(std::uint32_t stream) {
    const auto found = std::ranges::find(streams_, stream);
    if (found != streams_.end()) {
      return static_cast<std::size_t>(found - streams_.begin());
    }
    streams_.push_back(stream);
    return streams_.size() - 1;
  }

  /// Within its step, by group and kind; what has no other end that is known, apart from all others.
  void number() {
    std::map<std::tuple<std::uint32_t, std::uint32_t, CollectiveKind>, std::uint64_t> counts;
    for (Collective& one : record_.collectives) {
      const auto step = static_cast<std::uint64_t>(record_.iterations[one.iteration].step);
      const std::uint64_t nth = counts[{one.iteration, one.group, one.kind}]++;
      const auto own = one.kind == CollectiveKind::kOther ? static_cast<std::uint64_t>(record_.rank) + 1 : 0;
      one.sequence = (((step << 18U | own) << 4U | static_cast<std::uint64_t>(one.kind)) << 20U) + nth;
    }
  }

  const RankTrace& trace_;
  const recording::Recording& recording_;
  bool has_groups_;
  analysis::Attribution attribution_;
  RankRecord record_;
  std::int64_t base_ns_ = 0;
  std::uint32_t device_ = 0;
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::size_t> kernels_;  ///< by start and stream
  std::vector<std::uint32_t> streams_;
};

/// For each step of a record, the kinds of its collectives in the order of the calls.
std::map<std::int64_t, std::vector<CollectiveKind>> kinds_by_step(const RankRecord& record) {
  std::map<std::int64_t, std::vector<CollectiveKind>> kinds;
  for (const Iteration& one : record.iterations) {
    kinds[one.step];
  }
  for (const Collective& one : record.collectives) {
    kinds[record.iterations[one.iteration].step].push_back(one.kind);
  }
  return kinds;
}

/// Takes the collectives of the steps that `keep` refuses out of a record, and the steps.
template <typename Keep>
void keep_steps(RankRecord& record, Keep keep) {
  std::vector<Iteration> kept;
  std::vector<std::uint32_t> place(record.iterations.size());
  for (std::size_t i = 0; i < record.iterations.size(); ++i) {
    place[i] = static_cast<std::uint32_t>(kept.size());
    if (keep(record.iterations[i].step)) {
      kept.push_back(record.iterations[i]);
    }
  }
  std::erase_if(record.collectives,
                [&](const Collective& one) { return !keep(record.iterations[one.iteration].step); });
  for (Collective& one : record.collectives) {
    one.iteration = place[one.iteration];
  }
  record.iterations = std::move(kept);
}

/// The steps that all records have and, without groups, in which all ranks called the same.
std::set<std::int64_t> comparable_steps(const std::vector<RankRecord>& records, bool has_groups) {
  std::map<std::int64_t, std::vector<CollectiveKind>> common = kinds_by_step(records.front());
  for (const RankRecord& record : records) {
    const auto kinds = kinds_by_step(record);
    std::erase_if(common, [&](const auto& step) {
      const auto found = kinds.find(step.first);
      return found == kinds.end() || (!has_groups && found->second != step.second);
    });
  }
  std::set<std::int64_t> steps;
  for (const auto& [step, kinds] : common) {
    steps.insert(step);
  }
  return steps;
}

/// What the ranks recorded, as if each had a machine of its own. Empty where the records contradict each other.
HappensBefore orders_apart(std::vector<RankRecord> records) {
  for (RankRecord& record : records) {
    record.host = std::to_string(record.rank);
  }
  auto orders = happens_before(records);
  return orders ? std::move(*orders) : HappensBefore{};
}

/// Whether the times contradict no order of events as they are.
bool agree(const HappensBefore& apart) {
  return !apart.machines.empty() &&
         std::ranges::all_of(apart.orders, [](const Order& one) { return one.before_ns <= one.after_ns; });
}

/// By record, the first record whose clock is the same, as far as the ends of collectives tell; nothing where they do
/// not connect all ranks.
std::optional<std::vector<std::size_t>> same_clocks(const HappensBefore& apart) {
  const auto offsets = align_by_ends(apart);
  if (!offsets || offsets->empty()) {
    return std::nullopt;
  }
  std::vector<std::size_t> first(offsets->size());
  const auto at = [&](std::size_t i) {
    const ClockOffset& clock = (*offsets)[i];
    return static_cast<double>(clock.base_ns) + (clock.at_begin.estimate + clock.at_end.estimate) / 2;
  };
  for (std::size_t i = 0; i < first.size(); ++i) {
    first[i] = i;
    for (std::size_t other = 0; other < i && first[i] == i; ++other) {
      if (first[other] == other && std::abs(at(i) - at(other)) <= kOneClockNs) {
        first[i] = other;
      }
    }
  }
  return first;
}

void name_hosts(TracedJob& job) {
  const bool unknown = std::ranges::any_of(job.records, [](const RankRecord& record) { return record.host.empty(); });
  if (!unknown) {
    return;
  }
  const HappensBefore apart = orders_apart(job.records);
  const bool no_contradiction = agree(apart);
  const auto first = no_contradiction ? std::nullopt : same_clocks(apart);
  const bool ends_agree = first && std::ranges::all_of(*first, [](std::size_t one) { return one == 0; });
  if (no_contradiction || ends_agree) {
    for (RankRecord& record : job.records) {
      record.host = "one machine";
    }
    job.warnings.emplace_back(ends_agree
                                  ? "The traces do not tell which ranks share a machine. Their clocks are taken to be "
                                    "one: collectives end at the same time on all of them."
                                  : "The traces do not tell which ranks share a machine. No order of events "
                                    "contradicts their clocks, which are taken to be one.");
    return;
  }
  for (std::size_t i = 0; i < job.records.size(); ++i) {
    const RankRecord& of = job.records[first ? (*first)[i] : i];
    job.records[i].host = "machine of rank " + std::to_string(of.rank);
  }
}

std::optional<base::Error> check(const std::vector<RankTrace>& traces) {
  for (std::size_t i = 1; i < traces.size(); ++i) {
    if (traces[i].traced.rank >= 0 && traces[i].traced.rank == traces[i - 1].traced.rank) {
      return base::error(traces[i - 1].file + " and " + traces[i].file + " are of the same rank, " +
                         std::to_string(traces[i].traced.rank));
    }
  }
  return std::nullopt;
}

}  // namespace

std::uint64_t element_bytes(std::string_view dtype) {
  struct Size {
    std::string_view name;
    std::uint64_t bytes;
  };
  constexpr std::array kSizes = {Size{"Float", 4}, Size{"Double", 8}, Size{"Half", 2},  Size{"BFloat16", 2},
                                 Size{"Int", 4},   Size{"Long", 8},   Size{"Short", 2}, Size{"Byte", 1},
                                 Size{"Char", 1},  Size{"Bool", 1}};
  const auto* const found = std::ranges::find(kSizes, dtype, &Size::name);
  return found == kSizes.end() ? 0 : found->bytes;
}

base::Result<TracedJob> traced_job(std::vector<RankTrace> traces) {
  std::ranges::stable_sort(traces, {}, [](const RankTrace& one) { return one.traced.rank; });
  if (const auto error = check(traces)) {
    return *error;
  }
  const bool has_groups = std::ranges::all_of(traces, [](const RankTrace& trace) {
    return std::ranges::none_of(trace.traced.collectives, &std::string::empty, &TracedCollective::group);
  });
  TracedJob job;
  for (const RankTrace& trace : traces) {
    auto record = RecordMaker(trace, has_groups).make();
    if (!record) {
      return record.error();
    }
    job.records.push_back(std::move(*record));
  }
  const std::set<std::int64_t> steps = comparable_steps(job.records, has_groups);
  if (steps.empty()) {
    return base::error(has_groups ? "the traces have no step in common"
                                  : "the traces name no process groups (torch 2.2 and later do), and have no step in "
                                    "which all ranks call the same collectives");
  }
  for (RankRecord& record : job.records) {
    keep_steps(record, [&](std::int64_t step) { return steps.contains(step); });
  }
  if (!has_groups) {
    job.warnings.emplace_back(
        "The traces name no process groups (torch 2.2 and later do): all ranks are taken to call each collective "
        "together.");
  }
  const auto world_size = static_cast<std::size_t>(job.records.front().world_size);
  if (job.records.size() < world_size) {
    job.warnings.push_back("The traces are of " + std::to_string(job.records.size()) + " of " +
                           std::to_string(world_size) +
                           " ranks: who waits for whom is known only in groups of which all ranks are there.");
  }
  name_hosts(job);
  return job;
}

}  // namespace ridgeline::jobs
