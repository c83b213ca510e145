"""The house under test: the real processes, as a service manager would run them, and witnesses."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.reliability import processes
from benchmarks.reliability.databases import Database
from benchmarks.reliability.job_tasks import MEASUREMENT, SWEEP
from benchmarks.reliability.job_witness import JobWitness
from benchmarks.reliability.page_witness import PageWitness
from benchmarks.reliability.processes import Service, children_of, command_of, kill_9
from benchmarks.reliability.session_witness import SessionWitness
from core.store.database import URL_SETTING
from tests.app.conftest import free_port

WORKER, SWEEPER, MEASURING = "measuring worker", "sweep worker", "measuring process"
SUPERVISOR, DASHBOARD = "supervisor", "dashboard"
WRITER, DATABASE = "session writer", "database server"


class House:
    """The real processes, as a service manager would run them, and the witnesses."""

    def __init__(self, database: Database, folder: Path) -> None:
        self.database, url = database, database.url
        settings = {URL_SETTING: url, "OMP_NUM_THREADS": "1", "PYTHONPATH": ""}
        port = free_port()
        python = sys.executable
        dashboard = [*processes.DASHBOARD, "--server.port", str(port)]
        writer_log = folder / "acknowledged.log"
        writer = [python, "-m", "benchmarks.reliability.session_writer", url, str(writer_log)]
        worker = [python, "-m", "gpu_worker", "--devices", "cpu", "--name", "reliability"]
        self._services = {
            DASHBOARD: Service(dashboard, folder / "dashboard.log", settings),
            SUPERVISOR: Service(worker, folder / "worker.log", settings),
            WRITER: Service(writer, folder / "writer.log", settings),
        }
        self.sessions = SessionWitness(url, writer_log)
        self.jobs = {task: JobWitness(url, task) for task in (MEASUREMENT, SWEEP)}
        self.page = PageWitness(url, f"http://127.0.0.1:{port}")

    @property
    def targets(self) -> list[str]:
        """What can be killed."""
        found = [WORKER, SWEEPER, MEASURING, SUPERVISOR, DASHBOARD, WRITER]
        return [*found, DATABASE] if self.database.is_process else found

    def strike(self, target: str) -> bool:
        """kill -9; False if there is no such process at this moment."""
        if target == DATABASE:
            self.database.kill()
            return True
        if target in self._services:
            return self._services[target].kill()
        return any([kill_9(pid) for pid in self._pids(target)])

    def _pids(self, target: str) -> list[int]:
        children = children_of(self._services[SUPERVISOR].pid)
        if target == SWEEPER:
            return [pid for pid in children if "simulation" in command_of(pid)]
        workers = [pid for pid in children if '"measure.cpu"' in command_of(pid)]
        if target == WORKER:
            return workers
        inside = [pid for worker in workers for pid in children_of(worker)]
        return [pid for pid in inside if "gpu_worker.serve" in command_of(pid)]

    def stop(self) -> None:
        """End everything."""
        for service in self._services.values():
            service.stop()
        for witness in self.jobs.values():
            witness.stop()
