// The report's fields of what operations ask of the machine, and what they attain.
#pragma once

#include "analysis/observations/observations.h"
#include "report/cost_fields.h"

namespace ridgeline::report {

template <typename Io>
void work_cost(Io& io, analysis::WorkCost& work) {
  io("operations", work.operations, "Operations that ran.");
  io("timeMs", work.ms,
     "Of those in the step: kernels where they have any, else on the host, of one recorded iteration scaled to the "
     "bare one. Milliseconds.");
  io("flops", work.flops,
     "Floating-point operations by shapes: those of matrices, and one for each arithmetic instruction and element of "
     "others.");
  io("matrixFlops", work.matrix_flops, "Of those, of matrices: as torch.utils.flop_counter.FlopCounterMode counts.");
  io("bytes", work.bytes, "Read and written, each tensor once for each operation, as with ideal caches. Bytes.");
  io("notModelledMs", work.not_modelled_ms, "Of timeMs, operations whose FLOPs and bytes are not known. Milliseconds.");
  io("boundedMs", work.bounded_ms,
     "Of timeMs, operations that have a roofline bound; 0 without a device. "
     "Milliseconds.");
  io("boundMs", work.bound_ms,
     "The least time that the device needs for those, one by one; boundMs / boundedMs is what they attain. "
     "Milliseconds.");
  io("computeBoundMs", work.compute_bound_ms,
     "Of boundMs, operations whose FLOPs take longer than their bytes. Milliseconds.");
  io("matrixPeakMs", work.matrix_peak_ms, "What matrixFlops take at the peaks of their types. Milliseconds.");
}

template <typename Io>
void fields(Io& io, analysis::WorkCost& work) {
  io.type("work", "What operations ask of the machine, summed.");
  work_cost(io, work);
}

template <typename Io>
void fields(Io& io, analysis::OperationCost& operation) {
  io.type("operationWork", "The calls of one operation with the same arguments.");
  io("operation", operation.key,
     "As `ridgeline operations list --format json` writes keys; where that is longer than "
     "1,024 bytes, the name alone.");
  work_cost(io, operation.work);
}

template <typename Io>
void fields(Io& io, analysis::LineWork& line) {
  io.type("lineWork", "The operations of a line.");
  io("file", line.location.file, "Path relative to the project root with '/', or absolute outside it.", kNotEmpty);
  io("line", line.location.line, "Line number. The first line is 1.");
  work_cost(io, line.work);
  io("costliest", line.operations, "Those with the most time, at most 4.", AtMost{analysis::kMaxLineOperations});
}

template <typename Io>
void fields(Io& io, analysis::WorkDevice& device) {
  io("name", device.name, "Its name.");
  io("measured", device.measured,
     "True: as `ridgeline machine measure` measured it; false: by the vendor's data sheet.");
  io("units", device.units, "Threads, or multiprocessors, that the bounds are for.");
}

template <typename Io>
void fields(Io& io, analysis::Padding& padding) {
  io.type("padding", "A width of linear layers for which a larger size is predicted to take less time.");
  place(io, "location", padding.location, "The line that calls the first of the layers; null: none.");
  io("modules", padding.modules, "Names of the layers whose out_features it is.", AtMost{analysis::kMaxPaddedModules});
  io("size", padding.size, "As it ran.");
  io("padded", padding.padded, "That is predicted to take less time.");
  io("timeMs", padding.ms, "Products that have the width, as they took in the step. Milliseconds.");
  io("savedMs", padding.saved_ms, "Of timeMs, predicted: nothing was run with the larger size. Milliseconds.");
  io("savedLowMs", padding.saved_low_ms, "The least of its interval. Milliseconds.");
  io("savedHighMs", padding.saved_high_ms, "The most of its interval. Milliseconds.");
}

template <typename Io>
void fields(Io& io, analysis::OwnProgram& program) {
  io.type("ownProgram", "A program that `ridgeline kernel --of` constructed for an operation of the step.");
  place(io, "location", program.location, "The line on which the operation takes most time; null: none.");
  io("operation", program.operation, "As `ridgeline kernel` reads it.", kNotEmpty);
  io("timeMs", program.ms, "The operation in the step, by torch, on all lines. Milliseconds.");
  io("savedMs", program.saved_ms, "Of timeMs, predicted: the step was not run with the program. Milliseconds.");
  io("ratio", program.ratio, "The program's time over torch's, measured alone, in turns.");
  io("ratioLow", program.ratio_low, "The least of its interval of 95 %.");
  io("ratioHigh", program.ratio_high, "The most of its interval of 95 %.");
}

template <typename Io>
void fields(Io& io, analysis::StepWork& work) {
  io("notListed", work.not_listed, "Why the operations could not be listed, and all else is 0; empty: they were.");
  io("listed", work.listed, "Operations of the step.");
  io("found", work.found, "Of those, in the recording; every timeMs is of these.");
  io("device", work.device, "What the bounds are of; null: nothing is known of the device, and there are none.");
  io("total", work.total, "All that were listed.");
  io.object("byPhase", "Those that were found, by phase.", [&] {
    for (std::size_t i = 0; i < analysis::kPhaseCount; ++i) {
      io(analysis::kPhaseNames[i], work.by_phase[i], "Operations of the phase.");
    }
  });
  io("modelFlopUtilisation", work.model_flop_utilisation,
     "What the FLOPs of matrices, without recomputation, take at the peaks of their types, over the iteration time; "
     "null without a device, or where a type has no peak.");
  io("lines", work.lines, "Those that were found, by line, most time first.", AtMost{kMaxParts});
  if (io.has("paddings", !work.paddings.empty())) {
    io("paddings", work.paddings, "Widths for which padding is predicted to pay, most saved first. Absent: none.",
       AtMost{analysis::kMaxPaddings});
  }
  if (io.has("ownPrograms", !work.own_programs.empty())) {
    io("ownPrograms", work.own_programs,
       "Operations for which a program of your own was measured to take less time, most saved first. Absent: none.",
       AtMost{analysis::kMaxOwnPrograms});
  }
}

template <typename Io>
void fields(Io& io, analysis::Figure& figure) {
  io("name", figure.name, "Display name.", kNotEmpty);
  io("value", figure.value, "The figure.");
  io("unit", figure.unit, "A share of 1, samples of a batch, or samples per second.");
}

template <typename Io>
void fields(Io& io, analysis::Observation& observation) {
  io.type("observation", "An observation of the benchmark suite TBD, judged by this profile.");
  io("number", observation.number, "1 to 12, as in docs/user/observations.md.", Whole{1, 12});
  io("statement", observation.statement, "What is observed of training in general.", kNotEmpty);
  io("verdict", observation.verdict,
     "Whether it is true of this step; \"unknown\": figures are missing; \"notApplicable\": one profile cannot show "
     "it, "
     "or the step has nothing of the kind.");
  io("reason", observation.reason, "Why it is unknown or not applicable; else empty.");
  io("figures", observation.figures, "That make it true or not.", AtMost{8});
  io("consequence", observation.consequence, "What to do; empty: nothing follows.");
  place(io, "location", observation.location, "The line that it is about; null: none.");
}

}  // namespace ridgeline::report
