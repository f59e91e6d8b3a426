// The timer that shows what Python does between ops.
//
// A POSIX timer signals the iteration's own thread, and the handler reads that thread's frames. No other thread needs
// the GIL for it, so a step that holds the GIL for long is neither slowed down nor misread.
//
// The timer is set for one signal at a time: soon, where a gap begins that was long before; after a sample, in half a
// millisecond, or ten times the sample's duration where that is longer, so that the handler never takes more than a
// tenth of the time; much later, where a gap ends and when the handler finds an op running.
#include <Python.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>

#include "clock.h"
#include "long_gaps.h"
#include "recorder.h"
#include "sampler.h"

namespace ridgeline::agent {

namespace {

constexpr long kIntervalNs = 500'000;   ///< between samples of a gap
constexpr long kSoonNs = 20'000;        ///< after a signal that came while the agent worked
constexpr long kSeldomNs = 20'000'000;  ///< mean time between signals where no gap is expected
constexpr long kLongGapNs = 200'000;    ///< shorter ones are not divided (server/analysis/attribution/timeline.h)
constexpr std::uint64_t kPaysOneArmingNs = 100'000;
constexpr long kMostShare = 10;                 ///< after a sample, no other for this many times its duration
constexpr std::size_t kMaxPending = 1U << 16U;  ///< samples between two ops: a minute of them
constexpr std::size_t kMaxPendingFrames = 1U << 18U;

timer_t g_timer;
/// Read by the handler, which interrupts the thread that writes it.
volatile std::sig_atomic_t g_running = 0;
volatile std::sig_atomic_t g_everywhere = 0;  ///< the first iteration: no gaps are known yet
bool g_learned = false;
struct sigaction g_previous;
const PyThreadState* g_thread = nullptr;
double g_ticks_per_ns = 1;
std::uint64_t g_started = 0;
std::uint64_t g_random = 0;
LongGaps g_long_gaps;
SamplerCounts g_counts;

int signal_number() { return SIGRTMIN + 5; }

/// Uniform in [0, bound). The handler may interrupt it; what either draws then is still random.
long draw(long bound) {
  g_random = g_random * 6364136223846793005ULL + 1442695040888963407ULL;
  return static_cast<long>((g_random >> 33U) % static_cast<std::uint64_t>(bound));
}

/// Async-signal-safe.
void signal_after(long ns) {
  const itimerspec once{{0, 0}, {ns / 1'000'000'000, std::max(1L, ns % 1'000'000'000)}};
  ::timer_settime(g_timer, 0, &once, nullptr);
}

/// Random, so that it never synchronises with the iterations.
long seldom() { return g_everywhere != 0 ? kIntervalNs : kSeldomNs / 2 + draw(kSeldomNs); }

bool same_frames(const RawFrame* a, const RawFrame* b, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (!(a[i] == b[i])) {
      return false;
    }
  }
  return true;
}

/// Processor time of the calling thread: a handler that waited for a processor did not cost the step that time.
std::uint64_t cpu_ns() {
  timespec time;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

void take_sample(ThreadBuffer& buffer) {
  const std::uint64_t start = ticks();
  const auto first = static_cast<std::uint32_t>(buffer.sampled_frames.size());
  RawFrame* frames = &buffer.sampled_frames[first];
  const std::size_t count = read_frames_interrupted(g_thread, state().module_call, frames, kMaxFrames);
  RawSample sample{{start, 0}, first, static_cast<std::uint32_t>(count)};
  const std::size_t earlier = buffer.raw_samples.size();
  if (earlier > 0 && buffer.raw_samples[earlier - 1].count == count &&
      same_frames(&buffer.sampled_frames[buffer.raw_samples[earlier - 1].first], frames, count)) {
    sample.first = buffer.raw_samples[earlier - 1].first;  // still there: keep the frames once
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      buffer.sampled_frames.append();
    }
  }
  ++g_counts.samples;
  g_counts.frames += count;
  sample.cost.end = ticks();
  if (RawSample* kept = buffer.raw_samples.append()) {
    *kept = sample;
  }
}

bool has_room(const ThreadBuffer& buffer) {
  return buffer.raw_samples.room() > 0 && buffer.sampled_frames.room() >= kMaxFrames;
}

