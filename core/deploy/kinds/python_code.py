"""Python that starts an engine: the keywords of `LLM(...)`, `Engine(...)` and their likes.

Nothing is run: literals, names that are assigned once to a literal, `dict(..)`, config classes and
the defaults of environment variables are read; anything else is open under its own words.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from typing import Any

from core.deploy.container import Container
from core.deploy.kinds.kind import Kind, Source
from core.deploy.marks import mark_of, mark_of_command
from core.deploy.roles import role_of
from core.deploy.shell.budget import MOST_SCRIPT_CHARS

_CALLS = {"LLM", "AsyncEngineArgs", "EngineArgs", "Engine", "ServerArgs", "PytorchEngineConfig"}
_SIGN = re.compile(rf"\b(?:{'|'.join(sorted(_CALLS))})\s*\(")
_PACKAGES = {"vllm": "vllm", "sglang": "sglang", "tensorrt_llm": "trtllm", "lmdeploy": "lmdeploy"}
_ENVIRONMENT = ("get", "getenv")


def detect(source: Source) -> bool:
    return bool(_SIGN.search(source.text)) and bool(_calls(_tree(source.text)))


def read(source: Source) -> Iterator[Container]:
    """One container for each call that makes an engine."""
    tree = _tree(source.text)
    engine = _imported(tree)
    names: dict[str, Any] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            again = name in names or len(node.targets) > 1
            names[name] = mark_of(name) if again else _value(node.value, names)
    names |= source.variables
    for call in _calls(tree):
        settings = {k.arg: _value(k.value, names) for k in call.keywords if k.arg is not None}
        open_ = [k for k in call.keywords if k.arg is None]
        notes = tuple(f"line {call.lineno}: **{_words(k.value)} is not read." for k in open_)
        name = f"line {call.lineno}"
        yield Container(name, role_of(name), settings=settings, engine=engine, notes=notes)


def _tree(text: str) -> ast.Module:
    """The syntax tree; an empty one for what is no Python."""
    if len(text) > MOST_SCRIPT_CHARS:
        return ast.Module([], [])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return ast.Module([], [])


def _calls(tree: ast.Module) -> list[ast.Call]:
    found = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    calls = [node for node in found if _called(node) in _CALLS and node.keywords]
    return sorted(calls, key=lambda node: node.lineno)


def _called(node: ast.Call) -> str:
    """The last part of what is called."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _imported(tree: ast.Module) -> str | None:
    """The engine whose package is imported, where it is one alone."""
    modules: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules.add((node.module or "").partition(".")[0])
    engines = {_PACKAGES[name] for name in modules if name in _PACKAGES}
    return engines.pop() if len(engines) == 1 else None


def _value(node: ast.expr, names: dict[str, Any]) -> Any:
    """A literal, a known name, a dict or config of such; else a mark."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str | int | float | None) else _open(node)
    if isinstance(node, ast.List | ast.Tuple):
        return [_value(item, names) for item in node.elts]
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return {str(_value(k, names)): _value(v, names) for k, v in pairs if k is not None}
    if isinstance(node, ast.Name):
        return names.get(node.id, mark_of(node.id))
    if isinstance(node, ast.Call):
        return _called_value(node, names)
    if isinstance(node, ast.Attribute) and not isinstance(node.value, ast.Name):
        return _open(node)
    if isinstance(node, ast.Attribute) and node.attr.isupper():
        return node.attr  # a member of an enumeration
    return _open(node)


def _called_value(node: ast.Call, names: dict[str, Any]) -> Any:
    """int(..), os.getenv(name, default), and classes that only hold keywords."""
    called = _called(node)
    if called in ("int", "str", "float") and len(node.args) == 1:
        return _value(node.args[0], names)
    if called in _ENVIRONMENT and node.args and "env" in ast.unparse(node.func):
        name = str(_value(node.args[0], names))
        default = _value(node.args[1], names) if len(node.args) == 2 else mark_of(name)
        return names.get(name, default)
    if not node.args and (called == "dict" or called[:1].isupper()):
        return {k.arg: _value(k.value, names) for k in node.keywords if k.arg is not None}
    return _open(node)


def _open(node: ast.expr) -> str:
    return mark_of_command(_words(node))


def _words(node: ast.expr) -> str:
    return ast.unparse(node)


KIND = Kind("Python", 85, detect, read)
