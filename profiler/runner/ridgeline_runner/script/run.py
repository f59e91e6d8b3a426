"""A training script that runs as it is: its steps are found, some are recorded and some timed, and it goes on.

The process joins the job of `ridgeline profile` when it has imported torch. The allocator is observed from then on, so
that every block of the model is known. step_boundary.py says where a step ends, and measurement.py what is done
with each. Here is what is put around the script so that they learn of it.

Nothing of the user's is changed but what these functions say, and nothing here may raise into the script.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import resource
import signal
import socket
import sys
import threading
import weakref
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from ridgeline_runner.common import dynamo
from ridgeline_runner.common.channel import VERSION, Channel, ChannelClosed
from ridgeline_runner.common.failure import Failure, describe, is_out_of_memory
from ridgeline_runner.common.out_of_memory import numbers
from ridgeline_runner.common.patches import Patches
from ridgeline_runner.machine import devices
from ridgeline_runner.machine.interpreter import environment, load_agent
from ridgeline_runner.script.backward_watch import Backward, BackwardWatch
from ridgeline_runner.script.batch import override as override_batch_sizes
from ridgeline_runner.script.between_steps import BetweenSteps
from ridgeline_runner.script.communication import CommunicationWatch
from ridgeline_runner.script.end import ScriptEnd
from ridgeline_runner.script.forward_watch import ForwardWatch
from ridgeline_runner.script.line_watch import LineWatch
from ridgeline_runner.script.loader_watch import LoaderWatch
from ridgeline_runner.script.measurement import Measurement
from ridgeline_runner.script.step_boundary import OrderChanged, boundary_of
from ridgeline_runner.step.recorder import Recorder, Stage, name_compiled_kernels
from ridgeline_runner.step.reporter import Reporter


def join(address: str) -> None:
    """Joins the job that listens there. Without one, or without an agent for this Python, nothing happens."""
    try:
        described = environment()
        channel, message = _introduce(address, described)
        if message["type"] != "loadAgent":
            return
        agent = load_agent(message["path"])
        options = message["options"]
    except (OSError, ImportError, KeyError, ValueError, ChannelClosed):
        return
    with contextlib.suppress(Exception):
        _Script(agent, Reporter(channel), options, address, described).begin()


def _introduce(address: str, described: dict[str, Any]) -> tuple[Channel, dict[str, Any]]:
    """Connects this process to the job; the job's answer."""
    channel = _connect(address)
    process = {
        "pid": os.getpid(),
        "rank": _number("RANK"),
        "ranks": _number("WORLD_SIZE"),
        "localRanks": _number("LOCAL_WORLD_SIZE") or _number("WORLD_SIZE"),
        "folder": os.getcwd(),
        "script": script_path(),
    }
    channel.send({"type": "joined", "version": VERSION, "environment": described, "process": process})
    return channel, channel.receive()


def _connect(address: str) -> Channel:
    end = socket.socket(socket.AF_UNIX)
    end.connect(address)
    return Channel(end)


def _number(name: str) -> int:
    value = os.environ.get(name, "")
    return int(value) if value.isdecimal() and len(value) < 8 else 0


def script_path() -> str:
    """The file that the interpreter runs; empty for `-c` and modules that are not found yet."""
    arguments = sys.argv[:1]
    return os.path.abspath(arguments[0]) if arguments and os.path.isfile(arguments[0]) else ""


