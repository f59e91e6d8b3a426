"""`python RUNNER_FOLDER/ridgeline_runner FD`: the worker, on the channel that the daemon left open as FD."""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[0] = os.path.dirname(_HERE)

from ridgeline_runner import warm  # noqa: E402

sys.path.pop(0)

if __name__ == "__main__":
    sys.exit(warm.serve(int(sys.argv[1])))
