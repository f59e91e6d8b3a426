// The record-function collector's controls, and what its records cost.
#pragma once

namespace ridgeline::agent {

void start_ops();
void stop_ops();
/// Measures the cost of one op record at the present stack depth, ns: inside the span, outside of it.
struct OpCost {
  double inside;
  double outside;
};
OpCost measure_op_cost();
double measure_memory_cost();

}  // namespace ridgeline::agent
