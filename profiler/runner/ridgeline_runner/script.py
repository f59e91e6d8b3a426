"""A training script that runs as it is: its steps are found, some are recorded and some timed, and it goes on.

The process joins the job of `ridgeline run` when it has imported torch. The allocator is observed from then on, so that
every block of the model is known. A step ends where an optimizer's `step` returns (step_period.py). Steps are first
watched until they are warm, then recorded, then one counts lines, and at last they are timed with nothing attached
but the wrapper around `step`. What is measured is sent at once: a script that ends early still has a report.

Nothing of the user's is changed but what these functions say, and nothing here may raise into the script.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import os
import signal
import socket
import sys
import threading
import weakref
from collections.abc import Callable
from time import perf_counter, perf_counter_ns
from typing import Any

from ridgeline_runner import devices, timing
from ridgeline_runner.channel import VERSION, Channel, ChannelClosed
from ridgeline_runner.entry import tensors_in
from ridgeline_runner.failure import Failure, describe
from ridgeline_runner.processors import ClockWatch, Usage, busy_warning
from ridgeline_runner.recorder import Recorder, Stage, name_compiled_kernels
from ridgeline_runner.reporter import Reporter
from ridgeline_runner.result import Result
from ridgeline_runner.samples import ROUND_SECONDS, Sampled, recorded_iterations
from ridgeline_runner.step_period import find_period
from ridgeline_runner.warm import environment, load_agent

_MAX_WARMUP = 30
_LEAST_WARMUP = 3
_PAUSE = 2.5  # a step that takes so many times the usual, and so much longer, contains something else
_PAUSE_NS = 20_000_000
_MOST_PAUSES = 5  # steps that are recorded again for that
_BATCH_SIZES = 1 << 24


def join(address: str) -> None:
    """Joins the job that listens there. Without one, or without an agent for this Python, nothing happens."""
    try:
        end = socket.socket(socket.AF_UNIX)
        end.connect(address)
        channel = Channel(end)
        described = environment()
        channel.send(
            {"type": "joined", "version": VERSION, "environment": described, "process": _process_description()}
        )
        message = channel.receive()
        if message["type"] != "loadAgent":
            return
        agent = load_agent(message["path"])
        options = message["options"]
    except (OSError, ImportError, KeyError, ValueError, ChannelClosed):
        return
    with contextlib.suppress(Exception):
        _Script(agent, Reporter(channel), options, described["environmentRoots"]).begin()


def _process_description() -> dict[str, Any]:
    return {
        "pid": os.getpid(),
        "rank": _number("RANK"),
        "ranks": _number("WORLD_SIZE"),
        "folder": os.getcwd(),
        "script": _script_path(),
    }


def _number(name: str) -> int:
    value = os.environ.get(name, "")
    return int(value) if value.isdecimal() and len(value) < 8 else 0


def _script_path() -> str:
    """The file that the interpreter runs; empty for `-c` and modules that are not found yet."""
    arguments = sys.argv[:1]
    return os.path.abspath(arguments[0]) if arguments and os.path.isfile(arguments[0]) else ""


class _Script:
    """The steps of this process. Only the thread that steps first is followed."""

    def __init__(self, agent: Any, reporter: Reporter, options: dict[str, Any], roots: list[str]) -> None:
        self._agent = agent
        self._reporter = reporter
        self._options = options
        self._roots = roots
        self._process = os.getpid()
        self._thread = 0
        self._optimizers: weakref.WeakSet[Any] = weakref.WeakSet()
        self._numbers: dict[int, int] = {}  # of optimizers, by id
        self._calls: list[int] = []
        self._period: list[int] | None = None
        self._position = 0
        self._on_step: Callable[[int], None] | None = self._first_step  # None: done
        self._step_began = 0  # nanoseconds
        self._warmup: list[int] = []
        self._recorded = 0
        self._pauses = 0
        self._pause_kinds: dict[str, None] = {}
        self._batch = _BatchSize()
        self._roots_called: dict[int, Any] = {}
        self._undo: list[Callable[[], None]] = []
        self._clock = ClockWatch()
        self._usage: Usage | None = None  # when timing began
        self._rounds: list[int] = []
        self._device = devices.Device()
        self._sampled: Sampled | None = None
        self._result: Result | None = None
        self._deadline = 0.0

    # ---- what is put around the script --------------------------------------------------------------------------

    def begin(self) -> None:
        import torch

        self._recorder = Recorder(self._agent, self._options["projectRoot"], self._options["code"])
        if not self._recorder.track_memory(of_devices=devices.has_cuda()):
            self._reporter.warnings.append("LibTorch's CPU allocator cannot be observed: another tool has replaced it.")
        self._recorder.stage(Stage.LOAD)
        self._watch_compile()
        optimizer = torch.optim.Optimizer
        create, hook_step = optimizer.__init__, optimizer.profile_hook_step

        @functools.wraps(create)
        def created(this: Any, *arguments: Any, **keywords: Any) -> None:
            create(this, *arguments, **keywords)
            if self._on_step is not None:
                self._optimizers.add(this)

        def hooked(function: Any) -> Any:
            timed = hook_step(function)

            @functools.wraps(timed)
            def step(this: Any, *arguments: Any, **keywords: Any) -> Any:
                if self._on_step is None:
                    return timed(this, *arguments, **keywords)
                if not self._calls:
                    self._recorder.stage(Stage.ITERATION)  # what is made from now on and stays is the optimizer's
                result = timed(this, *arguments, **keywords)
                self._stepped(this)
                return result

            return step

        optimizer.__init__ = created
        optimizer.profile_hook_step = staticmethod(hooked)
        self._watch_loader()
        self._watch_pauses()
        atexit.register(self._finish)
        self._take_interrupt()

    def _watch_compile(self) -> None:
        """Not at once: inductor's settings take a second to import."""
        import torch

        compiling = torch.compile

        @functools.wraps(compiling)
        def compiled(*arguments: Any, **keywords: Any) -> Any:
            name_compiled_kernels()
            return compiling(*arguments, **keywords)

        torch.compile = compiled

    def _watch_loader(self) -> None:
        from torch.utils.data.dataloader import _BaseDataLoaderIter as LoaderIterator

        following = LoaderIterator.__next__

        @functools.wraps(following)
        def next_batch(this: Any) -> Any:
            batch = following(this)
            if self._on_step is not None:
                self._batch.loaded(this, batch)
                if self._recorded:
                    with contextlib.suppress(Exception):
                        self._agent.set_inputs(tensors_in(batch))
            return batch

        LoaderIterator.__next__ = next_batch

    def _watch_pauses(self) -> None:
        """What happens between steps, by name."""
        import torch

        train, save = torch.nn.Module.train, torch.save

        @functools.wraps(train)
        def changed(this: Any, mode: bool = True) -> Any:
            if not mode:
                self._pause_kinds["evaluation"] = None
            return train(this, mode)

        @functools.wraps(save)
        def saved(*arguments: Any, **keywords: Any) -> Any:
            self._pause_kinds["checkpoint"] = None
            return save(*arguments, **keywords)

        torch.nn.Module.train = changed
        torch.save = saved

    def _take_interrupt(self) -> None:
        """The first Ctrl-C ends the recording; the next one is the script's again."""
        if threading.current_thread() is not threading.main_thread():
            return
        if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            return

        def interrupted(*_: Any) -> None:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            if self._on_step is None or not self._calls:
                raise KeyboardInterrupt
            print("\nridgeline: the recording has ended; Ctrl-C again ends the script", file=sys.stderr)
            self._finish()

        signal.signal(signal.SIGINT, interrupted)

    # ---- steps ---------------------------------------------------------------------------------------------------

    def _stepped(self, optimizer: Any) -> None:
        """An optimizer has stepped."""
        if self._thread == 0:
            self._thread = threading.get_ident()
        if threading.get_ident() != self._thread or os.getpid() != self._process:
            return
        now = perf_counter_ns()
        number = self._numbers.setdefault(id(optimizer), len(self._numbers))
        try:
            if self._ends_step(number):
                self._on_step(now)
                self._step_began = perf_counter_ns()
        except ChannelClosed:
            self._leave()
        except (Exception, RecursionError) as error:  # noqa: BLE001 - the script must not notice
            self._reporter.warnings.append(f"The recording ended early: {type(error).__name__}: {error}")
            self._finish()
        if self._on_step is None and self._options["stop"] and self._result is not None:
            raise SystemExit(0)

    def _ends_step(self, number: int) -> bool:
        if self._period == []:
            return True
        if self._period is None:
            self._calls.append(number)
            found = find_period(self._calls, len(self._optimizers))
            if found is None:
                return False
            self._period, self._position = found
            if not self._period:
                self._reporter.warnings.append(
                    "The optimizers step in no regular order: each of their steps is taken as a training step."
                )
            return self._position == 0
        if self._period[self._position] != number:
            self._restart(number)
            return False
        self._position = (self._position + 1) % len(self._period)
        return self._position == 0

    def _restart(self, number: int) -> None:
        """The optimizers step in another order than was thought, before anything was sent: look again."""
        if self._sampled is not None:
            raise RuntimeError("the optimizers began to step in another order")
        if self._recorded:
            self._recorder.end()
        self._recorded = 0
        self._warmup.clear()
        self._on_step = self._first_step
        self._calls.append(number)
        self._period = None

    def _first_step(self, now: int) -> None:
        """One step has ended: what follows is the first that is watched from its begin."""
        import torch

        called: list[Any] = []

        def before(module: Any, _: Any) -> None:
            if not called and threading.get_ident() == self._thread:
                self._roots_called.setdefault(id(module), module)
                self._batch.called(_)
            called.append(module)

        def after(*_: Any) -> None:
            if called:
                called.pop()

        hooks = torch.nn.modules.module
        handles = [
            hooks.register_module_forward_pre_hook(before),
            hooks.register_module_forward_hook(after, always_call=True),
        ]
        self._undo = [handle.remove for handle in handles]
        self._batch.reset()
        self._on_step = self._watched

    def _watched(self, now: int) -> None:
        """The step with hooks has ended: the models and the batch size are known."""
        for undo in self._undo:
            undo()
        self._undo = []
        self._name_models()
        self._batch.decide()
        self._on_step = self._warming

    def _name_models(self) -> None:
        owned = {id(p) for one in self._optimizers for group in one.param_groups for p in group["params"]}
        models = [
            model
            for model in self._roots_called.values()
            if any(id(parameter) in owned for parameter in model.parameters())
        ]
        self._roots_called = {}
        outer = [
            model
            for model in models
            if not any(model is not other and model in set(other.modules()) for other in models)
        ]
        parameters = self._recorder.set_models(tuple(outer), {})
        self._device = devices.Device.of(parameters)
        self._recorder.use_device(self._device)

    def _warming(self, now: int) -> None:
        self._warmup.append(now - self._step_began)
        self._recorder.forget_freed()
        slow = min(self._warmup) > 1e9
        enough = len(self._warmup) >= (2 if slow else _LEAST_WARMUP)
        if enough and (slow or timing.is_warm(self._warmup) or len(self._warmup) >= _MAX_WARMUP):
            self._warm()

    def _warm(self) -> None:
        self._pause_kinds.clear()
        estimate = Sampled(self._batch.size, False, self._warmup)
        self._wanted = self._options["steps"] or recorded_iterations(
            estimate, self._options["timeBudgetSeconds"], chosen=True
        )
        self._estimate_ns = estimate.estimate_ns
        self._record_from_here()

    def _record_from_here(self) -> None:
        self._recorder.begin()
        self._recorded = 1
        self._began = self._recorder.begin_iteration()
        self._on_step = self._recording

    def _recording(self, now: int) -> None:
        took = self._recorder.end_iteration() - self._began
        if self._has_pause(took) and self._pauses < _MOST_PAUSES:
            self._pauses += 1
            self._recorder.end()
            self._record_from_here()
        elif self._recorded < self._wanted:
            self._recorded += 1
            self._began = self._recorder.begin_iteration()
        else:
            self._recorder.end()
            self._recorder.begin_counting(self._roots)
            self._on_step = self._counting

    def _has_pause(self, took_ns: int) -> bool:
        return took_ns > max(_PAUSE * self._estimate_ns, self._estimate_ns + _PAUSE_NS)

    def _counting(self, now: int) -> None:
        self._recorder.end_counting()
        self._send_recording()
        self._deadline = perf_counter() + self._options["timeBudgetSeconds"]
        self._usage = Usage.now()
        self._on_step = self._timing

    def _send_recording(self) -> None:
        self._sampled = Sampled(self._batch.size, False, self._warmup, ROUND_SECONDS)
        recording = self._recorder.finish()
        self._recorder.detach()
        self._reporter.channel.send(
            {
                "type": "recording",
                "batchSize": self._batch.size,
                "bytes": len(recording),
                "check": False,
                "warmupNs": self._warmup,
            }
        )
        self._reporter.channel.send_bytes(recording)
        self._result = Result(
            {
                "projectRoot": self._options["projectRoot"],
                "environmentRoots": self._roots,
                "code": self._options["code"],
                "entry": _script_path() or os.path.abspath(getattr(sys.modules["__main__"], "__file__", "")),
            },
            self._reporter,
            self._recorder,
            self._device,
            self._clock,
            self._batch.size,
        )
        self._result.send(final=False)
        gc.collect()

    def _timing(self, now: int) -> None:
        self._device.synchronise()
        took = perf_counter_ns() - self._step_began
        if self._has_pause(took):
            self._pauses += 1
        else:
            self._rounds.append(took)
        sampled = self._sampled
        if len(self._rounds) >= sampled.per_round:
            self._send_round()
            self._clock.sample()
            self._device.sample()
            over = perf_counter() > self._deadline
            if (over and sampled.enough_rounds) or sampled.is_known:
                self._finish()
        elif perf_counter() > self._deadline + 4 * self._options["timeBudgetSeconds"]:
            self._finish()

    def _send_round(self) -> None:
        sampled = self._sampled
        self._reporter.channel.send({"type": "timed", "batchSize": sampled.batch_size, "timesNs": self._rounds})
        sampled.round_medians_ns.append(timing.median(self._rounds))
        self._rounds = []

    # ---- the end -------------------------------------------------------------------------------------------------

    def _finish(self) -> None:
        """Sends what is known. The script goes on."""
        if self._on_step is None or os.getpid() != self._process:
            return
        self._on_step = None
        with contextlib.suppress(Exception):
            if self._sampled is None and self._recorded > 1:
                self._recorder.end()  # without the iteration that was not ended
                self._send_recording()
            if self._pauses:
                kinds = " and ".join(self._pause_kinds) or "something that is not part of a step"
                steps = "1 step" if self._pauses == 1 else f"{self._pauses} steps"
                self._reporter.warnings.append(f"Left out: {steps} that took long, with {kinds} between them.")
            self._reporter.warnings += self._batch.warnings
            # The other ranks of a job use the processors by right.
            busy = None if _number("WORLD_SIZE") > 1 else busy_warning(self._usage, Usage.now(), os.cpu_count() or 1)
            if busy is not None:
                self._reporter.warnings.append(busy)
            if self._period is not None and len(self._period) > 1:
                order = ", ".join(str(number + 1) for number in self._period)
                self._reporter.warnings.append(
                    f"A training step is taken to be {len(self._period)} steps of the optimizers, in the order {order}."
                )
            if self._result is not None:
                self._result.send(final=True)
            elif self._calls:
                self._reporter.channel.send(self._too_few_steps())
        self._leave()

    def _too_few_steps(self) -> dict[str, Any]:
        steps = len(self._warmup) + len(self._calls)
        return describe(
            Failure(
                "no-training-step",
                f"The script ended after {steps} steps of its optimizers. Two warm-up steps and two recorded ones are "
                "the least that figures can be made of.",
            ),
            "iteration",
            None,
        )

    def _leave(self) -> None:
        self._on_step = None
        for undo in self._undo:
            undo()
        with contextlib.suppress(Exception):
            self._recorder.detach()
        self._reporter.channel.close()


