"""The device that a model is on: waiting for it, its description for the report, and the library that records it."""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Callable, Iterable
from typing import Any

import torch

from ridgeline_runner.machine.energy import Counter, Counters, powercap_root, processor_counters
from ridgeline_runner.machine.nvml import ClockOfDevice, EnergyOfDevice

HOST = -1  # kHost of profiler/agent/recorder.h


class Device:
    """The host, or a CUDA device as the process counts them: CUDA_VISIBLE_DEVICES and MIG are taken into account.

    A model on another kind of device, such as "xpu", is the host's: what it launches is recorded, and not what the
    device does. Steps end when that device is idle."""

    def __init__(self, index: int = HOST, others: Iterable[int] = (), unrecorded: Iterable[torch.device] = ()) -> None:
        self.index = index
        self._unrecorded = sorted(set(unrecorded), key=str)
        self._all = sorted({index, *others} - {HOST})
        self._clock = ClockOfDevice(_uuid(index)) if index != HOST else None

    @classmethod
    def of(cls, parameters: list[tuple[str, Any]]) -> Device:
        """The one that holds most of the parameters' bytes; the first among equals, the host where there are none."""
        held: dict[int, int] = {}
        unrecorded = set()
        for _, parameter in parameters:
            if parameter.device.type not in ("cpu", "cuda", "meta"):
                unrecorded.add(parameter.device)
            if parameter.device.type in ("cpu", "cuda"):
                index = HOST if parameter.device.type == "cpu" else parameter.device.index
                # Parameters of lazy modules have no shape before the first forward pass.
                size = 0 if torch.nn.parameter.is_lazy(parameter) else parameter.numel() * parameter.element_size()
                held[index] = held.get(index, 0) + size
        return cls(max(held, key=lambda index: held[index]) if held else HOST, held, unrecorded)

    @property
    def is_host(self) -> bool:
        return self.index == HOST

    @property
    def torch_device(self) -> torch.device:
        return torch.device("cpu") if self.is_host else torch.device("cuda", self.index)

    @property
    def is_awaited(self) -> bool:
        """Whether synchronise() may wait."""
        return bool(self._all or self._unrecorded)

    def synchronise(self) -> None:
        """Waits until every device that holds parameters is idle. Nothing for the host."""
        for index in self._all:
            torch.cuda.synchronize(index)
        for device in self._unrecorded:
            if wait := _waiting_for(device):
                wait()

    def forget_cached(self) -> None:
        """Releases the memory that the caching allocator keeps. To be called before another batch size."""
        if self._all:
            torch.cuda.empty_cache()

    def sample(self) -> None:
        """Notes the clock, while the step is timed."""
        if self._clock is not None:
            self._clock.sample()

    def unrecorded(self) -> list[str]:
        """What is not known of the devices that hold parameters and are not recorded, as warnings."""
        return [
            f"The model is on {device}, a kind of device that is not recorded: times of lines and operations are the "
            "host's, which launches them, and memory is the host's."
            + ("" if _waiting_for(device) else " It cannot be waited for either: the step's time is that of launching.")
            for device in self._unrecorded
        ]

    def warnings(self) -> list[str]:
        return self._clock.warnings() if self._clock is not None else []

    def energy_counters(self) -> Counters:
        """The counters of the processors, and of every device that holds parameters."""
        counters = processor_counters(powercap_root())
        for index in self._all:
            counter = EnergyOfDevice(_uuid(index))
            name = str(torch.cuda.get_device_properties(index).name)
            name = name if len(self._all) == 1 else f"{name} ({index})"
            try:
                counter.read_uj()
                counters.found.append(Counter(name, "device", counter.read_uj))
            except OSError as problem:
                counters.problems.append(f"The energy of {name} is not known: {problem}.")
        return counters

    def memory_used(self) -> float:
        """The most that the caching allocator has held, as a share of what it can have; 1 where that is not known."""
        if self.is_host:
            return 0.0
        with contextlib.suppress(Exception):
            return float(torch.cuda.max_memory_reserved(self.index) / self.available_bytes())
        return 1.0

    def reserved_bytes(self) -> int:
        """What the caching allocator holds; 0 on the host, which has none."""
        return 0 if self.is_host else int(torch.cuda.memory_reserved(self.index))

    def available_bytes(self) -> int:
        """What the step can have of a CUDA device's memory: all but what the context and others hold."""
        memory = torch.cuda.get_device_properties(self.index).total_memory
        free, _ = torch.cuda.mem_get_info(self.index)
        return min(int(memory), int(free) + int(torch.cuda.memory_reserved(self.index)))

    def description(self) -> dict[str, Any]:
        """For the result; empty for the host, which the daemon knows itself."""
        if self.is_host:
            return {"kind": "", "name": "", "memoryBytes": 0, "availableBytes": 0, **_allocator(HOST)}
        properties = torch.cuda.get_device_properties(self.index)
        return {
            "kind": "cuda",
            "name": str(properties.name),
            "memoryBytes": int(properties.total_memory),
            "availableBytes": self.available_bytes(),
            **_allocator(self.index),
        }


