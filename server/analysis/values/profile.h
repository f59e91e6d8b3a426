// A profile: every figure that a user is shown, as one immutable value.
//
// Definitions: docs/dev/measurement.md. Times are milliseconds of one iteration, after the cost of recording was taken
// out and the recorded total was scaled to the bare iteration time. Memory is bytes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/values/category.h"
#include "analysis/values/compilation.h"
#include "analysis/values/estimate.h"
#include "analysis/values/fitted_models.h"
#include "analysis/values/location.h"
#include "analysis/values/script.h"
#include "analysis/values/step_work.h"
#include "protocol/batch_length.h"
#include "protocol/failure_kind.h"
#include "protocol/step_energy.h"

namespace ridgeline::analysis {

/// Live memory over the recorded iteration that has the peak, thinned out: what is alive from one instant to the next.
/// See docs/dev/measurement/memory.md.
struct MemoryOverTime {
  double recorded_ms = 0;  ///< length of that iteration, by the clock: with the cost of recording
  std::vector<double> ms;  ///< the instants, since its start; ascending
  std::array<std::vector<std::uint64_t>, kCategoryCount> bytes;  ///< at each instant
  std::size_t peak = 0;                                          ///< the instant of the peak
};

/// Instants that MemoryOverTime has at most.
inline constexpr std::size_t kMaxInstants = 256;

/// A package of `--code`: its lines have figures of their own, as the user's have.
struct CodePackage {
  std::string name;                 ///< as it is imported: "transformers", "transformers.models"
  std::vector<std::string> places;  ///< absolute: its folders, or the one file that it is; empty: it was not imported
};

struct Environment {
  std::string python;
  std::string torch;
  std::string device;  ///< as torch calls its kind: "cpu", "cuda" (also of ROCm) or, of a trace, "xpu"
  std::string device_name;
  int threads = 0;
  std::string in_place_of;  ///< the device that the code asked for, when it ran on `device` instead; else empty
  double low_mhz = 0;       ///< slowest and fastest clock of the processors while the step was timed; 0: unknown
  double high_mhz = 0;
  /// Processors that others used while the step was timed, where that left too few for it: then the times are of a busy
  /// machine. Absent on an idle one, in traces, and in reports of earlier versions.
  std::optional<double> others_used{};
  /// CPU utilisation (Zhu's thesis, section 3.3.4): processor time of the process over the time of its timed iterations
  /// and all processors that it may use. Absent where it was not measured, as of scripts and traces.
  std::optional<double> processor_share{};
  /// What the environment told OpenMP, MKL and their like, sorted: "OMP_WAIT_POLICY=passive". Absent: not known, as in
  /// traces and in reports of earlier versions.
  std::optional<std::vector<std::string>> thread_settings{};
};

struct IterationTime {
  Measured ms;
  int iterations = 0;  ///< timed, uninstrumented
  int warmup_iterations = 0;
  ByPhase by_phase{};  ///< sums to ms.value
  /// The part of ms.value in which no operation ran and no data was loaded: Python, and what it waits for.
  double between_operations_ms = 0;
};

/// What a line costs on the device of Profile::device.
struct LineDeviceCost {
  double ms = 0;        ///< kernels, and copies that no kernel hides; part of DeviceTime's closure
  double total_ms = 0;  ///< while the line is anywhere on the stacks that answer for it, each instant once
  double copy_ms = 0;   ///< of `ms`, those copies
  double wait_ms = 0;   ///< host time in calls of the line that synchronise or copy, and so may wait for the device
  ByPhase by_phase{};   ///< sums to ms
};

struct LineCost {
  Location location;
  std::optional<std::uint64_t> calls;  ///< how often the line ran; absent when only the timer saw it
  double self_ms = 0;
  double total_ms = 0;
  ByPhase self_by_phase{};              ///< sums to self_ms
  ByPhase total_by_phase{};             ///< sums to total_ms; zero in reports of earlier versions
  std::vector<Piece> self_model{};      ///< of self_ms against batch size; empty without a time model
  std::uint64_t weights_bytes = 0;      ///< parameters and buffers that the line created
  std::uint64_t gradients_bytes = 0;    ///< gradients of those, at the peak
  std::uint64_t activations_bytes = 0;  ///< allocated by the line in forward and alive when forward ended
  std::uint64_t peak_bytes = 0;         ///< alive at the peak instant
  LineDeviceCost device{};              ///< zero without a device
  std::string text{};                   ///< as it ran, trimmed, at most kMaxLineText bytes; empty: unknown
  /// Standard deviation of the line's share of a recorded iteration, over all of them, as a part of its mean. Absent
  /// with fewer than three recorded iterations.
  std::optional<double> self_spread{};
};
inline constexpr std::size_t kMaxLineText = 200;

/// Time and memory that no user line can own.
struct OtherCost {
  std::string name;
  double ms = 0;
  std::uint64_t peak_bytes = 0;
  std::vector<Piece> model{};  ///< of ms, as a line's
  double device_ms = 0;        ///< as a line's
};

/// A line that has no figures of its own, of a library that a user line calls.
struct LibraryLine {
  Location location;
  std::string package;  ///< as it is imported; empty where its path does not tell
  double ms = 0;        ///< while it is the innermost line of the library
  double device_ms = 0;
  std::uint64_t peak_bytes = 0;
};

/// All modules of one class that a user line's call into a library runs.
struct LibraryModule {
  std::string type;
  Location definition;
  std::uint64_t instances = 0;
  double ms = 0;  ///< with everything inside
  double device_ms = 0;
  std::uint64_t peak_bytes = 0;
};

/// A line whose calls into code without figures of its own take over half of the step: what they spend it on.
struct LibraryCall {
  Location location;
  double ms = 0;  ///< of the line's self time, in such code
  double device_ms = 0;
  std::vector<LibraryLine> lines;      ///< most time first, of at least 1 % of the step, at most kMostShown
  std::vector<LibraryModule> modules;  ///< likewise; none is inside another
  static constexpr std::size_t kMostShown = 5;
};

/// One of several lines that call a module, with what its calls cost. With the calls that no user line makes, they sum
/// to the module.
struct Caller {
  Location location;
  double ms = 0;  ///< with everything inside
  ByPhase by_phase{};
  std::uint64_t peak_bytes = 0;  ///< as `ms`; no call makes weights and their gradients: the first caller has them
  double device_ms = 0;
};

/// A node of the breakdown: the iteration, a module instance, or an operation.
struct Node {
  std::string name;              ///< "layer3", "conv2d", "optimizer"
  std::string type;              ///< class of a module, else empty
  Location location;             ///< the line that called it; of several, the one whose calls take most time
  Location definition;           ///< where the module's class is defined
  std::uint64_t calls = 0;       ///< how often a module was called or an operation ran
  double ms = 0;                 ///< with everything inside
  ByPhase by_phase{};            ///< sums to ms
  std::uint64_t peak_bytes = 0;  ///< alive at the peak, with everything inside
  std::vector<Node> children;    ///< most time first; their sums are this node's
  double device_ms = 0;          ///< kernels, and copies that no kernel hides, with everything inside
  std::vector<Caller> callers;   ///< of a module that several lines call: these, most time first
};

/// What is going on at an instant of an iteration that has a device. Exactly one holds.
enum class Wait : std::uint8_t {
  kDeviceBound,  ///< a kernel runs, and the host waits for the device
  kOverlapped,   ///< a kernel runs, and the host does not wait
  kCopy,         ///< copies run, and no kernel
  kSync,         ///< nothing runs on the device, and the host is in a call that synchronises or copies
  kHostBound,    ///< nothing runs on the device, and the host is in an operation or another call
  kIdle,         ///< nothing runs on the device, and the host is in no operation: Python, and what it waits for
};
inline constexpr std::size_t kWaitCount = 6;
inline constexpr std::array<const char*, kWaitCount> kWaitNames = {"deviceBound", "overlapped", "copy",
                                                                   "sync",        "hostBound",  "idle"};
using ByWait = std::array<double, kWaitCount>;

/// All launches of one kernel in an iteration.
struct Kernel {
  std::string name;
  double launches = 0;  ///< in one iteration; a mean, so it may be broken
  double ms = 0;        ///< their durations, also where they overlap
  double mean_ms = 0;
  double max_ms = 0;
  Location location;   ///< the user line with most of it; without a file: none has any
  double line_ms = 0;  ///< of that line, of `ms`
};

/// A node of the breakdown: what a line of a module takes while no operation runs.
inline constexpr const char* kPythonNode = "Python";

/// A name in OtherCost and in the breakdown: work on the device for which no call is known.
inline constexpr const char* kUnaskedDeviceWork = "device work that no known call asked for";

/// One device in the iteration. kernel_ms + copy_ms + idle_ms is the iteration; the lines' device.ms and the other
/// items' device_ms sum to kernel_ms + copy_ms.
struct DeviceTime {
  std::uint32_t device = 0;  ///< as CUDA counts
  double kernel_ms = 0;      ///< a kernel runs
  double copy_ms = 0;        ///< a copy runs, or memory is set, and no kernel
  double idle_ms = 0;
  double scale = 1;             ///< of kernels and copies; 1 unless they take longer than the bare iteration
  double launches = 0;          ///< kernels in one iteration
  ByWait waits{};               ///< ms; sums to the iteration
  ByPhase by_phase{};           ///< of kernel_ms + copy_ms
  std::vector<Kernel> kernels;  ///< most time first
  std::optional<std::uint64_t> peak_reserved_bytes;  ///< of the caching allocator; absent where it was not recorded
  /// The part of idle_ms in stretches, longer than kLongPause of the iteration, in which the host runs no operation.
  double pauses_ms = 0;
  double lost_share = 0;  ///< of the launches: those without a kernel in the recording

