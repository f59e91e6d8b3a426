"""What the daemon is sent while a run goes on, and where the run is: a failure's message says it."""

from __future__ import annotations

import gc

from ridgeline_runner.channel import Channel
from ridgeline_runner.devices import Device
from ridgeline_runner.failure import describe, release


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
        """A batch size that failed where another did not is an observation. Its memory is free afterwards."""
        described = describe(error, self.stage, size, advise=False)
        self.channel.send({**described, "type": "skipped"})
        self.skipped.append(size)
        release(error)
        gc.collect()
        device.forget_cached()

    def fail(self, error: BaseException) -> None:
        """Ends the run as a failure."""
        self.channel.send(describe(error, self.stage, self.batch_size))
