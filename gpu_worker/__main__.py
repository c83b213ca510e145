"""`python -m gpu_worker`: measure on every visible card, or on the CPU where there is none; and
simulate sweeps on one core."""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from core.errors import ProjectError, SettingError
from core.store.database import checked_url, default_database_url
from core.store.engine import migrate
from core.store.workers import Identity
from gpu_worker.child import Child, measuring_child, simulating_child
from gpu_worker.device import Card, cpu_card, list_cards
from gpu_worker.supervisor import POLL_S, Supervisor
from gpu_worker.targets.vllm.model_folder import allow_models


def build_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m gpu_worker", description=__doc__)
    parser.add_argument(
        "--database-url",
        help="default: BUCKETWISE_DATABASE_URL, else a file under data/; a URL with a password "
        "belongs in that setting, for other users of the host see the command line",
    )
    parser.add_argument(
        "--devices",
        default="all",
        help='to measure on: "all" cards (default), "cpu", card numbers such as 0,2, or "none"',
    )
    parser.add_argument(
        "--no-simulate",
        action="store_true",
        help="run no sweeps here; measuring then has the host to itself",
    )
    parser.add_argument(
        "--name",
        default=platform.node() or "worker",
        help="this host's name in worker ids; default: its own. It must stay the same over "
        "restarts and differ between hosts",
    )
    parser.add_argument(
        "--models",
        type=Path,
        help="engines may load models below this folder; default: random weights only",
    )
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser


def chosen_cards(text: str) -> list[Card]:
    """Cards by the --devices option. Raises SettingError if one is not there."""
    if text == "cpu":
        return [cpu_card()]
    if text == "none":
        return []
    cards = list_cards()
    if text == "all":
        return cards or [cpu_card()]
    by_index = {str(card.index): card for card in cards}
    wanted = [part.strip() for part in text.split(",")]
    for part in wanted:
        if part not in by_index:
            there = ", ".join(by_index) or "none"
            raise SettingError(f"--devices {text}: card {part!r} is not visible; there: {there}.")
    return [by_index[part] for part in dict.fromkeys(wanted)]


def children_of(devices: str, name: str, simulate: bool) -> list[Child]:
    """The workers that this host shall have. Raises SettingError if there is none."""
    children = [measuring_child(name, card) for card in chosen_cards(devices)]
    if simulate:
        children.append(simulating_child(name))
    if not children:
        raise SettingError("--devices none --no-simulate leaves nothing to run; drop one of them.")
    return children


def supervise(url: str, children: Sequence[Child]) -> int:
    """Run workers until SIGTERM or Ctrl-C."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    migrate(url)
    supervisor = Supervisor(url, children)
    try:
        supervisor.start(stop.is_set)
        if not stop.is_set():
            names = ", ".join(f"{c.executor_id} on {c.queue}" for c in supervisor.children)
            where = checked_url(url).render_as_string()
            print(f"ready: {len(supervisor.children)} worker(s): {names}; {where}", flush=True)
        while not stop.wait(POLL_S):
            supervisor.step(time.monotonic())
    finally:
        supervisor.stop()
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Returns the exit code; 2 with one sentence on stderr when it cannot run."""
    args = build_parser().parse_args(argv)
    try:
        url = args.database_url or default_database_url()
        if args.models is not None:
            allow_models(args.models)
        if args.child is None:
            return supervise(url, children_of(args.devices, args.name, not args.no_simulate))
        from gpu_worker.worker import run_worker

        identity = Identity(**json.loads(args.child), pid=os.getpid())
        return run_worker(identity, url, lambda: print("up", flush=True))
    except ProjectError as error:
        print(f"python -m gpu_worker: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
