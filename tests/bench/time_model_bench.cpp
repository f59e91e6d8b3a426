// How long the time model takes: to fit it to many samples that bend, to ask it, and to fit the parts of a step.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <vector>

#include "analysis/time/time_model.h"

namespace {

using namespace ridgeline::analysis;

/// Batch sizes a fifth apart; the time is flat up to 40, then grows, with an error of a few percent.
std::vector<TimeSample> samples_of(int count) {
  std::vector<TimeSample> samples;
  double batch_size = 4;
  for (int i = 0; i < count; ++i) {
    const int size = static_cast<int>(batch_size) + i;
    const double error = 1 + 0.03 * std::sin(37.0 * i);
    const double ms = (size < 40 ? 20.0 : 20 + 0.7 * (size - 40)) * error;
    TimeSample sample;
    sample.batch_size = size;
    sample.ms = {ms, 0.995 * ms, 1.005 * ms};
    samples.push_back(sample);
    batch_size *= 1.2;
  }
  return samples;
}

/// Microseconds of one call of `work`, which returns a figure: the least of ten series of `count`.
template <typename Work>
double microseconds(int count, double& sum, Work work) {
  double best = INFINITY;
  for (int series = 0; series < 10; ++series) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < count; ++i) {
      sum += work(i);
    }
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
    best = std::fmin(best, time.count() / count);
  }
  return best;
}

}  // namespace

int main() {
  double sum = 0;  // what was computed is used, or the compiler would leave it out
  const auto fit = [&](int count) {
    const std::vector<TimeSample> samples = samples_of(count);
    return microseconds(50, sum, [&](int) { return fit_time_model(samples)->relative_sd; });
  };
  const double few = fit(5);
  const double some = fit(12);
  const double many = fit(24);
  const std::vector<TimeSample> samples = samples_of(12);
  const TimeModel model = *fit_time_model(samples);
  const double ask = microseconds(20'000, sum, [&](int i) { return time_at(model, 4.5 + i % 500).interval->low; });
  constexpr int kParts = 400;  // as many lines as a large step has
  std::vector<std::vector<double>> parts(kParts, std::vector<double>(samples.size(), 1));
  const double all_parts = microseconds(5, sum, [&](int i) {
    parts[static_cast<std::size_t>(i)].front() += 1;
    return fit_parts(model, parts).back().back().slope;
  });
  std::printf(
      "{\"pieces\": %zu, \"fit5\": %.2f, \"fit12\": %.2f, \"fit24\": %.2f, \"ask\": %.4f, \"part\": %.3f, "
      "\"sum\": %.17g}\n",
      model.pieces.size(), few, some, many, ask, all_parts / kParts, sum);
  return 0;
}
