# SPDX-License-Identifier: Apache-2.0
"""VNN-LIB 1.0: text to a specification with exact decimals.

Guarantee: the formula is the conjunction of all assertions as written (an `or` followed by an `assert` is a conjunction), every
decimal is the rational number it denotes (0.1 is 1/10), and whatever isn't in the grammar below is refused by code.
Grammar: `(declare-const X_i|Y_i Real)`, `(assert F)`, F = `(and F...)`, `(or F...)`, `(<= T T)`, `(>= T T)`, T = a decimal, a
variable, `(+ T...)`, `(- T...)`, `(* T T)` with a constant side; comments from `;` to the end of the line.

`vnnlib2` extends `Property` where VNN-LIB 2.0 differs: tokens, declarations, variables, numbers, more comparisons and factors.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from certify.errors import Declined
from certify.limits import Limits
from certify.readers.formula import Join, Node, Row, Specification

_COMMENT = re.compile(rb";[^\r\n]*")  # SMT-LIB: a comment ends with the first LF or CR
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)
_VARIABLE = re.compile(r"([XY])_(0|[1-9][0-9]{0,8})", re.ASCII)
_MOST_BYTES = 64 << 20
_MOST_DEPTH = 32

Tree = Any
"""A token, or a list of trees."""
Linear = tuple[dict[int, Fraction], dict[int, Fraction], Fraction]
"""Factors of inputs, factors of outputs, and a constant."""


def read_vnnlib1(data: bytes, limits: Limits) -> Specification:
    """Return the specification in the bytes of a VNN-LIB 1.0 file; raises Declined with a `vnnlib-` code."""
    made = Property(limits)
    made.read(data)
    for letter, indices in made.declared.items():
        if indices != set(range(len(indices))) or not indices:
            raise Declined("vnnlib-name", f"the variables {letter}_0, {letter}_1, ... have a gap or are missing",
                           fix="declare every variable once, from 0 on")
    if not made.assertions:
        raise made.syntax("no assertion")
    return Specification(len(made.declared["X"]), len(made.declared["Y"]), tuple(made.assertions))


class Property:
    """A property file that is being read: what is declared and asserted so far."""

    version = "1.0"
    token = re.compile(r"[()]|[^ \t\r\n();]+")
    command = "declare-const"
    comparisons: tuple[str, ...] = ("<=", ">=")
    refused = frozenset({"not", "!=", "=>", "xor", "ite", "let", "distinct", "<", ">", "==", "=", "vnnlib-version", "declare-network",
                         "declare-hidden"})

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.declared: dict[str, set[int]] = {"X": set(), "Y": set()}
        self.assertions: list[Node] = []

    def read(self, data: bytes) -> None:
        """Take the commands of a file in order; raises Declined with a `vnnlib-` code."""
        if len(data) > _MOST_BYTES:
            raise Declined("vnnlib-size", f"{len(data)} bytes, at most {_MOST_BYTES} are read", fix="split the property into several files")
        self.limits.within(80 * len(data), "memory", "memory for reading the property in bytes")
        self.limits.spend(100 * len(data), "reading the property")
        for line, command in self.trees(data):
            try:
                self.take(command)
            except Declined as trouble:
                trouble.where = f"line {line}"
                raise

    def trees(self, data: bytes) -> list[tuple[int, Tree]]:
        """Return the top-level trees with the lines on which they start."""
        try:
            text = _COMMENT.sub(b"", data).decode("ascii")
        except UnicodeDecodeError:
            raise self.syntax("a character outside ASCII that is not in a comment") from None
        stack: list[list[Tree]] = [[]]
        lines: list[int] = []
        line, seen = 1, 0
        for match in self.token.finditer(text):
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
                    raise self.syntax("a closing parenthesis too many")
                done = stack.pop()
                stack[-1].append(done)
            else:
                stack[-1].append(token)
        if len(stack) != 1:
            raise self.syntax(f"the parenthesis opened on line {line} is not closed: the file may be cut off")
        return list(zip(lines, stack[0], strict=True))

    def take(self, command: Tree) -> None:
        """Take one command into the declarations or the assertions."""
        if not isinstance(command, list) or not command or not isinstance(command[0], str):
            raise self.syntax(f"expected a command, found {shown(command)}")
        if command[0] == "assert" and len(command) == 2:
            self.assertions.append(self.formula(command[1]))
        else:
            self.declare(command)

    def declare(self, command: list[Tree]) -> None:
        """Take a declaration; any other command is refused."""
        if command[0] != "declare-const" or len(command) != 3:
            raise self.unsupported(command[0])
        name, sort = command[1], command[2]
        match = _VARIABLE.fullmatch(name) if isinstance(name, str) else None
        if match is None or sort != "Real":
            raise Declined("vnnlib-name", f"{shown(name)} of type {shown(sort)}: variables are X_i and Y_i of type Real",
                           fix="declare X_0, X_1, ... and Y_0, Y_1, ...")
        letter, index = match.group(1), int(match.group(2))
        if index in self.declared[letter]:
            raise Declined("vnnlib-name", f"{name} is declared twice", fix="declare every variable once")
        self.declared[letter].add(index)

    def formula(self, tree: Tree) -> Node:
        """Return the formula that a tree denotes."""
        if not isinstance(tree, list) or not tree or not isinstance(tree[0], str):
            raise self.syntax(f"expected a formula, found {shown(tree)}")
        word, items = tree[0], tree[1:]
        if word in ("and", "or"):
            if not items:
                raise self.syntax(f"an empty ({word})")
            return Join("and" if word == "and" else "or", tuple(self.formula(item) for item in items))
        if word not in self.comparisons:
            raise self.unsupported(word)
        if len(items) != 2:
            raise self.syntax(f"{word} takes two sides, found {len(items)}")
        low, high = (self.linear(item) for item in (items[::-1] if word in (">=", ">") else items))
        return self.comparison(word, low, high)

    def comparison(self, word: str, low: Linear, high: Linear) -> Node:
        """Return the formula low <= high, or low < high."""
        inputs, outputs, constant = self.sum([(low, Fraction(1)), (high, Fraction(-1))])
        return Row(_nonzero(inputs), _nonzero(outputs), constant, word in ("<", ">"))

    def linear(self, tree: Tree) -> Linear:
        """Return the linear term that a tree denotes."""
        if isinstance(tree, str):
            return self.operand(tree)
        if not tree or not isinstance(tree[0], str):
            raise self.syntax(f"expected a term, found {shown(tree)}")
        word, items = tree[0], [self.linear(item) for item in tree[1:]]
        if word not in ("+", "-", "*"):
            raise self.unsupported(word)
        if not items or (word == "*" and len(items) != 2):
            raise self.syntax(f"{len(items)} operands of {word}")
        if word == "*":
            return self.product(*items)
        if word == "-" and len(items) == 1:
            return self.sum([(items[0], Fraction(-1))])
        later = Fraction(-1 if word == "-" else 1)
        return self.sum([(item, later if index else Fraction(1)) for index, item in enumerate(items)])

    def operand(self, token: str) -> Linear:
        """Return the variable or number that a token denotes."""
        if match := _VARIABLE.fullmatch(token):
            letter, index = match.group(1), int(match.group(2))
            if index not in self.declared[letter]:
                raise Declined("vnnlib-name", f"{token} is not declared", fix="declare every variable before it is used")
            one = {index: Fraction(1)}
            return (one, {}, Fraction(0)) if letter == "X" else ({}, one, Fraction(0))
        return self.number(token, _NUMBER, "write numbers as 0.5 or 1e-3", "variables are X_i and Y_i")

    def number(self, token: str, pattern: re.Pattern[str], number_fix: str, name_fix: str) -> Linear:
        """Return the decimal number that a token denotes."""
        if not pattern.fullmatch(token):
            known = token[:1].isdigit() or token[:1] in "+-."
            raise (Declined("vnnlib-number", f"{shown(token)} is not a decimal number", fix=number_fix) if known else
                   Declined("vnnlib-name", f"{shown(token)} is not a variable of this file", fix=name_fix))
        if len(token) > 1000:
            raise Declined("vnnlib-number", f"a number of {len(token)} characters, at most 1000 are read", fix="write numbers with fewer digits")
        exponent = re.search(r"[eE][+-]?(\d+)", token)
        self.limits.spend(10 * (int(exponent.group(1)) // 19) ** 2 if exponent else 0, "reading a number of the property")
        return {}, {}, Fraction(token)

    def product(self, left: Linear, right: Linear) -> Linear:
        """Return left * right; raises Declined `vnnlib-nonlinear` if both have variables."""
        if (left[0] or left[1]) and (right[0] or right[1]):
            raise Declined("vnnlib-nonlinear", "a product of two variables", fix="only linear constraints are supported")
        factor, term = (right[2], left) if left[0] or left[1] else (left[2], right)
        return self.sum([(term, factor)])

    def sum(self, terms: list[tuple[Linear, Fraction]]) -> Linear:
        """Return the sum of factor * term."""
        inputs: dict[int, Fraction] = {}
        outputs: dict[int, Fraction] = {}
        constant = Fraction(0)
        for (left, right, number), factor in terms:
            cost = _cost(constant, number) + sum(_cost(v, factor) for v in (number, *left.values(), *right.values()))
            self.limits.spend(cost, "adding up the terms of the property")
            constant += factor * number
            for target, source in ((inputs, left), (outputs, right)):
                for index, value in source.items():
                    target[index] = target.get(index, Fraction(0)) + factor * value
        return inputs, outputs, constant

    def syntax(self, what: str) -> Declined:
        """Return the error for text outside the grammar."""
        return Declined("vnnlib-syntax", what, fix=f"check the file against the VNN-LIB {self.version} grammar")

    def unsupported(self, word: str) -> Declined:
        """Return the error for a word that is not read here."""
        known = f"and, or, {', '.join(self.comparisons)}"
        if word in self.refused:
            return Declined("vnnlib-operator", f"{word!r} is not supported in VNN-LIB {self.version} files", fix=f"write the property with {known}")
        return self.syntax(f"unknown word {shown(word)}: {self.command}, assert, {known}, +, -, * are known")


def shown(tree: Tree) -> str:
    """Return a token, cut to 40 characters, or what a tree is."""
    return repr(tree if len(tree) <= 40 else tree[:40]) if isinstance(tree, str) else "a parenthesis"


def _cost(left: Fraction, right: Fraction) -> int:
    """Return the cost of arithmetic with two rationals: quadratic in their length in words."""
    words = (left.numerator.bit_length() + left.denominator.bit_length() + right.numerator.bit_length() + right.denominator.bit_length()) // 64
    return 50 + 10 * words * words


def _nonzero(terms: dict[int, Fraction]) -> dict[int, Fraction]:
    return {index: value for index, value in terms.items() if value != 0}