  /// Whether the device was idle when the recording has no kernel: else idle_ms and what follows from it may be work.
  bool idle_is_known() const { return lost_share <= kMostLost; }
  static constexpr double kLongPause = 0.05;
  static constexpr double kMostLost = 0.01;
};

/// A batch size that was run but not used for the models, to see how far off they are.
struct Check {
  TimeSample time;
  std::uint64_t peak_bytes = 0;
  bool extrapolated = false;             ///< outside the sampled batch sizes
  std::optional<Estimate> predicted_ms;  ///< absent: the model says nothing there
  std::optional<Estimate> predicted_peak_bytes;
  std::optional<std::uint64_t> peak_reserved_bytes;  ///< of a device's caching allocator; absent without one
  std::optional<double> predicted_reserved_bytes;
  /// Measured in a run of its own after the profile: `time` is scaled by what `machine_speed` says.
  bool tried = false;
  /// How fast the machine was then: iteration time of the profile's own batch size in the profile over that in the run.
  double machine_speed = 1;
  /// Beyond the noise of both: the machine was slower or faster than while it was profiled.
  bool machine_changed = false;
};

/// Blocks of one category that a line allocated.
struct AliveLine {
  Location location;  ///< without a file when it is not the user's
  Category category = Category::kTemporaries;
  std::uint64_t bytes = 0;
};

/// A step that ran out of memory: what was allocated when the error came. Or one that was not run because it would:
/// what would be allocated at its peak, predicted.
struct OutOfMemoryError {
  int batch_size = 0;
  bool was_run = true;
  std::optional<std::uint64_t> asked_bytes{};     ///< that were not to be had; absent: the error does not say
  Location location;                              ///< the line that asked; without a file when it is not the user's
  std::string operation;                          ///< that asked: "linear"; empty: none
  std::uint64_t allocated_bytes = 0;              ///< 0: not known, where the error came after the recording
  ByCategory by_category{};                       ///< sums to allocated_bytes, but where `lines` is empty
  std::vector<AliveLine> lines;                   ///< the largest first; empty: the error came after the recording
  std::optional<std::uint64_t> reserved_bytes{};  ///< by a device's caching allocator
  std::optional<std::uint64_t> free_bytes{};      ///< of a device's memory
  double predicted_bytes = 0;  ///< that the step needs, by the memory model, or the recorded one's; 0: not known
  /// Micro-batches of gradient accumulation with which it is predicted to fit, and their peak; 0: not known, or none.
  int fitting_parts = 0;
  double parts_bytes = 0;
};

/// A batch size that was tried and did not run.
struct Skipped {
  int batch_size = 0;
  protocol::FailureKind kind = protocol::FailureKind::kException;
  std::string message;
};

/// Parameters made by one line that get gradients in every iteration, and that nothing changes.
struct UnusedGradients {
  Location location;      ///< of the line; without a file when it is not the user's
  std::string parameter;  ///< the largest
  int parameters = 0;
  std::uint64_t bytes = 0;  ///< of their gradients
};

/// What a line or a module means for the length of the step, by the graph of its tasks.
struct CriticalCost {
  double critical_ms = 0;  ///< of it on the critical path: host and device
  double slack_ms = 0;     ///< how much longer it may take before the step does; 0 on the critical path
  /// By how much the step is shorter when everything of it, on the host and on devices, takes half as long.
  double saved_twice_as_fast_ms = 0;
  double saved_without_ms = 0;  ///< when it takes no time at all: no change of it alone can bring more
};

struct CriticalLine {
  Location location;
  CriticalCost cost;
};

struct CriticalModule {
  std::string name;   ///< dotted name of the instance
  CriticalCost cost;  ///< with the instances inside it
};

/// When the tasks of an iteration run, as the simulation of their graph has it. Nothing was run for it: predicted.
struct StepSchedule {
  double replayed_ms = 0;     ///< the iteration by the unchanged graph; how good that is, IterationTime::ms shows
  double host_only_ms = 0;    ///< only the host works; the four sum to replayed_ms
  double device_only_ms = 0;  ///< only devices work
  double both_ms = 0;
  double neither_ms = 0;                ///< latencies of launches and hand-overs
  std::vector<CriticalLine> lines;      ///< most saved first
  std::vector<CriticalModule> modules;  ///< likewise
};

/// When, with what and of what a profile was made.
struct Provenance {
  std::uint64_t began_s = 0;  ///< seconds since 1970
  std::string version;        ///< Ridgeline's
  std::string commit;         ///< that the project's git work tree had checked out, in base 16; empty: unknown
  std::string processor;      ///< its name
};

struct Profile {
  std::string id;            ///< under which it is kept; empty: it is not
  std::string entry_path;    ///< absolute, real
  std::string project_root;  ///< absolute, real
  int batch_size = 0;
  bool batch_size_known = true;  ///< false: of an imported trace without one; batch_size is 1
  Environment environment;
  std::optional<Provenance> provenance{};  ///< absent of a trace, and in reports of earlier versions
  IterationTime iteration;
  std::optional<protocol::StepEnergy> energy{};   ///< absent: no counter could be read, or it is a script or a trace
  std::optional<double> co2_g_per_kwh{};          ///< that the user gave
  std::optional<DeviceTime> device;               ///< absent where nothing ran on one
  std::optional<protocol::BatchLength> length{};  ///< of the batch; absent where the entry file has no length_provider
  std::optional<double> samples_per_second;       ///< absent where the batch size is not known
  std::optional<double> max_samples_per_second;   ///< 1/slope; absent when time does not grow with the batch
  std::uint64_t peak_bytes = 0;
  bool peak_known = true;  ///< false: of an imported trace that does not show everything alive; peak_bytes is less
  std::uint64_t capacity_bytes = 0;
  ByCategory by_category{};                        ///< sums to peak_bytes
  std::optional<MemoryOverTime> memory_over_time;  ///< absent where the peak is not known
  std::optional<TimeModel> time_model;
  std::optional<Line> memory_model;     ///< bytes
  std::optional<PeakModel> peak_model;  ///< absent: the step's allocations could not be matched
  /// Absent without a device, or where its allocator is not the one that is modelled.
  std::shared_ptr<const AllocatorModel> allocator;
  std::vector<Regime> regimes;           ///< of the time, by from_batch; empty without a ledger or on a device
  std::vector<TimeSample> time_samples;  ///< by batch size
  std::vector<MemorySample> memory_samples;
  double aa_noise = 0;  ///< root mean square of the samples'
  std::vector<Check> checks;
  std::optional<OutOfMemoryError> out_of_memory;  ///< of the user's own batch size, where that does not fit
  std::vector<Skipped> skipped;
  std::vector<CodePackage> code;  ///< whose lines are among `lines`, beside the user's
  std::vector<LineCost> lines;    ///< most self time first
  std::vector<OtherCost> other;
  std::optional<LibraryCall> library_call;
  std::vector<UnusedGradients> unused_gradients;  ///< most bytes first
  double scale = 1;                               ///< bare iteration / recorded iteration after the cost was taken out
  double recording_overhead = 0;                  ///< recorded iteration / bare iteration - 1
  double user_line_share = 0;                     ///< part of the iteration that `lines` own, 0 to 1
  int recorded_iterations = 0;
  std::optional<StepSchedule> schedule;      ///< absent: the recording's graph does not replay the iteration
  std::optional<StepWork> work;              ///< absent: its operations were not listed, as of a script or a trace
  std::optional<Script> script;              ///< of a script that ran as it is; else absent
  std::optional<Compilation> compilation{};  ///< absent where torch.compile did nothing before the recorded step
  std::vector<std::string> warnings;         ///< what a reader of the figures must know, what matters most first
  Node breakdown;
};

/// The packages that a library call's costliest lines are of, but for torch; each once, in order.
inline std::vector<std::string> packages_of(const std::optional<LibraryCall>& call) {
  std::vector<std::string> packages;
  for (const LibraryLine& line : call ? call->lines : std::vector<LibraryLine>{}) {
    if (!line.package.empty() && line.package != "torch") {
      packages.push_back(line.package);
    }
  }
  std::ranges::sort(packages);
  const auto repeated = std::ranges::unique(packages);
  packages.erase(repeated.begin(), repeated.end());
  return packages;
}

/// The width of the interval as a part of the value; 0 where there is no value.
inline double relative_width(const Measured& measured) {
  return measured.value > 0 ? (measured.high - measured.low) / measured.value : 0;
}

/// Whether it is of a trace or report of another profiler: how the machine was is not known, nor whether it is this
/// one.
inline bool is_imported(const Profile& profile) { return profile.environment.torch.empty(); }

/// Whether no 95 % interval of the median is known: it takes six values.
inline bool has_too_few_iterations(const Profile& profile) {
  return profile.iteration.iterations > 0 && profile.iteration.iterations < 6;
}

/// Whether the iteration time is shown as uncertain ("≈"): its 95 % interval is more than 10 % wide, or is not known.
inline bool is_uncertain(const Profile& profile) {
  return relative_width(profile.iteration.ms) > 0.1 || has_too_few_iterations(profile);
}

/// Whether nothing is advised because of times: their 95 % interval is more than a quarter wide, or others used the
/// machine.
inline bool is_timing_unreliable(const Profile& profile) {
  return relative_width(profile.iteration.ms) > 0.25 || profile.environment.others_used.has_value();
}

}  // namespace ridgeline::analysis
