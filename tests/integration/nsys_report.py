"""A made-up report of Nsight Systems, as `nsys export --type sqlite` writes it: some processes train on a GPU."""

from __future__ import annotations

import sqlite3
from pathlib import Path

TABLES = """
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE TARGET_INFO_GPU (id INT, name TEXT, totalMemory INT, cuDevice INT);
CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, text TEXT, globalTid INT, textId INT, domainId INT);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT, correlationId INT, nameId INT);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL
  (start INT, end INT, deviceId INT, streamId INT, correlationId INT, globalPid INT, demangledName INT);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY
  (start INT, end INT, deviceId INT, streamId INT, correlationId INT, globalPid INT, bytes INT, copyKind INT);
INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'gemm'), (3, 'gemm_backward'),
  (4, 'cudaMemcpyAsync_v3020'), (5, 'cudaStreamSynchronize_v3020'), (6, 'adam');
INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA A100', 42949672960, 0);
"""

STEP_NS = 1_000_000
"""From the start of one step to the start of the next."""


def write_report(path: Path, steps_by_pid: dict[int, int], page_size: int = 4096) -> None:
    """Each step copies for 50 µs, and runs kernels of 200 (forward), 300 (backward) and 100 µs (the optimizer)."""
    with sqlite3.connect(path) as database:
        database.execute(f"PRAGMA page_size = {page_size}")
        database.executescript(TABLES)
        for pid, steps in steps_by_pid.items():
            process = (1 << 48) | (pid << 24)
            for number in range(steps):
                write_step(database, process, number)
    database.close()


def write_step(database: sqlite3.Connection, process: int, number: int) -> None:
    at, first = number * STEP_NS, 10 * number
    main, autograd = process + 1, process + 2

    def insert(table: str, *values: object) -> None:
        database.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", values)

    def range_of(text: str, start: int, end: int) -> None:
        insert("NVTX_EVENTS", at + 1000 * start, at + 1000 * end, 59, text, main, None, 0)

    def call(name: int, start: int, end: int, correlation: int, thread: int = main) -> None:
        insert("CUPTI_ACTIVITY_KIND_RUNTIME", at + 1000 * start, at + 1000 * end, thread, first + correlation, name)

    def kernel(name: int, start: int, end: int, correlation: int) -> None:
        values = (at + 1000 * start, at + 1000 * end, 0, 7, first + correlation, process, name)
        insert("CUPTI_ACTIVITY_KIND_KERNEL", *values)

    range_of(f"step {number}", 0, 900)
    range_of(f"data copy in {number}", 0, 60)
    call(4, 5, 10, 0)
    insert("CUPTI_ACTIVITY_KIND_MEMCPY", at + 8_000, at + 58_000, 0, 7, first, process, 4096, 1)
    range_of("forward", 60, 150)
    call(1, 100, 105, 1)
    kernel(2, 110, 310, 1)
    call(1, 200, 205, 2, autograd)
    kernel(3, 312, 612, 2)
    range_of("optimizer", 300, 400)
    call(1, 310, 315, 3)
    kernel(6, 614, 714, 3)
    call(5, 500, 720, 4)
