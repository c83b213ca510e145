"""Start the dashboard and one local worker together, and end both together.

Each is its own process; this one only starts, watches and stops them.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOST = "127.0.0.1"
START_TIMEOUT_S = 60
STOP_TIMEOUT_S = 10


def port_is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def first_free_port(port: int) -> int:
    for candidate in range(port, port + 20):
        if port_is_free(candidate):
            return candidate
    sys.exit(f"Ports {port} to {port + 19} are all taken; choose one with make run PORT=9000.")


def wait_until_healthy(port: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < end:
        if process.poll() is not None:
            sys.exit(f"The dashboard ended at start-up with code {process.returncode}; see above.")
        try:
            urllib.request.urlopen(f"http://{HOST}:{port}/_stcore/health", timeout=1)
            return
        except OSError:
            time.sleep(0.1)
    sys.exit(f"The dashboard did not answer within {START_TIMEOUT_S} s; see its output above.")


def stop(processes: list[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        if process.poll() is None:
            process.terminate()
    for process in processes:
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8501)
    parser.add_argument("--no-worker", action="store_true", help="dashboard only")
    args = parser.parse_args()
    port = first_free_port(args.port)
    if port != args.port:
        print(f"Port {args.port} is taken; using {port}.", flush=True)

    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    # Streamlit would ask a newcomer for an e-mail address in a terminal; headless does not.
    dashboard_command = [sys.executable, "-m", "streamlit", "run", "app/server.py"]
    dashboard_command += ["--server.port", str(port), "--server.headless", "true"]
    subprocess.run([sys.executable, "-m", "core.store", "migrate"], cwd=ROOT, check=True)

    stopping = False

    def on_signal(*_: object) -> None:
        nonlocal stopping
        stopping = True

    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGINT, on_signal)
    processes = [subprocess.Popen(dashboard_command, cwd=ROOT, env=environment)]
    if not args.no_worker:
        worker_command = [sys.executable, "-m", "gpu_worker"]
        processes.append(subprocess.Popen(worker_command, cwd=ROOT, env=environment))
    try:
        wait_until_healthy(port, processes[0])
        print(f"\n  Bucketwise is at http://{HOST}:{port}   (stop with Ctrl+C)\n", flush=True)
        while not stopping and processes[0].poll() is None:
            time.sleep(0.2)
            if len(processes) > 1 and processes[1].poll() is not None:
                code = processes[1].returncode
                print(f"The worker ended with code {code}; the dashboard goes on.", flush=True)
                processes.pop()
    finally:
        stop(processes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
