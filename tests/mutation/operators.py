# SPDX-License-Identifier: Apache-2.0
"""The mutants of a source file: one small change of its syntax tree each.

Not mutated, since nobody's verdict depends on it: what a raised error says (its code, text, place and fix), docstrings, annotations, decorators,
`strict=` of zip, and what is only for type checkers.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq, ast.LtE, ast.GtE), ast.NotEq: (ast.Eq, ast.Lt, ast.Gt), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
}
_OPERATIONS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitOr,
}
_PAIRS = (("lower", "upper"), ("low", "high"), ("lows", "highs"), ("open_lower", "open_upper"), ("up", "down"), ("above", "below"), ("min", "max"),
          ("minimum", "maximum"), ("floor", "ceil"), ("any", "all"), ("snap_lower", "snap_upper"), ("zeros", "ones"), ("argmin", "argmax"))
_NAMES = {a: b for pair in _PAIRS for a, b in (pair, pair[::-1])}
_SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return, ast.Raise, ast.Delete)
_NOT_MUTATED = ("body", "orelse", "finalbody", "handlers", "annotation", "returns", "decorator_list", "type_params", "targets", "target", "bases",
                "keywords", "cause")
_TEXTS = ("strict", "where", "fix", "summary")
_BLOCKS = ("body", "orelse", "finalbody", "handlers")

Place = tuple[ast.AST, str, int | None]
"""A node, one of its fields, and an index where that field is a list."""


@dataclass(frozen=True)
class Mutant:
    """One change: `function` is a qualified name ("" for module level), `original` and `mutated` are one statement, or the head of one, in
    normal form; `nth` counts changes that read alike within a function. `lines` are those of the statement. `inside` says whether it is in the
    body of a function."""

    file: str
    function: str
    original: str
    mutated: str
    nth: int
    lines: tuple[int, ...]
    inside: bool
    tree: ast.Module
    place: Place
    new: ast.AST

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """What identifies the mutant, whatever the layout of the file is."""
        return self.file, self.function, self.original, self.mutated, self.nth

    def compiled(self) -> CodeType:
        """Return the code of the mutated file; the syntax tree is changed for good."""
        old = _put(self.place, self.new)
        for node in ast.walk(self.new):
            if not hasattr(node, "lineno") and hasattr(old, "lineno"):
                ast.copy_location(node, old)
        return compile(ast.fix_missing_locations(self.tree), self.file, "exec")

    def __str__(self) -> str:
        again = f" (number {self.nth})" if self.nth > 1 else ""
        return f"{self.file}:{self.lines[0]} {self.function or 'module'}{again}\n    - {self.original}\n    + {self.mutated}"


def mutants(path: Path, name: str) -> list[Mutant]:
    """Return the mutants of a file, in the order of the source; the file is called `name` in them."""
    tree = ast.parse(path.read_text("utf-8"))
    found: list[Mutant] = []
    seen: dict[tuple[str, str, str], int] = {}
    for statement, place, function, inside in _statements(tree, "", False):
        before, here = _head(statement), set()
        for at, new in _changes(statement, place):
            old = _put(at, new)
            changed = "pass" if isinstance(new, ast.Pass) else _head(statement)
            _put(at, old)
            if changed == before or changed in here:
                continue
            here.add(changed)
            key = (function, before, changed)
            seen[key] = seen.get(key, 0) + 1
            found.append(Mutant(name, function, before, changed, seen[key], _lines(statement), inside, tree, at, new))
    return found


def _statements(node: ast.AST, function: str, inside: bool) -> Iterator[tuple[ast.stmt, Place, str, bool]]:
    """Yield the statements below a node: each with its place, the function that it is in, and whether that is a function or a class."""
    for block in _BLOCKS:
        for index, child in enumerate(getattr(node, block, ()) if isinstance(getattr(node, block, ()), list) else ()):
            if isinstance(child, ast.excepthandler):
                yield from _statements(child, function, inside)
            elif not _is_prose(child) and not _is_for_type_checkers(child):
                yield child, (node, block, index), function, inside
                starts = isinstance(child, ast.FunctionDef | ast.ClassDef) and not inside
                yield from _statements(child, f"{function}.{child.name}".lstrip(".") if starts else function,
                                       inside or isinstance(child, ast.FunctionDef))


def _is_prose(statement: ast.stmt) -> bool:
    return (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)) or isinstance(statement, ast.Import | ast.ImportFrom)


def _is_for_type_checkers(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and isinstance(statement.test, ast.Name) and statement.test.id == "TYPE_CHECKING"


def _changes(statement: ast.stmt, place: Place) -> Iterator[tuple[Place, ast.AST]]:
    """Yield the changes of one statement, without those of the statements inside it: where, and by what."""
    if isinstance(statement, ast.Raise | ast.Continue | ast.Break) or _removable(statement):
        yield place, ast.Pass()
    if isinstance(statement, ast.Raise):
        return
    if isinstance(statement, ast.AugAssign) and type(statement.op) in _OPERATIONS:
        yield (statement, "op", None), _OPERATIONS[type(statement.op)]()
    for field, value in ast.iter_fields(statement):
        if field not in _NOT_MUTATED:
            for node, at in _walk(statement, field, value):
                yield from ((at, new) for new in _replacements(node, at))


def _removable(statement: ast.stmt) -> bool:
    """Return whether a statement can go and leave every name defined: a call, or a change of what was there before."""
    if isinstance(statement, ast.Expr | ast.AugAssign):
        return True
    if not isinstance(statement, ast.Assign):
        return False
    stored = [node for target in statement.targets for node in ast.walk(target) if isinstance(getattr(node, "ctx", None), ast.Store)]
    names = {node.id for node in stored if isinstance(node, ast.Name)}
    if any(isinstance(node, ast.Subscript | ast.Attribute) for node in stored):
        return not names
    return any(isinstance(node, ast.Name) and node.id in names for node in ast.walk(statement.value))


def _walk(owner: ast.AST, field: str, value: object) -> Iterator[tuple[ast.expr, Place]]:
    """Yield the expressions in a field of a node, with their places, outermost first."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            if isinstance(item, ast.AST):
                yield from _visit(item, (owner, field, index))
    elif isinstance(value, ast.AST):
        yield from _visit(value, (owner, field, None))


