"""`python RUNNER_FOLDER/ridgeline_runner FD`: the worker, on the channel that the daemon left open as FD."""

import os
import sys

if __name__ == "__main__":  # not in a process that multiprocessing spawns, which runs this file again
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    from ridgeline_runner import fork_server

    sys.path.pop(0)
    sys.exit(fork_server.serve(int(sys.argv[1])))
