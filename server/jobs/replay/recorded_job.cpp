#include "jobs/replay/recorded_job.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

namespace ridgeline::jobs {

namespace {

constexpr std::int64_t kMostNs = std::int64_t{1} << 62U;

bool is_point_to_point(CollectiveKind kind) {
  return kind == CollectiveKind::kSend || kind == CollectiveKind::kReceive;
}

/// The name of the group, or of both ends; the sequence; the sender and the receiver.
using Key = std::tuple<std::string, int, int, std::uint64_t>;

Key key_of(const RankRecord& rank, const Collective& one) {
  const std::string& group = rank.groups[one.group].name;
  if (!is_point_to_point(one.kind)) {
    return {group, -1, -1, one.sequence};
  }
  const bool sends = one.kind == CollectiveKind::kSend;
  return {group, sends ? rank.rank : one.peer, sends ? one.peer : rank.rank, one.sequence};
}

/// The steps that all ranks have, as the longest run of successive iterations in each record.
std::optional<std::vector<StepRange>> common_run(std::span<const RankRecord> records) {
  std::vector<StepRange> best;
  const auto& first = records.front().iterations;
  for (std::size_t begin = 0; begin < first.size(); ++begin) {
    std::vector<StepRange> here;
    std::size_t count = first.size() - begin;
    for (const RankRecord& rank : records) {
      const auto at = std::ranges::find(rank.iterations, first[begin].step, &Iteration::step);
      const auto place = static_cast<std::size_t>(at - rank.iterations.begin());
      std::size_t same = 0;
      while (same < count && place + same < rank.iterations.size() &&
             rank.iterations[place + same].step == first[begin].step + static_cast<std::int64_t>(same) &&
             first[begin + same].step == rank.iterations[place + same].step) {
        ++same;
      }
      count = same;
      here.push_back({place, 0});
    }
    if (count > 0 && (best.empty() || count > best.front().count)) {
      for (StepRange& range : here) {
        range.count = count;
      }
      best = std::move(here);
    }
  }
  return best.empty() ? std::nullopt : std::optional(best);
}

class Maker {
 public:
  Maker(std::span<const RankRecord> records, std::span<const RankRecord> aligned,
        std::span<const recording::Recording> recordings, const analysis::SourceScope& scope)
      : records_(records), aligned_(aligned), recordings_(recordings), scope_(scope) {}

  base::Result<RecordedJob> make() {
    if (const auto error = check()) {
      return *error;
    }
    const auto ranges = common_run(records_);
    if (!ranges.has_value()) {
      return base::error("the ranks recorded no step that all of them took");
    }
    ranges_ = *ranges;
    note_starts();
    std::int64_t begin = first_start(0);
    for (std::size_t rank = 1; rank < records_.size(); ++rank) {
      begin = std::min(begin, first_start(rank));
    }
    for (std::size_t i = 0; i < ranges_.front().count; ++i) {
      job_.steps.push_back(records_.front().iterations[ranges_.front().first + i].step);
    }
    for (std::size_t rank = 0; rank < records_.size(); ++rank) {
      add(rank, first_start(rank) - begin);
    }
    note_gradients();
    return std::move(job_);
  }

 private:
  /// Whether differences of the record's times are times.
  static bool is_in_range(const RankRecord& rank) {
    const auto fits = [](std::int64_t ns) { return ns >= 0 && ns <= kMostNs; };
    return std::ranges::all_of(rank.iterations,
                               [&](const Iteration& one) { return fits(one.started_ns) && fits(one.ended_ns); }) &&
           std::ranges::all_of(rank.collectives, [&](const Collective& one) {
             return fits(one.called_ns) && fits(one.started_ns) && fits(one.ended_ns) && fits(one.waited_ns);
           });
  }

  std::optional<base::Error> check() const {
    if (records_.empty() || records_.size() != recordings_.size() || records_.size() != aligned_.size()) {
      return base::error("a job without ranks");
    }
    for (std::size_t i = 0; i < records_.size(); ++i) {
      const RankRecord& rank = records_[i];
      if (!recordings_[i].activity_start().empty()) {
        return base::error("rank " + std::to_string(rank.rank) + " used a device: only ranks on CPUs are replayed");
      }
      if (rank.iterations.size() > recordings_[i].iteration_start().size()) {
        return base::error("rank " + std::to_string(rank.rank) + ": its recording has fewer steps than its record");
      }
      if (!is_in_range(rank)) {
        return base::error("rank " + std::to_string(rank.rank) + ": a time of its record is out of range");
      }
      for (const Collective& one : rank.collectives) {
        for (const int member : rank.groups[one.group].ranks) {
          if (std::ranges::find(records_, member, &RankRecord::rank) == records_.end()) {
            return base::error("rank " + std::to_string(member) + ", with which others communicate, was not recorded");
          }
        }
      }
    }
    return std::nullopt;
  }

  std::int64_t first_start(std::size_t rank) const { return aligned_[rank].iterations[ranges_[rank].first].started_ns; }

  /// When the last rank, and the root, started one collective.
  struct Starts {
    std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();
    std::int64_t root_ns = std::numeric_limits<std::int64_t>::min();
  };

  void note_starts() {
    for (const RankRecord& rank : aligned_) {
      for (const Collective& one : rank.collectives) {
        Starts& starts = starts_[key_of(rank, one)];
        starts.last_ns = std::max(starts.last_ns, start_ns(one));
        if (one.peer == rank.rank) {
          starts.root_ns = start_ns(one);
        }
      }
    }
  }

