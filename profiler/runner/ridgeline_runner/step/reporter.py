"""Messages to the daemon during a run, and the stage of the run, which a failure's message names."""

from __future__ import annotations

import gc

from ridgeline_runner.common.channel import Channel
from ridgeline_runner.common.failure import describe, release
from ridgeline_runner.machine.devices import Device


class Reporter:
    """One per run. Every method that sends raises ChannelClosed when the daemon is gone."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.stage = "load"
        self.batch_size: int | None = None  # the one that is running
        self.skipped: list[int] = []  # batch sizes that failed
        self.warnings: list[str] = []

    def progress(self, stage: str, fraction: float, message: str) -> None:
        self.stage = stage
        self.channel.send({"type": "progress", "stage": stage, "fraction": fraction, "message": message})

    def skip(self, error: BaseException, size: int, device: Device) -> None:
        """Reports a batch size that failed where another succeeded, and releases its memory."""
        described = describe(error, self.stage, size, advise=False)
        self.channel.send({**described, "type": "skipped"})
        self.skipped.append(size)
        release(error)
        gc.collect()
        device.forget_cached()

    def fail(self, error: BaseException) -> None:
        """Reports the failure of the run."""
        self.channel.send(describe(error, self.stage, self.batch_size))
