"""The result of a run: what the figures are of, and what a reader of them must know."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from ridgeline_runner.common.packages import describe_package
from ridgeline_runner.common.sources import imported_files
from ridgeline_runner.machine.devices import Device
from ridgeline_runner.machine.interpreter import thread_settings
from ridgeline_runner.machine.processors import ProcessorWatch
from ridgeline_runner.step.recorder import Recorder
from ridgeline_runner.step.reporter import Reporter


class Result:
    """Sends what the daemon needs beside recordings and times. Of `spec` it reads the project's root, the roots of the
    environment, the packages of `code` and the entry file."""

    def __init__(
        self,
        spec: dict[str, Any],
        reporter: Reporter,
        recorder: Recorder,
        device: Device,
        processors: ProcessorWatch,
        batch_size: int,
        stand_in: ModuleType | None = None,
    ) -> None:
        """`stand_in` is cpu_for_cuda where code for CUDA may run on the CPU; importing it takes a second."""
        self._spec = spec
        self._reporter = reporter
        self._recorder = recorder
        self._device = device
        self._processors = processors
        self._batch_size = batch_size
        self._stand_in = stand_in

    def send(
        self,
        *,
        final: bool,
        unused_gradients: list[dict[str, Any]] | None = None,
        script: dict[str, Any] | None = None,
        energy: dict[str, Any] | None = None,
        length: dict[str, Any] | None = None,
    ) -> None:
        """`energy` is what measure() of energy.py gives, `length` what length() of entry.py does. `script` describes a
        script that ran as it is, as protocol/script_run.h has it."""
        import torch

        spec = self._spec
        code = [describe_package(name) for name in spec["code"]]
        places = [place for package in code for place in package["places"]]
        files, complete = imported_files(spec["projectRoot"], spec["environmentRoots"], spec["entry"], places)
        self._reporter.channel.send(
            {
                "type": "result",
                "final": final,
                "batchSize": self._batch_size,
                "threads": torch.get_num_threads(),
                "threadSettings": thread_settings(),
                "lowMHz": self._processors.low_mhz,
                "highMHz": self._processors.high_mhz,
                "othersUsed": self._processors.others_used,
                "processorShare": self._processors.own_share,
                "inPlaceOf": self._stand_in.in_place_of() if self._stand_in else "",
                "device": self._device.description(),
                "warnings": [
                    *self._device.unrecorded(),
                    *(self._stand_in.warnings() if self._stand_in else []),
                    *self._reporter.warnings,
                    *self._recorder.warnings(),
                    *self._device.warnings(),
                ],
                "unusedGradients": unused_gradients or [],
                "code": code,
                "importedFiles": files,
                "importedFilesComplete": complete,
                **({"script": script} if script else {}),
                **({"energy": energy} if energy else {}),
                **({"length": length} if length else {}),
            }
        )
