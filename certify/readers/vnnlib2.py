# SPDX-License-Identifier: Apache-2.0
"""VNN-LIB 2.0: text to a specification with exact decimals, for queries about one network with one input and one output.

Guarantee: the formula is the conjunction of all assertions as written over the reals: `<` and `>` are strict, `==` is the conjunction
of `<=` and `>=`, `X[i,j]` is the element of the tensor X at that place in C order, every decimal is the rational number it denotes.
Whatever isn't in the grammar below is refused by code. Element types don't change the meaning.
Grammar: `(vnnlib-version <2.0>)`, then `(declare-network NAME (declare-input NAME TYPE SHAPE) (declare-output NAME TYPE SHAPE))`, then
`(assert F)`...; TYPE = `real`, `Real` or `float32`; SHAPE = `[]` (one number) or `[n,...]`; F = `(and F...)`, `(or F...)`, `(C T T)`
with C = `<=`, `>=`, `<`, `>` or `==`; T = a decimal, `X` (of shape `[]`), `X[i,...]`, `(+ T...)`, `(- T...)`, `(* T T...)` with at most one
factor with variables; a decimal = digits, `-` before them, `.` and digits behind them; comments from `;` to the end of the line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from certify.errors import Declined
from certify.limits import Limits
from certify.readers.formula import Join, Node, Specification
from certify.readers.vnnlib1 import Linear, Property, Tree, shown

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_INDEXED = re.compile(r"([A-Za-z][A-Za-z0-9_]*)(?:[ \t\r\n]*\[([^\]]*)\])?")
_INTEGER = re.compile(r"[ \t\r\n]*(0|[1-9][0-9]{0,8})[ \t\r\n]*")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_FIRST_WORD = re.compile(rb"(?:[ \t\r\n]|;[^\n]*+)*+\([ \t\r\n]*+([^ \t\r\n();]*)")
_LONE_RETURN = re.compile(rb"\r(?!\n)")
_TYPES = ("real", "Real", "float32")  # `real` is the standard's word; `Real` was, and is in many files
_RESERVED = ("and", "or")
_MOST_ELEMENTS = 1 << 28  # as many as the ONNX reader reads


def declared_format(data: bytes) -> str:
    """Return the value of the claim's field `format` that fits a property file, by its first command; no promise that it can be read."""
    first = _FIRST_WORD.match(data)
    return "vnnlib-2" if first is not None and first.group(1) in (b"vnnlib-version", b"declare-network") else "vnnlib-1"


def read_vnnlib2(data: bytes, limits: Limits, input_shape: Sequence[int] | None = None,
                 output_shape: Sequence[int] | None = None) -> Specification:
    """Return the specification in the bytes of a VNN-LIB 2.0 file; raises Declined with a `vnnlib-` code.

    With `input_shape` and `output_shape`, those of the network, a tensor declared in an order of elements that may differ is refused.
    """
    made = _Property2(limits)
    made.read(data)
    if not made.versioned:
        raise made.syntax("the file does not begin with one (vnnlib-version <2.0>)")
    if not made.tensors:
        raise made.syntax("no network is declared")
    if not made.assertions:
        raise made.syntax("no assertion")
    source, result = made.tensors.values()
    for word, declared, graph in (("input", source.shape, input_shape), ("output", result.shape, output_shape)):
        if graph is not None and not _same_order(declared, graph):
            raise Declined("vnnlib-shape", f"the property declares an {word} of shape {list(declared)}, the network has {list(graph)}",
                           fix=f"declare the shape of the network's {word}, or a flat one")
    return Specification(source.size, result.size, tuple(made.assertions))


@dataclass(frozen=True)
class _Tensor:
    shape: tuple[int, ...]
    size: int
    is_input: bool


