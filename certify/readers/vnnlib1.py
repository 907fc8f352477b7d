# SPDX-License-Identifier: Apache-2.0
"""VNN-LIB 1.0: text to a specification with exact decimals.

Guarantee: the formula is the conjunction of all assertions as written (an `or` followed by an `assert` is a conjunction), every
decimal is the rational number it denotes (0.1 is 1/10), and whatever isn't in the grammar below is refused by code.
Grammar: `(declare-const X_i|Y_i Real)`, `(assert F)`, F = `(and F...)`, `(or F...)`, `(<= T T)`, `(>= T T)`, T = a decimal, a
variable, `(+ T...)`, `(- T...)`, `(* T T)` with a constant side; comments from `;` to the end of the line.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from certify.errors import Declined
from certify.limits import Limits
from certify.readers.formula import Join, Node, Row, Specification

_TOKEN = re.compile(r"[()]|[^ \t\r\n();]+")
_COMMENT = re.compile(rb";[^\r\n]*")  # SMT-LIB: a comment ends with the first LF or CR
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)
_VARIABLE = re.compile(r"([XY])_(0|[1-9][0-9]{0,8})", re.ASCII)
_MOST_BYTES = 64 << 20
_MOST_DEPTH = 32
_REFUSED = frozenset({"not", "!=", "=>", "xor", "ite", "let", "declare-hidden", "declare-network", "distinct"})
_STRICT = frozenset({"<", ">", "==", "=", "vnnlib-version"})

Tree = Any
"""A token, or a list of trees."""
_Linear = tuple[dict[int, Fraction], dict[int, Fraction], Fraction]


def read_vnnlib1(data: bytes, limits: Limits) -> Specification:
    """Return the specification in the bytes of a VNN-LIB 1.0 file; raises Declined with a `vnnlib-` code."""
    if len(data) > _MOST_BYTES:
        raise Declined("vnnlib-size", f"{len(data)} bytes, at most {_MOST_BYTES} are read", fix="split the property into several files")
    limits.within(80 * len(data), "memory", "memory for reading the property in bytes")
    limits.spend(100 * len(data), "reading the property")
    declared: dict[str, set[int]] = {"X": set(), "Y": set()}
    assertions: list[Node] = []
    for line, command in _commands(data):
        try:
            _run(command, declared, assertions, limits)
        except Declined as trouble:
            trouble.where = f"line {line}"
            raise
    for letter, indices in declared.items():
        if indices != set(range(len(indices))) or not indices:
            raise Declined("vnnlib-name", f"the variables {letter}_0, {letter}_1, ... have a gap or are missing",
                           fix="declare every variable once, from 0 on")
    if not assertions:
        raise _syntax("no assertion")
    return Specification(len(declared["X"]), len(declared["Y"]), tuple(assertions))


def _run(command: Tree, declared: dict[str, set[int]], assertions: list[Node], limits: Limits) -> None:
    """Take one command into the declarations or the assertions."""
    if not isinstance(command, list) or not command or not isinstance(command[0], str):
        raise _syntax(f"expected a command, found {_shown(command)}")
    if command[0] == "declare-const" and len(command) == 3:
        _declare(command, declared)
    elif command[0] == "assert" and len(command) == 2:
        assertions.append(_formula(command[1], declared, limits))
    else:
        raise _unsupported(command[0])


def _commands(data: bytes) -> list[tuple[int, Tree]]:
    """Return the top-level trees with the lines on which they start."""
    try:
        text = _COMMENT.sub(b"", data).decode("ascii")
    except UnicodeDecodeError:
        raise _syntax("a character outside ASCII that is not in a comment") from None
    stack: list[list[Tree]] = [[]]
    lines: list[int] = []
    line, seen = 1, 0
    for match in _TOKEN.finditer(text):
        token = match.group()
        if len(stack) == 1:
            line, seen = line + text.count("\n", seen, match.start()), match.start()
            lines += [line] if token != ")" else []
        if token == "(":
            stack.append([])
            if len(stack) > _MOST_DEPTH + 1:
                raise Declined("vnnlib-size", f"nested deeper than {_MOST_DEPTH}", fix="write the property with fewer parentheses")
        elif token == ")":
            if len(stack) == 1:
                raise _syntax("a closing parenthesis too many")
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(token)
    if len(stack) != 1:
        raise _syntax(f"the parenthesis opened on line {line} is not closed: the file may be cut off")
    return list(zip(lines, stack[0], strict=True))


def _declare(command: list[Tree], declared: dict[str, set[int]]) -> None:
    name, sort = command[1], command[2]
    match = _VARIABLE.fullmatch(name) if isinstance(name, str) else None
    if match is None or sort != "Real":
        raise Declined("vnnlib-name", f"{_shown(name)} of type {_shown(sort)}: variables are X_i and Y_i of type Real",
                       fix="declare X_0, X_1, ... and Y_0, Y_1, ...")
    letter, index = match.group(1), int(match.group(2))
    if index in declared[letter]:
        raise Declined("vnnlib-name", f"{name} is declared twice", fix="declare every variable once")
    declared[letter].add(index)


def _formula(tree: Tree, declared: dict[str, set[int]], limits: Limits) -> Node:
    if not isinstance(tree, list) or not tree or not isinstance(tree[0], str):
        raise _syntax(f"expected a formula, found {_shown(tree)}")
    word, items = tree[0], tree[1:]
    if word in ("and", "or"):
        if not items:
            raise _syntax(f"an empty ({word})")
        return Join("and" if word == "and" else "or", tuple(_formula(item, declared, limits) for item in items))
    if word not in ("<=", ">="):
        raise _unsupported(word)
    if len(items) != 2:
        raise _syntax(f"{word} takes two sides, found {len(items)}")
    left, right = (_linear(item, declared, limits) for item in (items if word == "<=" else items[::-1]))
    inputs, outputs, constant = _sum([(left, Fraction(1)), (right, Fraction(-1))], limits)
    return Row(_nonzero(inputs), _nonzero(outputs), constant)


def _linear(tree: Tree, declared: dict[str, set[int]], limits: Limits) -> _Linear:
    if isinstance(tree, str):
        return _operand(tree, declared, limits)
    if not tree or not isinstance(tree[0], str):
        raise _syntax(f"expected a term, found {_shown(tree)}")
    word, items = tree[0], [_linear(item, declared, limits) for item in tree[1:]]
    if word not in ("+", "-", "*"):
        raise _unsupported(word)
    if not items or (word == "*" and len(items) != 2):
        raise _syntax(f"{len(items)} operands of {word}")
    if word == "*":
        left, right = items
        if (left[0] or left[1]) and (right[0] or right[1]):
            raise Declined("vnnlib-nonlinear", "a product of two variables", fix="only linear constraints are supported")
        factor, term = (right[2], left) if left[0] or left[1] else (left[2], right)
        return _sum([(term, factor)], limits)
    if word == "-" and len(items) == 1:
        return _sum([(items[0], Fraction(-1))], limits)
    later = Fraction(-1 if word == "-" else 1)
    return _sum([(item, later if index else Fraction(1)) for index, item in enumerate(items)], limits)


def _operand(token: str, declared: dict[str, set[int]], limits: Limits) -> _Linear:
    if match := _VARIABLE.fullmatch(token):
        letter, index = match.group(1), int(match.group(2))
        if index not in declared[letter]:
            raise Declined("vnnlib-name", f"{token} is not declared", fix="declare every variable before it is used")
        one = {index: Fraction(1)}
        return (one, {}, Fraction(0)) if letter == "X" else ({}, one, Fraction(0))
    if not _NUMBER.fullmatch(token):
        known = token[:1].isdigit() or token[:1] in "+-."
        raise (Declined("vnnlib-number", f"{_shown(token)} is not a decimal number", fix="write numbers as 0.5 or 1e-3") if known else
               Declined("vnnlib-name", f"{_shown(token)} is not a variable of this file", fix="variables are X_i and Y_i"))
    if len(token) > 1000:
        raise Declined("vnnlib-number", f"a number of {len(token)} characters, at most 1000 are read", fix="write numbers with fewer digits")
    exponent = re.search(r"[eE][+-]?(\d+)", token)
    limits.spend(10 * (int(exponent.group(1)) // 19) ** 2 if exponent else 0, "reading a number of the property")
    return {}, {}, Fraction(token)


def _sum(terms: list[tuple[_Linear, Fraction]], limits: Limits) -> _Linear:
    """Return the sum of factor * term."""
    inputs: dict[int, Fraction] = {}
    outputs: dict[int, Fraction] = {}
    constant = Fraction(0)
    for (left, right, number), factor in terms:
        limits.spend(sum(_cost(value, factor) for value in (number, *left.values(), *right.values())), "adding up the terms of the property")
        limits.spend(_cost(constant, number), "adding up the terms of the property")
        constant += factor * number
        for target, source in ((inputs, left), (outputs, right)):
            for index, value in source.items():
                target[index] = target.get(index, Fraction(0)) + factor * value
    return inputs, outputs, constant


def _cost(left: Fraction, right: Fraction) -> int:
    """Return the cost of arithmetic with two rationals: quadratic in their length in words."""
    words = (left.numerator.bit_length() + left.denominator.bit_length() + right.numerator.bit_length() + right.denominator.bit_length()) // 64
    return 50 + 10 * words * words


def _nonzero(terms: dict[int, Fraction]) -> dict[int, Fraction]:
    return {index: value for index, value in terms.items() if value != 0}


def _syntax(what: str) -> Declined:
    return Declined("vnnlib-syntax", what, fix="check the file against the VNN-LIB 1.0 grammar")


def _unsupported(word: str) -> Declined:
    if word in _STRICT or word in _REFUSED:
        return Declined("vnnlib-operator", f"{word!r} is not supported in VNN-LIB 1.0 files", fix="write the property with and, or, <=, >=")
    return _syntax(f"unknown word {_shown(word)}: declare-const, assert, and, or, <=, >=, +, -, * are known")


def _shown(tree: Tree) -> str:
    return repr(tree if len(tree) <= 40 else tree[:40]) if isinstance(tree, str) else "a parenthesis"
