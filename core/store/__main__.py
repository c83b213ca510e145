"""`python -m core.store migrate | prune`: update the tables; delete what is past its time."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import replace

from core.errors import ProjectError
from core.store.database import checked_url, default_database_url
from core.store.engine import migrate
from core.store.prune import SETTINGS, Retention, prune, retention_setting


def build_parser() -> argparse.ArgumentParser:
    """Two commands, one database."""
    parser = argparse.ArgumentParser(prog="python -m core.store")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    make = commands.add_parser("migrate", help="create or update the tables")
    tidy = commands.add_parser("prune", help="delete finished jobs and old versions")
    for command in (make, tidy):
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
        url = args.url or default_database_url()
        if args.command == "migrate":
            migrate(url)
            print(f"Tables are up to date in {checked_url(url).render_as_string()}.")
        else:
            given = {name: getattr(args, name) for name in SETTINGS}
            given = {name: value for name, value in given.items() if value is not None}
            done = prune(url, replace(retention_setting(os.environ), **given))
            if done.anything or not args.quiet:
                print(done.text)
    except ProjectError as error:
        print(f"python -m core.store: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
