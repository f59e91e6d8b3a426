"""`--device cpu`: code that names CUDA devices runs on the CPU, unmodified.

What names a device is replaced, and nothing else: the argument is changed and torch's own function is called, so that
no other operation costs more or gives another result. A step behaves as if every device in it said "cpu". What
`tensor.device` says stays the truth. Installed in the process of a run before the entry file is loaded.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Any

import torch
import torch._dynamo  # builds on the classes of torch.cuda, which must be the originals then
import torch.jit._builtins
import torch.utils._device

from ridgeline_runner.common.device_names import CPU, USE, called_by_torch, cpu
from ridgeline_runner.cuda import functions

Make = Callable[[Any], Callable[..., Any]]
"""Makes the replacement of a function from the original."""


def in_place_of() -> str:
    """The device that the CPU stood in for: "cuda" once the code put something there, else empty."""
    return "cuda" if USE.cuda else ""


def warnings() -> list[str]:
    """The warnings for the report."""
    if not in_place_of():
        return []
    lines = ["The code asks for CUDA and ran on the CPU (--device cpu): times and memory are the CPU's."]
    if USE.half_autocast:
        lines.append(
            "Autocast to float16 ran as bfloat16, which takes as many bytes and which CPUs know for more operations."
        )
    return lines


def install() -> None:
    """Replaces whatever takes a device, for the rest of this process. Call before any operation and any CUDA call."""
    USE.in_effect = True
    _hide_devices()
    _replace_tensor_methods()
    _replace_constructors()
    _replace_contexts()
    _replace_mixed_precision()
    _replace_loading()
    _replace_distributed()
    functions.install()


def _hide_devices() -> None:
    """On a machine with CUDA torch itself must see none, whatever the entry file sets later: it counts them once."""
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    getattr(torch._C, "_cuda_getDeviceCount", lambda: 0)()


def _replace(owner: Any, name: str, make: Make, module: str | None = None) -> None:
    """Puts `make(original)` in the place of an attribute, under its name; nothing where this torch has none."""
    original = getattr(owner, name, None)
    if original is None:
        return
    replacement = functools.wraps(original)(make(original))
    if module is not None:
        # Pickle finds a function by these.
        replacement.__module__, replacement.__qualname__ = module, name
    setattr(owner, name, replacement)


# ---- Methods of tensors, storages and modules


def _replace_tensor_methods() -> None:
    _replace(torch.Tensor, "cuda", _to_cpu)
    _replace(torch.Tensor, "to", _moving)
    _replace(torch.Tensor, "type", _casting)
    _replace(torch.Tensor, "pin_memory", _itself)
    _replace(torch.Tensor, "record_stream", lambda _: lambda self, stream: None)
    for name in ("new_tensor", "new_empty", "new_empty_strided", "new_full", "new_ones", "new_zeros"):
        _replace(torch.Tensor, name, _made_on_cpu)
    _replace(torch.nn.Module, "to", _moving)
    for storage in (torch.storage._StorageBase, torch.storage.TypedStorage):
        _replace(storage, "cuda", _itself)
        _replace(storage, "pin_memory", _itself)


def _to_cpu(_original: Any) -> Any:
    to = torch.Tensor.to

    def cuda(self: Any, device: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
        USE.cuda = True
        return to(self, CPU, non_blocking=non_blocking, **kwargs)

    return cuda


def _moving(original: Any) -> Any:
    def to(self: Any, *args: Any, **kwargs: Any) -> Any:
        if args:
            args = (cpu(args[0]), *args[1:])
        if "device" in kwargs:
            kwargs["device"] = cpu(kwargs["device"])
        return original(self, *args, **kwargs)

    return to


def _casting(original: Any) -> Any:
    return lambda self, dtype=None, *args, **kwargs: original(self, _legacy_type(dtype), *args, **kwargs)


def _legacy_type(dtype: Any) -> Any:
    if isinstance(dtype, str) and dtype.startswith("torch.cuda."):
        USE.cuda = True
        return dtype.replace("torch.cuda.", "torch.")
    return dtype


def _itself(_original: Any) -> Any:
    def unchanged(self: Any, *_args: Any, **_kwargs: Any) -> Any:
        USE.cuda = True
        return self

    return unchanged


# ---- Functions that make tensors


def _replace_constructors() -> None:
    """The functions that take a device, as torch's own list and the schemas of its operators name them."""
    # torch keeps this list for `with torch.device(...)`. It must hold the originals: it is made now.
    constructors = torch.utils._device._device_constructors()
    with_device = {
        schema.name.removeprefix("aten::")
        for schema in torch._C._jit_get_all_schemas()
        if any(argument.name == "device" for argument in schema.arguments)
    }
    for module in (torch, torch.fft, torch.nested):
        for name, value in list(vars(module).items()):
            if not callable(value) or isinstance(value, type):
                continue
            if value in constructors or (module is torch and name in with_device):
                _replace(module, name, _converted_on_cpu if name == "as_tensor" else _made_on_cpu, module.__name__)
    # TorchScript knows the functions by identity, from a table that it makes when it first needs one.
    torch.jit._builtins._builtin_table = None
    torch.Generator = functions.class_like(torch.Generator, lambda make, device="cpu": make(cpu(device)))


