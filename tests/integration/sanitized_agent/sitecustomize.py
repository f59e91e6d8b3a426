"""For a Python with the address sanitizer's runtime (`./dev test` puts this folder on PYTHONPATH): no limit of memory.

The sanitizer maps terabytes for its own bookkeeping, and RLIMIT_DATA counts them.
"""

import resource

_setrlimit = resource.setrlimit


def setrlimit(kind: int, limits: tuple[int, int]) -> None:
    if kind != resource.RLIMIT_DATA:
        _setrlimit(kind, limits)


resource.setrlimit = setrlimit
