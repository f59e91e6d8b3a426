// Runs functions written for CUDA on the CPU: the threads of a block are fibers that take turns at __syncthreads().
#pragma once

#include <ucontext.h>

#include <cmath>
#include <functional>
#include <vector>

#define __global__
#define __device__
#define __shared__ static
#define __launch_bounds__(threads, blocks)

struct Index {
  unsigned x = 0, y = 0, z = 0;
};
inline Index threadIdx, blockIdx;

namespace emulated {

struct Fiber {
  ucontext_t context{};
  std::vector<char> stack = std::vector<char>(64 << 10);
  bool done = false;
};
inline ucontext_t scheduler;
inline Fiber* running = nullptr;
inline std::function<void()> body;

inline void enter() {
  body();
  running->done = true;
  swapcontext(&running->context, &scheduler);
}

inline void run_block(unsigned threads) {
  std::vector<Fiber> fibers(threads);
  for (Fiber& fiber : fibers) {
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.data();
    fiber.context.uc_stack.ss_size = fiber.stack.size();
    makecontext(&fiber.context, enter, 0);
  }
  for (bool any = true; any;) {  // from one barrier to the next
    any = false;
    for (unsigned i = 0; i < threads; ++i) {
      running = &fibers[i];
      threadIdx.x = i;
      if (!running->done) {
        swapcontext(&scheduler, &running->context);
      }
      any = any || !running->done;
    }
  }
}

inline void launch(unsigned x, unsigned y, unsigned z, unsigned threads, std::function<void()> function) {
  body = std::move(function);
  for (blockIdx.z = 0; blockIdx.z < z; ++blockIdx.z) {
    for (blockIdx.y = 0; blockIdx.y < y; ++blockIdx.y) {
      for (blockIdx.x = 0; blockIdx.x < x; ++blockIdx.x) {
        run_block(threads);
      }
    }
  }
}

}  // namespace emulated

inline void __syncthreads() { swapcontext(&emulated::running->context, &emulated::scheduler); }
