#include "analysis/compare/run_figures.h"

#include <algorithm>
#include <cmath>

#include "analysis/compare/statistics.h"
#include "analysis/time/noise.h"
#include "analysis/time/quantiles.h"

namespace ridgeline::analysis {

namespace {

/// Standard deviation of what another run may differ by, as a fraction, as far as this run shows it. Nothing of a run
/// on a busy machine: threads that wait for each other can take a thousand times as long there.
std::optional<double> step_error(const Profile& profile) {
  if (profile.environment.others_used.has_value()) {
    return std::nullopt;
  }
  const double of_interval = relative_width(profile.iteration.ms) / 2 / normal95();
  const TimeSample* sample = sample_of(profile, profile.batch_size);
  const double between_stages = std::abs(std::log(std::max(profile.scale, 1e-9)));
  const double error = std::max({of_interval, sample == nullptr ? 0 : sample->aa_noise / 2, between_stages});
  return error <= kMostError ? error : std::max(error, kNoisyRunToRun);
}

/// A weighted mean of the lines' variation.
class Variation {
 public:
  void add(double ms, const std::optional<double>& spread) {
    if (spread.has_value()) {
      weighted_ += ms * *spread;
      weight_ += ms;
    }
  }
  void add(const Variation& other) {
    weighted_ += other.weighted_;
    weight_ += other.weight_;
  }
  std::optional<double> mean() const { return weight_ > 0 ? std::optional(weighted_ / weight_) : std::nullopt; }

 private:
  double weighted_ = 0;
  double weight_ = 0;
};

class RunFiguresBuilder {
 public:
  explicit RunFiguresBuilder(const Profile& profile) : profile_(profile), step_error_(step_error(profile)) {}

  RunFigures run() {
    result_.step = {profile_.iteration.ms.value, profile_.peak_bytes, step_error_};
    std::array<Variation, kPhaseCount> phases;
    for (const LineCost& line : profile_.lines) {
      result_.lines[{line.location.file, line.location.line}] = {line.self_ms, line.peak_bytes,
                                                                 error_of(line.self_spread)};
      spreads_[{line.location.file, line.location.line}] = line.self_spread;
      for (std::size_t i = 0; i < phases.size(); ++i) {
        phases[i].add(line.self_by_phase[i], line.self_spread);
      }
    }
    for (std::size_t i = 0; i < phases.size(); ++i) {
      result_.phases[i] = {profile_.iteration.by_phase[i], 0, error_of(phases[i].mean())};
    }
    add_modules(profile_.breakdown, "");
    for (const auto& [path, variation] : variations_) {
      result_.modules[path].relative_error = error_of(variation.mean());
    }
    return std::move(result_);
  }

 private:
  /// The relative error of a mean over the recorded iterations, scaled to the step.
  std::optional<double> error_of(const std::optional<double>& spread) const {
    if (!spread.has_value() || !step_error_.has_value()) {
      return std::nullopt;
    }
    return std::hypot(*step_error_, *spread / std::sqrt(std::max(1, profile_.recorded_iterations)));
  }

  /// Returns the variation of what is inside of the node. As deep as a report may be nested.
  Variation add_modules(const Node& node, const std::string& above) {
    const bool is_module = !node.type.empty();
    const std::string path = !is_module ? above : above.empty() ? node.name : above + "." + node.name;
    Variation variation;
    if (node.children.empty()) {
      const auto line = spreads_.find({node.location.file, node.location.line});
      variation.add(node.ms, line == spreads_.end() ? std::nullopt : line->second);
    }
    for (const Node& child : node.children) {
      variation.add(add_modules(child, path));
    }
    if (is_module) {
      RunFigure& figure = result_.modules[path];
      figure.ms += node.ms;
      figure.bytes += node.peak_bytes;
      variations_[path].add(variation);
    }
    return variation;
  }

  const Profile& profile_;
  std::optional<double> step_error_;
  std::map<Place, std::optional<double>> spreads_;
  std::map<std::string, Variation> variations_;
  RunFigures result_;
};

}  // namespace

RunFigures figures_of(const Profile& profile) { return RunFiguresBuilder(profile).run(); }

}  // namespace ridgeline::analysis
