"""`export`: a list of sizes as an engine's own setting, ready to paste."""

from __future__ import annotations

import argparse
from typing import Any

from core.commands._engine import add_engine, chosen_engine, chosen_settings
from core.commands._numbers import whole_list
from core.engines.export import export
from core.engines.plan import StepKind

NAME = "export"
HELP = "capture sizes as the engine's own flag, JSON or YAML"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The engine, the list, and which form of it."""
    add_engine(parser)
    add = parser.add_argument
    add("--sizes", type=whole_list, required=True, metavar="1,2,4", help="the chosen sizes")
    add("--prefill", action="store_true", help="the sizes are for prefill graphs")
    add("--form", metavar="NAME", help="flag, json, yaml, env, file or python, where there is one")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Keys of the JSON answer."""
    engine = chosen_engine(args)
    kind = StepKind.PREFILL if args.prefill else StepKind.DECODE
    found = export(engine, args.sizes, args.version, chosen_settings(args), kind)
    release, *_ = engine.checked_values(args.version)
    chosen = found.form(args.form) if args.form else found.forms[0]
    return {
        "engine": engine.id,
        "version": str(release),
        "form": chosen.name,
        "text": chosen.text,
        "warnings": list(found.warnings),
        "forms": {form.name: form.text for form in found.forms},
    }


def text(result: dict[str, Any]) -> str:
    """The text to paste; warnings follow as comments."""
    comments = [f"# {warning}" for warning in result["warnings"]]
    return "\n".join([result["text"].rstrip("\n"), *comments])
