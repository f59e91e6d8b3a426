// The fields of a script that ran as it is.
#pragma once

#include "analysis/values/script.h"
#include "report/cost_fields.h"

namespace ridgeline::report {

template <typename Io>
void fields(Io& io, analysis::StepRule& step) {
  io("endsAt", step.end,
     "What ends a training step: the step of an optimizer, the next batch of a data loader, that a line runs, a "
     "backward pass in which the optimizers step, or, where the script updates its weights itself, the next batch or "
     "forward pass after that, or, where nothing is trained, the next call of the model.");
  io("requested", step.requested, "Whether --step-boundary says so; else it was found.");
  io("optimizers", step.optimizers,
     "The optimizers that step in turn in one training step, numbered by their first steps from 1. Empty: unknown.",
     Whole{1});
  place(io, "line", step.line, "The line that ends a step when it runs; null for another end.");
}

template <typename Io>
void fields(Io& io, analysis::BetweenSteps& between) {
  io("name", between.name, "What happened: evaluation, checkpoint, data loader start.", kNotEmpty);
  io("count", between.count, "How often it was seen.");
  io("timeMs", between.ms, "How long it took, all together. Milliseconds.");
}

template <typename Io>
void fields(Io& io, analysis::StepSamples& samples) {
  io("steps", samples.steps, "Steps whose samples were counted.", Whole{1});
  io("mean", samples.mean, "Samples of a step; a mean.");
  io("least", samples.least, "The fewest samples of a step.");
  io("most", samples.most, "The most samples of a step.");
  io("doubt", samples.doubt,
     "Why the number is uncertain, as the end of a sentence: --batch-size says it. Empty where it is not.");
}

template <typename Io>
void fields(Io& io, analysis::WholeTime& whole) {
  io("steps", whole.steps, "Steps of this time, the left out ones included.");
  io("timeMs", whole.ms, "From the first to the last timed step, as far as it is made of whole cycles. Milliseconds.");
  io("samplesPerSecond", whole.samples_per_second,
     "Samples over this time; null where the samples of a step are not known.");
  io("isWhole", whole.is_whole,
     "Whether what lies between steps was seen twice or more, or there is nothing: else its share is not known.");
  io("parts", whole.parts, "Of timeMs: what is no part of a step, such as rollouts, by name.");
}

template <typename Io>
void fields(Io& io, analysis::LeftOutSteps& steps) {
  io("reason", steps.reason, "What happened in them.", kNotEmpty);
  io("count", steps.count, "How many there were.");
  io("timeMs", steps.ms, "How long they took, all together. Milliseconds.");
  io("peakBytes", steps.peak_bytes, "The most memory in one of them; null where it was not observed.");
}

template <typename Io>
void fields(Io& io, analysis::LargestStep& largest) {
  io("steps", largest.steps, "Steps whose memory was observed.", Whole{1});
  io("peakBytes", largest.bytes, "The most memory in one of them.");
  io("samples", largest.samples, "That this one trains; null where it is not known.");
  io("reason", largest.reason, "Why it was left out; empty where it was not.");
}

template <typename Io>
void fields(Io& io, analysis::DataLoading& loading) {
  io("workers", loading.workers, "Worker processes of the data loader.");
  io("batchesPerStep", loading.batches_per_step, "Batches that a step gets; a mean.");
  io("waitMs", loading.wait_ms,
     "Of a timed step, waiting for batches or, without workers, loading them; a mean. Milliseconds.");
  io("waitShare", loading.wait_share, "The part of the timed steps that this is.", kFraction);
  io("batchMs", loading.batch_ms,
     "What one worker, or without workers the training process, takes to load a batch; a mean. Milliseconds; null when "
     "it was not measured, as of workers that are spawned.");
  io("workersBusy", loading.workers_busy,
     "Part of the time in which the workers were loading, while steps were timed; null without workers, or when it was "
     "not measured.",
     kFraction);
  io("workersNeeded", loading.workers_needed,
     "Workers that load the batches of a step in the time that the step takes without waiting: batchMs * "
     "batchesPerStep / that time, rounded up. Null where the step waits for less than 5 % of its time, where the "
     "workers load for less than 90 % of theirs or there are none, and where they and the step's threads are more than "
     "there are processors.",
     Whole{1});
  io("firstPassBatchMs", loading.first_pass_batch_ms,
     "What loading a batch took in the first pass over the data; a mean. Milliseconds; null when it was not measured.");
  io("laterPassesBatchMs", loading.later_passes_batch_ms,
     "The same in later passes; null until a second pass was seen.");
}

/// What Communication and its lines share.
template <typename Io, typename Part>
void communication_times(Io& io, Part& part) {
  io("exposedMs", part.exposed_ms,
     "The thread of the step waits for the result of a collective, of send or of recv; a mean of the recorded steps, "
     "with the cost of recording. Milliseconds.");
  io("waitingMs", part.waiting_ms,
     "Of exposedMs, until the last rank had made the same call. Null where that is not known: on several machines, or "
     "where not all ranks of a group were recorded.");
  io("hiddenMs", part.hidden_ms, "Collectives run, and the thread does not wait. Milliseconds.");
}

template <typename Io>
void fields(Io& io, analysis::CommunicationLine& line) {
  place(io, "line", line.line, "The line that calls; of a bucket, the one that runs backward; null: no line of yours.");
  communication_times(io, line);
}

template <typename Io>
void fields(Io& io, analysis::Communication& communication) {
  io("rank", communication.rank, "Number of the rank.");
  io("steps", communication.steps, "Steps that all ranks recorded.", Whole{1});
  io("stepMs", communication.step_ms, "A recorded step; a mean, with the cost of recording. Milliseconds.");
  communication_times(io, communication);
  io("lines", communication.lines, "By the lines that call, most exposed time first.");
}

template <typename Io>
void fields(Io& io, analysis::Script& script) {
  io("step", script.step, "Where a training step ends.");
  if_present(io, "samples", script.samples, "How many samples the steps train. Absent where that is not known.");
  if_present(io, "whole", script.whole,
             "The time in which steps were timed, with all that lies between them. Absent where none was timed.");
  if (io.has("leftOut", true)) {  // earlier reports do not have it
    io("leftOut", script.left_out, "Steps that were neither recorded nor timed, by what happened in them.");
  }
  if_present(io, "largest", script.largest,
             "The step with most memory of those that were observed beside the recorded ones: before the recording, "
             "and left out of it. Absent where none was.");
  io("between", script.between,
     "What happened between steps and is no part of them, from the first step until the last one was timed.");
  if_present(io, "loading", script.loading,
             "How the batches of the timed steps were loaded. Absent where no data loader of torch gave one.");
  if_present(io, "communication", script.communication,
             "What the rank of a job waits for. Absent of a process that uses no process group.");
}

}  // namespace ridgeline::report
