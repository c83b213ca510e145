"""`python -m benchmarks.reliability kill | browsers | memory`."""

from __future__ import annotations

import argparse
import sys

import benchmarks.reliability as about


def build_parser() -> argparse.ArgumentParser:
    """One command a question."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.reliability",
        description=about.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    kill = commands.add_parser("kill", help="kill -9 at random moments, again and again")
    kill.add_argument("--rounds", type=int, default=200)
    kill.add_argument("--database", choices=("sqlite", "postgres"), default="sqlite")
    kill.add_argument("--seed", type=int, default=1)
    browsers = commands.add_parser("browsers", help="many browsers at once, beside a bare page")
    browsers.add_argument("--clients", type=int, default=50)
    browsers.add_argument("--seconds", type=float, default=180.0)
    browsers.add_argument("--seed", type=int, default=1)
    memory = commands.add_parser("memory", help="visitors come and go; is the memory flat?")
    memory.add_argument("--clients", type=int, default=12)
    memory.add_argument("--seconds", type=float, default=1800.0)
    memory.add_argument("--seed", type=int, default=1)
    return parser


def say(line: str) -> None:
    print(line, flush=True)


def kill(args: argparse.Namespace) -> list[str]:
    from benchmarks.reliability.kill import run_rounds
    from benchmarks.reliability.kill_table import table

    report = run_rounds(args.database, args.rounds, args.seed, say)
    say(table(report))
    return report.wrong


def browsers(args: argparse.Namespace) -> list[str]:
    from benchmarks.reliability.browsers import compare

    found = compare(args.clients, args.seconds, args.seed, say)
    return _counted([text for crowd in found for text in crowd.diary.errors])


def memory(args: argparse.Namespace) -> list[str]:
    from benchmarks.reliability.memory import use

    found = use(args.clients, args.seconds, args.seed, say)
    say(found.text())
    return _counted(found.diary.errors)


def _counted(errors: list[str]) -> list[str]:
    for text in sorted(set(errors)):
        say(f"- {errors.count(text)} x {text}")
    return errors


COMMANDS = {"kill": kill, "browsers": browsers, "memory": memory}


def main() -> int:
    """Returns 1 where something was lost, or a page showed an error."""
    args = build_parser().parse_args()
    return 1 if COMMANDS[args.command](args) else 0


if __name__ == "__main__":
    sys.exit(main())
