// The fields of a comparison in JSON. protocol/comparison.schema.json is generated from them.
#pragma once

#include "analysis/compare/comparison.h"
#include "report/cost_fields.h"

namespace ridgeline::report {

/// It changes when a field is renamed, removed or changes its meaning.
inline constexpr int kComparisonVersion = 1;

template <typename Io>
void fields(Io& io, analysis::Bounds& bounds) {
  io.type("interval", "An interval. All those of a comparison hold at once with a probability of 95 %.");
  io("low", bounds.low, "Lower end.", kAnyNumber);
  io("high", bounds.high, "Upper end.", kAnyNumber);
}

template <typename Io>
void fields(Io& io, analysis::TimeChange& time) {
  io.type("timeChange", "A time in both versions.");
  io("beforeMs", time.before_ms, "Milliseconds; of several runs, the geometric mean.");
  io("afterMs", time.after_ms, "Likewise.");
  io("change", time.change, "afterMs / beforeMs - 1; 0 where a version, or one of its runs, has none of it.",
     Number{-1});
  io("interval", time.bounds, "Of change; null when too little was measured, or a version has none of it.");
  io("outcome", time.outcome,
     "differs: the interval leaves 0 out. noDifference: it has 0 in it, and nothing beyond the margin. undecided: "
     "neither.");
}

template <typename Io>
void fields(Io& io, analysis::MemoryChange& memory) {
  io.type("memoryChange", "Bytes in both versions, at the peak instant.");
  io("beforeBytes", memory.before_bytes, "Bytes; of several runs, the middle one.");
  io("afterBytes", memory.after_bytes, "Likewise.");
  io("intervalBytes", memory.bounds,
     "The smallest and the largest difference, after - before, of any two runs. Bytes.");
  io("outcome", memory.outcome,
     "differs: every two runs differ, in the same direction, by more than a thousandth of the peak. noDifference: no "
     "two "
     "differ beyond that or the margin. undecided: neither.");
}

template <typename Io>
void fields(Io& io, analysis::EnergyChange& energy) {
  io.type("energyChange", "What an iteration takes of energy in both versions.");
  io("beforeJoules", energy.before_joules, "Joules; of several runs, the mean.");
  io("afterJoules", energy.after_joules, "Likewise.");
  io("intervalJoules", energy.bounds,
     "The smallest and the largest difference, after - before, of any two rounds. Joules.");
  io("outcome", energy.outcome,
     "differs: every two rounds differ in the same direction. noDifference: no two differ beyond the margin. "
     "undecided: neither.");
}

template <typename Io>
void fields(Io& io, analysis::Change& change) {
  io.type("change", "A phase, a category or a module in both versions.");
  io("name", change.name, "Of a module, the names from the breakdown's root down, with dots between.");
  io("time", change.time, "Null where it is not compared: it is too small in both, or a category.");
  io("memory", change.memory, "Null where it is not compared, likewise.");
}

template <typename Io>
void fields(Io& io, analysis::LineChange& line) {
  io("presence", line.presence,
     "same: the same text between the same lines. moved: the same text elsewhere. edited: another text between the "
     "same "
     "lines. added, removed: only in one version.");
  place(io, "before", line.before, "Where it was; null for an added line.");
  place(io, "after", line.after, "Where it is; null for a removed line.");
  io("beforeText", line.before_text, "The line's text, trimmed; empty when unknown.");
  io("afterText", line.after_text, "Likewise.");
  io("time", line.time, "The line's own time; null where it is too little of both to be compared.");
  io("memory", line.memory, "What the line holds at the peak; null likewise.");
}

template <typename Io>
void fields(Io& io, analysis::Subject& subject) {
  io.type("subject", "One of the two versions.");
  io("name", subject.name, "What was named: a file, the id of a kept profile, a revision.");
  io("entry", subject.entry_path, "Absolute path of the entry file.");
  io("batchSize", subject.batch_size, "Samples; null when unknown.", kBatchSize);
  io("device", subject.device, "What it ran on.");
  io("torch", subject.torch, "Version of PyTorch.");
  io("runs", subject.runs, "How many profiles were made of it.", Whole{1});
}

template <typename Io>
void comparison_fields(Io& io, analysis::Comparison& comparison) {
  int version = kComparisonVersion;
  io("version", version, "Version of this format. It changes when a field is renamed, removed or changes its meaning.",
     Whole{kComparisonVersion, kComparisonVersion});
  io("before", comparison.before, "The version that is compared with.");
  io("after", comparison.after, "The version that is compared.");
  io("inTurns", comparison.in_turns, "Whether the runs of both alternated: intervals are of their pairs then.");
  io("margin", comparison.margin, "The most that noDifference leaves open. A fraction.");
  io("step", comparison.step, "The iteration time.");
  io("peak", comparison.peak, "The peak of memory; null when it is not known of both.");
  if_present(io, "energy", comparison.energy, "Of an iteration; absent where it was not measured in all runs.");
  io("phases", comparison.phases, "The phases with at least a hundredth of the step.");
  io("categories", comparison.categories,
     "What is alive at the peak by what it is for, with at least a hundredth of it.");
  io("modules", comparison.modules, "The modules, likewise, with everything inside. Most time first.",
     AtMost{kMaxParts});
  io("lines", comparison.lines, "The lines, likewise. Most time first.", AtMost{kMaxParts});
  io("notes", comparison.notes, "What makes the two versions less comparable.", kNotEmpty);
}

}  // namespace ridgeline::report
