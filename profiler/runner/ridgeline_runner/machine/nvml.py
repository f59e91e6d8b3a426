"""The clock of a CUDA device, what slows it down, and its energy, as the driver's management library reports them."""

from __future__ import annotations

import ctypes

LIBRARY = "libnvidia-ml.so.1"
_SM_CLOCK = 1  # NVML_CLOCK_SM
# nvmlClocksEventReasons
_REASONS = {
    0x04: "its power limit",
    0x08: "its hardware's protection",
    0x20: "its temperature",
    0x40: "its temperature",
    0x80: "the machine's power",
}


_NO_PERMISSION = 4  # NVML_ERROR_NO_PERMISSION


class _NvmlDevice:
    """A device as NVML knows it; `_library` is None without NVML, and for a device that it does not know."""

    def __init__(self, uuid: str, library: str) -> None:
        self._handle = ctypes.c_void_p()
        self._library = None
        try:
            opened = ctypes.CDLL(library)
            name = uuid if uuid.startswith(("GPU-", "MIG-")) else f"GPU-{uuid}"
            if opened.nvmlInit_v2() == 0:
                found = opened.nvmlDeviceGetHandleByUUID(name.encode(), ctypes.byref(self._handle))
                self._library = opened if found == 0 else None
        except (OSError, AttributeError):
            pass  # no such library, or not that function


class ClockOfDevice(_NvmlDevice):
    """The slowest and the fastest clock seen, and the reasons for slow ones. Both are unknown without the library,
    and for a part of a device (MIG), which has no clock of its own."""

    def __init__(self, uuid: str, library: str = LIBRARY) -> None:
        super().__init__(uuid, library)
        self._seen: list[int] = []
        self._reasons: set[str] = set()

    def sample(self) -> None:
        if self._library is None:
            return
        clock, reasons = ctypes.c_uint(), ctypes.c_ulonglong()
        if self._library.nvmlDeviceGetClockInfo(self._handle, _SM_CLOCK, ctypes.byref(clock)) == 0:
            self._seen = [min([clock.value, *self._seen]), max([clock.value, *self._seen])]
        # By its older name, which all versions have.
        if self._library.nvmlDeviceGetCurrentClocksThrottleReasons(self._handle, ctypes.byref(reasons)) == 0:
            self._reasons |= {reason for bit, reason in _REASONS.items() if reasons.value & bit}

    def warnings(self) -> list[str]:
        if not self._reasons or not self._seen:
            return []
        low, high = self._seen
        return [
            f"The device was slowed down by {' and '.join(sorted(self._reasons))} while the step was timed: "
            f"its clock was between {low} and {high} MHz."
        ]


class EnergyOfDevice(_NvmlDevice):
    """The energy that the whole device has taken since the driver was loaded."""

    def __init__(self, uuid: str, library: str = LIBRARY) -> None:
        super().__init__(uuid, library)

    def read_uj(self) -> int:
        """Microjoules. Raises OSError, with the reason."""
        millijoules = ctypes.c_ulonglong()
        if self._library is None:
            raise OSError("the driver's library (NVML) is not there, or does not know the device")
        try:
            status = self._library.nvmlDeviceGetTotalEnergyConsumption(self._handle, ctypes.byref(millijoules))
        except AttributeError:
            raise OSError("the driver is too old to count it") from None
        if status == _NO_PERMISSION:
            raise PermissionError(
                "the driver does not let this user read it: ask whoever runs the machine, or try root"
            )
        if status != 0:
            raise OSError("the device does not count it: those before Volta and parts of a device (MIG) do not")
        return 1000 * millijoules.value
