"""One profile: load, warm up, record, then time the bare step.

Recording comes first, with the allocator observed from before the model exists until the last recording ends, so that
every live block is known. The timed iterations come last, with nothing of ours attached, and the batch sizes take
turns, so that a machine that slows down affects them all. Once all have some times, the daemon is asked which other
batch sizes its model is unsure of; they are timed, too, until it asks for no more or the time budget is spent.

Every measurement is sent at once: a run that is cut short still gives a report.
"""

from __future__ import annotations

import sys
from time import perf_counter  # before user code can replace it
from typing import Any

from ridgeline_runner.changes import experiment, trial
from ridgeline_runner.common import overlay, timing
from ridgeline_runner.common.channel import Channel, ChannelClosed
from ridgeline_runner.common.deadline import Deadline
from ridgeline_runner.common.dynamo import not_settled
from ridgeline_runner.common.failure import Failure, summary
from ridgeline_runner.cuda import cpu_for_cuda
from ridgeline_runner.machine import devices, energy
from ridgeline_runner.machine.processors import ProcessorWatch
from ridgeline_runner.step.batch_sizes import Budget
from ridgeline_runner.step.entry import load_entry_point
from ridgeline_runner.step.first_figures import FirstFigures
from ridgeline_runner.step.fitting import MemoryFit
from ridgeline_runner.step.fresh_process import FreshProcesses, time_rounds
from ridgeline_runner.step.recorder import Recorder, Stage, name_compiled_kernels
from ridgeline_runner.step.recordings import Recordings
from ridgeline_runner.step.reporter import Reporter
from ridgeline_runner.step.result import Result
from ridgeline_runner.step.rounds import Rounds
from ridgeline_runner.step.samples import Sampled
from ridgeline_runner.step.step_listing import send_operations
from ridgeline_runner.step.training_step import TrainingStep
from ridgeline_runner.step.unused_gradients import UnusedGradients

CHANNEL_LOST = 71  # exit code: server/worker/worker.cpp
_MOST_UNUSED = 4096  # parameters with unused gradients; the daemon takes no more


def run(spec: dict[str, Any], channel: Channel) -> int:
    """Profiles what `spec` describes and sends the results. The exit code: 0, 1 after a failure, or CHANNEL_LOST."""
    reporter = Reporter(channel)
    try:
        try:
            if "experiment" in spec:
                tries = spec["experiment"]["kind"] == "try"
                processes = FreshProcesses(lambda request: _time_changed(spec, request), channel) if tries else None
                recorder = _observe(spec)
                if processes is not None:
                    processes.settle()
                experiment.run(spec, reporter, recorder, processes)
            else:
                _profile(spec, reporter)
        except ChannelClosed:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever user code raises is an answer, SystemExit included
            reporter.fail(error)
            return 1
    except ChannelClosed:
        return CHANNEL_LOST
    return 0


def _profile(spec: dict[str, Any], reporter: Reporter) -> None:
    run_began = perf_counter()
    processors = ProcessorWatch()
    processors.begin()
    deadline = Deadline(float(spec.get("finishWithinSeconds", 0.0)))
    budget_seconds = float(spec.get("timeBudgetSeconds", 10.0))
    processes = FreshProcesses(lambda request: _time_apart(spec, budget_seconds, request), reporter.channel)
    recorder = _observe(spec)
    processes.settle()
    began = perf_counter()
    step, unused = _load(spec, recorder, reporter)
    load_seconds = perf_counter() - began
    memory_limit_bytes = int(spec.get("memoryLimitBytes", 0))
    budget = Budget(budget_seconds, memory_limit_bytes, step.device)
    recordings = Recordings(
        recorder,
        step,
        reporter,
        fit=MemoryFit(step.device, memory_limit_bytes),
        budget=budget,
        deadline=deadline,
        environment_roots=spec["environmentRoots"],
    )
    chosen = recordings.record_chosen()
    result = Result(spec, reporter, recorder, step.device, processors, chosen.batch_size, cpu_for_cuda)
    result.send(final=False)  # for a run that is cut short
    wanted = bool(spec.get("firstFigures", False))
    first = FirstFigures(reporter, result, processors, processes, run_began, wanted=wanted)
    requested, checks = spec.get("batchSizes") or [], spec.get("checkSizes") or []
    sampled = recordings.record_others(chosen, requested, checks, before_each=first.offer)
    recorder.detach()
    processors.begin()
    rounds = Rounds(step, reporter, budget, processors, deadline, processes, load_seconds)
    rounds.run(sampled, after_each=first.offer)
    processes.close()
    if step.unsettled_steps:
        reporter.warnings.insert(0, not_settled(step.unsettled_steps))
    processors.end(processes.processor_seconds)
    if chosen.processor_shares:
        processors.own_share = timing.median(chosen.processor_shares)
    fastest = min((s for s in sampled if s.iterations), key=lambda s: s.batch_size, default=chosen)
    measured_energy = _energy(step, chosen, budget_seconds, deadline, reporter)
    length = _length(step, chosen.batch_size, reporter)
    gradients: list[dict[str, Any]] = []
    if deadline.allows(fastest.estimate_ns / 1e9):
        gradients = _unused_gradients(unused, step, fastest.batch_size)
    else:
        deadline.leave_out("whether gradients are never used")
    iteration_seconds = chosen.estimate_ns / 1e9
    lists_operations = bool(spec.get("listOperations", True))
    if lists_operations and deadline.allows(iteration_seconds):
        # Should listing end the process, this remains.
        result.send(final=False, unused_gradients=gradients, energy=measured_energy, length=length)
        send_operations(step, chosen.batch_size, iteration_seconds, reporter)
    elif lists_operations:
        deadline.leave_out("what the operations compute")
    if warning := deadline.warning():
        reporter.warnings.append(warning)
    result.send(final=True, unused_gradients=gradients, energy=measured_energy, length=length)


