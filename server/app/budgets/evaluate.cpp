#include "app/budgets/evaluate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "analysis/compare/run_figures.h"
#include "analysis/compare/statistics.h"
#include "report/rendered_comparison.h"
#include "report/units.h"

namespace ridgeline::app {

namespace {

using analysis::Bounds;
using analysis::Profile;
using analysis::RunFigure;
using analysis::RunFigures;

constexpr const char* kBusy = "the machine was busy";
constexpr double kNoMargin = 0;  // only the interval of a change is used

/// The figure of a run that a budget limits; absent when nothing matches the pattern.
std::optional<RunFigure> figure_of(const Budget& budget, const Profile& profile, const RunFigures& run) {
  if (budget.scope == Scope::kStep) {
    return run.step;
  }
  RunFigure sum;
  double weighted = 0;
  bool known = true;
  bool found = false;
  const auto add = [&](const RunFigure& part) {
    found = true;
    sum.ms += part.ms;
    sum.bytes += part.bytes;
    known = known && (part.relative_error.has_value() || part.ms <= 0);
    weighted += part.ms * part.relative_error.value_or(0);
  };
  if (budget.scope == Scope::kLines) {
    for (const analysis::LineCost& line : profile.lines) {
      if (matches_pattern(budget.pattern, line.text)) {
        add(run.lines.at({line.location.file, line.location.line}));
      }
    }
  } else {
    std::string outer;  // paths are sorted: what is inside of a module follows it
    for (const auto& [path, figure] : run.modules) {
      if (!outer.empty() && path.starts_with(outer + ".")) {
        continue;
      }
      if (matches_pattern(budget.pattern, path)) {
        add(figure);
        outer = path;
      }
    }
  }
  if (known && sum.ms > 0) {
    sum.relative_error = weighted / sum.ms;
  }
  return found ? std::optional(sum) : std::nullopt;
}

Verdict verdict_of(double low, double high, double limit) {
  return high <= limit ? Verdict::kWithin : low > limit ? Verdict::kOver : Verdict::kUndecided;
}

class Evaluation {
 public:
  Evaluation(const std::vector<Profile>& runs, const Profile* baseline, double alpha)
      : runs_(runs), baseline_(baseline), alpha_(alpha) {
    for (const Profile& run : runs) {
      figures_.push_back(analysis::figures_of(run));
    }
  }

  Finding judge(const Budget& budget) const {
    std::vector<RunFigure> figures;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (const auto figure = figure_of(budget, runs_[i], figures_[i])) {
        figures.push_back(*figure);
      }
    }
    Finding finding{budget, Verdict::kNoMatch, ""};
    if (figures.size() < runs_.size()) {
      finding.measured =
          budget.scope == Scope::kModules ? "no module matches the pattern" : "no line matches the pattern";
      return finding;
    }
    switch (budget.quantity) {
      case Quantity::kTime:
      case Quantity::kThroughput:
        judge_time(figures_of_quiet_runs(figures), finding);
        break;
      case Quantity::kSlowdown:
        judge_slowdown(figures_of_quiet_runs(figures), finding);
        break;
      case Quantity::kPeakMemory:
      case Quantity::kGrowth:
        judge_memory(figures, finding);
        break;
      case Quantity::kEnergy:
      case Quantity::kEnergyPerSample:
        judge_energy(finding);
        break;
    }
    return finding;
  }

 private:
  static std::vector<analysis::ObservedRun> observed(const std::vector<RunFigure>& figures) {
    std::vector<analysis::ObservedRun> all;
    for (const RunFigure& figure : figures) {
      if (figure.ms > 0) {
        all.push_back({figure.ms, figure.relative_error});
      }
    }
    return all;
  }

  /// The `figures`, one for each run, of runs that had the machine to themselves.
  std::vector<RunFigure> figures_of_quiet_runs(const std::vector<RunFigure>& figures) const {
    std::vector<RunFigure> kept;
    for (std::size_t i = 0; i < figures.size(); ++i) {
      if (!runs_[i].environment.others_used) {
        kept.push_back(figures[i]);
      }
    }
    return kept;
  }

  /// `figures` may be empty.
  void judge_time(const std::vector<RunFigure>& figures, Finding& finding) const {
    finding.verdict = Verdict::kUndecided;
    if (figures.empty()) {
      finding.measured = kBusy;
      return;
    }
    const auto times = observed(figures);
    const auto mean = times.size() < figures.size() ? analysis::MeanTime() : analysis::mean_time(times, alpha_);
    const bool is_rate = finding.budget.quantity == Quantity::kThroughput;
    if (!mean.bounds || (is_rate && !runs_.back().batch_size_known)) {
      finding.measured = "too little was measured";
      return;
    }
    if (!is_rate) {
      finding.verdict = verdict_of(mean.bounds->low, mean.bounds->high, finding.budget.limit);
      finding.measured = fmt::format("{} ({} to {})", report::duration(mean.ms), report::duration(mean.bounds->low),
                                     report::duration(mean.bounds->high));
      return;
    }
    const double samples = 1000.0 * runs_.back().batch_size;
    const double low = samples / mean.bounds->high;
    const double high = samples / mean.bounds->low;
    finding.verdict = verdict_of(-high, -low, -finding.budget.limit);  // at least, not at most
    finding.measured = fmt::format("{} samples/s ({} to {})", report::figure(samples / mean.ms), report::figure(low),
                                   report::figure(high));
  }

