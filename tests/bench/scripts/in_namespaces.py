"""`in_namespaces.py SCRIPT ARGUMENT...` runs a script as the ranks of cluster.py, each in its network namespace.

NAMESPACES says how many there are; without it two. Writes what rank 0 writes.
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import cluster

print(cluster.ranks(lambda _: [sys.executable, *sys.argv[1:]], {}, int(os.environ.get("NAMESPACES", "2"))), end="")
