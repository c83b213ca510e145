"""A process that must not outlive its parent, and the lock that keeps a worker's id unique."""

from __future__ import annotations

import fcntl
import hashlib
import os
import tempfile
import threading
import time
from pathlib import Path
from typing import IO

CHECK_EVERY_S = 0.2


def die_with_parent(parent: int) -> None:
    """End this process within 0.2 s of its parent's death, whatever it is doing.

    parent : process id. Polled from a thread: the kernel's own parent-death signal follows the
    thread that started the child, and that one may end long before the process does.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(CHECK_EVERY_S)
        os._exit(1)

    threading.Thread(target=watch, name="lifeline", daemon=True).start()


def claim_id(executor_id: str, url: str, wait_s: float = 3.0) -> IO[str] | None:
    """Hold the id for this process's life; None if another process on this host holds it.

    The job engine loses work when two workers share an id. The kernel drops the lock with the
    process, so that nothing is left behind after a kill; a dying predecessor gets `wait_s`.
    """
    name = hashlib.sha256(f"{url}\n{executor_id}".encode()).hexdigest()[:24]
    path = Path(tempfile.gettempdir()) / f"bucketwise-worker-{os.getuid()}-{name}.lock"
    handle = path.open("a")
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return handle
        except BlockingIOError:
            if time.monotonic() > deadline:
                handle.close()
                return None
            time.sleep(0.1)
