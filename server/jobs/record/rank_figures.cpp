#include "jobs/record/rank_figures.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "analysis/time/models.h"
#include "jobs/record/job_file.h"

namespace ridgeline::jobs {

namespace {

constexpr double kNsPerMs = 1e6;
constexpr std::size_t kLeastSteps = 6;  ///< an interval of order statistics needs this many
constexpr double kLeastSlower = 0.03;

bool is_point_to_point(const Collective& one) {
  return one.kind == CollectiveKind::kSend || one.kind == CollectiveKind::kReceive;
}

/// When a rank takes part in a collective: when it calls it or, on a device, when the kernel begins.
std::int64_t arrival_ns(const RankRecord& rank, const Collective& one) {
  return rank.on_device ? one.started_ns : one.called_ns;
}

/// When the last rank had called each collective.
class LastCalls {
 public:
  explicit LastCalls(const std::vector<RankRecord>& ranks) {
    for (const RankRecord& rank : ranks) {
      one_host_ = one_host_ && rank.host == ranks.front().host;
      for (const Collective& one : rank.collectives) {
        Calls& calls = calls_[key(rank, one)];
        calls.last_ns = std::max(calls.last_ns, arrival_ns(rank, one));
        ++calls.count;
      }
    }
  }

  /// Nothing: not all of its ranks were recorded, or their clocks differ.
  std::optional<std::int64_t> of(const RankRecord& rank, const Collective& one) const {
    const std::size_t all = is_point_to_point(one) ? 2 : rank.groups[one.group].ranks.size();
    const Calls& calls = calls_.at(key(rank, one));
    return one_host_ && calls.count == all ? std::optional(calls.last_ns) : std::nullopt;
  }

 private:
  /// Group, sequence, and of send and recv the sender and the receiver.
  using Key = std::tuple<std::string, std::uint64_t, int, int>;
  struct Calls {
    std::int64_t last_ns = 0;
    std::size_t count = 0;
  };

  static Key key(const RankRecord& rank, const Collective& one) {
    const std::string& group = rank.groups[one.group].name;
    if (!is_point_to_point(one)) {
      return {group, one.sequence, -1, -1};
    }
    const bool sends = one.kind == CollectiveKind::kSend;
    return {group, one.sequence, sends ? rank.rank : one.peer, sends ? one.peer : rank.rank};
  }

  std::map<Key, Calls> calls_;
  bool one_host_ = true;
};

/// When a rank waited, and when its collectives ran.
struct Activity {
  std::vector<Span> exposed;
  std::vector<Span> running;
  std::vector<Span> waiting;
  std::vector<Span> unknown;  ///< exposed, but not known for whom: not all of the ranks were recorded then
};

/// When a rank does nothing but wait for its collectives.
class Waits {
 public:
  explicit Waits(const RankRecord& rank) : on_device_(rank.on_device) {
    for (const Interval& one : rank.computing) {
      computing_.push_back({one.started_ns, one.ended_ns});
    }
  }

  std::vector<Span> of(const Collective& one) const {
    if (on_device_) {
      return uncovered(computing_, {one.started_ns, one.ended_ns});
    }
    return {{one.ended_ns - one.waited_ns, one.ended_ns}};
  }

