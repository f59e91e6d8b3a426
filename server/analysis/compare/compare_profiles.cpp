#include "analysis/compare/compare_profiles.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/compare/line_pairs.h"
#include "analysis/compare/run_figures.h"
#include "analysis/compare/statistics.h"

namespace ridgeline::analysis {

namespace {

constexpr double kStepAlpha = 0.025;    ///< the step's interval may be wrong so often
constexpr double kOthersAlpha = 0.025;  ///< any of the others, all together
constexpr double kLeastShare = 0.01;    ///< of the step or the peak: what is smaller is not compared
constexpr double kNegligible = 0.001;   ///< of the peak: no difference in memory

using Runs = std::vector<RunFigure>;  ///< of one figure, one for each run

/// What a figure is in every run of either side; empty where that side does not have it.
struct Pair {
  Runs before;
  Runs after;
};

Runs runs_of(const std::vector<RunFigures>& all, const auto& pick) {
  Runs runs;
  for (const RunFigures& one : all) {
    runs.push_back(pick(one));
  }
  return runs;
}

template <typename Map, typename Key>
RunFigure found(const Map& map, const Key& key) {
  const auto at = map.find(key);
  return at == map.end() ? RunFigure{} : at->second;
}

double largest_ms(const Pair& pair) {
  double most = 0;
  for (const Runs* runs : {&pair.before, &pair.after}) {
    for (const RunFigure& run : *runs) {
      most = std::max(most, run.ms);
    }
  }
  return most;
}

std::uint64_t largest_bytes(const Pair& pair) {
  std::uint64_t most = 0;
  for (const Runs* runs : {&pair.before, &pair.after}) {
    for (const RunFigure& run : *runs) {
      most = std::max(most, run.bytes);
    }
  }
  return most;
}

std::vector<std::uint64_t> bytes_of(const Runs& runs) {
  std::vector<std::uint64_t> bytes;
  for (const RunFigure& run : runs) {
    bytes.push_back(run.bytes);
  }
  return bytes.empty() ? std::vector<std::uint64_t>{0} : bytes;
}

/// What all runs took: their mean, and the least and the most of any round.
std::optional<std::pair<double, Bounds>> energy_of(const std::vector<const Profile*>& runs) {
  double mean = 0;
  Bounds all{std::numeric_limits<double>::infinity(), 0};
  for (const Profile* run : runs) {
    if (!run->energy) {
      return std::nullopt;
    }
    mean += run->energy->joules / static_cast<double>(runs.size());
    all = {std::min(all.low, run->energy->low), std::max(all.high, run->energy->high)};
  }
  return std::pair(mean, all);
}

std::optional<EnergyChange> energy_change(const std::vector<const Profile*>& before,
                                          const std::vector<const Profile*>& after, double margin) {
  const auto then = energy_of(before);
  const auto now = energy_of(after);
  if (!then || !now) {
    return std::nullopt;
  }
  const Bounds bounds{now->second.low - then->second.high, now->second.high - then->second.low};
  const double most = margin * then->first;
  const Outcome outcome = bounds.low > 0 || bounds.high < 0            ? Outcome::kDiffers
                          : -bounds.low <= most && bounds.high <= most ? Outcome::kNoDifference
                                                                       : Outcome::kUndecided;
  return EnergyChange{then->first, now->first, bounds, outcome};
}

Subject subject_of(const Side& side) {
  const Profile& profile = *side.runs.back();
  return {side.name,
          profile.entry_path,
          profile.batch_size_known ? std::optional(profile.batch_size) : std::nullopt,
          profile.environment.device_name.empty() ? profile.environment.device : profile.environment.device_name,
          profile.environment.torch,
          static_cast<int>(side.runs.size())};
}

class Comparing {
 public:
  Comparing(const Side& before, const Side& after, const Settings& settings)
      : before_(*before.runs.back()), after_(*after.runs.back()), settings_(settings) {
    for (const Profile* run : before.runs) {
      figures_before_.push_back(figures_of(*run));
    }
    for (const Profile* run : after.runs) {
      figures_after_.push_back(figures_of(*run));
    }
    result_.before = subject_of(before);
    result_.after = subject_of(after);
    result_.in_turns = settings.in_turns;
    result_.margin = settings.margin;
    result_.energy = energy_change(before.runs, after.runs, settings.margin);
  }

  Comparison run() {
    const Pair step = pair_of([](const RunFigures& run) { return run.step; });
    least_ms_ = kLeastShare * std::min(before_.iteration.ms.value, after_.iteration.ms.value);
    if (before_.peak_known && after_.peak_known) {
      peak_bytes_ = largest_bytes(step);
      result_.peak = memory(step);
    }
    result_.step = time(step, kStepAlpha);
    collect_phases();
    collect_modules();
    collect_lines();
    const double alpha = kOthersAlpha / std::max<double>(1, static_cast<double>(timed_.size()));
    for (auto& [change, pair] : timed_) {
      *change = time(*pair, alpha);
    }
    add_categories();
    add_notes();
    finish();
    return std::move(result_);
  }

