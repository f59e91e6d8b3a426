/* Timers of the kernel, loaded before libfaketime, whose own are wrong about monotonic clocks: a timer for a moment that
   has passed already, which Asio sets when it is late, would fire in decades, and Python's sleep would not end. */
#include <errno.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

int timerfd_settime(int timer, int flags, const struct itimerspec* value, struct itimerspec* before) {
  return (int)syscall(SYS_timerfd_settime, timer, flags, value, before);
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec* time, struct timespec* left) {
  const int before = errno;
  const int problem = syscall(SYS_clock_nanosleep, clock, flags, time, left) == 0 ? 0 : errno;
  errno = before;
  return problem;
}
