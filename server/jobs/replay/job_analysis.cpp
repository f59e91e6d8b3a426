#include "jobs/replay/job_analysis.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace ridgeline::jobs {

namespace {

using step::TaskId;
using LineKey = std::pair<std::string, std::uint32_t>;

/// By part, then the line's text: how long its tasks are.
using TimesByLine = std::vector<std::map<LineKey, std::pair<std::uint32_t, std::int64_t>>>;

TimesByLine times_by_line(const JobGraph& job) {
  TimesByLine times(job.parts.size());
  for (std::size_t part = 0; part < job.parts.size(); ++part) {
    for (TaskId offset = 0; offset < job.parts[part].count; ++offset) {
      const step::Task& task = job.graph.tasks[job.parts[part].first + offset];
      if (task.line == 0) {
        continue;
      }
      const analysis::Location& line = job.graph.lines[task.line];
      auto& [index, ns] = times[part][{line.file, line.line}];
      index = task.line;
      ns += task.duration_ns;
    }
  }
  return times;
}

void blame_line(LateRank& late_rank, const TimesByLine& times) {
  for (const auto& [key, own] : times[late_rank.part]) {
    std::vector<std::int64_t> others;
    for (std::size_t part = 0; part < times.size(); ++part) {
      if (part == late_rank.part) {
        continue;
      }
      const auto found = times[part].find(key);
      others.push_back(found == times[part].end() ? 0 : found->second.second);
    }
    const auto middle = others.begin() + static_cast<std::ptrdiff_t>(others.size() / 2);
    std::ranges::nth_element(others, middle);
    const std::int64_t excess = own.second - *middle;
    if (excess > late_rank.excess_ns) {
      late_rank.line = own.first;
      late_rank.excess_ns = excess;
    }
  }
}

int part_of(const JobGraph& job, TaskId task) {
  const auto after = std::ranges::upper_bound(job.parts, task, {}, &JobGraph::Part::first);
  if (after == job.parts.begin()) {
    return -1;
  }
  const JobGraph::Part& part = *std::prev(after);
  return task < part.first + part.count ? static_cast<int>(std::prev(after) - job.parts.begin()) : -1;
}

}  // namespace

std::vector<PathShare> critical_shares(const JobGraph& job, const step::Schedule& schedule) {
  std::map<TaskId, int> end_of;
  for (std::size_t place = 0; place < job.collectives.size(); ++place) {
    for (const TaskId end : job.collectives[place].ends) {
      end_of[end] = static_cast<int>(place);
    }
  }
  std::map<std::tuple<int, std::uint32_t, int>, std::int64_t> sums;
  std::int64_t before = 0;
  for (const TaskId task : step::critical_path(job.graph, schedule)) {
    const std::int64_t ns = schedule.end[task] - before;
    before = schedule.end[task];
    const auto end = end_of.find(task);
    const int part = end == end_of.end() ? part_of(job, task) : -1;
    const int collective = end == end_of.end() ? -1 : end->second;
    sums[{part, part < 0 ? 0 : job.graph.tasks[task].line, collective}] += ns;
  }
  std::vector<PathShare> shares;
  for (const auto& [key, ns] : sums) {
    if (ns > 0) {
      shares.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), ns});
    }
  }
  std::ranges::stable_sort(shares, std::greater(), &PathShare::ns);
  return shares;
}

std::vector<LateRank> late_ranks(const JobGraph& job, const step::Schedule& schedule) {
  std::vector<LateRank> all(job.parts.size());
  for (std::size_t part = 0; part < all.size(); ++part) {
    all[part].part = part;
  }
  if (all.size() < 2) {
    return {};
  }
  for (const JobGraph::Collective& collective : job.collectives) {
    std::vector<std::pair<std::int64_t, std::size_t>> starts;
    if (collective.parts.size() < 2) {
      continue;
    }
    for (std::size_t own = 0; own < collective.parts.size(); ++own) {
      starts.emplace_back(schedule.start[collective.starts[own]], collective.parts[own]);
    }
    std::ranges::partial_sort(starts, starts.begin() + 2, std::greater());
    all[starts[0].second].late_ns += starts[0].first - starts[1].first;
  }
  std::erase_if(all, [](const LateRank& one) { return one.late_ns == 0; });
  const TimesByLine times = times_by_line(job);
  for (LateRank& late_rank : all) {
    blame_line(late_rank, times);
  }
  std::ranges::stable_sort(all, std::greater(), &LateRank::late_ns);
  return all;
}

std::vector<analysis::LineTime> thread_times(const step::Graph& rank, std::size_t steps) {
  const double scale = 1e6 * static_cast<double>(steps);
  std::map<std::uint32_t, analysis::LineTime> sums;
  for (const step::Task& task : rank.tasks) {
    if (task.line == 0) {
      continue;
    }
    analysis::LineTime& line = sums.try_emplace(task.line, rank.lines[task.line]).first->second;
    const double ms = static_cast<double>(task.duration_ns) / scale;
    line.ms += ms;
    if (task.phase == analysis::Phase::kData) {
      line.data_ms += ms;
    }
  }
  std::vector<analysis::LineTime> times;
  for (auto& [index, line] : sums) {
    times.push_back(std::move(line));
  }
  std::ranges::stable_sort(times, std::greater(), &analysis::LineTime::ms);
  return times;
}

}  // namespace ridgeline::jobs
