// Predictors of steps that are made by hand.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "analysis/prediction/answers.h"
#include "analysis/prediction/predictor.h"
#include "tests/unit/analysis/fitted_predictor.h"

namespace ridgeline::analysis::testing {

struct Sample {
  int batch_size;
  double ms;
  std::uint64_t peak_bytes;
};

inline Predictor predictor_of(const std::vector<Sample>& samples, std::uint64_t capacity = 0) {
  Profile profile;
  profile.capacity_bytes = capacity;
  for (const Sample& sample : samples) {
    profile.time_samples.push_back({sample.batch_size, {sample.ms, sample.ms * 0.99, sample.ms * 1.01}, 20});
    profile.memory_samples.push_back({sample.batch_size, sample.peak_bytes});
  }
  return fitted_predictor(profile);
}

/// R(B) = 2 B + 10 ms, M(B) = 100 B + 1000 bytes.
inline Predictor exact(std::uint64_t capacity = 0) {
  return predictor_of({{4, 18, 1400}, {8, 26, 1800}, {16, 42, 2600}}, capacity);
}

inline Answer ask(const Predictor& predictor, Quantity quantity, double value) {
  return answer(predictor, {quantity, value});
}

inline PeakModel peaks_of(std::vector<Piece> pieces, bool checked) {
  PeakModel model;
  model.value = std::move(pieces);
  model.checked = checked;
  model.allocations = 3;
  return model;
}

/// As exact(), with a ledger: a workspace of 5000 bytes rules up to a batch of 40.
inline Predictor with_ledger(bool checked = true) {
  Predictor predictor = exact();
  predictor.peaks = peaks_of({{1, 0, 5000}, {41, 100, 1000}}, checked);
  return predictor;
}

/// 1000 bytes of weights, 30 of activations for each sample; from a batch of 41 on, at another instant, 100.
inline Predictor with_parts() {
  Predictor predictor = exact();
  predictor.peaks = peaks_of({{1, 30, 5000}, {41, 100, 1000}}, true);
  const PeakPart weights{Category::kWeights, {"a.py", 1}, 0, 1000};
  predictor.peaks->parts = {
      {weights, {Category::kTemporaries, {}, 0, 4000}, {Category::kActivations, {"a.py", 2}, 30, 0}},
      {weights, {Category::kActivations, {"a.py", 2}, 100, 0}}};
  return predictor;
}

}  // namespace ridgeline::analysis::testing
