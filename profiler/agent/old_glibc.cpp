#include "old_glibc.h"

#ifdef RIDGELINE_OLDEST
extern "C" {
// Code of libstdc++'s headers asks it whether an atomic operation can be left out. It has come with glibc 2.32; here it
// says that there may be several threads, which is always right.
// NOLINTNEXTLINE(bugprone-reserved-identifier): the C library's
__attribute__((visibility("hidden"))) char __libc_single_threaded = 0;
}
#endif
