"""Which parameters DistributedDataParallel reduces together."""

from __future__ import annotations

import sys
from typing import Any


def buckets_of(replica: Any, number: int) -> list[dict[str, Any]]:
    """The buckets in the order of their all-reduces: `{"replica", "index", "bytes", "parameters", "sizes"}`; sizes
    are bytes by parameter. Empty where what the replica logs of its buckets does not agree with its parameters: then
    none is better than a wrong one."""
    try:
        logged = replica._get_ddp_logging_data()  # noqa: SLF001 - what torch logs is nowhere public
        rebuilt = bool(logged.get("has_rebuilt_buckets"))
        sizes = _numbers(logged["rebuilt_bucket_sizes" if rebuilt else "bucket_sizes"].split(", "))
        parameters = _parameters(replica)
        if rebuilt:
            indices = [_numbers(one.split(" ")) for one in logged["rebuilt_per_bucket_param_indices"].split(", ")]
        else:
            indices = _initial(replica, [parameter for _, parameter in parameters])
    except (AttributeError, KeyError, RuntimeError, ValueError):
        return []
    found = []
    for index, members in enumerate(indices):
        if not all(0 <= member < len(parameters) for member in members):
            return []
        chosen = [parameters[member] for member in members]
        each = [parameter.numel() * parameter.element_size() for _, parameter in chosen]
        names = [name for name, _ in chosen]
        found.append({"replica": number, "index": index, "bytes": sum(each), "parameters": names, "sizes": each})
    return found if [bucket["bytes"] for bucket in found] == sizes else []


def _numbers(texts: list[str]) -> list[int]:
    return [int(text) for text in texts if text]


def _parameters(replica: Any) -> list[tuple[str, Any]]:
    """As the reducer counts them (DistributedDataParallel._build_params_for_reducer)."""
    return [
        (name, parameter)
        for name, parameter in replica.module.named_parameters()
        if parameter.requires_grad and name not in replica.parameters_to_ignore
    ]


def _initial(replica: Any, parameters: list[Any]) -> list[list[int]]:
    """As DistributedDataParallel._ddp_init_helper assigns them, before the order of gradients is known."""
    import torch.distributed as dist

    limits = (
        [sys.maxsize]
        if replica.static_graph or not replica.find_unused_parameters
        else [dist._DEFAULT_FIRST_BUCKET_BYTES, replica.bucket_bytes_cap]  # noqa: SLF001
    )
    indices, _ = dist._compute_bucket_assignment_by_size(parameters, limits, [False] * len(parameters))  # noqa: SLF001
    return list(reversed(indices))
