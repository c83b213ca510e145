"""`rules`: what an engine captures by its own rule, for a release and settings."""

from __future__ import annotations

import argparse
from typing import Any

from core.commands._engine import add_engine, chosen_engine, chosen_settings
from core.engines.ladder import as_ranges
from core.engines.plan import StepKind
from core.engines.protocol import Engine
from core.text.counting import counted

NAME = "rules"
HELP = "the list of capture sizes an engine uses by itself"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The engine, and --list for its settings and releases."""
    add_engine(parser)
    parser.add_argument(
        "--list", action="store_true", help="name the engine's releases and settings instead"
    )


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Keys of the JSON answer."""
    engine = chosen_engine(args)
    if args.list:
        return _declared(engine)
    settings = chosen_settings(args)
    answer = engine.default_sizes(args.version, settings)
    prefill = engine.default_sizes(args.version, settings, StepKind.PREFILL)
    plan = engine.plan(args.version, settings)
    release, *_ = engine.checked_values(args.version, settings)
    return {
        "engine": engine.id,
        "version": str(release),
        "sizes": list(answer.sizes),
        "count": len(answer.sizes),
        "unit": answer.unit.value,
        "decode": [{"mode": g.mode.value, "sizes": list(g.sizes)} for g in plan.decode],
        "prefill_sizes": list(prefill.sizes),
        "prefill_unit": prefill.unit.value,
        "graphs": plan.graphs,
        "notes": list(answer.notes),
        "source": answer.source,
    }


def _declared(engine: Engine) -> dict[str, Any]:
    return {
        "engine": engine.id,
        "versions": list(engine.versions),
        "settings": [
            {
                "name": setting.name,
                "type": setting.type.value,
                "default": setting.default,
                "choices": list(setting.choices),
                "help": setting.help,
            }
            for setting in engine.settings
        ],
    }


def text(result: dict[str, Any]) -> str:
    """For people."""
    if "settings" in result:
        lines = [f"{result['engine']}: releases {', '.join(result['versions'])}"]
        for setting in result["settings"]:
            words = f" ({', '.join(setting['choices'])})" if setting["choices"] else ""
            default = "unset" if setting["default"] is None else setting["default"]
            lines.append(f"  {setting['name']} = {default}{words}: {setting['help']}")
        return "\n".join(lines)
    sizes = as_ranges(result["sizes"]) if result["sizes"] else "none"
    lines = [f"{counted(result['count'], 'sizes')} in {result['unit']}: {sizes}"]
    if result["prefill_sizes"]:
        prefill = as_ranges(result["prefill_sizes"])
        lines.append(f"prefill, in {result['prefill_unit']}: {prefill}")
    lines.append(f"{counted(result['graphs'], 'graphs')}; {result['source']}")
    return "\n".join([*lines, *result["notes"]])
