"""Measures what messages between processes cost, by torch.distributed's send and receive over Gloo.

`ridgeline job network` runs this file. Rank 0 writes what was measured as one line of JSON, other ranks an empty
object; progress goes to standard error. No clock is compared with another: the sender times each message with an answer
of one byte. The latency of a direction is half of that time for a message of one byte, which cannot tell the directions
apart. What a larger message takes beyond two latencies is its transfer.

An all-reduce of all ranks is timed too, and the processor's time that it takes of a rank.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
from time import perf_counter_ns, process_time_ns
from typing import Any

KIB = 1 << 10
SIZES = [KIB << shift for shift in range(0, 19, 2)]  # 1 KiB to 256 MiB
_LEAST_ROUNDS, _MOST_ROUNDS = 7, 201
_LARGEST_AT_ONCE = 4 << 20  # of larger ones the transfer is nearly all
_SHARED_BYTES = 16 << 20
_SHARED_ROUNDS = 8


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rank", type=int)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--address", default="")
    parser.add_argument("--largest", type=int, default=SIZES[-1])
    parser.add_argument("--seconds", type=float, default=0.5)
    options = parser.parse_args()
    if options.rank is None:
        _start(options)
    else:
        _measure(options)


def _start(options: argparse.Namespace) -> None:
    """All ranks on this machine: rank 0 is this process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        options.address = f"127.0.0.1:{free.getsockname()[1]}"
    common = ["--ranks", str(options.ranks), "--address", options.address, "--largest", str(options.largest)]
    common += ["--seconds", str(options.seconds)]
    others = [
        subprocess.Popen([sys.executable, __file__, "--rank", str(rank), *common], stdout=subprocess.DEVNULL)
        for rank in range(1, options.ranks)
    ]
    try:
        options.rank = 0
        _measure(options)
    finally:
        for other in others:
            if other.poll() is None and sys.exc_info()[0] is not None:
                other.kill()
            other.wait()


def _measure(options: argparse.Namespace) -> None:
    import torch.distributed as dist

    host, _, port = options.address.rpartition(":")
    os.environ |= {"MASTER_ADDR": host, "MASTER_PORT": port}
    dist.init_process_group("gloo", rank=options.rank, world_size=options.ranks)
    machines: list[Any] = [None] * options.ranks
    dist.all_gather_object(machines, (socket.gethostname(), _devices(), os.sched_getaffinity(0)))
    names = [name for name, _, _ in machines]
    links = _links(names, options)
    result = {
        "machines": _described(machines),
        "ranks": names,
        "links": links,
        "allReduces": _all_reduces(options),
    }
    dist.barrier()
    print(json.dumps(result if options.rank == 0 else {}), flush=True)
    os._exit(0)  # torch 2.13 may crash as an interpreter with a Gloo group ends


def _described(machines: list[Any]) -> list[dict[str, Any]]:
    """Each machine once, with the processors that its ranks may use."""
    cores: dict[str, set[int]] = {}
    for name, _, allowed in machines:
        cores.setdefault(name, set()).update(allowed)
    devices = {name: count for name, count, _ in machines}
    return [{"name": name, "devices": devices[name], "cores": len(allowed)} for name, allowed in cores.items()]


def _devices() -> int:
    """Devices of the machine: its GPUs, or 1 for the CPU."""
    import torch

    return max(1, torch.cuda.device_count() if torch.cuda.is_available() else 1)


def _links(names: list[str], options: argparse.Namespace) -> list[dict[str, Any]]:
    """Each direction between the first ranks of each two machines, and of two ranks on one machine."""
    import torch.distributed as dist

    links = []
    done = set()
    for sender in range(len(names)):
        for receiver in range(len(names)):
            pair = (names[sender], names[receiver])
            if sender == receiver or pair in done:
                continue
            done.add(pair)
            if options.rank == 0:
                print(f"ridgeline: {pair[0]} to {pair[1]}", file=sys.stderr, flush=True)
            link = {"from": pair[0], "to": pair[1]}
            link |= _one_way(sender, receiver, options)
            link |= _shared(sender, receiver, names, options)
            held = [link]
            dist.broadcast_object_list(held, sender)
            links.append(held[0])
    return links


def _one_way(sender: int, receiver: int, options: argparse.Namespace) -> dict[str, Any]:
    """The latency and the times of messages of each size, each with its interval, in ns; of use at the sender only."""
    import torch
    import torch.distributed as dist

    answer = torch.zeros(1, dtype=torch.uint8)
    latency: list[float] = []
    timed = []
    for size in [1, *[size for size in SIZES if size <= options.largest]]:
        data = torch.zeros(size, dtype=torch.uint8)
        times = []
        for round_number in range(_rounds(size, sender, receiver, options)):
            if options.rank == sender:
                start = perf_counter_ns()
                dist.send(data, receiver)
                dist.recv(answer, receiver)
                if round_number:  # the first one connects
                    times.append(perf_counter_ns() - start)
            elif options.rank == receiver:
                dist.recv(data, sender)
                dist.send(answer, sender)
        if size == 1:
            latency = [ns / 2 for ns in _interval(times)]
        elif times:
            timed.append({"bytes": size, "rounds": len(times), "ns": _interval(times)})
        dist.barrier()
    return {"latencyNs": latency, "times": timed}


