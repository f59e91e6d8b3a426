// The fields of the JSON report, from its top. protocol/report.schema.json is generated from them.
#pragma once

#include "report/compilation_fields.h"
#include "report/energy_fields.h"
#include "report/model_fields.h"
#include "report/script_fields.h"
#include "report/work_fields.h"

namespace ridgeline::report {

/// It changes when a field is renamed, removed or changes its meaning. Reports of another version are not read: a kept
/// profile of one is dropped, and the entry is profiled again.
inline constexpr int kReportVersion = 2;

template <typename Io>
void fields(Io& io, analysis::Environment& environment) {
  io("python", environment.python, "Version of the interpreter.");
  io("torch", environment.torch, "Version of PyTorch.");
  io("device", environment.device,
     "Kind of device that the model ran on, as torch calls it: \"cpu\", \"cuda\" (also with ROCm), or \"xpu\" of a "
     "trace.",
     kNotEmpty);
  io("deviceName", environment.device_name, "Name of the device as its maker gives it; empty when unknown.");
  io("threads", environment.threads, "Threads that PyTorch uses inside operations; 0 when unknown.",
     Whole{0, 1U << 20U});
  io("inPlaceOf", environment.in_place_of,
     "Kind of device that the code asked for and that `device` replaced, such as \"cuda\" with `--device cpu`: every "
     "figure is of `device`. Empty when the code got what it asked for.");
  io("lowMHz", environment.low_mhz, "Slowest clock of the processors while the step was timed, MHz; 0 when unknown.");
  io("highMHz", environment.high_mhz, "Fastest clock of the processors while the step was timed, MHz; 0 when unknown.");
  if_present(io, "othersUsed", environment.others_used,
             "Processors that others used while the step was timed, where that left too few for it: the times are of a "
             "busy machine. Absent where it did not, and where it is not known.");
  if_present(io, "processorShare", environment.processor_share,
             "CPU utilisation: processor time of the process in the timed iterations over their time and all the "
             "processors that it may use. Absent where it was not measured.");
  if_present(
      io, "threadSettings", environment.thread_settings,
      "What environment variables told OpenMP, MKL and their like, as NAME=value. Absent where it is not known.");
}

template <typename Io>
void fields(Io& io, analysis::Provenance& provenance) {
  io.type("provenance", "When, with what and of what the profile was made.");
  io("beganSeconds", provenance.began_s, "When the run began, in seconds since 1970.");
  io("version", provenance.version, "Version of Ridgeline.", kNotEmpty);
  io("commit", provenance.commit,
     "The commit that the project's git work tree had checked out; files may have differed from it. Empty when it is "
     "unknown.");
  io("processor", provenance.processor, "Name of the processor.");
}

template <typename Io>
void fields(Io& io, protocol::BatchLength& length) {
  io.type("batchLength", "How long the inputs of the batch are, by the entry file's length_provider.");
  io("total", length.total, "Total length of all samples.", kPositive);
  io("unit", length.unit, "Unit of the length, as the entry file names it.", kNotEmpty);
}

template <typename Io>
void fields(Io& io, analysis::CodePackage& package) {
  io("package", package.name, "Import name of the package.", kNotEmpty);
  io("places", package.places, "Absolute paths of its folders, or of the one file that it is.", kNotEmpty);
}

template <typename Io>
void entry(Io& io, analysis::Profile& profile) {
  io("path", profile.entry_path, "Absolute path of the file that defines the providers.", kNotEmpty);
  io("projectRoot", profile.project_root, "Absolute path of the folder whose lines are the user's lines.");
  if (io.has("code", true)) {  // earlier reports do not have it
    io("code", profile.code,
       "Packages of `--code` that the step imported: their lines are among the lines, as if they were the user's.");
  }
  converted(
      io, "batchSize", profile.batch_size_known ? std::optional(profile.batch_size) : std::nullopt,
      "Batch size of the figures, in samples; null for an imported trace that does not state it when none was given.",
      [&](std::optional<int> read) {
        profile.batch_size_known = read.has_value();
        profile.batch_size = read.value_or(1);
      },
      kBatchSize);
}

template <typename Io>
void fields(Io& io, analysis::IterationTime& iteration) {
  measured_time(io, iteration.ms);
  io("iterations", iteration.iterations, "Iterations that were timed.");
  io("warmupIterations", iteration.warmup_iterations, "Iterations before those, which do not count.");
  phases(io, "byPhaseMs", iteration.by_phase, "The median by phase. Sums to timeMs.");
  io("betweenOperationsMs", iteration.between_operations_ms,
     "Of timeMs, when no operation ran and no data was loaded: Python, and what it waits for. Milliseconds.");
}

inline bool is_over_time(const analysis::MemoryOverTime& memory, std::uint64_t peak_bytes) {
  const std::size_t count = memory.ms.size();
  const auto is_complete = [&](const std::vector<std::uint64_t>& bytes) { return bytes.size() == count; };
  if (memory.peak >= count || !std::ranges::all_of(memory.bytes, is_complete) || !std::ranges::is_sorted(memory.ms) ||
      memory.ms.back() > memory.recorded_ms) {
    return false;
  }
  std::uint64_t sum = 0;
  for (const std::vector<std::uint64_t>& bytes : memory.bytes) {
    sum += bytes[memory.peak];
  }
  return sum == peak_bytes;
}

template <typename Io>
void fields(Io& io, analysis::MemoryOverTime& memory) {
  io("recordedMs", memory.recorded_ms,
     "Length of that iteration by the clock: with the cost of recording. Milliseconds.");
  io("timeMs", memory.ms, "Instants since its start, ascending; what is alive then is alive until the next.",
     AtMost{analysis::kMaxInstants});
  io("peak", memory.peak, "Index of the instant of the peak; what is alive then sums to peakBytes.",
     Whole{0, analysis::kMaxInstants - 1});
  io.object("byCategory", "Live bytes at each instant by what they are for. Bytes.", [&] {
    for (std::size_t i = 0; i < analysis::kCategoryCount; ++i) {
      io(analysis::kCategoryNames[i], memory.bytes[i], kCategoryDescriptions[i], AtMost{analysis::kMaxInstants});
    }
  });
}

template <typename Io>
void memory(Io& io, analysis::Profile& profile) {
  converted(
      io, "peakBytes", profile.peak_known ? std::optional(profile.peak_bytes) : std::nullopt,
      "Largest number of live bytes that the allocator had handed out. Bytes; null for an imported trace that does not "
      "show all that was alive: byCategory, lines and breakdown then have what was allocated in it.",
      [&](std::optional<std::uint64_t> read) {
        profile.peak_known = read.has_value();
        profile.peak_bytes = read.value_or(0);
      });
  io("capacityBytes", profile.capacity_bytes,
     "Memory that the step can have: of the machine or its limit, or of the device, without what the context and "
     "others hold. Bytes; 0 when unknown.");
  io.object("byCategory", "The live bytes of the peak instant by what they are for. Sums to peakBytes.",
            [&] { named(io, profile.by_category, analysis::kCategoryNames, kCategoryDescriptions); });
  if_present(io, "overTime", profile.memory_over_time,
             "Live memory over the recorded iteration that has the peak, at 256 instants or fewer. Absent where the "
             "peak is not known, and in reports of earlier versions.");
  io.check(!profile.memory_over_time || is_over_time(*profile.memory_over_time, profile.peak_bytes),
           "memory.overTime is not valid");
}

template <typename Io>
void time_model(Io& io, analysis::Profile& profile) {
  const auto of_model = [&](double analysis::TimeModel::*member) {
    return [&profile, member] {
      return profile.time_model ? std::optional((*profile.time_model).*member) : std::optional<double>();
    };
  };
  io.derived(
      "pieces", [&] { return profile.time_model ? profile.time_model->pieces : std::vector<analysis::Piece>(); },
      "By batch size; the first begins at 1. Empty without a model.", InMs{});
  io.derived("r2", of_model(&analysis::TimeModel::r2),
             "Coefficient of determination, no unit: 1 when the model explains everything; null without a model.",
             Number{kAnyNumber.least, 1});
  io.derived(
      "relativeSd", of_model(&analysis::TimeModel::relative_sd),
      "Standard deviation of one measurement about the model, as a fraction of its value; null without a model.");
  io("aaNoise", profile.aa_noise,
     "Root mean square of the samples' aaNoise: how much two halves of the same measurement differ.");
  io("samples", profile.time_samples, "The batch sizes that ran, by batch size.");
  io("regimes", profile.regimes,
     "Batch sizes from which the step works differently, as its allocations show: blocks that the C library maps anew "
     "each time, loops that more threads begin to share. They widen intervals between and beyond the samples.");
}

/// Least squares through the samples: fitted again, not read.
template <typename Io>
void memory_line(Io& io, analysis::Profile& profile) {
  const auto& line = profile.memory_model;
  const auto of_line = [&](double analysis::Line::*member) {
    return [&line, member] { return line ? std::optional((*line).*member) : std::optional<double>(); };
  };
  io.derived("slopeBytes", of_line(&analysis::Line::slope), "Bytes per sample of the batch; null without a model.",
             kAnyNumber);
  io.derived(
      "slopeHalfWidthBytes", [&] { return line ? line->slope_half_width : std::nullopt; },
      "Half of the 95 % confidence interval of slopeBytes, bytes per sample: Student's t with n - 2 degrees of "
      "freedom; "
      "null with fewer than three batch sizes.");
  io.derived("interceptBytes", of_line(&analysis::Line::intercept),
             "Bytes at batch size 0, by extrapolation; null without a model.", kAnyNumber);
  io.derived(
      "interceptHalfWidthBytes", [&] { return line ? line->intercept_half_width : std::nullopt; },
      "Half of the 95 % confidence interval of interceptBytes, bytes: Student's t with n - 2 degrees of freedom; null "
      "with fewer than three batch sizes.");
  io.derived("r2", of_line(&analysis::Line::r2),
             "Coefficient of determination, no unit: 1 when the line explains everything; null without a model.",
             Number{kAnyNumber.least, 1});
  io.derived("residualBytes", of_line(&analysis::Line::residual_sd),
             "Standard deviation of the residuals with n - 2 degrees of freedom, bytes; 0 when n is 2; null without a "
             "model.");
  io.null_together({"slopeBytes", "interceptBytes", "r2", "residualBytes"});
}

template <typename Io>
void allocator(Io& io, analysis::Profile& profile) {
  if (!io.has("allocator", profile.allocator != nullptr)) {
    return;
  }
  analysis::AllocatorModel model = profile.allocator ? *profile.allocator : analysis::AllocatorModel{};
  if constexpr (Io::kReads) {
    for (const analysis::MemorySample& sample : profile.memory_samples) {
      io.check(model.sizes.empty() || sample.batch_size > model.sizes.back(), "samples are not sorted by batch size");
      model.sizes.push_back(sample.batch_size);
    }
    io.check(model.sizes.size() >= 2, "allocator has too few samples");
  }
  io("allocator", model,
     "What the step requests from the device's caching allocator, from which the memory that it reserves at any batch "
     "size follows. Absent without a device, and where there is no model of its allocator.");
  if constexpr (Io::kReads) {
    profile.allocator = std::make_shared<const analysis::AllocatorModel>(std::move(model));
  }
}

template <typename Io>
void models(Io& io, analysis::Profile& profile) {
  io.object("time",
            "Iteration time against the batch size: a straight line or, where the samples bend, straight pieces that "
            "meet at sampled batch sizes. Weighted least squares of relative errors.",
            [&] { time_model(io, profile); });
  io.object(
      "memory",
      "Peak memory = interceptBytes + slopeBytes * batch size, by least squares. The figures are null together when "
      "there is no model; the samples are there in any case.",
      [&] {
        memory_line(io, profile);
        io("samples", profile.memory_samples, "The batch sizes that ran, by batch size.");
        io("peak", profile.peak_model,
           "The peak at any batch size, from the step's allocations matched between the sampled batch sizes; "
           "null when they could not be matched. At a sampled batch size it is the recorded peak, to the byte.");
        allocator(io, profile);
      });
}

template <typename Io>
void answers(Io& io, const analysis::Outlook& outlook) {
  const auto answer = [&](const char* name, const analysis::Answer& value, const char* description) {
    io.derived(
        name, [&] { return value; }, description);
  };
  answer("now", outlook.now, "The profile's own batch size.");
  answer("twice", outlook.twice, "Twice that.");
  answer("largestThatFits", outlook.fits,
         "The largest that fits into memory.capacityBytes; neither answer nor obstacle when that is unknown.");
  answer("enoughThroughput", outlook.enough, "The smallest with 95 % of the greatest throughput.");
  answer("activationsEqualWeights", outlook.balanced,
         "The smallest with as many bytes of activations as of weights at the peak.");
}

template <typename Io>
void fields(Io& io, analysis::LineCost& line) {
  io("file", line.location.file, "Path relative to the project root with '/', or absolute outside it.", kNotEmpty);
  io("line", line.location.line, "Line number. The first line is 1.",
     Whole{1, std::numeric_limits<std::uint32_t>::max()});
  if (io.has("text", !line.text.empty())) {
    io("text", line.text,
       "The line as it ran, without the blanks around it, at most 200 bytes: by it, lines of two reports are matched. "
       "Absent when the file could not be read, or was changed during the run.",
       kNotEmpty);
  }
  io("calls", line.calls, "Times that the line ran in one iteration; null when only the timer saw it.");
  if_present(io, "selfSpread", line.self_spread,
             "Standard deviation of the line's share of a recorded iteration, over all of them, as a fraction of its "
             "mean. Absent with fewer than three recorded iterations.");
  io.object("timeMs", "Time of the line. forward, backward, recomputation, optimizer, data and other split self.", [&] {
    io("self", line.self_ms, "While the line is the innermost of the stack that is among the lines. Milliseconds.");
    io("total", line.total_ms, "While the line is anywhere on the stack, each instant once. Milliseconds.");
    phases(io, line.self_by_phase);
  });
  if (io.has("totalByPhaseMs", line.total_ms > line.self_ms)) {
    phases(io, "totalByPhaseMs", line.total_by_phase,
           "The total by phase. Absent where it is the line's own time, and in reports of earlier versions.");
  }
  pieces(io, "timeModel", line.self_model, InMs{},
         "The line's self time against the batch size, as pieces; the lines and the other items sum to the time model. "
         "Empty without one.");
  io.object("memoryBytes", "Memory of the line.", [&] {
    io("weights", line.weights_bytes, "Parameters and buffers that the line created. Bytes.");
    io("gradients", line.gradients_bytes, "Gradients of those, alive at the peak. Bytes.");
    io("activations", line.activations_bytes, "Allocated by the line in forward and alive when forward ended. Bytes.");
    io("atPeak", line.peak_bytes, "Alive at the peak instant. Bytes.");
  });
  if (io.has("deviceMs", io.context.has_device)) {
    io("deviceMs", line.device,
       "The device's time for the line; the phases split self. All lines' self and other[].deviceMs sum to "
       "device.kernelMs + device.copyMs.");
  }
  part_energy(io, line.self_ms, line.device.ms);
}

template <typename Io>
void fields(Io& io, analysis::OtherCost& other) {
  io("name", other.name, "Display name.", kNotEmpty);
  io("timeMs", other.ms, "Time of one iteration. Milliseconds.");
  pieces(io, "timeModel", other.model, InMs{}, "Its time against the batch size, as a line's.");
  io("peakBytes", other.peak_bytes, "Alive at the peak instant. Bytes.");
  if (io.has("deviceMs", io.context.has_device)) {
    io("deviceMs", other.device_ms, "Kernels, and copies that no kernel hides. Milliseconds.");
  }
  part_energy(io, other.ms, other.device_ms);
}

template <typename Io>
void fields(Io& io, analysis::UnusedGradients& unused) {
  place(io, "location", unused.location, "The line; null when it is not the user's.");
  io("parameter", unused.parameter, "The largest of them.");
  io("parameters", unused.parameters, "Number of such parameters.", Whole{1});
  io("bytes", unused.bytes, "Of their gradients. Bytes.");
}

template <typename Io>
void closure(Io& io, analysis::Profile& profile) {
  io("scale", profile.scale,
     "Bare iteration time / recorded iteration time after the cost of recording was taken out. Recorded times were "
     "multiplied by it.");
  io("userLineShare", profile.user_line_share, "Part of the iteration that the lines own. 0 to 1.", kFraction);
  io("recordingOverhead", profile.recording_overhead,
     "Recorded iteration time / bare iteration time - 1, before the cost was taken out. A fraction; negative when the "
     "recorded iterations happened to be faster.",
     Number{-1});
  io("recordedIterations", profile.recorded_iterations, "Iterations that were recorded.");
}

/// The report. `outlook` is written and not read: it follows from the models.
template <typename Io>
void report_fields(Io& io, analysis::Profile& profile, const analysis::Outlook& outlook) {
  io.context = {io.has("device", profile.device.has_value()), profile.iteration.ms.value, &profile};
  int version = kReportVersion;
  io("version", version, "Version of this format. It changes when a field is renamed, removed or changes its meaning.",
     Whole{kReportVersion, kReportVersion});
  converted(
      io, "id", profile.id.empty() ? std::nullopt : std::optional(profile.id),
      "Id of the profile in the user's cache; null when it could not be kept.",
      [&](const std::optional<std::string>& read) {
        io.check(read.has_value(), "id is null: the profile was not kept");
        profile.id = read.value_or("");
      },
      Text{16, "^[0-9a-f]{16}$"});
  io("environment", profile.environment, "What the iteration ran on.");
  if_present(io, "provenance", profile.provenance,
             "When, with what and of what it was made. Absent of a trace, and in reports of earlier versions.");
  io.object("entry", "What was profiled.", [&] { entry(io, profile); });
  io("iteration", profile.iteration,
     "Wall time of one training iteration without instrumentation, after warm-up, the device synchronised at both "
     "ends.");
  energy(io, profile);
  if_present(io, "inputLength", profile.length,
             "How long the inputs of the batch are, as the entry file's length_provider says; absent without one. Over "
             "the iteration time, it is the throughput weighted by lengths.");
  if_present(
      io, "device", profile.device,
      "The device that did most of the iteration's work. Absent, as every deviceMs is, when nothing ran on one.");
  if_present(
      io, "schedule", profile.schedule,
      "When the tasks of an iteration run, as a simulation of their graph has it: predicted, nothing was run for "
      "it. Absent where the graph does not replay the iteration.");
  if_present(
      io, "work", profile.work,
      "What the operations of an iteration ask of the machine by their shapes, and what they attain of it. Absent "
      "of a script or a trace, and in reports of earlier versions.");
  io.object("throughput", "Samples that are trained on per second.", [&] {
    io("samplesPerSecond", profile.samples_per_second,
       "Batch size / iteration time; of a script whose steps differ in their samples, those of the timed steps over "
       "their time. Samples per second; null where the batch size is.");
    io("maxSamplesPerSecond", profile.max_samples_per_second,
       "The most that the time model gives at any batch size: what it tends to as the batch grows, or a sampled size "
       "from which it falls. Samples per second; null when there is no model or time does not grow with the batch.",
       kPositive);
  });
  io.object("memory", "Memory at the peak of an iteration in steady state.", [&] { memory(io, profile); });
  io.object("models", "How time and memory grow with the batch size.", [&] { models(io, profile); });
  if constexpr (!Io::kReads) {
    io.object("answers", "What a reader asks first about other batch sizes.", [&] { answers(io, outlook); });
  }
  if constexpr (!Io::kReads) {
    io.derived(
        "observations", [&] { return analysis::observe(profile, outlook); },
        "The twelve observations of the benchmark suite TBD (H. Zhu's thesis, chapter 3), by number.", AtMost{12});
  }
  io("checks", profile.checks,
     "Predictions against real runs, by batch size: batch sizes that were run with --check-sizes, or tried after the "
     "profile, and kept out of the models.");
  io("skipped", profile.skipped, "Batch sizes that were tried and did not run.");
  if_present(io, "outOfMemory", profile.out_of_memory,
             "The user's own batch size ran out of memory: what was allocated then. Absent where it did not, and in "
             "reports of earlier versions.");
  io("lines", profile.lines,
     "Lines of the user's and of the packages of entry.code that took time or hold memory, most self time first. The "
     "self times and other[].timeMs sum to "
     "iteration.timeMs; atPeak and other[].peakBytes sum to memory.peakBytes.",
     AtMost{kMaxParts});
  io("other", profile.other, "Time and memory that none of the lines can own.");
  if_present(
      io, "libraryCall", profile.library_call,
      "The line whose calls into code without figures of its own take over half of the step, and what they spend "
      "it on. Absent where there is no such line.");
  io("unusedGradients", profile.unused_gradients,
     "Parameters that get gradients in every iteration while nothing changes them, by the line that made them. Most "
     "bytes first.");
  if_present(io, "script", profile.script,
             "Of a training script that ridgeline profile started as it is; absent for an entry point or a trace.");
  if_present(io, "compilation", profile.compilation,
             "What torch.compile did before the recorded step; absent where it did nothing, of a trace, and in reports "
             "of earlier versions.");
  io.object("closure", "How the recorded figures relate to the bare iteration.", [&] { closure(io, profile); });
  io("warnings", profile.warnings, "What a reader of the figures must know.", kNotEmpty);
  io("breakdown", profile.breakdown,
     "The whole iteration as a tree. Its timeMs is iteration.timeMs, its peakBytes are memory.peakBytes.");
}

}  // namespace ridgeline::report
