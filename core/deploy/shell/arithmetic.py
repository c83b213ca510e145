"""`$(( ... ))`: whole-number arithmetic of the shell, by hand."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable

LARGEST = 2**63
_SUMS: dict[type, Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}


def evaluated(expression: str) -> int | None:
    """The value of numbers and operators; None for anything that is not understood.

    Division rounds towards zero, as in the shell.
    """
    try:
        tree = ast.parse(expression.replace("/", "//").strip(), mode="eval")
        value = _value(tree.body)
    except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError):
        return None
    return value if abs(value) < LARGEST else None


def _value(node: ast.expr) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        value = _value(node.operand)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp):
        return _sum(node.op, _value(node.left), _value(node.right))
    raise ValueError


def _sum(op: ast.operator, left: int, right: int) -> int:
    if isinstance(op, ast.FloorDiv | ast.Mod):
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return quotient if isinstance(op, ast.FloorDiv) else left - quotient * right
    if isinstance(op, ast.Pow | ast.LShift | ast.RShift):
        if not 0 <= right < 64:
            raise ValueError
        if isinstance(op, ast.Pow):
            return left**right
        return left << right if isinstance(op, ast.LShift) else left >> right
    if type(op) not in _SUMS:
        raise ValueError
    return _SUMS[type(op)](left, right)