  /// `figures` may be empty.
  void judge_slowdown(const std::vector<RunFigure>& figures, Finding& finding) const {
    const auto then = observed({analysis::figures_of(*baseline_).step});
    const auto now = observed(figures);
    finding.verdict = Verdict::kUndecided;
    if (figures.empty() || baseline_->environment.others_used) {
      finding.measured = figures.empty() ? kBusy : "the machine was busy when the baseline was made";
      return;
    }
    if (then.empty() || now.size() < figures.size()) {
      finding.measured = "too little was measured";
      return;
    }
    const analysis::TimeChange change = analysis::time_change(then, now, false, alpha_, kNoMargin);
    if (change.bounds) {
      finding.verdict = verdict_of(change.bounds->low, change.bounds->high, finding.budget.limit);
    }
    const auto signed_share = [](double part) { return (part < 0 ? "−" : "+") + report::share(std::abs(part)); };
    finding.measured = change.bounds ? fmt::format("{} ({} to {})", signed_share(change.change),
                                                   signed_share(change.bounds->low), signed_share(change.bounds->high))
                                     : "too little was measured";
  }

  void judge_memory(const std::vector<RunFigure>& figures, Finding& finding) const {
    const bool is_growth = finding.budget.quantity == Quantity::kGrowth;
    const auto known = [](const Profile& profile) { return profile.peak_known; };
    if (!std::ranges::all_of(runs_, known) || (is_growth && (!baseline_->peak_known || baseline_->peak_bytes == 0))) {
      finding.verdict = Verdict::kUndecided;
      finding.measured = "the peak is not known";
      return;
    }
    const auto [least, most] = std::ranges::minmax(figures, {}, &RunFigure::bytes);
    const auto low = static_cast<double>(least.bytes);
    const auto high = static_cast<double>(most.bytes);
    finding.measured = report::bytes(high);
    double limit = finding.budget.limit;
    if (is_growth) {
      const auto before = static_cast<double>(baseline_->peak_bytes);
      limit = (1 + limit) * before;
      finding.measured += ", was " + report::bytes(before);
    }
    finding.verdict = verdict_of(low, high, limit);
  }

  /// Judged by the lowest and the highest energy of any round of any run.
  void judge_energy(Finding& finding) const {
    finding.verdict = Verdict::kUndecided;
    const bool of_sample = finding.budget.quantity == Quantity::kEnergyPerSample;
    double low = std::numeric_limits<double>::infinity();
    double high = 0;
    for (const Profile& run : runs_) {
      if (!run.energy || (of_sample && !run.batch_size_known)) {
        finding.measured = "no energy was measured: `ridgeline doctor` says why";
        return;
      }
      const double samples = of_sample ? run.batch_size : 1;
      low = std::min(low, run.energy->low / samples);
      high = std::max(high, run.energy->high / samples);
    }
    finding.verdict = verdict_of(low, high, finding.budget.limit);
    finding.measured = fmt::format("{} to {}", report::energy(low), report::energy(high));
  }

  const std::vector<Profile>& runs_;
  const Profile* baseline_;
  double alpha_;
  std::vector<RunFigures> figures_;
};

}  // namespace

std::vector<Finding> evaluate(const EntryBudgets& entry, const std::vector<Profile>& runs, const Profile* baseline,
                              double alpha) {
  const Evaluation evaluation(runs, baseline,
                              alpha / static_cast<double>(std::max<std::size_t>(1, entry.budgets.size())));
  std::vector<Finding> findings;
  for (const Budget& budget : entry.budgets) {
    findings.push_back(evaluation.judge(budget));
  }
  return findings;
}

bool matches_pattern(std::string_view pattern, std::string_view text) {
  std::size_t at = 0;
  std::size_t in = 0;
  std::size_t star = std::string_view::npos;  // the last '*' in the pattern
  std::size_t tried = 0;                      // where in `text` matching resumed after it
  while (in < text.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      tried = in;
    } else if (at < pattern.size() && (pattern[at] == '?' || pattern[at] == text[in])) {
      ++at;
      ++in;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      in = ++tried;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

}  // namespace ridgeline::app