 private:
  template <typename Pick>
  Pair pair_of(const Pick& pick) const {
    return {runs_of(figures_before_, pick), runs_of(figures_after_, pick)};
  }

  bool matters_in_time(const Pair& pair) const { return largest_ms(pair) >= least_ms_ && least_ms_ > 0; }
  bool matters_in_memory(const Pair& pair) const {
    return peak_bytes_ > 0 &&
           static_cast<double>(largest_bytes(pair)) >= kLeastShare * static_cast<double>(peak_bytes_);
  }

  TimeChange time(const Pair& pair, double alpha) const {
    const auto observed = [](const Runs& runs) {
      std::vector<ObservedRun> all;
      for (const RunFigure& run : runs) {
        if (run.ms > 0) {
          all.push_back({run.ms, run.relative_error});
        }
      }
      return all;
    };
    const std::vector<ObservedRun> before = observed(pair.before);
    const std::vector<ObservedRun> after = observed(pair.after);
    if (before.size() < pair.before.size() || after.size() < pair.after.size() || before.empty() || after.empty()) {
      return without_interval(pair);
    }
    return time_change(before, after, settings_.in_turns, alpha, settings_.margin);
  }

  /// Where a version, or some of its runs, has nothing: a ratio would mean nothing.
  static TimeChange without_interval(const Pair& pair) {
    const auto mean = [](const Runs& runs) {
      double sum = 0;
      for (const RunFigure& run : runs) {
        sum += run.ms / static_cast<double>(runs.size());
      }
      return sum;
    };
    const Runs& only = pair.before.empty() ? pair.after : pair.before;
    const bool one_sided = pair.before.empty() || pair.after.empty();
    // A single run on a busy machine may have missed it in the other version.
    const bool certain = std::ranges::all_of(only, [&](const RunFigure& run) {
      return run.ms > 0 && (only.size() > 1 || run.relative_error.value_or(1) < kNoisyRunToRun);
    });
    return {mean(pair.before), mean(pair.after), 0, std::nullopt,
            one_sided && certain ? Outcome::kDiffers : Outcome::kUndecided};
  }

  MemoryChange memory(const Pair& pair) const {
    const auto negligible = static_cast<std::uint64_t>(kNegligible * static_cast<double>(peak_bytes_));
    return memory_change(bytes_of(pair.before), bytes_of(pair.after), negligible, settings_.margin);
  }

  void collect_phases() {
    for (std::size_t i = 0; i < kPhaseCount; ++i) {
      Pair pair = pair_of([i](const RunFigures& run) { return run.phases.at(i); });
      if (matters_in_time(pair)) {
        phases_.push_back({{kPhaseNames.at(i), std::nullopt, std::nullopt}, std::move(pair)});
      }
    }
    test_all(phases_);
  }

  void collect_modules() {
    std::set<std::string> paths;
    for (const auto* side : {&figures_before_, &figures_after_}) {
      for (const auto& [path, figure] : side->back().modules) {
        paths.insert(path);
      }
    }
    for (const std::string& path : paths) {
      Pair pair = pair_of([&](const RunFigures& run) { return found(run.modules, path); });
      if (!figures_before_.back().modules.contains(path)) {
        pair.before.clear();
      }
      if (!figures_after_.back().modules.contains(path)) {
        pair.after.clear();
      }
      const bool in_memory = matters_in_memory(pair);
      if (!matters_in_time(pair) && !in_memory) {
        continue;
      }
      Change change{path, std::nullopt, in_memory ? std::optional(memory(pair)) : std::nullopt};
      modules_.push_back({std::move(change), std::move(pair)});
    }
    test_all(modules_);
  }

  void collect_lines() {
    for (const LinePair& lines : pair_lines(before_.lines, after_.lines)) {
      Pair pair;
      const auto pick = [](const std::vector<RunFigures>& all, const LineCost* line) {
        return line == nullptr ? Runs() : runs_of(all, [&](const RunFigures& run) {
          return found(run.lines, Place{line->location.file, line->location.line});
        });
      };
      pair.before = pick(figures_before_, lines.before);
      pair.after = pick(figures_after_, lines.after);
      const bool in_memory = matters_in_memory(pair);
      const bool in_time = matters_in_time(pair);
      if (!in_time && !in_memory) {
        continue;
      }
      LineChange change;
      change.presence = lines.presence;
      if (lines.before != nullptr) {
        change.before = lines.before->location;
        change.before_text = lines.before->text;
      }
      if (lines.after != nullptr) {
        change.after = lines.after->location;
        change.after_text = lines.after->text;
      }
      if (in_memory) {
        change.memory = memory(pair);
      }
      lines_.push_back({std::move(change), std::move(pair), in_time});
    }
    for (ComparedLine& line : lines_) {
      if (line.in_time) {
        timed_.emplace_back(&line.change.time.emplace(), &line.pair);
      }
    }
  }

