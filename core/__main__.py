"""The command line: `python -m core COMMAND`; one module a command under core/commands.

Exit 0: answered. Exit 2: bad input, with one sentence on stderr. Exit 1: whoever read stdout, such
as `head`, left before the end. Never a traceback.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pkgutil
import sys
from collections.abc import Sequence
from typing import NoReturn

from core import commands
from core.errors import ProjectError


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One sentence instead of a usage block."""
        self.exit(2, f"{self.prog}: {message}. See `{self.prog} --help`.\n")


def build_parser() -> argparse.ArgumentParser:
    """A sub-command a module of core/commands: NAME, HELP, add_arguments, run, text."""
    parser = _Parser(
        prog="python -m core", description="Everything the pages compute, for scripts."
    )
    sub = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for info in sorted(pkgutil.iter_modules(commands.__path__), key=lambda info: info.name):
        if info.name.startswith("_"):
            continue
        module = importlib.import_module(f"core.commands.{info.name}")
        command = sub.add_parser(module.NAME, help=module.HELP, description=module.HELP)
        command.add_argument("--json", action="store_true", help="one JSON object on stdout")
        module.add_arguments(command)
        command.set_defaults(module=module)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code, 1 where nobody reads the answer to its end."""
    try:
        try:
            return _answer(argv)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        # What is left in the buffer goes nowhere, or the interpreter complains at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _answer(argv: Sequence[str] | None) -> int:
    args = build_parser().parse_args(argv)
    try:
        result = args.module.run(args)
    except ProjectError as error:
        print(f"python -m core {args.command}: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        raise
    except OSError as error:
        where = error.filename or "input"
        print(
            f"python -m core {args.command}: {where}: {error.strerror or error}.", file=sys.stderr
        )
        return 2
    print(json.dumps(result, allow_nan=False) if args.json else args.module.text(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
