"""`python -m core.store migrate | prune`: update the tables; delete what is past its time."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from core.errors import ProjectError
from core.store.database import checked_url, default_database_url
from core.store.jobs import migrate
from core.store.prune import Retention, prune


def build_parser() -> argparse.ArgumentParser:
    """Two commands, one database."""
    parser = argparse.ArgumentParser(prog="python -m core.store")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    default = Retention()
    make = commands.add_parser("migrate", help="create or update the tables")
    tidy = commands.add_parser("prune", help="delete finished jobs and old versions")
    for command in (make, tidy):
        command.add_argument("--url", help="database; default: BUCKETWISE_DATABASE_URL, else data/")
    tidy.add_argument(
        "--job-days", type=float, default=default.job_days, help="keep finished jobs so long"
    )
    tidy.add_argument(
        "--versions", type=int, default=default.versions, help="versions of a session to keep"
    )
    tidy.add_argument(
        "--version-days", type=float, default=default.version_days, help="keep older ones so long"
    )
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
            keep = Retention(
                job_days=args.job_days, versions=args.versions, version_days=args.version_days
            )
            print(prune(url, keep).text)
    except ProjectError as error:
        print(f"python -m core.store: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
