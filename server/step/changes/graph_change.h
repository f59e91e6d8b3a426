// What a change of the graph is: a function from graph to graph, made three times, with the guesses of its rule at
// their middle and at both ends.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "step/graph/graph.h"

namespace ridgeline::step {

/// Which end of what is not known for certain a graph is made with.
enum class Bound : std::uint8_t { kPessimistic, kMiddle, kOptimistic };

/// A guess: what a rule takes for the step at its slowest, in the middle, and at its fastest.
struct Guess {
  double pessimistic;
  double middle;
  double optimistic;
  double at(Bound bound) const {
    return bound == Bound::kMiddle ? middle : bound == Bound::kPessimistic ? pessimistic : optimistic;
  }
};

/// What is known of the step besides its graph. Bytes.
struct StepFacts {
  std::optional<double> gradients;
  std::optional<double> optimizer_state;
};

/// The graph of one iteration, and what follows from one iteration to the next.
struct ChangedGraph {
  Graph graph;
  std::vector<Dependency> into_next{};  ///< from a task to a task of the next iteration
  double samples = 1;                   ///< of a step, over those of the unchanged one
  std::int64_t peak_bytes = 0;          ///< of the peak, beside what Graph::memory says
};

struct Asked {
  std::string_view argument;  ///< what followed the colon
  Bound bound = Bound::kMiddle;
  const StepFacts& facts;
};

/// An error says why the change does not apply, or what is wrong with its argument.
using GraphFunction = base::Result<ChangedGraph> (*)(ChangedGraph, const Asked&);

}  // namespace ridgeline::step
