// The report's fields of what lines, modules, kernels and the rest cost.
#pragma once

#include "report/field_kinds.h"

namespace ridgeline::report {

inline constexpr std::array<const char*, analysis::kPhaseCount> kPhaseDescriptions = {
    "Forward pass, with the loss. Milliseconds.",
    "Backward pass. Milliseconds. It belongs to the forward line that made the operation.",
    "Forward work that runs again during backward: activation checkpointing. Milliseconds.",
    "The optimizer's step. Milliseconds.",
    "Loading and moving inputs. Milliseconds.",
    "What is none of the other phases. Milliseconds."};

inline constexpr std::array<const char*, analysis::kCategoryCount> kCategoryDescriptions = {
    "Parameters and buffers. Bytes.",
    "Gradients of parameters. Bytes.",
    "State that the optimizer keeps, such as momentum. Bytes.",
    "Made in forward and kept for backward. Bytes.",
    "Made by the input provider. Bytes.",
    "Everything else that was alive: workspaces, gradients of activations. Bytes."};

inline constexpr std::array<const char*, analysis::kWaitCount> kWaitDescriptions = {
    "A kernel runs, and the host waits for the device. Milliseconds.",
    "A kernel runs, and the host does not wait. Milliseconds.",
    "Copies run, and no kernel. Milliseconds.",
    "Nothing runs on the device, and the host is in a call that synchronises or copies. Milliseconds.",
    "Nothing runs on the device, and the host is in an operation or another call. Milliseconds.",
    "Nothing runs on the device, and the host is in no operation: Python, and what it waits for. Milliseconds."};

template <typename Io>
void phases(Io& io, analysis::ByPhase& by_phase) {
  named(io, by_phase, analysis::kPhaseNames, kPhaseDescriptions);
}

/// An object of the phases.
template <typename Io>
void phases(Io& io, const char* name, analysis::ByPhase& by_phase, const char* description) {
  io.object(name, description, [&] { phases(io, by_phase); });
}

template <typename Io>
void fields(Io& io, analysis::Location& location) {
  io.type("location", "A place in a source file.");
  io("file", location.file, "Path relative to the project root with '/', or absolute outside it.", kNotEmpty);
  io("line", location.line, "Line number. The first line is 1; 0 when only the file is known.");
}

/// Null when there is no such place.
template <typename Io>
void place(Io& io, const char* name, analysis::Location& location, const char* description) {
  converted(io, name, location.file.empty() ? std::nullopt : std::optional(location), description,
            [&](std::optional<analysis::Location> read) { location = std::move(read).value_or(analysis::Location{}); });
}

template <typename Io>
void fields(Io& io, analysis::LibraryLine& line) {
  io("file", line.location.file, "Path relative to the project root with '/', or absolute outside it.", kNotEmpty);
  io("line", line.location.line, "Line number. The first line is 1.");
  io("package", line.package, "The package that `--code` takes for this line; empty where the path does not tell.");
  io("timeMs", line.ms,
     "While it is the innermost line of a package other than torch and the standard library or, where the stack has "
     "none, of torch; with the backward of that. Milliseconds.");
  io("peakBytes", line.peak_bytes, "Alive at the peak instant. Bytes.");
  if (io.has("deviceMs", io.context.has_device)) {
    io("deviceMs", line.device_ms, "Kernels, and copies that no kernel hides. Milliseconds.");
  }
}

template <typename Io>
void fields(Io& io, analysis::LibraryModule& module) {
  io("type", module.type, "The class.", kNotEmpty);
  place(io, "definition", module.definition, "Where the class is defined; null when there is no such place.");
  io("instances", module.instances, "Modules of the class.");
  io("timeMs", module.ms, "With everything inside. Milliseconds.");
  io("peakBytes", module.peak_bytes, "Alive at the peak instant, with everything inside. Bytes.");
  if (io.has("deviceMs", io.context.has_device)) {
    io("deviceMs", module.device_ms, "Kernels, and copies that no kernel hides, with everything inside. Milliseconds.");
  }
}

template <typename Io>
void fields(Io& io, analysis::LibraryCall& call) {
  io("file", call.location.file, "Of the calling line, as in lines.", kNotEmpty);
  io("line", call.location.line, "Line number. The first line is 1.");
  io("timeMs", call.ms, "The part of its self time that runs in such code. Milliseconds.");
  if (io.has("deviceMs", io.context.has_device)) {
    io("deviceMs", call.device_ms, "Kernels, and copies that no kernel hides, of such code. Milliseconds.");
  }
  io("lines", call.lines, "The costliest lines of that code, each of at least 1 % of the step. They do not overlap.");
  io("modules", call.modules,
     "The costliest classes of the modules that the line calls, each of at least 1 % of the step: where one class "
     "takes "
     "over three quarters of the line's time, the classes inside it. No module is inside another one.");
}

template <typename Io>
void fields(Io& io, analysis::Caller& caller) {
  io("file", caller.location.file, "Path relative to the project root with '/', or absolute outside it.", kNotEmpty);
  io("line", caller.location.line, "Line number. The first line is 1.");
  io("timeMs", caller.ms, "Of its calls, with everything inside. Milliseconds.");
  io("peakBytes", caller.peak_bytes, "Alive at the peak instant, likewise. Bytes.");
  phases(io, "byPhaseMs", caller.by_phase, "timeMs by phase. Sums to it.");
  if (io.has("deviceMs", io.context.has_device)) {
    io("deviceMs", caller.device_ms, "Kernels, and copies that no kernel hides, likewise. Milliseconds.");
  }
}

template <typename Io>
void fields(Io& io, analysis::Node& node) {
  io.type("node", "A node of the breakdown: the iteration, a module instance, or an operation.");
  io("name", node.name, "Name of the instance or the operation.");
  io("type", node.type, "Class of a module; empty for anything else.");
  place(io, "location", node.location,
        "The line that called it, of several the one whose calls take most time; null when there is none.");
  place(io, "definition", node.definition,
        "Where the class of the module is defined; null when there is no such place.");
  io("calls", node.calls, "Times that the module was called or the operation ran in one iteration.");
  io("timeMs", node.ms, "With everything inside. Milliseconds.");
  io("peakBytes", node.peak_bytes, "Alive at the peak instant, with everything inside. Bytes.");
  phases(io, "byPhaseMs", node.by_phase, "timeMs by phase. Sums to it.");
  if (io.has("deviceMs", io.context.has_device)) {
    io("deviceMs", node.device_ms, "Kernels, and copies that no kernel hides, with everything inside. Milliseconds.");
  }
  if (io.has("callers", !node.callers.empty())) {
    io("callers", node.callers,
       "Of a module that several lines call: these lines, most time first. With the calls that no user line makes, "
       "they "
       "sum to the node; its weights and their gradients are in the first. Absent for any other node.",
       AtMost{kMaxParts});
  }
  io("children", node.children, "What is inside, most time first. Empty, or their sums are this node's.",
     AtMost{kMaxParts});
}

template <typename Io>
void fields(Io& io, analysis::Kernel& kernel) {
  io("name", kernel.name, "In full, as the compiler spells it.");
  io("launches", kernel.launches, "In one iteration; a mean.");
  io("timeMs", kernel.ms, "Durations of all launches in one iteration, also where kernels overlap. Milliseconds.");
  io("meanMs", kernel.mean_ms, "Of one launch. Milliseconds.");
  io("maxMs", kernel.max_ms, "Of the longest launch. Milliseconds.");
  place(io, "location", kernel.location, "The user line with most of it; null when there is none.");
  io("lineMs", kernel.line_ms, "Of that line. Milliseconds.");
}

template <typename Io>
void fields(Io& io, analysis::DeviceTime& device) {
  io("index", device.device, "Number of the device, as CUDA counts.");
  io("kernelMs", device.kernel_ms, "A kernel runs. With copyMs and idleMs it sums to iteration.timeMs. Milliseconds.");
  io("copyMs", device.copy_ms, "A copy runs, or memory is set, and no kernel. Milliseconds.");
  if (io.has("launchesWithoutKernel", device.lost_share > 0)) {
    io("launchesWithoutKernel", device.lost_share,
       "Launches of the iterations without a kernel in the recording, as a share of all. Above 0.01 the device may "
       "have "
       "worked when it seems idle: idleMs and utilisation are null, and waitsMs is absent. Absent: 0.",
       kFraction);
  }
  converted(io, "idleMs", device.idle_is_known() ? std::optional(device.idle_ms) : std::nullopt,
            "Neither. Milliseconds; null when unknown.",
            [&](std::optional<double> read) { device.idle_ms = read.value_or(0); });
  io.derived(
      "utilisation",
      [&] {
        const double whole = io.context.iteration_ms;
        return device.idle_is_known() ? std::optional(whole > 0 ? device.kernel_ms / whole : 0) : std::nullopt;
      },
      "kernelMs / iteration.timeMs; null when unknown.", kFraction);
  if (io.has("pausesMs", device.pauses_ms > 0)) {
    io("pausesMs", device.pauses_ms,
       "Of idleMs, stretches of more than 5 % of the iteration in which the host runs no operation: it waits, for "
       "instance for data, or does other work. Milliseconds; absent: 0.");
  }
  io("launches", device.launches, "Kernels that one iteration launches; a mean.");
  io("scale", device.scale,
     "Factor by which times on the device were multiplied; 1 unless they exceeded the bare iteration.", kFraction);
  phases(io, "byPhaseMs", device.by_phase, "kernelMs + copyMs by phase. Sums to it.");
  if (io.has("waitsMs", device.idle_is_known())) {
    io.object("waitsMs", "What waits for what: exactly one of these at each instant. Sums to iteration.timeMs.",
              [&] { named(io, device.waits, analysis::kWaitNames, kWaitDescriptions); });
  }
  io("peakReservedBytes", device.peak_reserved_bytes,
     "The most that the caching allocator reserved on the device. Bytes; null when unknown.");
  io("kernels", device.kernels, "Every kernel, most time first.", AtMost{kMaxParts});
}

template <typename Io>
void fields(Io& io, analysis::CriticalCost& cost) {
  io("criticalMs", cost.critical_ms, "Of it on the critical path, on the host and on devices. Milliseconds.");
  io("slackMs", cost.slack_ms,
     "How much longer it may take before the step takes longer: 0 on the critical path. Milliseconds.");
  io("savedTwiceAsFastMs", cost.saved_twice_as_fast_ms,
     "By how much the step is shorter when all of it, on the host and on devices, takes half as long. Milliseconds; "
     "negative where finishing earlier makes others wait in another order.",
     kAnyNumber);
  io("savedWithoutMs", cost.saved_without_ms,
     "Likewise when it takes no time at all: no change of it alone brings more. Milliseconds.", kAnyNumber);
}

template <typename Io>
void fields(Io& io, analysis::CriticalLine& line) {
  io("file", line.location.file, "Path relative to the project root with '/', or absolute outside it.", kNotEmpty);
  io("line", line.location.line, "Line number. The first line is 1.");
  fields(io, line.cost);
}

template <typename Io>
void fields(Io& io, analysis::CriticalModule& module) {
  io("name", module.name, "Dotted name of the instance in its model.", kNotEmpty);
  fields(io, module.cost);
}

template <typename Io>
void fields(Io& io, analysis::StepSchedule& schedule) {
  io("replayedMs", schedule.replayed_ms,
     "The iteration as the unchanged graph has it; its difference from iteration.timeMs says how good the graph is. "
     "Milliseconds.");
  io("hostOnlyMs", schedule.host_only_ms,
     "Only the host works. With deviceOnlyMs, bothMs and neitherMs it sums to replayedMs. Milliseconds.");
  io("deviceOnlyMs", schedule.device_only_ms, "Only devices work. Milliseconds.");
  io("bothMs", schedule.both_ms, "Host and device work at once. Milliseconds.");
  io("neitherMs", schedule.neither_ms, "Neither: latencies of launches and hand-overs. Milliseconds.");
  io("lines", schedule.lines, "The user's lines with the most time, most saved first.");
  io("modules", schedule.modules, "Modules with the instances inside them, likewise.");
}

template <typename Io>
void fields(Io& io, analysis::LineDeviceCost& device) {
  io("self", device.ms,
     "Kernels, and copies that no kernel hides, that the line asked for while it was the innermost user line. "
     "Milliseconds.");
  io("total", device.total_ms,
     "While the line is anywhere on the stacks that account for it, each instant once. Milliseconds.");
  io("copies", device.copy_ms, "Of self, those copies. Milliseconds.");
  io("hostWaits", device.wait_ms, "Time of the host in calls of the line that synchronise or copy. Milliseconds.");
  phases(io, device.by_phase);
}

}  // namespace ridgeline::report
