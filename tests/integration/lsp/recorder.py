"""recorder.py LOG COMMAND...: stands between a client and a server on standard input and output, and writes every
message into LOG, a line each: {"from": "client", "message": ...}. Ends with the server's exit code.

Message by message: what is in the log came in that order, and a message is in the log before the other side has it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from typing import IO, Any

LOCK = threading.Lock()


def read_message(stream: IO[bytes]) -> bytes | None:
    """The body of the next message; None at the end of the stream."""
    length = None
    while line := stream.readline():
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            length = int(value)
        elif line == b"\r\n" and length is not None:
            body = stream.read(length)
            return body if len(body) == length else None
    return None


def framed(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def forward(source: IO[bytes], target: IO[bytes], name: str, log: IO[str]) -> None:
    try:
        while (body := read_message(source)) is not None:
            message: Any = json.loads(body)
            with LOCK:
                log.write(json.dumps({"from": name, "message": message}) + "\n")
                log.flush()
            target.write(framed(body))
            target.flush()
    except (BrokenPipeError, ValueError):
        pass
    finally:
        try:
            target.close()
        except BrokenPipeError:
            pass


def main() -> int:
    log_path, *command = sys.argv[1:]
    with (
        open(log_path, "a", encoding="utf-8") as log,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server,
    ):
        assert server.stdin and server.stdout
        inward = threading.Thread(target=forward, args=(sys.stdin.buffer, server.stdin, "client", log), daemon=True)
        inward.start()
        forward(server.stdout, sys.stdout.buffer, "server", log)
        return server.wait()


if __name__ == "__main__":
    # At once: the thread that waits for the client would hold up the interpreter's own end.
    os._exit(main())
