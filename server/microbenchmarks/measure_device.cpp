#include "microbenchmarks/measure_device.h"

#include <sched.h>

#include <algorithm>
#include <barrier>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "microbenchmarks/kernels.h"

namespace ridgeline::microbenchmarks {

namespace {

using Clock = std::chrono::steady_clock;
using hardware::Figure;
using hardware::Rate;
using hardware::Source;

constexpr std::size_t kAlignment = 4096;
constexpr std::size_t kFloatsStep = 1024;             // what the kernels take
constexpr double kLeastWindow = 2e-3;                 // seconds: so long that starting together does not matter
constexpr double kAssumedCache = 64.0 * 1024 * 1024;  // where the system does not say

/// One core's part of a benchmark, repeated `times` times: what it did, in floating-point operations or bytes.
using Work = std::function<double(std::int64_t times)>;

struct FreeMemory {
  void operator()(float* data) const { std::free(data); }
};
using Floats = std::unique_ptr<float[], FreeMemory>;

Floats floats(std::size_t count) {
  Floats data(static_cast<float*>(
      std::aligned_alloc(kAlignment, (count * sizeof(float) + kAlignment - 1) / kAlignment * kAlignment)));
  if (data) {
    std::fill_n(data.get(), count, 1.0F);
  }
  return data;
}

void pin_to(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(processor), &set);
  ::sched_setaffinity(0, sizeof(set), &set);  // where it is refused, the scheduler decides
}

double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

/// How often to repeat, so that one window is long enough.
std::int64_t times_for_a_window(const Work& work) {
  for (std::int64_t times = 1;; times *= 2) {
    const Clock::time_point begin = Clock::now();
    work(times);
    if (seconds_between(begin, Clock::now()) > kLeastWindow || times > (std::int64_t{1} << 40U)) {
      return times;
    }
  }
}

struct Window {
  Clock::time_point begin;
  Clock::time_point end;
  double done = 0;
};

double rate_of(const std::vector<Window>& windows) {
  const auto begin = std::ranges::min(windows, {}, &Window::begin).begin;
  const auto end = std::ranges::max(windows, {}, &Window::end).end;
  const double done = std::accumulate(windows.begin(), windows.end(), 0.0,
                                      [](double sum, const Window& one) { return sum + one.done; });
  return done / seconds_between(begin, end);
}

/// Per second, of one thread on each of the cores together: the best window. `make` is called on each thread, so that
/// it touches its memory first.
double best_rate(const std::vector<int>& cores, std::chrono::milliseconds each, const std::function<Work()>& make) {
  std::vector<Window> windows(cores.size());
  double best = 0;
  bool is_over = false;
  std::int64_t times = 0;
  const Clock::time_point limit = Clock::now() + each;
  const auto after_window = [&]() noexcept {
    if (windows[0].done > 0) {
      best = std::max(best, rate_of(windows));
      is_over = Clock::now() > limit;
    }
  };
  std::barrier together(static_cast<std::ptrdiff_t>(cores.size()), after_window);
  const auto run = [&](std::size_t index) {
    pin_to(cores[index]);
    const Work work = make();
    if (index == 0) {
      times = times_for_a_window(work);
    }
    together.arrive_and_wait();
    while (!is_over) {
      Window window{Clock::now(), {}, 0};
      window.done = work(times);
      window.end = Clock::now();
      windows[index] = window;
      together.arrive_and_wait();
    }
  };
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < cores.size(); ++i) {
    threads.emplace_back(run, i);
  }
  threads.clear();  // joins
  return best;
}

/// One core, and all of them.
Rate measured_rate(const std::vector<int>& cores, std::chrono::milliseconds each, const std::function<Work()>& make) {
  const double one = best_rate({cores.front()}, each, make);
  const double all = cores.size() > 1 ? best_rate(cores, each, make) : one;
  return {{std::max(all, one), Source::kMeasured}, Figure{one, Source::kMeasured}};
}

std::function<Work()> multiply_adds(double (*kernel)(std::int64_t, float*)) {
  return [kernel] {
    return [kernel](std::int64_t times) {
      float sink = 0;
      return kernel(times * 64, &sink);
    };
  };
}

/// Reads `bytes` of memory of its own again and again.
std::function<Work()> reads(double bytes) {
  const std::size_t count = std::max<std::size_t>(1, static_cast<std::size_t>(bytes / 4 / kFloatsStep)) * kFloatsStep;
  return [count]() -> Work {
    const std::shared_ptr<float[]> data = floats(count);
    return [data, count](std::int64_t times) {
      float sink = 0;
      for (std::int64_t i = 0; data && i < times; ++i) {
        kernels().read(data.get(), count, &sink);
      }
      return static_cast<double>(times) * static_cast<double>(count) * sizeof(float);
    };
  };
}

