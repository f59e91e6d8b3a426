#include "ingest/range_phase.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

#include "ingest/range_words.h"

namespace ridgeline::ingest {

namespace {

using Words = std::vector<std::string>;
using Names = std::initializer_list<std::string_view>;

bool has_word(const Words& words, Names names) {
  return std::ranges::any_of(words,
                             [&](const std::string& word) { return std::ranges::find(names, word) != names.end(); });
}

bool has_only_words(const Words& words, Names names) {
  return !words.empty() && std::ranges::all_of(words, [&](const std::string& word) {
    return std::ranges::find(names, word) != names.end();
  });
}

/// One word behind the other.
bool has_phrase(const Words& words, Names phrase) { return !std::ranges::search(words, phrase).empty(); }

bool is_backward(const Words& words) {
  return has_word(words, {"backward", "bwd", "backprop"}) && !has_word(words, {"forward", "fwd"});
}

bool is_optimizer(const Words& words) {
  const bool optimizes = has_word(words, {"optimize", "optimise", "optimization", "optimisation"}) &&
                         has_only_words(words, {"optimize", "optimise", "optimization", "optimisation", "step",
                                                "weights", "parameters", "params", "model"});
  return optimizes || has_word(words, {"optimizer", "optimizers", "optimiser", "optimisers", "optim", "zerograd"}) ||
         has_phrase(words, {"opt", "step"}) || has_phrase(words, {"zero", "grad"}) ||
         has_phrase(words, {"weight", "update"}) || has_phrase(words, {"weights", "update"}) ||
         has_phrase(words, {"update", "weights"});
}

bool is_data(const Words& words) {
  if (has_word(words, {"dataloader", "dataloading", "h2d"}) || has_phrase(words, {"to", "device"}) ||
      has_phrase(words, {"to", "gpu"}) || has_phrase(words, {"to", "cuda"})) {
    return true;
  }
  const bool is_loaded = has_word(
      words, {"load", "loads",   "loading",  "loader",      "fetch",      "fetching",      "next",        "get",
              "read", "reading", "prefetch", "collate",     "wait",       "waiting",       "copy",        "transfer",
              "move", "in",      "prepare",  "preparation", "preprocess", "preprocessing", "augmentation"});
  const bool is_data = has_word(words, {"data"});
  return (is_loaded && (is_data || has_word(words, {"batch", "batches", "minibatch"}))) ||
         (is_data && has_only_words(words, {"data", "train", "training", "batch", "input", "time", "pipeline"}));
}

}  // namespace

RangePhase phase_of_range(const TraceEvent& event, std::string_view name, TraceSource source) {
  if (name.starts_with("Optimizer.")) {
    return RangePhase::kOptimizer;
  }
  if (name.starts_with("enumerate(DataLoader)")) {
    return RangePhase::kData;
  }
  if (source != TraceSource::kNsightSystems || event.kind != EventKind::kAnnotation) {
    return RangePhase::kUnknown;
  }
  const Words words = range_words(name);
  return is_backward(words)    ? RangePhase::kBackward
         : is_optimizer(words) ? RangePhase::kOptimizer
         : is_data(words)      ? RangePhase::kData
                               : RangePhase::kUnknown;
}

}  // namespace ridgeline::ingest