class _Script:
    """What happens in this process. Only the thread that steps first is followed."""

    def __init__(
        self, agent: Any, reporter: Reporter, options: dict[str, Any], address: str, described: dict[str, Any]
    ) -> None:
        self._agent = agent
        self._reporter = reporter
        self._options = options
        self._address = address
        self._environment = described
        self._process = os.getpid()
        self._thread = 0
        self._optimizers: weakref.WeakSet[Any] = weakref.WeakSet()
        self._numbers: dict[int, int] = {}  # of optimizers, by id; 0: all that step inside backward passes
        self._inside: set[int] = set()  # by id: optimizers that step inside backward passes
        self._stepped_inside = False  # in the backward pass that goes on
        self._patches = Patches(stay=True)
        self._boundary = boundary_of(options["stepBoundary"])
        self._between = BetweenSteps(self._is_watched)
        self._loaders = LoaderWatch(self)
        self._backward = BackwardWatch(self)
        self._stop_awaiting_forward: Callable[[], None] | None = None
        self._communication = CommunicationWatch(agent, reporter.warnings)
        self._lines: LineWatch | None = None
        self._forwards: ForwardWatch | None = None  # of a model that is not trained
        self._first_call = 0  # moment of the recorder: of the trained model, when nothing had stepped
        self._await_first_call: Callable[[], None] | None = None  # ends that
        self._is_over = False
        self._end: ScriptEnd | None = None  # with --stop, once the recording has ended

    # ---- what is put around the script -------------------------------------------------------------------------------

    def begin(self) -> None:
        options = self._options
        self._recorder = Recorder(self._agent, options["projectRoot"], options["code"])
        on_devices = os.environ.get("RIDGELINE_JOB_DEVICE") != "cpu" and devices.has_cuda()
        if not self._recorder.track_memory(of_devices=on_devices):
            self._reporter.warnings.append("LibTorch's CPU allocator cannot be observed: another tool has replaced it.")
        self._recorder.stage(Stage.LOAD)
        if options["loaderSizes"] or options["experiment"]:
            self._run_again()
        self._watch_errors()
        self._measurement = Measurement(
            self._recorder,
            self._reporter,
            {**options, "environmentRoots": self._environment["environmentRoots"], "entry": script_path()},
            self._optimizers,
            self._between,
            self._loaders,
            self._boundary,
            self._communication,
        )
        dynamo.keep_out()
        self._watch_compile()
        self._watch_optimizers()
        self._loaders.install(self._patches)
        self._backward.install(self._patches)
        self._between.install(self._patches)
        self._watch_inference()
        if self._boundary.kind == "line":
            self._watch_line()
        atexit.register(self._finish)
        self._take_interrupt()

    def _run_again(self) -> None:
        """This run is not the user's own: other batch sizes, no more memory than there is, and errors are sent."""
        if self._options["loaderSizes"]:
            override_batch_sizes({before: after for before, after in self._options["loaderSizes"]}, self._patches)
        limit = self._options["memoryLimitBytes"]
        if limit > 0:
            resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))

    def _watch_errors(self) -> None:
        """An exception that ends the script is sent where that is not the user's own run, or where it is of memory."""
        show = sys.excepthook
        is_own = not (self._options["loaderSizes"] or self._options["experiment"])

        def report(kind: Any, error: BaseException, trace: Any) -> None:
            if os.getpid() == self._process:
                with contextlib.suppress(Exception):
                    if is_own and is_out_of_memory(error):
                        self._report_out_of_memory(error)
                    elif not (is_own or self._is_over or self._measurement.failed(error)):
                        self._reporter.channel.send(describe(error, "iteration", advise=False))
            show(kind, error, trace)

        sys.excepthook = report

    def _report_out_of_memory(self, error: BaseException) -> None:
        recording = None if self._is_over else self._measurement.record_error(self._first_call)
        message = {
            "type": "outOfMemory",
            "batchSize": self._measurement.batch_size,
            "bytes": len(recording or b""),
            "reservedBytes": self._measurement.reserved_bytes,
            **numbers(error),
        }
        failure = describe(error, "iteration", advise=False)
        if recording is not None:
            self._reporter.channel.send(message)
            self._reporter.channel.send_bytes(recording)
            self._reporter.channel.send(failure)
            return
        channel = _connect(self._address)  # that of the recording may be closed
        channel.send({**message, "type": "lateOutOfMemory", "pid": self._process, "failure": failure})
        channel.close()

    def _watch_compile(self) -> None:
        """Not at once: inductor's settings take a second to import."""
        import torch

        def watch(compiling: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(compiling)
            def compiled(*arguments: Any, **keywords: Any) -> Any:
                name_compiled_kernels()
                self._recorder.watch_compiled_code()
                self._measurement.compiles()
                return compiling(*arguments, **keywords)

            return compiled

        self._patches.replace(torch, "compile", watch)

    def _watch_optimizers(self) -> None:
        """torch passes each optimizer's `step` through profile_hook_step when its class is first used: what is put
        around it there stays. torch.compile traces the step as if it were not there."""
        import torch
        from torch.compiler import is_dynamo_compiling

        def watch_creation(create: Callable[..., None]) -> Callable[..., None]:
            @functools.wraps(create)
            def created(this: Any, *arguments: Any, **keywords: Any) -> None:
                create(this, *arguments, **keywords)
                self._made_optimizer(this)

            return created

        def watch_hook(hook: Any) -> Any:
            def hooked(function: Any) -> Any:
                timed = hook.__func__(function)

                @functools.wraps(timed)
                def step(this: Any, *arguments: Any, **keywords: Any) -> Any:
                    if is_dynamo_compiling():
                        return timed(this, *arguments, **keywords)
                    if self._is_over:
                        self._end_if_measured()  # something has caught the exception that ends the script
                        return timed(this, *arguments, **keywords)
                    self._recorder.stage(Stage.ITERATION)  # what is made from now on and stays is the optimizer's
                    self._boundary.optimizer_begins()
                    backwards = self._measurement.backwards
                    result = timed(this, *arguments, **keywords)
                    self._optimizer_stepped(this, closure_runs=self._measurement.backwards - backwards)
                    return result

                return step

            return staticmethod(hooked)

        self._patches.replace(torch.optim.Optimizer, "__init__", watch_creation)
        self._patches.replace(torch.optim.Optimizer, "profile_hook_step", watch_hook)

    def _watch_inference(self) -> None:
        """From the first module on that is put into evaluation; a batch that is fetched without gradients is another
        sign. Where the user asks for it, from the first module on that is made."""
        import torch

        requested = self._boundary.kind == "forward"

        def watch_creation(create: Callable[..., None]) -> Callable[..., None]:
            @functools.wraps(create)
            def created(this: Any, *arguments: Any, **keywords: Any) -> None:
                self._consider_inference()
                create(this, *arguments, **keywords)

            return created

        def watch_train(train: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(train)
            def changed(this: Any, mode: bool = True) -> Any:
                if not mode:
                    self._consider_inference()
                return train(this, mode)

            return changed

        self._forwards = ForwardWatch(
            self._recorder,
            self._options["projectRoot"],
            self._model_begins,
            requested=requested,
            changes_model=bool(self._options["experiment"]),
        )
        self._patches.replace(torch.nn.Module, "train", watch_train)
        if requested:
            self._patches.replace(torch.nn.Module, "__init__", watch_creation)

    def _watch_line(self) -> None:
        option = self._options["stepBoundary"]
        self._lines = LineWatch(option["file"], option["line"], self._line_passed)
        problem = self._lines.start()
        if problem:
            self._reporter.channel.send(
                describe(Failure("no-training-step", f"The line cannot be watched: {problem}."), "start")
            )
            self._finish()

    def _take_interrupt(self) -> None:
        """The first Ctrl-C ends the recording, and with --stop the script; the next one is the script's again."""
        if threading.current_thread() is not threading.main_thread():
            return
        if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            return

        def interrupted(*_: Any) -> None:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            if self._is_over or not self._measurement.steps:
                raise KeyboardInterrupt
            is_listing = self._measurement.ends_after_listing()
            stops = self._options["stop"]
            hint = "" if stops else "; Ctrl-C again ends the script"
            print(f"\nridgeline: the recording has ended{hint}", file=sys.stderr)
            if is_listing:
                return  # it ends with the step
            self._finish()
            if stops:
                self._end_if_measured()
                raise KeyboardInterrupt  # nothing was measured

        signal.signal(signal.SIGINT, interrupted)

    # ---- what happens in it ------------------------------------------------------------------------------------------

    def _is_watched(self) -> bool:
        return not self._is_over and threading.get_ident() == self._thread and os.getpid() == self._process

    def _may_end_step(self) -> bool:
        """Whether this thread is the one that is followed: the first that could end a step."""
        if self._is_over:
            return False
        if os.getpid() != self._process:
            self._report_fork()
            return False
        if self._thread == 0:
            self._thread = threading.get_ident()
        return threading.get_ident() == self._thread

    @dynamo.unseen
    def _made_optimizer(self, optimizer: Any) -> None:
        self._optimizers.add(optimizer)
        if self._await_first_call is None and not self._measurement.steps and self._may_be_followed():
            self._await_first_call = self._recorder.watch_module_calls(self._first_called)
        if not self._boundary.requested and self._boundary.kind != "forward":
            self._forget_inference()

    def _first_called(self, *_: Any) -> None:
        import torch

        if torch.is_grad_enabled() and self._await_first_call is not None:
            self._first_call = self._recorder.moment()
            self._await_first_call()

    @dynamo.unseen
    def _optimizer_stepped(self, optimizer: Any, *, closure_runs: int) -> None:
        if not self._is_over and self._backward.is_inside():  # in a hook of a parameter: backward is the step
            self._inside.add(id(optimizer))
            self._stepped_inside = True
        elif self._may_end_step():
            self._end_optimizer_step(id(optimizer), closure_runs)

    def _end_optimizer_step(self, optimizer: int, closure_runs: int = 0) -> None:
        now = perf_counter_ns()
        self._measurement.optimizer_stepped(optimizer, closure_runs)
        number = self._numbers.setdefault(optimizer, len(self._numbers))
        count = len(self._optimizers) - len(self._inside) + bool(self._inside)
        try:
            if self._boundary.optimizer_stepped(number, count):
                self._step_ended(now)
            else:
                self._measurement.part_ended()
        except OrderChanged:
            self._measurement.order_changed()
        self._end_if_measured()

    @dynamo.unseen
    def _consider_inference(self) -> None:
        if self._forwards is not None and self._boundary.may_be_inference and self._may_be_followed():
            with contextlib.suppress(Exception):
                self._forwards.consider()

    def _model_begins(self, module: Any, arguments: Any, keywords: Any) -> None:
        if self._may_be_followed():
            self._end_step_if(self._boundary.model_begins, forward=(module, arguments, keywords))

    def _forget_inference(self) -> None:
        if self._forwards is not None:
            self._forwards.stop()
            self._forwards = None

    def backward_begins(self, backward: Backward) -> None:
        """backward_watch.Listener"""
        if not self._may_be_followed():
            return
        if self._forwards is not None and not self._boundary.requested:
            self._forget_inference()
            if self._boundary.kind == "forward":  # the calls so far were not what the script is for
                self._boundary.model_is_trained()
                self._measurement.order_changed()
        is_timing = self._measurement.is_timing
        if is_timing:  # no forward pass was awaited: this one is of the next step
            self._end_step_if(self._boundary.backward_begins, backward)
        try:
            self._measurement.backward_begins(backward)
        except Exception:  # noqa: BLE001, S110 - whatever tensors of the script's do, it goes on
            pass
        if not is_timing:
            self._end_step_if(self._boundary.backward_begins, backward)

    def backward_ended(self) -> None:
        follows = self._may_be_followed()
        if follows:
            self._measurement.backward_has_ended()
        if self._stepped_inside:
            self._stepped_inside = False
            self._boundary.inside_backward = self._numbers.setdefault(0, len(self._numbers))
            if self._may_end_step():
                self._end_optimizer_step(0)
        elif follows:
            self._boundary.backward_ended()
            if self._boundary.awaits_forward and not self._measurement.is_timing:
                self._await_forward()

    def _may_be_followed(self) -> bool:
        """Like _may_end_step(), of a thread that has ended no step yet."""
        return not self._is_over and os.getpid() == self._process and self._thread in (0, threading.get_ident())

    def _await_forward(self) -> None:
        """Until a module is called with gradients enabled. Calls in compiled code are not seen: there the next backward
        pass ends the step, as while steps are timed, where watching would take time of theirs."""
        import torch

        if self._stop_awaiting_forward is not None:
            return

        def before(module: Any, arguments: Any, keywords: Any) -> None:
            if torch.is_grad_enabled() and self._may_be_followed():
                self._end_step_if(self._boundary.forward_begins, forward=(module, arguments))

        self._stop_awaiting_forward = self._recorder.watch_module_calls(before)

    def _await_forward_no_longer(self) -> None:
        if self._stop_awaiting_forward is not None:
            self._stop_awaiting_forward()
            self._stop_awaiting_forward = None

    def _end_step_if(self, ends: Callable[..., bool], *arguments: Any, forward: Any = None) -> None:
        """Asks the boundary; whatever it meets in the script's tensors, the script goes on."""
        try:
            does_end = ends(*arguments)
        except Exception:  # noqa: BLE001 - as above
            does_end = False
        if does_end:
            self._await_forward_no_longer()
            if self._may_end_step():
                self._step_ended(perf_counter_ns(), forward)
                self._end_if_measured()

    @dynamo.unseen
    def fetching(self) -> bool:
        """loader_watch.Listener"""
        import torch

        if self._is_over or (self._thread and not self._is_watched()):
            return False
        if torch.is_grad_enabled():
            self._end_step_if(self._boundary.fetching)
        else:
            self._consider_inference()
        return self._between.fetching(with_gradients=self._feeds_steps())

    @dynamo.unseen
    def fetched(self, iterator: Any, batch: Any, indices: int | None) -> None:
        self._measurement.batch_fetched(iterator, batch, indices)

    @dynamo.unseen
    def loader_starts(self, ns: int, *, is_new: bool) -> None:

        if self._is_watched() and self._feeds_steps():
            self._between.loader_starts(ns, is_new=is_new)

    def _feeds_steps(self) -> bool:
        """Whether a batch that is fetched now is one of a step, not of an evaluation between steps."""
        import torch

        return torch.is_grad_enabled() or self._boundary.kind == "forward"

    @dynamo.unseen
    def _line_passed(self) -> None:
        if self._may_end_step():
            self._step_ended(perf_counter_ns())
            self._end_if_measured()

    def _step_ended(self, now: int, forward: Any = None) -> None:
        try:
            with self._backward.unwatched():
                self._measurement.step_ended(now, forward)
        except ChannelClosed:
            self._leave()
        except (Exception, RecursionError) as error:  # noqa: BLE001 - the script must not notice
            self._reporter.warnings.append(f"The recording ended early: {type(error).__name__}: {error}")
            self._finish()
        if self._measurement.is_done:
            self._finish()

    def _end_if_measured(self) -> None:
        if self._end is not None and self._measurement.has_result and os.getpid() == self._process:
            self._end.leave()

    def _report_fork(self) -> None:
        """In a process that was forked after torch was imported, and trains."""
        self._is_over = True
        with contextlib.suppress(Exception):
            channel, _ = _introduce(self._address, self._environment)
            message = (
                "The process that trains was forked after torch was imported, and is not followed. Start it with the "
                'method "spawn" of torch.multiprocessing, or with torchrun.'
            )
            channel.send(describe(Failure("no-training-step", message), "start"))
            channel.close()

    # ---- the end -----------------------------------------------------------------------------------------------------

    def _finish(self) -> None:
        """Sends what is known. The script goes on."""
        if self._is_over or os.getpid() != self._process:
            return
        self._is_over = True
        if self._options["stop"]:
            self._end = ScriptEnd(sys._getframe())
            with contextlib.suppress(Exception):
                self._reporter.warnings += self._end.warnings()
        with contextlib.suppress(Exception):
            self._measurement.finish(self._lines.calls if self._lines else 0)
        self._leave()

    def _leave(self) -> None:
        self._is_over = True
        self._measurement.remove_hooks()
        if self._await_first_call is not None:
            self._await_first_call()
        self._await_forward_no_longer()
        self._forget_inference()
        self._patches.undo()
        if self._lines is not None:
            self._lines.stop()
        with contextlib.suppress(Exception):
            self._communication.end()
            self._recorder.detach()
        self._reporter.channel.close()
