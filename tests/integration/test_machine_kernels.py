"""The loops that `ridgeline machine measure` times: compilers may merge chains that are equal."""

from __future__ import annotations

import platform
import re
import subprocess

import pytest
from conftest import BINARY

# Per round, as server/operations/microbenchmarks/kernels.cpp counts them.
CHAINS = {"x86_64": ("vdpbf16ps", 12), "aarch64": ("bfmmla", 20)}


@pytest.mark.skipif(platform.machine() not in CHAINS, reason="there is no such instruction")
def test_chains_of_products_are_not_merged() -> None:
    instruction, chains = CHAINS[platform.machine()]
    listing = subprocess.run(["objdump", "-d", BINARY], capture_output=True, text=True, check=True).stdout
    assert len(re.findall(rf"\t{instruction}\b", listing)) >= chains