def _made_on_cpu(original: Any) -> Any:
    def made(*args: Any, **kwargs: Any) -> Any:
        if "device" in kwargs:
            kwargs["device"] = cpu(kwargs["device"])
        if kwargs.pop("pin_memory", False):
            USE.cuda = True
        return original(*args, **kwargs)

    return made


def _converted_on_cpu(original: Any) -> Any:
    return lambda data, dtype=None, device=None: original(data, dtype=dtype, device=cpu(device))


# ---- Contexts


def _replace_contexts() -> None:
    """`with torch.device("cuda"):`, torch.set_default_device and torch.set_default_tensor_type."""
    context = torch.utils._device.DeviceContext
    _replace(context, "__init__", lambda original: lambda self, device: original(self, cpu(device)))
    _replace(torch, "set_default_tensor_type", lambda original: lambda t, /: original(_legacy_type(t)), "torch")


# ---- Mixed precision


def _replace_mixed_precision() -> None:
    """What torch.amp offers; the classes and functions of torch.cuda.amp call it."""
    modes = torch.amp.autocast_mode
    _replace(modes.autocast, "__init__", _autocast)
    _replace(torch.amp.GradScaler, "__init__", _grad_scaler)
    for name in ("custom_fwd", "custom_bwd"):
        _replace(modes, name, _custom_autograd, "torch.amp")
        setattr(torch.amp, name, getattr(modes, name))
    for name in ("is_autocast_enabled", "get_autocast_dtype"):
        _replace(torch, name, _autocast_query, "torch")
    _replace(torch, "get_autocast_gpu_dtype", lambda _: lambda: torch.get_autocast_dtype("cpu"), "torch")


def _autocast(original: Any) -> Any:
    def init(self: Any, device_type: str, dtype: Any = None, *args: Any, **kwargs: Any) -> None:
        # Checkpointing brings back the states of both devices as they were: CUDA's is off.
        if sys._getframe(1).f_globals.get("__name__") == "torch.utils.checkpoint" or cpu(device_type) is not CPU:
            original(self, device_type, dtype, *args, **kwargs)
        else:
            original(self, "cpu", _precision(dtype or torch.float16), *args, **kwargs)

    return init


def _precision(dtype: Any) -> Any:
    """bfloat16 for float16: as many bytes, and the CPU has kernels for more operations."""
    if dtype is not torch.float16:
        return dtype
    USE.half_autocast = True
    return torch.bfloat16


def _grad_scaler(original: Any) -> Any:
    def init(self: Any, device: str = "cuda", *args: Any, **kwargs: Any) -> None:
        original(self, cpu_type(device), *args, **kwargs)

    return init


def _custom_autograd(original: Any) -> Any:
    def decorator(*args: Any, device_type: str, **kwargs: Any) -> Any:
        if "cast_inputs" in kwargs:
            kwargs["cast_inputs"] = _precision(kwargs["cast_inputs"])
        return original(*args, device_type=cpu_type(device_type), **kwargs)

    return decorator


def _autocast_query(original: Any) -> Any:
    def query(device_type: str | None = None) -> Any:
        if called_by_torch():
            return original() if device_type is None else original(device_type)
        return original("cpu" if device_type is None else cpu_type(device_type))

    return query


def cpu_type(device_type: str) -> str:
    return "cpu" if cpu(device_type) is CPU else device_type


# ---- Files


def _replace_loading() -> None:
    """Tensors that were saved on a CUDA device, and those that are to be loaded to one."""

    def restore(storage: Any, location: str) -> Any:
        if not location.startswith("cuda"):
            return None
        USE.cuda = True
        return storage

    # Called before torch's own for CUDA, whose priority is 20.
    torch.serialization.register_package(15, lambda _: None, restore)
    _replace(torch.jit, "load", _loading, "torch.jit")


def _loading(original: Any) -> Any:
    return lambda f, map_location=None, *args, **kwargs: original(f, cpu(map_location), *args, **kwargs)


# ---- Jobs of several processes


def _replace_distributed() -> None:
    """NCCL, and the devices of ranks."""
    import torch.distributed

    if torch.distributed.is_available():
        for name in ("init_process_group", "new_group"):
            _replace(torch.distributed, name, _communicating)
        _replace(torch.nn.parallel.DistributedDataParallel, "__init__", _parallel)


def _communicating(original: Any) -> Any:
    def made(*args: Any, **kwargs: Any) -> Any:
        kwargs.pop("device_id", None)
        return original(*map(_backend, args), **{name: _backend(value) for name, value in kwargs.items()})

    return made


def _backend(value: Any) -> Any:
    """Gloo for whatever names NCCL."""
    if not isinstance(value, str) or "nccl" not in value.lower():
        return value
    USE.cuda = True
    return "gloo"


def _parallel(original: Any) -> Any:
    def init(self: Any, module: Any, device_ids: Any = None, output_device: Any = None, *args: Any, **kw: Any) -> None:
        USE.cuda = USE.cuda or device_ids is not None
        original(self, module, None, None, *args, **kw)

    return init
