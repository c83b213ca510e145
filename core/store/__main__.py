"""`python -m core.store migrate | prune | workers | hand-over`: what whoever runs a team's database
needs: update the tables, delete what is past its time, see workers, give sessions to others."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import exc

from core.errors import JobError, ProjectError
from core.store.database import checked_url, default_database_url, make_engine
from core.store.engine import migrate
from core.store.hand_over import hand_over
from core.store.prune import SETTINGS, Retention, prune, retention_setting
from core.store.workers import read_workers


def build_parser() -> argparse.ArgumentParser:
    """Four commands, one database."""
    parser = argparse.ArgumentParser(prog="python -m core.store")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    make = commands.add_parser("migrate", help="create or update the tables")
    tidy = commands.add_parser("prune", help="delete finished jobs and old versions")
    listed = commands.add_parser("workers", help="who listens; exit code 1 if nobody does")
    listed.add_argument("--host", help="only workers of this host")
    give = commands.add_parser("hand-over", help="give one person's sessions to another")
    give.add_argument("--from", dest="giver", required=True, help="a name, or `local`")
    give.add_argument("--to", dest="taker", required=True, help="a name, e.g. an e-mail address")
    for command in (make, tidy, listed, give):
        command.add_argument("--url", help="database; default: BUCKETWISE_DATABASE_URL, else data/")
    for name, kind, text in (
        ("job_days", float, "keep finished jobs so long"),
        ("versions", int, "versions of a session to keep"),
        ("version_days", float, "keep older ones so long"),
    ):
        note = f"{text}; default: {SETTINGS[name]}, else {getattr(Retention(), name):g}"
        tidy.add_argument("--" + name.replace("_", "-"), type=kind, help=note)
    tidy.add_argument("--quiet", action="store_true", help="say nothing if nothing was deleted")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Returns the exit code; 2 with one sentence on stderr when it cannot be done."""
    args = build_parser().parse_args(argv)
    try:
        return COMMANDS[args.command](args.url or default_database_url(), args)
    except ProjectError as error:
        print(f"python -m core.store: {error}", file=sys.stderr)
        return 2


def _migrate(url: str, _: argparse.Namespace) -> int:
    migrate(url)
    print(f"Tables are up to date in {checked_url(url).render_as_string()}.")
    return 0


def _prune(url: str, args: argparse.Namespace) -> int:
    given = {name: getattr(args, name) for name in SETTINGS}
    given = {name: value for name, value in given.items() if value is not None}
    done = prune(url, replace(retention_setting(os.environ), **given))
    if done.anything or not args.quiet:
        print(done.text)
    return 0


def _workers(url: str, args: argparse.Namespace) -> int:
    engine = make_engine(url)
    try:
        found = [w for w in read_workers(engine) if args.host in (None, w.host) and w.alive]
    except exc.SQLAlchemyError as error:
        raise JobError(f"The database did not answer: {str(error).splitlines()[0]}.") from error
    finally:
        engine.dispose()
    for worker in found:
        print(f"{worker.executor_id} on {worker.queue}: {worker.device_name}, {worker.doing}")
    if not found:
        print("No worker listens.")
    return 0 if found else 1


def _hand_over(url: str, args: argparse.Namespace) -> int:
    done = hand_over(url, args.giver, args.taker)
    print(f"{args.taker} has what {args.giver} had in {done} sessions.")
    return 0


COMMANDS = {"migrate": _migrate, "prune": _prune, "workers": _workers, "hand-over": _hand_over}


if __name__ == "__main__":
    sys.exit(main())