def _prepare(spec: dict[str, Any]) -> None:
    """Puts in place what the entry file finds when it is loaded."""
    overlay.install(spec.get("overlay", {}))
    if spec.get("device") == "cpu":
        cpu_for_cuda.install()
    name_compiled_kernels()


def _observe(spec: dict[str, Any]) -> Recorder:
    """Puts everything in place that must be there before the entry file is loaded."""
    _prepare(spec)
    recorder = Recorder(sys.modules["_ridgeline_agent"], spec["projectRoot"], spec["code"])
    recorder.watch_compiled_code()
    if not recorder.track_memory(of_devices=spec.get("device") != "cpu" and devices.has_cuda()):
        raise Failure("allocator", "LibTorch's CPU allocator cannot be observed: another tool has replaced it.")
    return recorder


def _time_apart(spec: dict[str, Any], budget_seconds: float, request: dict[str, Any]) -> dict[str, Any]:
    """Times the step at a batch size in a process that records nothing."""
    _prepare(spec)
    entry = load_entry_point(spec)
    positional, keywords = entry.models()
    step = TrainingStep(entry, entry.iteration(positional, keywords), devices.Device())
    inputs = step.inputs(request["batchSize"])
    return time_rounds(lambda count: step.times(inputs, count), request["rounds"], budget_seconds, request["perRound"])


def _time_changed(spec: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    """Times a changed step in a process that records nothing."""
    _prepare(spec)
    return trial.time_apart(spec, request)


def _load(spec: dict[str, Any], recorder: Recorder, reporter: Reporter) -> tuple[TrainingStep, UnusedGradients]:
    """Runs the entry file and its providers; the step, and the watch over its parameters."""
    recorder.stage(Stage.LOAD)
    reporter.progress("load", 0.0, "Loading the entry point")
    entry = load_entry_point(spec)
    reporter.progress("model", 0.02, "Building the model")
    recorder.stage(Stage.MODEL)
    positional, keywords = entry.models()
    parameters = recorder.set_models(positional, keywords)
    unused = UnusedGradients(parameters)
    device = devices.Device.of(parameters)
    recorder.use_device(device)
    recorder.stage(Stage.PREPARE)
    reporter.stage = "prepare"
    return TrainingStep(entry, entry.iteration(positional, keywords), device), unused


def _energy(
    step: TrainingStep, chosen: Sampled, budget_seconds: float, deadline: Deadline, reporter: Reporter
) -> dict[str, Any] | None:
    """None also when the run has to end sooner, and when the step does not run any more: its warning is there."""
    counters = step.device.energy_counters()
    iteration_seconds = chosen.estimate_ns / 1e9
    if not counters.found or not deadline.allows(energy.longest_seconds(iteration_seconds, budget_seconds)):
        return None
    reporter.progress("time", 0.95, "Measuring the energy of the step")
    try:
        inputs = step.inputs(chosen.batch_size)
        measured = energy.measure(lambda count: step.times(inputs, count), iteration_seconds, counters, budget_seconds)
    except ChannelClosed:
        raise
    except BaseException:  # noqa: BLE001 - SystemExit included
        return None
    reporter.warnings += counters.problems
    return measured


def _length(step: TrainingStep, size: int, reporter: Reporter) -> dict[str, Any] | None:
    """The length of a batch of the size. None without a length provider, and, with a warning, where it fails."""
    if step.entry.length_provider is None:
        return None
    try:
        return step.entry.length(step.inputs(size))
    except ChannelClosed:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever user code raises
        reporter.warnings.append(f"Throughput is not weighted by the lengths of the inputs: {summary(error)}")
        return None


def _unused_gradients(unused: UnusedGradients, step: TrainingStep, size: int) -> list[dict[str, Any]]:
    """None when the step does not run any more: the warning about that is there."""
    try:
        return unused.find(lambda: step.function(*step.inputs(size)))[:_MOST_UNUSED]
    except ChannelClosed:
        raise
    except BaseException:  # noqa: BLE001 - SystemExit included
        return []
