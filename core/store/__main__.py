"""`python -m core.store migrate`: make or update the tables of the set database."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from core.errors import ProjectError
from core.store.database import checked_url, default_database_url
from core.store.jobs import migrate


def main(argv: Sequence[str] | None = None) -> int:
    """Returns the exit code; 2 with one sentence on stderr when it cannot be done."""
    parser = argparse.ArgumentParser(prog="python -m core.store")
    parser.add_argument("command", choices=["migrate"], help="create or update the tables")
    parser.add_argument("--url", help="database; default: BUCKETWISE_DATABASE_URL, else data/")
    args = parser.parse_args(argv)
    try:
        url = args.url or default_database_url()
        migrate(url)
        print(f"Tables are up to date in {checked_url(url).render_as_string()}.")
    except ProjectError as error:
        print(f"python -m core.store: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