def _waiting_for(device: torch.device) -> Callable[[], Any] | None:
    """What waits until a device that is none of CUDA's is idle; None: torch has nothing for that."""
    accelerator = getattr(torch, "accelerator", None)  # from torch 2.6 on
    current = accelerator.current_accelerator() if accelerator is not None else None
    if current is not None and current.type == device.type:
        return lambda: accelerator.synchronize(device)
    return getattr(getattr(torch, device.type, None), "synchronize", None)


def _allocator(index: int) -> dict[str, Any]:
    """The caching allocator's settings, which versions of torch name differently."""
    settings = getattr(torch._C, "_accelerator_getAllocatorSettings", None)
    conf = settings() if settings else os.environ.get("PYTORCH_ALLOC_CONF") or os.environ.get("PYTORCH_CUDA_ALLOC_CONF")
    fraction = 1.0
    if index != HOST and hasattr(torch.cuda, "get_per_process_memory_fraction"):
        fraction = float(torch.cuda.get_per_process_memory_fraction(index))
    return {"allocatorConf": conf or "", "memoryFraction": fraction}


def _uuid(index: int) -> str:
    return str(getattr(torch.cuda.get_device_properties(index), "uuid", ""))


def named_cupti() -> str:
    """The library that the user names; it is used on whichever device the model is."""
    return os.environ.get("RIDGELINE_CUPTI", "")


def cupti_candidates() -> list[str]:
    """Where libcupti may be: torch's wheels, the toolkit, and the loader's search path."""
    if named_cupti():
        return [named_cupti()]
    major = (torch.version.cuda or "").partition(".")[0]
    torch_folder = os.path.dirname(os.path.abspath(torch.__file__))
    packages = os.path.join(os.path.dirname(torch_folder), "nvidia")
    toolkit = os.environ.get("CUDA_HOME") or "/usr/local/cuda"
    folders = [
        os.path.join(packages, "cuda_cupti", "lib"),
        os.path.join(packages, f"cu{major}", "lib"),
        os.path.join(torch_folder, "lib"),
        os.path.join(toolkit, "extras", "CUPTI", "lib64"),
        os.path.join(toolkit, "lib64"),
    ]
    found = [path for folder in folders for path in sorted(glob.glob(os.path.join(folder, f"libcupti.so.{major}*")))]
    return [*found, f"libcupti.so.{major}"]


class LentSlot:
    """torch.profiler needs the slot in which the agent observes a device's memory: it gets the slot while it runs."""

    def __init__(self, agent: Any) -> None:
        self._agent = agent
        self.was_lent = False

    def install(self) -> None:
        import torch.autograd.profiler as profiler

        prepare, enable, disable = profiler._prepare_profiler, profiler._enable_profiler, profiler._disable_profiler

        def lending(function: Any) -> Any:
            def call(*arguments: Any, **keywords: Any) -> Any:
                self.was_lent = self._agent.detach_device_memory() or self.was_lent
                return function(*arguments, **keywords)

            return call

        def returning(*arguments: Any, **keywords: Any) -> Any:
            try:
                return disable(*arguments, **keywords)
            finally:
                if self.was_lent:
                    self._agent.attach_device_memory()

        profiler._prepare_profiler, profiler._enable_profiler = lending(prepare), lending(enable)
        profiler._disable_profiler = returning


def forget_workspaces() -> None:
    """cuBLAS keeps a workspace for each thread that used it, in the caching allocator: the next step is to allocate it
    as the first one did."""
    if torch.cuda.is_initialized():
        with contextlib.suppress(AttributeError):  # a torch without it
            torch._C._cuda_clearCublasWorkspaces()


def has_cuda() -> bool:
    """Whether there is a CUDA device that torch can use, or one of ROCm, which torch calls the same. Never raises: a
    broken driver is no device."""
    with contextlib.suppress(Exception):
        is_built = torch.version.cuda or getattr(torch.version, "hip", None)
        return bool(is_built and torch.cuda.is_available())
    return False
