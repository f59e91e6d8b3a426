"""What torch.distributed does during the recorded steps, for protocol/communication_trace.h.

Nothing is put between the script and its collectives: torch's flight recorder names them (kind, sizes, sequence), the
agent records when they run and which messages Gloo exchanges for them. Only calls that the flight recorder leaves out
(send, recv) and the waits for results are watched from Python, while steps are recorded.
"""

from __future__ import annotations

import functools
import json
import math
import socket
import sys
import threading
import weakref
from collections.abc import Callable, Iterable
from time import monotonic_ns
from typing import Any

from ridgeline_runner.common.patches import Patches
from ridgeline_runner.script.buckets import buckets_of

MOST_CALLS = 1 << 16  # of each kind of list: protocol/communication_trace.h has the same bounds
_RECORDER_OFF = "torch's flight recorder, which names collectives, is off or does not know this backend"


class CommunicationWatch:
    def __init__(self, agent: Any, warnings: list[str]) -> None:
        """`warnings` gets what the user must know."""
        self._agent = agent
        self._warnings = warnings
        self._patches = Patches()
        self._replicas: weakref.WeakSet[Any] = weakref.WeakSet()
        self._is_active = False
        self._thread = 0
        self._sequences: dict[str, int] = {}  # of groups, when the recording began
        self._steps: list[int] = []
        self._waits: list[tuple[int, int]] = []
        self._point_to_point: list[tuple[str, str, int, int, int, str, int]] = []
        self._problem = ""
        self._trace: dict[str, Any] | None = None

    def follow(self, models: Iterable[Any]) -> None:
        """The replicas of DistributedDataParallel among the modules of these: their buckets are named."""
        parallel = sys.modules.get("torch.nn.parallel.distributed")
        if parallel is not None:
            kind = parallel.DistributedDataParallel
            self._replicas.update(module for model in models for module in model.modules() if isinstance(module, kind))

    def begin(self) -> None:
        """Before a recording; one that is going on is forgotten."""
        self.end()
        self._trace = None
        self._steps, self._waits, self._point_to_point = [], [], []
        if not _is_initialised():
            return
        self._is_active = True
        self._thread = threading.get_ident()
        self._sequences = {name: _sequence(group) for group, name in _groups()}
        self._problem = self._agent.begin_messages()
        self._watch()

    def iteration_begins(self, step: int) -> None:
        self._steps.append(step)

    def end(self) -> None:
        """After the recording: what was seen is put together, which takes some milliseconds."""
        if not self._is_active:
            return
        self._is_active = False
        self._agent.end_messages()
        self._patches.undo()
        try:
            self._trace = self._collect()
        except (AttributeError, KeyError, RuntimeError, TypeError, ValueError) as error:
            self._warnings.append(f"Communication was not recorded: {type(error).__name__}: {error}")

    def description(self) -> dict[str, Any] | None:
        """Absent where the script has no process group, or nothing was recorded."""
        return self._trace

    # ---- what is watched from Python ---------------------------------------------------------------------------------

    def _watch(self) -> None:
        from torch._C import _distributed_c10d as c10d

        def watch_wait(wait: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(wait)
            def waiting(*arguments: Any, **keywords: Any) -> Any:
                start = monotonic_ns()
                try:
                    return wait(*arguments, **keywords)
                finally:
                    if threading.get_ident() == self._thread and len(self._waits) < MOST_CALLS:
                        self._waits.append((start, monotonic_ns()))

            return waiting

        def watch_call(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(call)
            def called(group: Any, tensors: Any, *arguments: Any, **keywords: Any) -> Any:
                self._note(name, group, tensors, arguments, keywords)
                return call(group, tensors, *arguments, **keywords)

            return called

        self._patches.replace(c10d.Work, "wait", watch_wait)
        for name in ("send", "recv", "recv_anysource"):
            self._patches.replace(c10d.ProcessGroup, name, functools.partial(watch_call, name))

    def _note(self, name: str, group: Any, tensors: Any, arguments: tuple, keywords: dict[str, Any]) -> None:
        """A call of send(tensors, rank, tag), recv(tensors, rank, tag) or recv_anysource(tensors, tag)."""
        if len(self._point_to_point) >= MOST_CALLS:
            return
        values = [*arguments, *keywords.values()]
        peer = values[0] if name != "recv_anysource" and values else -1
        tag = values[-1] if values else 0
        size = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
        kind = str(tensors[0].dtype).removeprefix("torch.") if tensors else ""
        self._point_to_point.append((name, group.group_name, peer, tag, size, kind, monotonic_ns()))

    # ---- what is put together ----------------------------------------------------------------------------------------

    def _collect(self) -> dict[str, Any]:
        connections, messages, lost = self._agent.messages()
        warnings = []
        if self._problem:
            warnings.append(f"Gloo's messages were not recorded: {self._problem}.")
        if lost:
            warnings.append(f"{lost} of Gloo's messages were not recorded.")
        groups = [{"name": name, "backend": _backend(group), "ranks": _ranks(group)} for group, name in _groups()]
        numbers = {group["name"]: i for i, group in enumerate(groups)}
        calls, problem = self._calls(numbers)
        if problem:
            warnings.append(f"Collectives were not recorded: {problem}.")
        buckets = [bucket for i, one in enumerate(list(self._replicas)) for bucket in buckets_of(one, i)]
        return {
            "host": socket.gethostname(),
            "steps": self._steps,
            "groups": groups,
            "calls": calls,
            "pointToPoint": [
                [name, numbers[group], self._global(groups[numbers[group]], peer), tag, size, dtype]
                for name, group, peer, tag, size, dtype, _ in self._point_to_point
                if group in numbers
            ],
            "waits": self._waits,
            "buckets": buckets,
            "connections": connections,
            "messages": messages,
            "warnings": warnings,
        }

    @staticmethod
    def _global(group: dict[str, Any], peer: int) -> int:
        return group["ranks"][peer] if 0 <= peer < len(group["ranks"]) else -1

    def _calls(self, numbers: dict[str, int]) -> tuple[list[list[Any]], str]:
        """[group, sequence, kind, bytes, dtype] of each collective since the begin, as they were called."""
        entries = _entries()
        if entries is None:
            return [], "this version of torch has no flight recorder for them"
        calls = []
        for entry in entries:
            name = entry["process_group"][0]
            count = entry["collective_seq_id" if _is_of_nccl(entry) else "op_id"]
            if name in numbers and not entry["is_p2p"] and count > self._sequences.get(name, 0):
                calls.append([numbers[name], entry["collective_seq_id"] - 1, _kind(entry), *_size(entry)])
        for group, name in _groups():
            counted = "nccl" not in _backend(group)
            others = sum(1 for call in self._point_to_point if call[1] == name) if counted else 0
            wanted = _sequence(group) - self._sequences.get(name, 0) - others
            found = sum(1 for call in calls if call[0] == numbers[name])
            if wanted > found:
                kept = f"its buffer held {found} of {wanted} (TORCH_FR_BUFFER_SIZE)" if entries else _RECORDER_OFF
                return [], kept
        return (calls, "") if len(calls) <= MOST_CALLS else ([], f"there are more than {MOST_CALLS}")


def _is_initialised() -> bool:
    distributed = sys.modules.get("torch.distributed")
    return distributed is not None and distributed.is_available() and distributed.is_initialized()


def _groups() -> list[tuple[Any, str]]:
    """The groups that this process is a member of, with the names that all ranks know them by."""
    from torch.distributed import distributed_c10d

    return list(distributed_c10d._world.pg_names.items())  # noqa: SLF001 - there is no public list


def _ranks(group: Any) -> list[int]:
    from torch.distributed import distributed_c10d

    numbers = distributed_c10d._world.pg_group_ranks[group]  # noqa: SLF001
    return sorted(numbers, key=numbers.__getitem__)


def _backend(group: Any) -> str:
    import torch.distributed

    return str(torch.distributed.get_backend(group))


def _entries() -> list[dict[str, Any]] | None:
    """The entries of torch's flight recorders, in the order of the calls; None: it has none. NCCL has its own."""
    from torch._C import _distributed_c10d as c10d

    dumps = [getattr(c10d, name, None) for name in ("_dump_fr_trace_json", "_dump_nccl_trace_json")]
    if not any(dumps):
        return None
    entries = [entry for dump in dumps if dump for entry in json.loads(dump()).get("entries", [])]
    return sorted(entries, key=lambda one: (one["time_created_ns"], one["record_id"]))


def _is_of_nccl(entry: dict[str, Any]) -> bool:
    return entry["profiling_name"].startswith("nccl")


def _sequence(group: Any) -> int:
    """How many collectives the group has begun, with Gloo also sends and receives: op_id of the flight recorder."""
    try:
        return group._get_sequence_number_for_group()  # noqa: SLF001
    except RuntimeError:
        return 0


def _kind(entry: dict[str, Any]) -> str:
    """ "all_reduce" of "gloo:all_reduce"."""
    return entry["profiling_name"].rpartition(":")[2]


def _size(entry: dict[str, Any]) -> tuple[int, str]:
    """Bytes of the tensors that go in, or of those that come out where none does; and their dtype."""
    side = "input" if entry["input_sizes"] else "output"
    dtypes = [_dtype(name) for name in entry[f"{side}_dtypes"]]
    if not dtypes:
        return 0, ""
    return sum(math.prod(size) for size in entry[f"{side}_sizes"]) * dtypes[0].itemsize, str(dtypes[0])[len("torch.") :]


def _dtype(name: str) -> Any:
    """The dtype that c10 calls "Float"."""
    import torch

    named = {
        "Byte": torch.uint8,
        "Char": torch.int8,
        "ComplexFloat": torch.complex64,
        "ComplexDouble": torch.complex128,
    }
    return named.get(name) or getattr(torch, name.lower())