void on_timer(int /*signal*/, siginfo_t* /*info*/, void* /*context*/) {
  const int saved_errno = errno;
  ThreadBuffer* buffer = existing_thread_buffer();
  if (g_running == 0 || buffer == nullptr || buffer->sampled == 0) {
    return;
  }
  ++g_counts.signals;
  long next = 0;
  const std::uint64_t start = cpu_ns();
  if (buffer->busy == 0 && buffer->in_function == 0 && has_room(*buffer)) {
    take_sample(*buffer);
    buffer->gap_armed = 1;
    next = std::max(kIntervalNs, kMostShare * static_cast<long>(cpu_ns() - start));
  } else if (buffer->busy != 0 && buffer->gap_armed != 0) {
    next = kSoonNs;  // the agent is about to leave a gap alone that was expected
  } else {
    next = seldom();
  }
  signal_after(next);
  g_counts.cpu_ns += cpu_ns() - start;
  errno = saved_errno;
}

/// The handler cannot allocate: it uses what room there is, or drops the sample.
bool make_room(ThreadBuffer& buffer) {
  return buffer.samples.reserve() && buffer.raw_samples.reserve() && buffer.sampled_frames.reserve() &&
         buffer.raw_samples.make_usable(kMaxPending) && buffer.sampled_frames.make_usable(kMaxPendingFrames);
}

bool make_timer() {
  struct sigaction action;
  std::memset(&action, 0, sizeof(action));
  action.sa_sigaction = &on_timer;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigfillset(&action.sa_mask);
  if (::sigaction(signal_number(), &action, &g_previous) != 0) {
    return false;
  }
  sigevent event;
  std::memset(&event, 0, sizeof(event));
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = signal_number();
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif
  event.sigev_notify_thread_id = static_cast<pid_t>(::syscall(SYS_gettid));
  if (::timer_create(CLOCK_MONOTONIC, &event, &g_timer) != 0) {
    ::sigaction(signal_number(), &g_previous, nullptr);
    return false;
  }
  return true;
}

/// Consumes a pending signal, so that the handler installed before ours never gets it.
void delete_timer() {
  sigset_t ours;
  sigset_t before;
  sigemptyset(&ours);
  sigaddset(&ours, signal_number());
  ::pthread_sigmask(SIG_BLOCK, &ours, &before);
  ::timer_delete(g_timer);
  const timespec now{0, 0};
  while (::sigtimedwait(&ours, nullptr, &now) > 0) {
  }
  ::sigaction(signal_number(), &g_previous, nullptr);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

bool start_sampler() {
  if (g_running != 0) {
    return true;
  }
  ThreadBuffer& buffer = thread_buffer();
  g_thread = PyGILState_GetThisThreadState();
  if (g_thread == nullptr || !make_room(buffer) || !make_timer()) {
    return false;
  }
  g_ticks_per_ns = ticks_per_ns();
  g_started = ticks();
  g_random ^= g_started;
  g_everywhere = g_learned ? 0 : 1;
  buffer.long_gap = static_cast<std::uint64_t>(kLongGapNs * g_ticks_per_ns);
  buffer.sampled = 1;
  g_running = 1;
  g_long_gaps.iteration_begins();
  signal_after(g_everywhere != 0 ? 1 + draw(kIntervalNs) : seldom());
  gap_begins(buffer, ~std::uint64_t{0}, g_started);
  return true;
}

void stop_sampler(bool iteration_ended) {
  if (g_running == 0) {
    return;
  }
  ThreadBuffer& buffer = thread_buffer();
  g_running = 0;
  buffer.sampled = 0;
  buffer.gap_armed = 0;
  delete_timer();
  const std::uint64_t now = ticks();
  g_counts.recorded_ns += static_cast<std::uint64_t>(static_cast<double>(now - g_started) / g_ticks_per_ns);
  if (buffer.in_function == 0 && now - buffer.gap_since >= buffer.long_gap) {
    gap_was_long(buffer, now - buffer.gap_since);
  }
  g_learned = g_learned || iteration_ended;
}

void forget_sampler() { g_running = 0; }

void gap_begins(ThreadBuffer& buffer, std::uint64_t place, std::uint64_t time) {
  buffer.gap_since = time;
  buffer.gap_place = g_long_gaps.pass(place);
  if (g_everywhere == 0 && g_long_gaps.take(buffer.gap_place)) {
    ++g_counts.armings;
    buffer.gap_armed = 1;
    signal_after(1 + draw(kIntervalNs));
  }
}

void gap_ends(ThreadBuffer& buffer) {
  buffer.gap_armed = 0;
  if (g_everywhere == 0) {
    signal_after(seldom());
  }
}

void gap_was_long(ThreadBuffer& buffer, std::uint64_t ticks) {
  const auto ns = static_cast<std::uint64_t>(static_cast<double>(ticks) / g_ticks_per_ns);
  g_long_gaps.add(buffer.gap_place, ns / kPaysOneArmingNs);
}

SamplerCounts sampler_counts() {
  SamplerCounts counts = g_counts;
  counts.reads = pages_read_interrupted();
  return counts;
}

}  // namespace ridgeline::agent
