// What Python does between ops: samples of the frames of the thread that runs the iterations.
#pragma once

#include <cstdint>

namespace ridgeline::agent {

struct ThreadBuffer;

/// Samples the frames of the calling thread while no op runs on it, about every half millisecond of a long gap. A
/// gap is expected where one was long before (long_gaps.h); the process's first iteration is sampled throughout, to
/// learn them, and a signal every 20 ms finds gaps that were not expected. False when the system has no timer left;
/// then nothing is sampled. `iteration_ended`: the iteration was recorded to its end.
bool start_sampler();
void stop_sampler(bool iteration_ended);
/// In a forked child, which has no timer.
void forget_sampler();

/// A gap begins on the sampled thread. Cheap unless one was long at this place before.
void gap_begins(ThreadBuffer& buffer, std::uint64_t place, std::uint64_t time);
/// It ends, as an op is about to be recorded: no more samples are due. Call when `buffer.gap_armed` is set.
void gap_ends(ThreadBuffer& buffer);
/// It was long: `buffer.long_gap` ticks or more.
void gap_was_long(ThreadBuffer& buffer, std::uint64_t ticks);

struct SamplerCounts {
  std::uint64_t signals = 0;      ///< that the handler got
  std::uint64_t samples = 0;      ///< stacks that it read
  std::uint64_t frames = 0;       ///< frames that it read
  std::uint64_t reads = 0;        ///< system calls that it read them with
  std::uint64_t armings = 0;      ///< gaps that were expected
  std::uint64_t cpu_ns = 0;       ///< processor time that it took
  std::uint64_t recorded_ns = 0;  ///< time in which it could be called
};
/// The counts over all recordings of this process. Caller: the thread that runs the iterations.
SamplerCounts sampler_counts();

}  // namespace ridgeline::agent