class _BatchSize:
    """Samples of one training step: what the data loader gave, else the first dimension of what the model got."""

    def __init__(self) -> None:
        self.size = 1
        self.warnings: list[str] = []
        self._loaded = 0
        self._batches = 0
        self._called = 0

    def reset(self) -> None:
        self._loaded = self._batches = self._called = 0

    def loaded(self, iterator: Any, batch: Any) -> None:
        with contextlib.suppress(Exception):
            first = next((tensor for tensor in tensors_in(batch) if tensor.dim() > 0), None)
            size = first.shape[0] if first is not None else getattr(iterator._index_sampler, "batch_size", 0)
            self._loaded += int(size or 0)
            self._batches += 1

    def called(self, arguments: Any) -> None:
        with contextlib.suppress(Exception):
            first = next((tensor for tensor in tensors_in(arguments) if tensor.dim() > 0), None)
            if first is not None and self._called == 0:
                self._called = int(first.shape[0])

    def decide(self) -> None:
        if 0 < self._loaded < _BATCH_SIZES:
            self.size = self._loaded
            if self._batches > 1:
                self.warnings.append(f"The batch size {self.size} is that of the {self._batches} batches of a step.")
        elif 0 < self._called < _BATCH_SIZES:
            self.size = self._called
            self.warnings.append(
                f"The batch size {self.size} is the first dimension of the model's input: no DataLoader is used."
            )
        else:
            self.warnings.append("The batch size is not known and taken as 1.")