def _interval(times: list[int]) -> list[float]:
    """The median, and the ends of its 95 % interval by order statistics (normal approximation of the binomial)."""
    if not times:
        return []
    ordered = sorted(times)
    count = len(ordered)
    rank = max(0, int((count - 1.96 * count**0.5) / 2))
    return [float(ordered[count // 2]), float(ordered[rank]), float(ordered[count - 1 - rank])]


def _rounds(size: int, sender: int, receiver: int, options: argparse.Namespace) -> int:
    """As many as fit the time, at an assumed 1 GB/s and 100 microseconds: the same at all ranks."""
    seconds = size / 1e9 + 1e-4
    return 1 + min(_MOST_ROUNDS, max(_LEAST_ROUNDS, int(options.seconds / seconds)))


def _shared(sender: int, receiver: int, names: list[str], options: argparse.Namespace) -> dict[str, Any]:
    """Bytes per second of a direction alone, of both at once, and of two pairs of ranks at once."""
    link = {"aloneBytesPerS": _flow([(sender, receiver)], options)}
    link["bothWaysBytesPerS"] = _flow([(sender, receiver), (receiver, sender)], options)
    second = [
        (i, j)
        for i in range(len(names))
        for j in range(len(names))
        if len({i, j, sender, receiver}) == 4 and (names[i], names[j]) == (names[sender], names[receiver])
    ]
    if second:
        link["twoPairsBytesPerS"] = _flow([(sender, receiver), second[0]], options)
    return link


def _all_reduces(options: argparse.Namespace) -> list[dict[str, Any]]:
    """All-reduces of all ranks by size: from the last rank's start to an end, and what the busiest rank's processor
    works for it; of small ones also four that begin at once, as Gloo runs two at a time; ns."""
    found = []
    for size in [size for size in SIZES if size <= options.largest]:
        if options.rank == 0:
            print(f"ridgeline: all-reduce of {size >> 10} KiB", file=sys.stderr, flush=True)
        walls, works = _at_once(1, size, options)
        one = {"bytes": size, "rounds": len(walls), "ns": _interval(walls)}
        if size <= _LARGEST_AT_ONCE:  # a thread that wakes up for each message is what varies most
            walls, works = _at_once(4, size, options)
            one["fourAtOnceNs"] = _interval(walls)
            works = [work // 4 for work in works]
        found.append({**one, "processorNs": _interval(works)})
    return found


def _at_once(count: int, size: int, options: argparse.Namespace) -> tuple[list[int], list[int]]:
    """Rounds of so many all-reduces that begin at the same time: from the last rank's start to the last one's end, and
    the processor's time of the busiest rank."""
    import torch
    import torch.distributed as dist

    data = [torch.zeros(size // 4) for _ in range(count)]
    samples: list[tuple[int, int]] = []
    for number in range(_rounds(4 * count * size, 0, 1, options) + 1):
        dist.barrier()
        worked, start = process_time_ns(), perf_counter_ns()
        for one in [dist.all_reduce(tensor, async_op=True) for tensor in data]:
            one.wait()
        if number > 1:  # the first ones connect, and touch memory
            samples.append((perf_counter_ns() - start, process_time_ns() - worked))
    # The quickest rank began last, or at the same time.
    walls, works = torch.tensor([wall for wall, _ in samples]), torch.tensor([work for _, work in samples])
    dist.all_reduce(walls, op=dist.ReduceOp.MIN)
    dist.all_reduce(works, op=dist.ReduceOp.MAX)
    return walls.tolist(), works.tolist()


def _flow(flows: list[tuple[int, int]], options: argparse.Namespace) -> float:
    """The mean rate of one of several flows that run at the same time, until the last one ends; at all ranks."""
    import torch
    import torch.distributed as dist

    size = min(_SHARED_BYTES, options.largest)
    sent = [torch.zeros(size, dtype=torch.uint8) for one, _ in flows if one == options.rank]
    received = [torch.zeros(size, dtype=torch.uint8) for _, one in flows if one == options.rank]
    rates = []
    for _ in range(_SHARED_ROUNDS + 1):
        dist.barrier()
        start = perf_counter_ns()
        work = [dist.isend(data, flows[i][1], tag=i) for i, data in _mine(flows, 0, options.rank, sent)]
        work += [dist.irecv(data, flows[i][0], tag=i) for i, data in _mine(flows, 1, options.rank, received)]
        for one in work:
            one.wait()
        took = torch.tensor([perf_counter_ns() - start if work else 0])
        dist.all_reduce(took, op=dist.ReduceOp.MAX)
        rates.append(size / took.item() * 1e9)
    return sorted(rates[1:])[_SHARED_ROUNDS // 2]


def _mine(flows: list[tuple[int, int]], end: int, rank: int, tensors: list[Any]) -> list[tuple[int, Any]]:
    return list(zip([i for i, flow in enumerate(flows) if flow[end] == rank], tensors, strict=True))


if __name__ == "__main__":
    main()