/// a = b + s * c over three arrays of `bytes` together. STREAM counts what the program reads and writes, not what the
/// processor reads before it writes.
std::function<Work()> triads(double bytes) {
  const std::size_t count = std::max<std::size_t>(1, static_cast<std::size_t>(bytes / 12 / kFloatsStep)) * kFloatsStep;
  return [count]() -> Work {
    const std::shared_ptr<float[]> data = floats(3 * count);
    return [data, count](std::int64_t times) {
      for (std::int64_t i = 0; data && i < times; ++i) {
        kernels().triad(data.get(), data.get() + count, data.get() + 2 * count, count);
      }
      return static_cast<double>(times) * static_cast<double>(count) * 3 * sizeof(float);
    };
  };
}

/// The better of both for each.
Rate better(const Rate& a, const Rate& b) {
  return {{std::max(a.all.value, b.all.value), Source::kMeasured},
          Figure{std::max(a.one_unit->value, b.one_unit->value), Source::kMeasured}};
}

Figure measured_clock(const std::vector<int>& cores, std::chrono::milliseconds each) {
  const auto make = []() -> Work {
    return [](std::int64_t times) {
      add_chain(times * 64);
      return static_cast<double>(times) * 64;
    };
  };
  return {best_rate({cores.front()}, each, make), Source::kMeasured};
}

/// Of loads each of which needs the one before, from places in random order, a cache line each.
Figure measured_latency(const std::vector<int>& cores, std::chrono::milliseconds each, double bytes) {
  constexpr std::size_t kLine = 64 / sizeof(void*);
  const auto lines = static_cast<std::size_t>(bytes / 64);
  const auto make = [lines]() -> Work {
    auto links = std::make_shared<std::vector<const void*>>(lines * kLine);
    std::vector<std::size_t> order(lines);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::mt19937_64 random(1);
    std::ranges::shuffle(order, random);
    for (std::size_t i = 0; i < lines; ++i) {
      (*links)[order[i] * kLine] = &(*links)[order[(i + 1) % lines] * kLine];
    }
    auto at = std::make_shared<const void*>(links->data());
    return [links, at](std::int64_t times) {
      *at = follow(static_cast<const void* const*>(*at), times * 256);
      return static_cast<double>(times) * 256;
    };
  };
  return {1e9 / best_rate({cores.front()}, each, make), Source::kMeasured};
}

void measure_peaks(hardware::Device& device, const std::vector<int>& cores, std::chrono::milliseconds each) {
  const Kernels& found = kernels();
  device.peaks.push_back({"float32", measured_rate(cores, each, multiply_adds(found.multiply_add_float32))});
  device.peaks.push_back({"float64", measured_rate(cores, each, multiply_adds(found.multiply_add_float64))});
  if (!has_matrix_units("bfloat16")) {
    // Without an instruction for them they are computed as float32.
    device.peaks.push_back({"bfloat16", found.multiply_add_bfloat16 != nullptr
                                            ? measured_rate(cores, each, multiply_adds(found.multiply_add_bfloat16))
                                            : device.peaks.front().flop_per_s});
  }
  if (!has_matrix_units("float16")) {
    device.peaks.push_back({"float16", device.peaks.front().flop_per_s});
  }
}

}  // namespace

hardware::Device measure_processor(const MeasureRequest& request, const Processor& processor,
                                   const std::function<void(const std::string&)>& note) {
  const std::vector<int>& cores = processor.cores;
  hardware::Device device;
  device.name = request.name;
  device.compute_units = static_cast<int>(cores.size());
  device.vector_bytes = kernels().vector_bytes;
  note("clock");
  device.clock_hz = measured_clock(cores, request.each);
  note("peak");
  measure_peaks(device, cores, request.each);
  for (hardware::MemoryLevel level : processor.caches) {
    note(level.name);
    const double bytes = level.capacity_bytes / 2 / level.shared_by_units;
    level.bytes_per_s =
        better(measured_rate(cores, request.each, reads(bytes)), measured_rate(cores, request.each, triads(bytes)));
    device.levels.push_back(level);
  }
  note("memory");
  const double last = device.levels.empty() ? kAssumedCache : device.levels.back().capacity_bytes;
  const double all = std::min(4 * last, request.memory_bytes / 4);
  const double each = all / device.compute_units;
  const Rate triad = measured_rate(cores, request.each, triads(3 * each));
  device.stream_triad_bytes_per_s = triad.all;
  device.levels.push_back({"memory", request.memory_bytes, device.compute_units,
                           device.levels.empty() ? 64 : device.levels.back().transaction_bytes,
                           better(measured_rate(cores, request.each, reads(each)), triad)});
  device.memory_capacity_bytes = Figure{request.memory_bytes, Source::kSystem};
  note("latency");
  device.memory_latency_ns = measured_latency(cores, request.each, all);
  return device;
}

}  // namespace ridgeline::microbenchmarks