  /// `over`: when the collective before it was over.
  RecordedCall recorded_call(const RankRecord& rank, const Collective& one, std::int64_t over) const {
    const bool is_root = one.peer == rank.rank;
    const Starts& starts = starts_.at(key_of(rank, one));
    const Awaits awaits = awaits_of(one.kind, is_root);
    const std::int64_t since = awaits == Awaits::kAll    ? starts.last_ns
                               : awaits == Awaits::kRoot ? std::max(starts.root_ns, start_ns(one))
                                                         : start_ns(one);
    const auto from = [&](std::int64_t begin) {
      return static_cast<double>(std::max<std::int64_t>(0, one.ended_ns - begin));
    };
    return {from(since), awaits, is_root, from(std::max(since, over)), start_ns(one) < over};
  }

  void add(std::size_t place, std::int64_t lead_ns) {
    const RankRecord& rank = records_[place];
    RecordedRank recorded = recorded_rank(recordings_[place], rank, scope_, ranges_[place], lead_ns);
    EqualRanks ranks{{rank.rank}, std::move(recorded.graph), {}};
    std::vector<std::uint32_t>& called = job_.called.emplace_back();
    std::vector<RecordedBuckets> buckets(ranges_[place].count);
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      buckets[i].ready = std::move(recorded.gradients[i]);
    }
    std::map<std::uint32_t, std::int64_t> over;  // by group
    for (std::size_t i = 0; i < recorded.collectives.size(); ++i) {
      const Collective& one = rank.collectives[recorded.collectives[i]];
      if (recorded.calls[i] == step::kNoTask) {
        continue;
      }
      called.push_back(recorded.collectives[i]);
      const auto [name, sender, receiver, sequence] = key_of(rank, one);
      const auto group = groups_.try_emplace({name, sender, receiver}, groups_.size() + 1).first->second;
      if (one.bucket >= 0) {
        buckets[one.iteration - ranges_[place].first].calls.push_back(ranks.calls.size());
      }
      const Collective& timed = aligned_[place].collectives[recorded.collectives[i]];
      std::int64_t& before = over.try_emplace(one.group, 0).first->second;
      ranks.calls.push_back({recorded.calls[i], one.kind, sequence, static_cast<double>(one.bytes), one.bucket,
                             static_cast<std::uint32_t>(group), recorded_call(rank, timed, before)});
      before = std::max(before, timed.ended_ns);
    }
    job_.ranks.push_back(std::move(ranks));
    job_.buckets.push_back(std::move(buckets));
    job_.step_ends.push_back(std::move(recorded.step_ends));
    auto& lengths = job_.recorded_ns.emplace_back();
    for (std::size_t i = 0; i < ranges_[place].count; ++i) {
      const Iteration& one = rank.iterations[ranges_[place].first + i];
      lengths.push_back(one.ended_ns - one.started_ns);
    }
  }

  /// Takes the gradients from the first rank's first step; with_bucket_size() refuses jobs where other steps differ.
  void note_gradients() {
    for (const Collective& one : records_.front().collectives) {
      if (one.iteration != ranges_.front().first || one.bucket < 0) {
        continue;
      }
      if (one.parameter_bytes.empty()) {
        job_.gradient_bytes.clear();
        job_.bucket_gradients.clear();
        return;
      }
      job_.bucket_gradients.push_back(one.parameter_bytes.size());
      job_.gradient_bytes.insert(job_.gradient_bytes.end(), one.parameter_bytes.begin(), one.parameter_bytes.end());
    }
  }

  std::span<const RankRecord> records_;
  std::span<const RankRecord> aligned_;
  std::span<const recording::Recording> recordings_;
  const analysis::SourceScope& scope_;
  std::vector<StepRange> ranges_;
  std::map<Key, Starts> starts_;
  std::map<std::tuple<std::string, int, int>, std::size_t> groups_;
  RecordedJob job_;
};

}  // namespace

base::Result<RecordedJob> recorded_job(std::span<const RankRecord> records, std::span<const RankRecord> aligned,
                                       std::span<const recording::Recording> recordings,
                                       const analysis::SourceScope& scope) {
  return Maker(records, aligned, recordings, scope).make();
}

Awaits awaits_of(CollectiveKind kind, bool is_root) {
  switch (kind) {
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kScatter:
    case CollectiveKind::kGather:
      return is_root ? Awaits::kAll : Awaits::kRoot;
    case CollectiveKind::kOther:
      return Awaits::kOwn;
    default:
      return Awaits::kAll;
  }
}

std::unordered_map<step::TaskId, step::TaskId> callers(const step::Graph& graph) {
  std::unordered_map<step::TaskId, step::TaskId> found;
  for (const step::Dependency& one : graph.dependencies) {
    const bool is_call = graph.tasks[one.from].resource == 0 && graph.tasks[one.to].resource != 0;
    if (is_call) {
      found[one.to] = one.from;
    }
  }
  return found;
}

base::Result<Replay> replay(const RecordedJob& job) {
  auto graph = join(job.ranks, {}, Joining::kWhole);
  if (!graph) {
    return graph.error();
  }
  auto schedule = step::simulate(graph->graph);
  if (!schedule) {
    return schedule.error();
  }
  Replay result{std::move(*graph), std::move(*schedule), {}};
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
    const step::TaskId first = result.graph.parts[rank].first;
    std::int64_t before = job.ranks[rank].graph.tasks.front().gap_ns;
    auto& lengths = result.step_ns.emplace_back();
    for (const step::TaskId mark : job.step_ends[rank]) {
      const std::int64_t end = result.schedule.end[first + mark];
      lengths.push_back(end - before);
      before = end;
    }
  }
  return result;
}

}  // namespace ridgeline::jobs