def _visit(node: ast.AST, place: Place) -> Iterator[tuple[ast.expr, Place]]:
    if isinstance(node, ast.keyword) and node.arg in _TEXTS:
        return
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("Rejected", "Declined", "UsageError", "malformed"):
        return
    if isinstance(node, ast.expr | ast.Slice):
        yield node, place
    for field, value in ast.iter_fields(node):
        if field not in ("annotation", "ctx", "format_spec"):
            yield from _walk(node, field, value)


def _replacements(node: ast.expr, place: Place) -> Iterator[ast.AST]:
    owner, field, _ = place
    if isinstance(owner, ast.If | ast.IfExp | ast.While) and field == "test" and not isinstance(node, ast.Constant):
        yield from (ast.Constant(value) for value in ((False,) if isinstance(owner, ast.While) else (True, False)))
    if isinstance(owner, ast.comprehension) and field == "ifs":
        yield from map(ast.Constant, (True, False))
    if isinstance(node, ast.Compare):
        yield from _compare(node)
    elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS and not isinstance(node.left, ast.JoinedStr):
        yield ast.BinOp(node.left, _OPERATIONS[type(node.op)](), node.right)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        for index in range(len(node.values)):
            rest = node.values[:index] + node.values[index + 1 :]
            yield rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub | ast.Invert) and not isinstance(node.operand, ast.Constant):
        yield node.operand
    elif isinstance(node, ast.Constant):
        yield from map(ast.Constant, _constants(node.value))
    elif isinstance(node, ast.Name) and node.id in _NAMES and isinstance(node.ctx, ast.Load):
        yield ast.Name(_NAMES[node.id], ast.Load())
    elif isinstance(node, ast.Attribute) and node.attr in _NAMES and isinstance(node.ctx, ast.Load):
        yield ast.Attribute(node.value, _NAMES[node.attr], ast.Load())
    elif isinstance(node, ast.Call):
        yield from _call(node)
    elif isinstance(node, ast.Slice):
        for end in ("lower", "upper"):
            value = getattr(node, end)
            if value is not None and not isinstance(value, ast.Constant):
                for operation in (ast.Add(), ast.Sub()):
                    moved = copy.copy(node)
                    setattr(moved, end, ast.BinOp(value, operation, ast.Constant(1)))
                    yield moved


def _compare(node: ast.Compare) -> Iterator[ast.AST]:
    unordered = any(isinstance(side, ast.Tuple | ast.Dict | ast.Set) or (isinstance(side, ast.Constant) and not isinstance(side.value, int | float))
                    for side in (node.left, *node.comparators))
    for index, operator in enumerate(node.ops):
        for new in _COMPARISONS[type(operator)]:
            if unordered and new in (ast.Lt, ast.LtE, ast.Gt, ast.GtE):
                continue
            yield ast.Compare(node.left, [*node.ops[:index], new(), *node.ops[index + 1 :]], node.comparators)


def _constants(value: object) -> tuple[object, ...]:
    if isinstance(value, bool):
        return (not value,)
    if isinstance(value, int):
        return (value + 1, value - 1) if value > 0 else (1, -1)
    if isinstance(value, float):
        return (value + 1.0, value - 1.0) if value else (1.0, -1.0)
    return ()


def _call(node: ast.Call) -> Iterator[ast.AST]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""
    if name == "where" and len(node.args) == 3:
        yield ast.Call(node.func, [node.args[0], node.args[2], node.args[1]], node.keywords)
    if name in ("abs", "sorted", "reversed", "frozenset", "set") and len(node.args) == 1:
        yield node.args[0]


def _lines(statement: ast.stmt) -> tuple[int, ...]:
    """Return the lines of a simple statement, or of the head of another one."""
    body = getattr(statement, "body", None)
    end = body[0].lineno - 1 if isinstance(body, list) and body and body[0].lineno > statement.lineno else statement.end_lineno or statement.lineno
    return tuple(range(statement.lineno, max(end, statement.lineno) + 1))


def _head(statement: ast.stmt) -> str:
    """Return a simple statement, or the head of another one, in normal form."""
    if isinstance(statement, _SIMPLE):
        return ast.unparse(statement)
    bare = copy.copy(statement)
    for block in _BLOCKS:
        if isinstance(getattr(bare, block, None), list):
            setattr(bare, block, [ast.Pass()] if block == "body" else [])
    if isinstance(bare, ast.Try):
        bare.finalbody = [ast.Pass()]
    if isinstance(bare, ast.FunctionDef | ast.ClassDef):
        bare.decorator_list = []
    return ast.unparse(bare).removesuffix("pass").rstrip()


def _put(place: Place, new: ast.AST) -> ast.AST:
    """Put a node into a place and return what was there."""
    owner, field, index = place
    holder: Any = getattr(owner, field)
    if index is None:
        setattr(owner, field, new)
        return holder  # type: ignore[no-any-return]
    old, holder[index] = holder[index], new
    return old  # type: ignore[no-any-return]
