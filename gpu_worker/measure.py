"""Measure a spec from the command line, without the job engine:

    python -m gpu_worker.measure --spec spec.json --out profile.json
    python -m gpu_worker.measure --config config.json --sizes 1,2,4,8 --out profile.json
    python -m gpu_worker.measure --spec spec.json --context 512,2048,8192 --out profile.json

Several contexts give a profile each: profile-context-512.json and so on.
It runs as under a worker: in a process of its own, replaced after an error of the device.

    python -m gpu_worker.measure --spec vllm.json --context 256,2048 --tokens 512,2048,8192 \
        --out profile.json

With target "vllm" the engine that is installed here is measured, from one start without graphs and
one with its list; --tokens adds profile-prefill.json and profile-mixed.json.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from core.errors import ProjectError, RecordError, SettingError
from core.model.shape import shape_of_config
from core.model.step_bounds import check_step
from core.records import MeasureRow, MeasureSpec, Profile, spec_from_json, to_json_dict
from gpu_worker.driven.measuring import engine_specs, measure_engine, path_of, shaped
from gpu_worker.files import check_writable, read_json, write_text
from gpu_worker.session import Session
from gpu_worker.targets import check_target
from gpu_worker.targets.vllm.model_folder import allow_models

A_SPEC = 'what to measure, such as {"sizes": [1, 2, 4]},'


def measure_all(
    spec: MeasureSpec, on_row: Callable[[MeasureRow], None] = lambda row: None
) -> Profile:
    """Every bucket, largest first. Raises JobError if the model cannot be loaded."""
    if spec.of_engine:
        return measure_engine([shaped(spec)], lambda _, row: on_row(row))[0]
    session = Session(spec)
    try:
        device = session.open()
        rows: list[MeasureRow] = []
        for size in spec.measuring_order:
            captured = [row.size for row in rows if row.error is None]
            rows.append(session.measure(size, captured))
            on_row(rows[-1])
    finally:
        session.close()
    now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return Profile(device, spec, tuple(sorted(rows, key=lambda r: r.size)), now)


def main(argv: Sequence[str] | None = None) -> int:
    """Returns 0; 2 with one sentence on stderr when nothing could be measured."""
    parser = argparse.ArgumentParser(prog="python -m gpu_worker.measure")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--spec",
        type=Path,
        help="""what to measure, as JSON: {"sizes": [1, 2, 4]}; docs/worker.md lists the rest""",
    )
    what.add_argument("--config", type=Path, help="a model's config.json; with --sizes")
    parser.add_argument("--sizes", default="1,2,4,8,16,32", help="capture sizes, with --config")
    parser.add_argument("--context", metavar="512,2048", help="tokens, one or several")
    parser.add_argument("--target", default="llama", help="llama or llama-prefill, with --config")
    parser.add_argument("--tensor-parallel", type=int, default=1, help="ranks, with --config")
    parser.add_argument("--tokens", metavar="512,8192", help="of prompts, with target vllm")
    parser.add_argument("--models", type=Path, help="models may be read below here; target vllm")
    parser.add_argument("--out", type=Path, required=True, help="where the profile goes")
    args = parser.parse_args(argv)
    try:
        spec = _spec(args)
        check_target(spec.target)
        if spec.of_engine:
            return _engine(spec, args)
        if args.tokens or args.models:
            raise SettingError('--tokens and --models go with target "vllm".')
        wanted = _specs(spec, args)
        for spec, out in wanted:
            check_step(spec)
            check_writable(out)
        for spec, out in wanted:
            profile = measure_all(spec, lambda row: print(row_text(row), flush=True))
            write_text(out, json.dumps(to_json_dict(profile), indent=1) + "\n")
            print(f"{profile.source} -> {out}")
    except ProjectError as error:
        print(f"python -m gpu_worker.measure: {error}", file=sys.stderr)
        return 2
    return 0


def _engine(spec: MeasureSpec, args: argparse.Namespace) -> int:
    """Measure an installed engine. Returns 0; 1 where every row failed."""
    if args.models is not None:
        allow_models(args.models)
    contexts = _numbers(args.context, "--context") if args.context else []
    tokens = _numbers(args.tokens, "--tokens") if args.tokens else []
    wanted = engine_specs(spec, contexts, tokens)
    paths = [path_of(args.out, ending) for _, ending in wanted]
    for (one, _), path in zip(wanted, paths, strict=True):
        check_step(one)
        check_writable(path)

    def keep(number: int, profile: Profile) -> None:
        write_text(paths[number], json.dumps(to_json_dict(profile), indent=1) + "\n")
        print(f"{profile.source} -> {paths[number]}", flush=True)

    profiles = measure_engine(
        [one for one, _ in wanted],
        lambda one, row: print(f"{_point(one)} {row_text(row)}", flush=True),
        keep,
        on_eager=lambda one, size, times: print(f"{_point(one)} {size:6d}  eager", flush=True),
    )
    return int(all(row.error for profile in profiles for row in profile.rows))


def _point(spec: MeasureSpec) -> str:
    return f"{spec.target:12s} {spec.context_tokens:6d}"


def _specs(spec: MeasureSpec, args: argparse.Namespace) -> list[tuple[MeasureSpec, Path]]:
    """What to measure, a context each, and where each profile goes."""
    if args.context is None:
        return [(spec, args.out)]
    contexts = sorted(set(_numbers(args.context, "--context")))
    if len(contexts) == 1:
        return [(replace(spec, context_tokens=contexts[0]), args.out)]
    return [
        (
            replace(spec, context_tokens=context),
            args.out.with_name(f"{args.out.stem}-context-{context}{args.out.suffix}"),
        )
        for context in contexts
    ]


def _spec(args: argparse.Namespace) -> MeasureSpec:
    if args.spec:
        return spec_from_json(read_json(args.spec, A_SPEC), str(args.spec))
    source = args.config
    document = read_json(source, "a model's config.json")
    if not isinstance(document, dict):
        raise RecordError(f"{source} holds no JSON object; give a model's config.json.")
    read = shape_of_config(
        document, name=source.resolve().parent.name, tensor_parallel=args.tensor_parallel
    )
    for note in read.notes:
        print(f"note: {note}")
    sizes = tuple(_numbers(args.sizes, "--sizes"))
    return MeasureSpec(sizes, target=args.target, model=read.shape)


def _numbers(text: str, option: str) -> list[int]:
    """Raises SettingError naming the option and the part that is no whole number."""
    numbers = []
    for part in text.split(","):
        if not re.fullmatch(r"\s*\d{1,18}\s*", part):
            raise SettingError(
                f"{option} holds {part.strip()!r}; write whole numbers such as 1,2,4."
            )
        numbers.append(int(part))
    return numbers


def row_text(row: MeasureRow) -> str:
    """One line a bucket."""
    if row.error:
        return f"{row.size:6d}  {row.error}"
    parts = [f"{row.size:6d}", f"eager {row.eager_us or 0:10.1f} us"]
    if row.mode is not None:
        return "  ".join([*parts, *_engine_parts(row)])
    if row.replay_us is not None:
        parts += [
            f"replay {row.replay_us:10.1f} us",
            f"capture {row.capture_ms or 0:6.1f} ms",
            f"pool +{(row.pool_growth_bytes or 0) / 2**20:.0f} MiB",
            f"{row.achieved_gbps or 0:6.0f} GB/s",
            "equal" if row.equal else f"UNEQUAL by {row.max_abs_error}",
        ]
    return "  ".join(parts)


def _engine_parts(row: MeasureRow) -> list[str]:
    """How an engine with graphs ran the step."""
    us = row.beyond_us if row.replay_us is None else row.replay_us
    card = "" if row.replay_card_us is None else f" ({row.replay_card_us:.1f} on the card)"
    return [f"with graphs {us or 0:10.1f} us{card}", f"{row.mode} at {row.padded or 0} tokens"]


if __name__ == "__main__":
    sys.exit(main())