  struct Compared {
    Change change;
    Pair pair;
  };
  struct ComparedLine {
    LineChange change;
    Pair pair;
    bool in_time = false;
  };

  /// To be called once all of them are there: they stay where they are.
  void test_all(std::vector<Compared>& all) {
    for (Compared& one : all) {
      if (matters_in_time(one.pair)) {
        timed_.emplace_back(&one.change.time.emplace(), &one.pair);
      }
    }
  }

  void add_categories() {
    if (!result_.peak) {
      return;
    }
    for (std::size_t i = 0; i < kCategoryCount; ++i) {
      const Pair pair{{{0, before_.by_category.at(i), {}}}, {{0, after_.by_category.at(i), {}}}};
      if (matters_in_memory(pair)) {
        result_.categories.push_back({kCategoryLabels.at(i), std::nullopt, memory(pair)});
      }
    }
  }

  void note_if(bool holds, std::string note) {
    if (holds) {
      result_.notes.push_back(std::move(note));
    }
  }

  void add_notes() {
    const Subject& before = result_.before;
    const Subject& after = result_.after;
    const auto size = [](const Subject& subject) {
      return subject.batch_size ? std::to_string(*subject.batch_size) : "unknown";
    };
    note_if(before.batch_size != after.batch_size,
            fmt::format("The batch sizes differ: {} before, {} after.", size(before), size(after)));
    note_if(before.device != after.device,
            fmt::format("The devices differ: {} before, {} after.", before.device, after.device));
    note_if(before_.environment.threads != after_.environment.threads,
            fmt::format("The numbers of threads differ: {} before, {} after.", before_.environment.threads,
                        after_.environment.threads));
    if (std::string note = thread_settings_note(before_.environment, after_.environment); !note.empty()) {
      result_.notes.push_back(std::move(note));
    }
    note_if(before.torch != after.torch,
            fmt::format("The versions of torch differ: {} before, {} after.", before.torch, after.torch));
    note_if(!before_.peak_known || !after_.peak_known, "The peak of memory is not compared: it is not known of both.");
    for (const auto& [profile, subject] : {std::pair(&before_, &before), std::pair(&after_, &after)}) {
      note_if(std::ranges::any_of(profile->lines, &std::string::empty, &LineCost::text),
              fmt::format("{} lacks texts of lines: those files are matched by line number.", subject->name));
      note_if(is_uncertain(*profile),
              fmt::format("The iteration time of {} varies a lot: its 95 % interval is more than 10 % wide.",
                          subject->name));
    }
  }

  void finish() {
    for (Compared& phase : phases_) {
      result_.phases.push_back(std::move(phase.change));
    }
    for (Compared& module : modules_) {
      result_.modules.push_back(std::move(module.change));
    }
    for (ComparedLine& line : lines_) {
      result_.lines.push_back(std::move(line.change));
    }
    const auto most = [](const auto& change) {
      return change.time ? std::max(change.time->before_ms, change.time->after_ms) : 0;
    };
    std::ranges::stable_sort(result_.lines, std::greater{}, most);
    std::ranges::stable_sort(result_.modules, std::greater{}, most);
  }

  const Profile& before_;  ///< the last run
  const Profile& after_;
  Settings settings_;
  std::vector<RunFigures> figures_before_;
  std::vector<RunFigures> figures_after_;
  double least_ms_ = 0;
  std::uint64_t peak_bytes_ = 0;
  std::vector<Compared> phases_;
  std::vector<Compared> modules_;
  std::vector<ComparedLine> lines_;
  std::vector<std::pair<TimeChange*, const Pair*>> timed_;  ///< into those
  Comparison result_;
};

}  // namespace

std::string thread_settings_note(const Environment& before, const Environment& after) {
  if (!before.thread_settings || !after.thread_settings || *before.thread_settings == *after.thread_settings) {
    return "";
  }
  const auto listed = [](const std::vector<std::string>& settings) {
    return settings.empty() ? std::string("none") : fmt::format("{}", fmt::join(settings, " "));
  };
  return fmt::format("The settings of threads differ, which alone can change the times: {} before, {} after.",
                     listed(*before.thread_settings), listed(*after.thread_settings));
}

Comparison compare(const Side& before, const Side& after, const Settings& settings) {
  return Comparing(before, after, settings).run();
}

}  // namespace ridgeline::analysis
