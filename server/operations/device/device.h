// A processor or a GPU as the models of an operation's time see it: compute units, peaks, memory levels. Values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ridgeline::operations {

/// Where a figure comes from.
enum class FigureSource : std::uint8_t {
  kMeasured,   ///< by micro-benchmarks on the device
  kSystem,     ///< what the system reports, such as sizes of caches
  kDataSheet,  ///< what the vendor states: an upper limit that programs do not reach
};

struct Figure {
  double value = 0;
  FigureSource source = FigureSource::kDataSheet;
  bool operator==(const Figure&) const = default;
};

/// A rate of the whole device, and of one of its compute units that works alone, where that is known.
struct Rate {
  Figure all;
  std::optional<Figure> one_unit{};
  bool operator==(const Rate&) const = default;
};

/// The peak of matrix multiplications with inputs of the type; a multiplication and an addition are two operations.
struct Peak {
  std::string dtype;  ///< as torch names it: "float32", "bfloat16"; "tf32" for float32 on tensor cores
  Rate flop_per_s;
  bool operator==(const Peak&) const = default;
};

struct MemoryLevel {
  std::string name;                 ///< "L1", "L2", "memory"
  double capacity_bytes = 0;        ///< of one instance
  int shared_by_units = 1;          ///< compute units that one instance serves
  double transaction_bytes = 0;     ///< what is moved at once: a cache line
  std::optional<Rate> bytes_per_s;  ///< read by the units; absent: not known
  bool operator==(const MemoryLevel&) const = default;
};

enum class DeviceKind : std::uint8_t { kCpu, kGpu };

struct Device {
  std::string name;
  DeviceKind kind = DeviceKind::kCpu;
  int compute_units = 1;    ///< cores that this process may use; streaming multiprocessors
  double vector_bytes = 0;  ///< that one instruction of a unit handles: a vector register, a warp of 4-byte words
  std::optional<Figure> clock_hz;   ///< under load
  std::vector<Peak> peaks;          ///< each type once
  std::vector<MemoryLevel> levels;  ///< the nearest to the units first; the last one is the main memory
  std::optional<Figure> memory_capacity_bytes;
  std::optional<Figure> power_w;
  std::optional<Figure> launch_ns;  ///< that starting any operation takes at least: a kernel's launch, threads' wake-up
  std::optional<Figure> stream_triad_bytes_per_s;  ///< of the main memory, as STREAM counts
  std::optional<Figure> memory_latency_ns;         ///< of a dependent load from the main memory
  bool operator==(const Device&) const = default;
};

/// Nothing where the device has no peak for the type.
inline const Peak* find_peak(const Device& device, std::string_view dtype) {
  const auto found = std::ranges::find(device.peaks, dtype, &Peak::dtype);
  return found == device.peaks.end() ? nullptr : &*found;
}

/// The rate of `units` compute units, at most the device's: in proportion between one unit and all.
inline double rate_of(const Rate& rate, int units, int all_units) {
  if (units >= all_units || all_units <= 1) {
    return rate.all.value;
  }
  const double one = rate.one_unit ? rate.one_unit->value : rate.all.value / all_units;
  return one + (rate.all.value - one) * (std::max(units, 1) - 1) / (all_units - 1);
}

}  // namespace ridgeline::operations
