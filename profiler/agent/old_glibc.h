// Included before everything else, by the command that compiles the agent: asks the C library for the oldest versions
// of its symbols, so that an agent built here runs with glibc 2.28, which is the oldest that torch's own packages run
// with.
#pragma once

#if defined(__GLIBC__) || __has_include(<features.h>)
#include <features.h>
#endif

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 32)
#if defined(__x86_64__)
#define RIDGELINE_OLDEST "GLIBC_2.2.5"
#define RIDGELINE_OLDEST_TIMER "GLIBC_2.3.3"
#elif defined(__aarch64__)
#define RIDGELINE_OLDEST "GLIBC_2.17"
#define RIDGELINE_OLDEST_TIMER "GLIBC_2.17"
#endif
#endif

#ifdef RIDGELINE_OLDEST
// What moved from libdl, libpthread and librt into libc, and is still there under its old version.
__asm__(".symver dlerror, dlerror@" RIDGELINE_OLDEST);
__asm__(".symver dlopen, dlopen@" RIDGELINE_OLDEST);
__asm__(".symver dlsym, dlsym@" RIDGELINE_OLDEST);
__asm__(".symver pthread_sigmask, pthread_sigmask@" RIDGELINE_OLDEST);
__asm__(".symver timer_create, timer_create@" RIDGELINE_OLDEST_TIMER);
__asm__(".symver timer_delete, timer_delete@" RIDGELINE_OLDEST_TIMER);
__asm__(".symver timer_settime, timer_settime@" RIDGELINE_OLDEST_TIMER);
#endif
