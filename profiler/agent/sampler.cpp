// The timer that shows what Python does between ops.
//
// A POSIX timer signals the iteration's own thread, and the handler reads that thread's frames. No other thread needs
// the GIL for it, so a step that holds the GIL for long is neither slowed down nor misread.
#include <Python.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>

#include "clock.h"
#include "recorder.h"
#include "sampler.h"

namespace ridgeline::agent {

namespace {

constexpr long kIntervalNs = 500'000;
constexpr std::size_t kMaxFramesPerSample = 1024;
constexpr std::size_t kMaxPending = 1U << 16U;  ///< samples between two ops: a minute of them
constexpr std::size_t kMaxPendingFrames = 1U << 18U;

timer_t g_timer;
bool g_running = false;
struct sigaction g_previous;
const PyThreadState* g_thread = nullptr;

int signal_number() { return SIGRTMIN + 5; }

bool same_frames(const RawFrame* a, const RawFrame* b, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (!(a[i] == b[i])) {
      return false;
    }
  }
  return true;
}

void on_timer(int /*signal*/, siginfo_t* /*info*/, void* /*context*/) {
  const int saved_errno = errno;
  ThreadBuffer* buffer = existing_thread_buffer();
  if (buffer == nullptr || buffer->busy != 0 || buffer->in_function != 0 || buffer->raw_samples.room() == 0 ||
      buffer->sampled_frames.room() < kMaxFramesPerSample) {
    return;
  }
  const std::uint64_t start = ticks();
  const auto first = static_cast<std::uint32_t>(buffer->sampled_frames.size());
  RawFrame* frames = &buffer->sampled_frames[first];
  const std::size_t count = read_frames_interrupted(g_thread, state().module_call, frames, kMaxFramesPerSample);
  RawSample sample{{start, 0}, first, static_cast<std::uint32_t>(count)};
  const std::size_t earlier = buffer->raw_samples.size();
  if (earlier > 0 && buffer->raw_samples[earlier - 1].count == count &&
      same_frames(&buffer->sampled_frames[buffer->raw_samples[earlier - 1].first], frames, count)) {
    sample.first = buffer->raw_samples[earlier - 1].first;  // still there: keep the frames once
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      buffer->sampled_frames.append();
    }
  }
  if (RawSample* kept = buffer->raw_samples.append()) {
    sample.cost.end = ticks();
    *kept = sample;
  }
  errno = saved_errno;
}

}  // namespace

bool start_sampler() {
  if (g_running) {
    return true;
  }
  ThreadBuffer& buffer = thread_buffer();
  g_thread = PyGILState_GetThisThreadState();
  // The handler may not ask the system for memory: it finds room, or drops the sample.
  if (g_thread == nullptr || !buffer.samples.reserve() || !buffer.raw_samples.reserve() ||
      !buffer.sampled_frames.reserve() || !buffer.raw_samples.make_usable(kMaxPending) ||
      !buffer.sampled_frames.make_usable(kMaxPendingFrames)) {
    return false;
  }
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
  // A random phase for every iteration: a step repeats itself, and a timer in step with it would always see the same.
  const auto phase = static_cast<long>(ticks() * 0x9E3779B97F4A7C15ULL >> 44U) % kIntervalNs + 1;
  const itimerspec interval{{0, kIntervalNs}, {0, phase}};
  g_running = ::timer_settime(g_timer, 0, &interval, nullptr) == 0;
  return g_running;
}

void stop_sampler() {
  if (g_running) {
    ::timer_delete(g_timer);
    // A signal may still be on its way: it finds the handler that was there before, or is ignored.
    if (g_previous.sa_handler == SIG_DFL) {
      g_previous.sa_handler = SIG_IGN;
    }
    ::sigaction(signal_number(), &g_previous, nullptr);
    g_running = false;
  }
}

}  // namespace ridgeline::agent