 private:
  bool on_device_ = false;
  std::vector<Span> computing_;
};

void add(const RankRecord& rank, const Collective& one, const Waits& waits, const LastCalls& last, Activity& to) {
  to.running.push_back({one.started_ns, one.ended_ns});
  const auto called = last.of(rank, one);
  for (const Span& wait : waits.of(one)) {
    to.exposed.push_back(wait);
    if (wait.begin == wait.end) {
      continue;
    }
    if (called.has_value()) {
      to.waiting.push_back({wait.begin, std::min(wait.end, *called)});
    } else {
      to.unknown.push_back(wait);
    }
  }
}

Activity merged(Activity activity) {
  return {merged(std::move(activity.exposed)), merged(std::move(activity.running)), merged(std::move(activity.waiting)),
          merged(std::move(activity.unknown))};
}

/// Per iteration, in the mean of the given ones.
struct Means {
  double exposed_ms = 0;
  double hidden_ms = 0;
  std::optional<double> waiting_ms;  ///< nothing where it is not known for whom
};

Means means_of(const Activity& activity, const std::vector<Iteration>& iterations) {
  Means means;
  double waiting_ms = 0;
  bool is_known = true;
  const double count = static_cast<double>(iterations.size()) * kNsPerMs;
  for (const Iteration& one : iterations) {
    const Span within{one.started_ns, one.ended_ns};
    const auto exposed = clipped(activity.exposed, within);
    const auto running = clipped(activity.running, within);
    means.exposed_ms += static_cast<double>(length(exposed)) / count;
    means.hidden_ms += static_cast<double>(length(running) - overlap(running, exposed)) / count;
    waiting_ms += static_cast<double>(length(clipped(activity.waiting, within))) / count;
    is_known = is_known && clipped(activity.unknown, within).empty();
  }
  if (is_known) {
    means.waiting_ms = waiting_ms;
  }
  return means;
}

Activity activity_of(const RankRecord& rank, const LastCalls& last) {
  Activity activity;
  const Waits waits(rank);
  for (const Collective& one : rank.collectives) {
    add(rank, one, waits, last, activity);
  }
  return merged(std::move(activity));
}

/// Adds the parts of `spans` that no span of `others` covers; both are merged.
void add_uncovered(std::vector<Span>& to, const std::vector<Span>& spans, const std::vector<Span>& others) {
  for (const Span& span : spans) {
    std::ranges::copy(uncovered(others, span), std::back_inserter(to));
  }
}

std::vector<Iteration> iterations_of(const RankRecord& rank, const std::vector<std::int64_t>& steps) {
  std::vector<Iteration> chosen;
  for (const Iteration& one : rank.iterations) {
    if (std::ranges::binary_search(steps, one.step)) {
      chosen.push_back(one);
    }
  }
  return chosen;
}

/// The rank's own work in each common step.
std::vector<double> own_work(const RankRecord& rank, const std::vector<std::int64_t>& steps) {
  const Waits of_rank(rank);
  std::vector<Span> waits;
  for (const Collective& one : rank.collectives) {
    std::ranges::copy(of_rank.of(one), std::back_inserter(waits));
  }
  waits = merged(std::move(waits));
  std::vector<double> own;
  for (const Iteration& one : iterations_of(rank, steps)) {
    const auto waited = length(clipped(waits, {one.started_ns, one.ended_ns}));
    own.push_back(static_cast<double>(one.ended_ns - one.started_ns - waited) / kNsPerMs);
  }
  return own;
}

const RankWork* work_of(int rank, const std::vector<RankWork>& work) {
  const auto found = std::ranges::find(work, rank, &RankWork::rank);
  return found == work.end() ? nullptr : &*found;
}

/// What the other ranks spend at a place, in the median.
LineWork usual_work(const analysis::Location& place, int except, const std::vector<RankWork>& work) {
  std::vector<double> ms;
  std::vector<double> data;
  for (const RankWork& rank : work) {
    if (rank.rank == except) {
      continue;
    }
    const auto line = std::ranges::find(rank.lines, place, &LineWork::line);
    ms.push_back(line == rank.lines.end() ? 0 : line->ms);
    data.push_back(line == rank.lines.end() ? 0 : line->data_ms);
  }
  return {place, analysis::median(ms), analysis::median(data)};
}

/// Names the line with at least half of `excess_ms`.
void name_line(Straggler& straggler, double excess_ms, const std::vector<RankWork>& work) {
  const RankWork* own = work_of(straggler.rank, work);
  if (own == nullptr || work.size() < 2) {
    return;
  }
  double most = excess_ms / 2;
  for (const LineWork& line : own->lines) {
    const LineWork usual = usual_work(line.line, straggler.rank, work);
    if (line.ms - usual.ms >= most) {
      most = line.ms - usual.ms;
      straggler.line = line.line;
      straggler.is_data_loading = line.data_ms - usual.data_ms >= most / 2;
    }
  }
}

std::vector<LineCommunication> lines_of(const RankRecord& rank, const std::vector<std::int64_t>& steps,
                                        const LastCalls& last) {
  std::map<std::pair<std::string, int>, Activity> by_line;
  const Waits waits(rank);
  for (const Collective& one : rank.collectives) {
    add(rank, one, waits, last, by_line[{one.file, one.line}]);
  }
  const auto iterations = iterations_of(rank, steps);
  std::vector<LineCommunication> lines;
  for (auto& [place, activity] : by_line) {
    const Means means = means_of(merged(std::move(activity)), iterations);
    lines.push_back({place.first, place.second, means.exposed_ms, means.hidden_ms, means.waiting_ms});
  }
  std::ranges::stable_sort(lines, std::greater{}, &LineCommunication::exposed_ms);
  return lines;
}

}  // namespace

std::vector<RankFigures> rank_figures(const std::vector<RankRecord>& ranks) {
  const std::vector<std::int64_t> steps = common_steps(ranks);
  if (steps.empty()) {
    return {};
  }
  const LastCalls last(ranks);
  std::vector<RankFigures> figures;
  for (const RankRecord& rank : ranks) {
    const auto iterations = iterations_of(rank, steps);
    const Means means = means_of(activity_of(rank, last), iterations);
    double step_ns = 0;
    for (const Iteration& one : iterations) {
      step_ns += static_cast<double>(one.ended_ns - one.started_ns);
    }
    figures.push_back({rank.rank, step_ns / (static_cast<double>(iterations.size()) * kNsPerMs), means.exposed_ms,
                       means.hidden_ms, means.waiting_ms});
  }
  return figures;
}

std::vector<RankActivity> rank_activity(const std::vector<RankRecord>& ranks) {
  const std::vector<std::int64_t> steps = common_steps(ranks);
  if (steps.empty()) {
    return {};
  }
  const LastCalls last(ranks);
  std::vector<RankActivity> all;
  for (const RankRecord& rank : ranks) {
    const Activity activity = activity_of(rank, last);
    RankActivity& one = all.emplace_back();
    for (const Iteration& iteration : iterations_of(rank, steps)) {
      const Span step{iteration.started_ns, iteration.ended_ns};
      const std::vector<Span> exposed = clipped(activity.exposed, step);
      const std::vector<Span> waiting = clipped(activity.waiting, step);
      one.steps.push_back(step);
      std::ranges::copy(waiting, std::back_inserter(one.waiting));
      add_uncovered(one.network, exposed, waiting);
      add_uncovered(one.hidden, clipped(activity.running, step), exposed);
    }
  }
  return all;
}

std::vector<std::vector<LineCommunication>> line_communication(const std::vector<RankRecord>& ranks) {
  const std::vector<std::int64_t> steps = common_steps(ranks);
  if (steps.empty()) {
    return {};
  }
  const LastCalls last(ranks);
  std::vector<std::vector<LineCommunication>> all;
  for (const RankRecord& rank : ranks) {
    all.push_back(lines_of(rank, steps, last));
  }
  return all;
}

std::optional<Straggler> find_straggler(const std::vector<RankRecord>& ranks, const std::vector<RankWork>& work) {
  const std::vector<std::int64_t> steps = common_steps(ranks);
  if (ranks.size() < 2 || steps.size() < kLeastSteps) {
    return std::nullopt;
  }
  std::vector<std::vector<double>> own;
  std::vector<double> medians;
  for (const RankRecord& rank : ranks) {
    own.push_back(own_work(rank, steps));
    medians.push_back(analysis::median(own.back()));
  }
  const auto slowest = static_cast<std::size_t>(std::ranges::max_element(medians) - medians.begin());
  std::vector<double> ahead;  // of the next slowest rank, in each step
  for (std::size_t step = 0; step < steps.size(); ++step) {
    double next = 0;
    for (std::size_t rank = 0; rank < own.size(); ++rank) {
      if (rank != slowest) {
        next = std::max(next, own[rank][step]);
      }
    }
    ahead.push_back(own[slowest][step] - next);
  }
  std::vector<double> others = medians;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(slowest));
  const double usual = analysis::median(others);
  const double slower = usual > 0 ? medians[slowest] / usual - 1 : 0;
  if (analysis::median_interval(ahead).low <= 0 || slower < kLeastSlower) {
    return std::nullopt;
  }
  Straggler straggler{ranks[slowest].rank, slower};
  name_line(straggler, medians[slowest] - usual, work);
  return straggler;
}

}  // namespace ridgeline::jobs
