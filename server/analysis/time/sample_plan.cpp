#include "analysis/time/sample_plan.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>

#include "analysis/time/time_model.h"

namespace ridgeline::analysis {

namespace {

constexpr std::size_t kMostSamples = 24;  ///< more were named by the user: they are enough, and fitting takes time
constexpr int kEnds = 8;                  ///< the smallest size is an eighth of the smallest of the first
constexpr int kMostOctaves = 4;           ///< the largest is four times the largest of the first
constexpr double kLeastGap = 1.2;         ///< gaps of a smaller ratio are not halved
constexpr std::size_t kAtOnce = 3;        ///< sizes that are chosen at a time
constexpr double kShareAtOnce = 0.5;      ///< of the time that is left
constexpr int kExtraIterations = 10;  ///< that a size costs beside its rounds: input, warm-up, one before each round
constexpr int kRounds = 6;

struct Candidate {
  int batch_size = 0;
  double score = 0;  ///< uncertainty as a multiple of the aim; from 1 on the size is worth its time
};

/// An upper estimate of what timing a size costs.
double seconds_for(const TimeModel& model, const TimingState& state, int batch_size) {
  const Estimate ms = time_at(model, batch_size);
  const double most = ms.interval && ms.interval->high ? std::max(*ms.interval->high, ms.value) : 2 * ms.value;
  const double iteration = std::max(0.0, most) / 1000;
  return kExtraIterations * iteration + kRounds * std::max(state.round_seconds, iteration);
}

bool is_free(const TimingState& state, int batch_size) {
  return batch_size >= 1 && batch_size <= state.largest_affordable &&
         std::ranges::find(state.excluded, batch_size) == state.excluded.end() &&
         std::ranges::find(state.samples, batch_size, &TimeSample::batch_size) == state.samples.end();
}

/// The middle of a gap, or a size next to it where that one is excluded.
std::optional<int> middle_of(const TimingState& state, int left, int right) {
  const int middle = static_cast<int>(std::lround(std::sqrt(static_cast<double>(left) * right)));
  for (const int size : {middle, middle + 1, middle - 1}) {
    if (left < size && size < right && is_free(state, size)) {
      return size;
    }
  }
  return std::nullopt;
}

/// The size to time between two samples: where the costliest regime of those that matter begins, then the last size
/// before it, else the middle.
std::optional<int> place_between(const TimingState& state, const TimeSample& left, const TimeSample& right) {
  const Regime* costliest = nullptr;
  for (const Regime& regime : state.regimes) {
    const bool matters = regime.ms > kInnerAim * left.ms.value;
    const bool between = regime.from_batch > left.batch_size && regime.from_batch <= right.batch_size;
    if (matters && between && (costliest == nullptr || regime.ms > costliest->ms)) {
      costliest = &regime;
    }
  }
  if (costliest != nullptr) {
    for (const int size : {costliest->from_batch, costliest->from_batch - 1}) {
      if (left.batch_size < size && size < right.batch_size && is_free(state, size)) {
        return size;
      }
    }
  }
  return middle_of(state, left.batch_size, right.batch_size);
}

class Candidates {
 public:
  Candidates(const TimingState& state, const TimeModel& model) : state_(state), model_(model) {
    first_low_ = *std::ranges::min_element(state.first);
    first_high_ = *std::ranges::max_element(state.first);
    add_ends();
    add_gaps();
    std::ranges::stable_sort(all_, std::ranges::greater(), &Candidate::score);
  }
  const std::vector<Candidate>& all() const { return all_; }

 private:
  void add(int batch_size, double aim, bool due) {
    const double score = uncertainty_at(model_, batch_size) / aim;
    if (due || score > 1) {
      all_.push_back({batch_size, due ? score + kDue : score});
    }
  }

  void add_ends() {
    const int low = model_.measured.front().batch_size;
    const int high = model_.measured.back().batch_size;
    if (const int size = std::max(1, first_low_ / kEnds); size < low && is_free(state_, size)) {
      add(size, kOuterAim, low == first_low_);
    }
    if (high <= kMostOctaves / 2 * first_high_ && is_free(state_, 2 * high)) {
      add(2 * high, kOuterAim, high == first_high_);
    }
  }

  void add_gaps() {
    double widest = 0;
    std::optional<std::size_t> due;
    const auto& samples = model_.measured;
    const bool unchecked = state_.samples.size() == state_.first.size();
    for (std::size_t i = 0; unchecked && i + 1 < samples.size(); ++i) {
      const double ratio = static_cast<double>(samples[i + 1].batch_size) / samples[i].batch_size;
      if (ratio > widest && middle_of(state_, samples[i].batch_size, samples[i + 1].batch_size)) {
        widest = ratio;
        due = i;
      }
    }
    for (std::size_t i = 0; i + 1 < samples.size(); ++i) {
      const bool is_wide = samples[i + 1].batch_size >= kLeastGap * samples[i].batch_size;
      if (const auto place = place_between(state_, samples[i], samples[i + 1]); place && is_wide) {
        add(*place, kInnerAim, due == i);
      }
    }
  }

  static constexpr double kDue = 1000;  ///< before everything else
  const TimingState& state_;
  const TimeModel& model_;
  int first_low_ = 1;
  int first_high_ = 1;
  std::vector<Candidate> all_;
};

}  // namespace

std::vector<int> next_batch_sizes(const TimingState& state) {
  std::vector<TimeSample> samples = state.samples;
  std::ranges::sort(samples, {}, &TimeSample::batch_size);
  if (samples.size() < 3 || samples.size() > kMostSamples || state.first.empty() ||
      samples.size() >= state.first.size() + kMostChosen) {
    return {};
  }
  std::optional<TimeModel> model = fit_time_model(samples);
  if (!model.has_value()) {
    return {};
  }
  model->regimes = state.regimes;
  std::vector<int> chosen;
  double left = kShareAtOnce * state.seconds_left;
  const Candidates candidates(state, *model);
  for (const Candidate& candidate : candidates.all()) {
    const double cost = seconds_for(*model, state, candidate.batch_size);
    if (chosen.size() < kAtOnce && cost <= left) {
      chosen.push_back(candidate.batch_size);
      left -= cost;
    }
  }
  return chosen;
}

}  // namespace ridgeline::analysis
