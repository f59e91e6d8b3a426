// The controls of the timer that shows what Python does between ops.
#pragma once

namespace ridgeline::agent {

/// Samples the Python frames of the calling thread every half millisecond of wall time, from a random moment on, while
/// no op runs. False when the system has no timer for us; then nothing is sampled.
bool start_sampler();
void stop_sampler();

}  // namespace ridgeline::agent