class _Property2(Property):
    """A property in VNN-LIB 2.0, with the tensors declared so far: none, or the input and the output."""

    version = "2.0"
    # A name and the brackets behind it are one token. The last alternative takes whatever is left, so no character is skipped.
    token = re.compile(r"[()]|[A-Za-z][A-Za-z0-9_]*+[ \t\r\n]*+\[[^\[\]()]*+\](?=[ \t\r\n()]|\Z)|[^ \t\r\n()]+")
    command = "vnnlib-version, declare-network, declare-input, declare-output"
    comparisons = ("<=", ">=", "<", ">", "==")
    refused = frozenset({"not", "!=", "=", "=>", "xor", "ite", "let", "distinct", "declare-const", "declare-hidden", "isomorphic-to", "equal-to"})

    def __init__(self, limits: Limits) -> None:
        super().__init__(limits)
        self.versioned = False
        self.tensors: dict[str, _Tensor] = {}

    def trees(self, data: bytes) -> list[tuple[int, Tree]]:
        """Return the top-level trees with the lines on which they start."""
        if _LONE_RETURN.search(data):  # SMT-LIB ends a comment there, the reference parser of 2.0 goes on to the line feed
            raise self.syntax("a carriage return without a line feed")
        return super().trees(data)

    def declare(self, command: list[Tree]) -> None:
        """Take the version or the network; any other command is refused."""
        word = command[0]
        if word in ("assert", "vnnlib-version") and len(command) != 2:
            raise self.syntax(f"{word} takes one item, found {len(command) - 1}")
        is_first = not self.versioned and not self.assertions
        if (word == "vnnlib-version") != is_first:
            raise self.syntax("the file does not begin with one (vnnlib-version <2.0>)")
        if word == "vnnlib-version":
            if command[1] != "<2.0>":
                raise self._feature(f"version {shown(command[1])}", "this reader knows <2.0>")
            self.versioned = True
        elif word == "declare-network":
            if self.tensors:
                raise self._feature("a second network", "state the property about one network")
            if self.assertions:
                raise self.syntax("a network declared after an assertion")
            self._network(command)
        else:
            raise self.unsupported(word)

    def _network(self, command: list[Tree]) -> None:
        if len(command) < 2 or not isinstance(command[1], str) or not self._is_name(command[1]):
            raise Declined("vnnlib-name", "a network without a name", fix="give the network a name of letters, digits and underscores")
        items = command[2:]
        words = [item[0] if isinstance(item, list) and item and isinstance(item[0], str) else "" for item in items]
        for item, word in zip(items, words, strict=True):
            if not word:
                raise self.syntax(f"expected a declaration, found {shown(item)}")
            if word not in ("declare-input", "declare-output"):
                raise self.unsupported(word)
        if words.count("declare-input") > 1 or words.count("declare-output") > 1:
            raise self._feature("a network of several inputs or outputs", "state the property about a network with one input and one output")
        if words != ["declare-input", "declare-output"]:
            raise self.syntax("a network declares one input, then one output")
        for item in items:
            self._tensor(item)

    def _tensor(self, item: list[Tree]) -> None:
        if len(item) < 3 or not all(isinstance(part, str) for part in item):
            raise self.syntax(f"{item[0]} takes a name, a type and a shape")
        name, typed, *options = item[1:]
        if options and (options[0] == "initialized" or options[0].startswith('"')):
            raise self._feature("the name of an ONNX node, or an initialized input", "leave it out: the network has one input and one output")
        match = _INDEXED.fullmatch(typed)
        if options or match is None or match.group(2) is None:
            raise self.syntax(f"{item[0]} takes a name, a type and a shape")
        if not self._is_name(name) or name in self.tensors:
            raise Declined("vnnlib-name", f"{shown(name)} is no name, or taken", fix="use different names of letters, digits and underscores")
        if match.group(1) not in _TYPES:
            raise self._feature(f"the element type {shown(match.group(1))}", f"declare elements as {', '.join(_TYPES)}")
        shape = _integers(match.group(2))
        if shape is None or 0 in shape:
            raise Declined("vnnlib-shape", f"the shape of {shown(name)} is no list of positive integers", fix="write a shape as [1,5], or []")
        size = 1
        for length in shape:
            size *= length
            if size > _MOST_ELEMENTS:
                raise Declined("vnnlib-size", f"{shown(name)} has more than {_MOST_ELEMENTS} elements", fix="check the shape")
        self.tensors[name] = _Tensor(shape, size, item[0] == "declare-input")

    def comparison(self, word: str, low: Linear, high: Linear) -> Node:
        """Return the formula low <= high, low < high or low == high."""
        row = super().comparison(word, low, high)
        return Join("and", (row, super().comparison(word, high, low))) if word == "==" else row

    def linear(self, tree: Tree) -> Linear:
        """Return the linear term that a tree denotes."""
        if isinstance(tree, list) and len(tree) > 3 and tree[0] == "*":
            product = self.linear(tree[1])
            for factor in tree[2:]:
                product = self.product(product, self.linear(factor))
            return product
        return super().linear(tree)

    def operand(self, token: str) -> Linear:
        """Return the element of a tensor or the number that a token denotes."""
        if match := _INDEXED.fullmatch(token):
            name, inside = match.groups()
            if name not in self.tensors:
                raise Declined("vnnlib-name", f"{shown(name)} is not declared", fix="declare it in the network, as its input or output")
            tensor, place = self.tensors[name], () if inside is None else _integers(inside)
            if place is None or len(place) != len(tensor.shape) or (inside is not None and not place) or any(
                    i >= length for i, length in zip(place, tensor.shape, strict=True)):
                raise Declined("vnnlib-name", f"{shown(token)} is no element of {shown(name)}, whose shape is {list(tensor.shape)}",
                               fix="give one index for each dimension, from 0")
            flat = 0
            for i, length in zip(place, tensor.shape, strict=True):
                flat = flat * length + i
            one = {flat: Fraction(1)}
            return (one, {}, Fraction(0)) if tensor.is_input else ({}, one, Fraction(0))
        return self.number(token, _NUMBER, "write numbers as 0.5 or -3", "variables are written as X or X[i,j]")

    def _is_name(self, text: str) -> bool:
        return bool(_NAME.fullmatch(text)) and text not in _RESERVED

    def _feature(self, what: str, fix: str) -> Declined:
        return Declined("vnnlib-operator", f"{what} is not supported in VNN-LIB {self.version} files", fix=fix)


def _integers(text: str) -> tuple[int, ...] | None:
    """Return the integers between the brackets of a shape or an element, or None if they are not written as such."""
    if not text.strip(" \t\r\n"):
        return ()
    found = [_INTEGER.fullmatch(part) for part in text.split(",")]
    return tuple(int(match.group(1)) for match in found if match) if all(found) else None


def _same_order(declared: Sequence[int], graph: Sequence[int]) -> bool:
    """Return whether two shapes of one size, in C order, place elements alike: dimensions of 1 don't count, and a flat one fits any."""
    left, right = [n for n in declared if n != 1], [n for n in graph if n != 1]
    return left == right or len(left) < 2 or len(right) < 2
