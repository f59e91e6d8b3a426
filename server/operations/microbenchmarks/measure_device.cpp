#include "operations/microbenchmarks/measure_device.h"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <barrier>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "operations/microbenchmarks/kernels.h"

namespace ridgeline::operations {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kAlignment = 4096;
constexpr std::size_t kFloatsStep = 1024;             // what the kernels take
constexpr double kLeastWindow = 2e-3;                 // seconds: so long that starting together does not matter
constexpr int kMostRepeats = 6;                       // as long as other processes disturb each window
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

/// Processor time of the calling thread.
double cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

struct Window {
  Clock::time_point begin;
  Clock::time_point end;
  double done = 0;
  double cpu_s = 0;  ///< that its thread ran
};

/// The best window, and whether all threads ran throughout it.
struct Best {
  double rate = 0;
  bool undisturbed = false;
};

bool ran_throughout(const Window& window) {
  constexpr double kMostOfTime = 0.95;
  return window.cpu_s > kMostOfTime * seconds_between(window.begin, window.end);
}

double rate_of(const std::vector<Window>& windows) {
  const auto begin = std::ranges::min(windows, {}, &Window::begin).begin;
  const auto end = std::ranges::max(windows, {}, &Window::end).end;
  const double done = std::accumulate(windows.begin(), windows.end(), 0.0,
                                      [](double sum, const Window& one) { return sum + one.done; });
  return done / seconds_between(begin, end);
}

/// Per second, of one thread on each of the cores together: the best window. `make` is called on each thread, so that
/// it touches its memory first.
Best best_rate(const std::vector<int>& cores, std::chrono::milliseconds each, const std::function<Work()>& make) {
  std::vector<Window> windows(cores.size());
  Best best;
  bool is_over = false;
  std::int64_t times = 0;
  const Clock::time_point limit = Clock::now() + each;
  const Clock::time_point last = Clock::now() + kMostRepeats * each;
  const auto after_window = [&]() noexcept {
    if (windows[0].done > 0) {
      if (const double rate = rate_of(windows); rate > best.rate) {
        best = {rate, std::ranges::all_of(windows, ran_throughout)};
      }
      is_over = Clock::now() > (best.undisturbed ? limit : last);
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
      const double cpu = cpu_seconds();
      Window window{Clock::now(), {}, 0, 0};
      window.done = work(times);
      window.end = Clock::now();
      window.cpu_s = cpu_seconds() - cpu;
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

class Measurement {
 public:
  Measurement(const std::vector<int>& cores, std::chrono::milliseconds each) : cores_(cores), each_(each) {}

  double one(const std::function<Work()>& make) { return taken(best_rate({cores_.front()}, each_, make)); }

  /// One core, and all of them.
  Rate rate(const std::function<Work()>& make) {
    const double alone = one(make);
    const double all = cores_.size() > 1 ? taken(best_rate(cores_, each_, make)) : alone;
    return {{std::max(all, alone), FigureSource::kMeasured}, Figure{alone, FigureSource::kMeasured}};
  }

  bool disturbed() const { return disturbed_; }

 private:
  double taken(const Best& best) {
    disturbed_ |= !best.undisturbed;
    return best.rate;
  }

  const std::vector<int>& cores_;
  std::chrono::milliseconds each_;
  bool disturbed_ = false;
};

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
  return {{std::max(a.all.value, b.all.value), FigureSource::kMeasured},
          Figure{std::max(a.one_unit->value, b.one_unit->value), FigureSource::kMeasured}};
}

Figure measured_clock(Measurement& measurement) {
  const auto make = []() -> Work {
    return [](std::int64_t times) {
      add_chain(times * 64);
      return static_cast<double>(times) * 64;
    };
  };
  return {measurement.one(make), FigureSource::kMeasured};
}

/// The latency of dependent loads from places in random order, a cache line each.
Figure measured_latency(Measurement& measurement, double bytes) {
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
  return {1e9 / measurement.one(make), FigureSource::kMeasured};
}

void measure_peaks(Device& device, Measurement& measurement) {
  const Kernels& found = kernels();
  device.peaks.push_back({"float32", measurement.rate(multiply_adds(found.multiply_add_float32))});
  device.peaks.push_back({"float64", measurement.rate(multiply_adds(found.multiply_add_float64))});
  if (!has_matrix_units("bfloat16")) {
    // Without an instruction for them they are computed as float32.
    device.peaks.push_back({"bfloat16", found.multiply_add_bfloat16 != nullptr
                                            ? measurement.rate(multiply_adds(found.multiply_add_bfloat16))
                                            : device.peaks.front().flop_per_s});
  }
  if (!has_matrix_units("float16")) {
    device.peaks.push_back({"float16", device.peaks.front().flop_per_s});
  }
}

}  // namespace

Measured measure_processor(const MeasureRequest& request, const Processor& processor,
                           base::FunctionRef<void(const std::string&)> note) {
  Measurement measurement(processor.cores, request.each);
  Device device;
  device.name = request.name;
  device.compute_units = static_cast<int>(processor.cores.size());
  device.vector_bytes = kernels().vector_bytes;
  note("clock");
  device.clock_hz = measured_clock(measurement);
  note("peak");
  measure_peaks(device, measurement);
  for (MemoryLevel level : processor.caches) {
    note(level.name);
    const double bytes = level.capacity_bytes / 2 / level.shared_by_units;
    level.bytes_per_s = better(measurement.rate(reads(bytes)), measurement.rate(triads(bytes)));
    device.levels.push_back(level);
  }
  note("memory");
  const double last = device.levels.empty() ? kAssumedCache : device.levels.back().capacity_bytes;
  const double all = std::min(4 * last, request.memory_bytes / 4);
  const double each = all / device.compute_units;
  const Rate triad = measurement.rate(triads(3 * each));
  device.stream_triad_bytes_per_s = triad.all;
  device.levels.push_back({"memory", request.memory_bytes, device.compute_units,
                           device.levels.empty() ? 64 : device.levels.back().transaction_bytes,
                           better(measurement.rate(reads(each)), triad)});
  device.memory_capacity_bytes = Figure{request.memory_bytes, FigureSource::kSystem};
  note("latency");
  device.memory_latency_ns = measured_latency(measurement, all);
  return {device, measurement.disturbed()};
}

}  // namespace ridgeline::operations
