#include "report/export/job_timeline.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "analysis/attribution/source_scope.h"
#include "jobs/record/kinds.h"
#include "report/export/trace_writer.h"

namespace ridgeline::report {

namespace {

using jobs::Collective;
using jobs::CollectiveKind;
using jobs::RankRecord;

constexpr std::uint64_t kRankSteps = 1;  // threads of a rank's process
constexpr std::uint64_t kRankWaits = 2;
constexpr std::uint64_t kRankCollectives = 3;

class Timeline {
 public:
  Timeline(const std::vector<RankRecord>& records, const analysis::SourceScope& scope, const std::string& profiler)
      : records_(records), scope_(scope), profiler_(profiler) {}

  std::string write() {
    begin_ = std::numeric_limits<std::int64_t>::max();
    for (const RankRecord& rank : records_) {
      for (const jobs::Iteration& one : rank.iterations) {
        begin_ = std::min(begin_, one.started_ns);
      }
    }
    for (const RankRecord& rank : records_) {
      name_rows(rank);
      add_steps(rank);
      add_collectives(rank);
    }
    add_arrows();
    return std::move(writer_).take("as the clocks of the ranks have them, with the cost of " +
                                   (profiler_.empty() ? "recording" : profiler_) + " in them");
  }

 private:
  /// Group, sequence, and of send and recv both ends.
  using Key = std::tuple<std::string, std::uint64_t, int, int>;
  struct Row {
    std::uint64_t thread = 0;
    std::int64_t end_ns = 0;
  };
  /// A slice in which a time of a collective lies.
  struct Place {
    Track track;
    std::int64_t time_ns = 0;
  };
  struct Ends {
    Place last_call;
    std::vector<Place> waits;
  };

  static std::uint64_t process_of(const RankRecord& rank) { return static_cast<std::uint64_t>(rank.rank) + 1; }

  static Key key_of(const RankRecord& rank, const Collective& one) {
    const std::string& group = rank.groups[one.group].name;
    if (one.kind != CollectiveKind::kSend && one.kind != CollectiveKind::kReceive) {
      return {group, one.sequence, -1, -1};
    }
    const bool sends = one.kind == CollectiveKind::kSend;
    return {group, one.sequence, sends ? rank.rank : one.peer, sends ? one.peer : rank.rank};
  }

  TraceSpan span(std::int64_t start, std::int64_t end) const {
    return {static_cast<std::uint64_t>(start - begin_), static_cast<std::uint64_t>(std::max(start, end) - begin_)};
  }

  void name_rows(const RankRecord& rank) {
    writer_.name_process(process_of(rank), fmt::format("rank {}, {}", rank.rank, rank.host));
    writer_.name_track({process_of(rank), kRankSteps}, "steps");
    writer_.name_track({process_of(rank), kRankWaits}, "waits for collectives");
  }

  void add_steps(const RankRecord& rank) {
    std::int64_t end = begin_;
    for (const jobs::Iteration& one : rank.iterations) {
      if (one.started_ns < end) {
        continue;  // slices of a row do not overlap
      }
      end = one.ended_ns;
      writer_.slice({process_of(rank), kRankSteps}, fmt::format("step {}", one.step), "step",
                    span(one.started_ns, end));
    }
  }

  void add_collectives(const RankRecord& rank) {
    std::vector<Row> rows;
    std::int64_t waited_until = begin_;
    for (const Collective& one : rank.collectives) {
      if (one.called_ns < begin_) {
        continue;
      }
      const Track track{process_of(rank), row_of(rank, one, rows)};
      const std::string name = name_of(one);
      writer_.slice(track, name, "collective", span(one.called_ns, one.ended_ns), arguments(one));
      Ends& ends = ends_[key_of(rank, one)];
      if (one.called_ns >= ends.last_call.time_ns) {
        ends.last_call = {track, one.called_ns};
      }
      const std::int64_t waits = std::max(one.ended_ns - one.waited_ns, waited_until);
      if (one.waited_ns == 0 || waits >= one.ended_ns) {
        continue;
      }
      waited_until = one.ended_ns;
      writer_.slice({process_of(rank), kRankWaits}, name, "wait", span(waits, one.ended_ns), arguments(one));
      ends.waits.push_back({{process_of(rank), kRankWaits}, std::max(waits, one.ended_ns - 1)});
    }
  }

  /// A row in which nothing runs any more.
  std::uint64_t row_of(const RankRecord& rank, const Collective& one, std::vector<Row>& rows) {
    auto row = std::ranges::find_if(rows, [&](const Row& each) { return each.end_ns <= one.called_ns; });
    if (row == rows.end()) {
      rows.push_back({kRankCollectives + rows.size(), 0});
      row = rows.end() - 1;
      writer_.name_track({process_of(rank), row->thread},
                         rows.size() == 1 ? "collectives" : fmt::format("collectives ({})", rows.size()));
    }
    row->end_ns = one.ended_ns;
    return row->thread;
  }

  static std::string name_of(const Collective& one) {
    const std::string kind = jobs::kind_name(one.kind);
    return one.bucket < 0 ? kind : fmt::format("{} of bucket {}", kind, one.bucket);
  }

  Arguments arguments(const Collective& one) {
    const bool known = one.bytes > 0 || !one.dtype.empty();  // not of old traces
    bytes_ = known ? std::to_string(one.bytes) : "";
    line_ = one.file.empty() ? "" : fmt::format("{}:{}", analysis::display_path(one.file, scope_), one.line);
    return {{"line", line_}, {"bytes", bytes_}, {"dtype", one.dtype}};
  }

  /// From the last call of a collective to what other ranks waited for it.
  void add_arrows() {
    for (const auto& [key, ends] : ends_) {
      for (const Place& wait : ends.waits) {
        if (wait.track.process == ends.last_call.track.process || wait.time_ns < ends.last_call.time_ns) {
          continue;
        }
        writer_.arrow(ends.last_call.track, static_cast<std::uint64_t>(ends.last_call.time_ns - begin_), wait.track,
                      static_cast<std::uint64_t>(wait.time_ns - begin_));
      }
    }
  }

  const std::vector<RankRecord>& records_;
  const analysis::SourceScope& scope_;
  const std::string& profiler_;
  TraceWriter writer_;
  std::int64_t begin_ = 0;
  std::map<Key, Ends> ends_;
  std::string bytes_;  ///< what arguments() refers to
  std::string line_;
};

}  // namespace

std::string job_timeline(const std::vector<RankRecord>& records, const analysis::SourceScope& scope,
                         const std::string& profiler) {
  return Timeline(records, scope, profiler).write();
}

}  // namespace ridgeline::report
