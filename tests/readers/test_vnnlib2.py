# SPDX-License-Identifier: Apache-2.0
"""The VNN-LIB 2.0 reader: refusals with code and line, meaning against a second evaluation, against 1.0 and against the reference parser."""

from __future__ import annotations

import random
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from certify.errors import CertifyError, Declined
from certify.limits import Limits
from certify.readers.formula import Join, Part, Parts, Row, Specification, parts
from certify.readers.vnnlib1 import read_vnnlib1
from certify.readers.vnnlib2 import declared_format, read_vnnlib2

Case = tuple[str, str | bytes, int]  # name, file, line of the refusal or 0
Point = tuple[Fraction, ...]
VERSION = "(vnnlib-version <2.0>)\n"
NETWORK = "(declare-network net\n (declare-input X float32 [1,2])\n (declare-output Y float32 [2]))\n"
BOX = "(assert (>= X[0,0] -1)) (assert (<= X[0,0] 1)) (assert (>= X[0,1] 0)) (assert (<= X[0,1] 2))\n"
HEAD = VERSION + NETWORK
LINE = 6  # of the formula below


def read(text: str | bytes, limits: Limits | None = None) -> Specification:
    """Return the specification in a text."""
    return read_vnnlib2(text.encode() if isinstance(text, str) else text, limits or Limits())


def normal(text: str | bytes) -> Parts:
    """Return the parts of a text."""
    return parts(read(text), Limits())


def asserted(formula: str) -> str:
    """Return a file with two inputs in a box, two outputs and one more assertion, on line 6."""
    return f"{HEAD}{BOX}(assert {formula})\n"


def declared(x: str = "(declare-input X float32 [1,2])", y: str = "(declare-output Y float32 [2])", more: str = "", name: str = "net") -> str:
    """Return a file that declares a network on line 2."""
    return f"{VERSION}(declare-network {name} {x} {y}{more})\n{BOX}(assert (<= Y[0] 1))\n"


def syntax() -> Iterator[Case]:
    for name, formula in {
        "an empty and": "(and)", "an empty or": "(or)", "an empty formula": "()", "a bare variable": "X[0,0]", "a bare number": "1",
        "a nested formula": "((<= Y[0] 1))", "a chain of three": "(<= 0 Y[0] 1)", "a chain of strict comparisons": "(< 0 Y[0] 1)",
        "a chain of equations": "(== 0 Y[0] 1)", "one side": "(<= Y[0])", "no side": "(<)", "an empty sum": "(<= (+) 1)",
        "an empty difference": "(<= (-) 1)", "an empty product": "(<= (*) 1)", "a product of one": "(<= (* Y[0]) 1)", "an empty term": "(<= () 1)",
        "a list in place of a word": "(<= ((+ Y[0] 1)) 1)", "an unknown word": "(implies (<= Y[0] 1) (<= Y[1] 1))",
        "an unknown term": "(<= (/ Y[0] 2) 1)", "capitals": "(AND (<= Y[0] 1))", "an empty and inside": "(or (<= Y[0] 1) (and))",
        "a bare word inside": "(and (<= Y[0] 1) true)", "and as a term": "(<= (and Y[0] Y[1]) 1)", "le as a term": "(<= (<= Y[0] 1) 1)",
        "no space behind the word": "(<=Y[0] 1)", "a sign that is a word": "(<= (-Y[0]) 1)", "a plus that is a word": "(<= (+1 Y[0]) 1)",
        "brackets behind and": "(and [0] (<= Y[0] 1))", "an index as a formula": "[0]",
    }.items():
        yield name, asserted(formula), LINE
    whole = asserted("(<= Y[0] 1)")
    yield from (
        ("an empty file", "", 0), ("white space", " \n\t", 0), ("a comment only", "; nothing\n", 0), ("a version only", VERSION, 0),
        ("no version", NETWORK + BOX, 1), ("no version, no network", "(assert (<= 0 1))", 0), ("no network", VERSION + "(assert (<= 0 1))", 0),
        ("no assertion", HEAD, 0), ("the version twice", VERSION + whole, 2), ("the version at the end", NETWORK + VERSION, 1),
        ("the version behind an assertion", "(assert (<= 0 1))\n" + whole, 2),
        ("a network behind an assertion", VERSION + "(assert (<= 0 1))" + NETWORK, 2),
        ("a version without a number", "(vnnlib-version)" + NETWORK, 1), ("two versions in one", "(vnnlib-version <2.0> <2.0>)" + NETWORK, 1),
        ("a parenthesis too many", whole + ")", 0), ("a parenthesis too many inside", asserted("(<= Y[0] 1))"), 0), ("not closed", whole[:-2], 0),
        ("a bare token", whole + "assert", 7), ("an empty command", whole + "()", 7), ("a list as a command", whole + "((assert (<= Y[0] 1)))", 7),
        ("an unknown command", whole + "(check-sat)", 7), ("two formulas", whole + "(assert (<= Y[0] 1) (<= Y[0] 1))", 7),
        ("no formula", whole + "(assert)", 7), ("a declaration outside a network", VERSION + "(declare-input X float32 [1])" + NETWORK, 2),
        ("a comment that eats a parenthesis", whole[:-2] + "; )\n", 0), ("a letter outside ASCII", whole.replace("X", "\u0425"), 0),
        ("a minus sign outside ASCII", asserted("(<= Y[0] \u22121)"), 0), ("a space outside ASCII", asserted("(<= Y[0]\u00a01)"), 0),
        ("a digit outside ASCII", asserted("(<= Y[\u0660] 1)"), 0), ("a byte order mark", "\ufeff" + whole, 0),
        ("bytes that are no UTF-8", whole.encode() + b"\xff", 0), ("UTF-16", whole.encode("utf-16"), 0),
        ("a carriage return that may end a comment", VERSION + NETWORK + BOX + "; only\r(assert (<= Y[0] 1))\n", 0),
        ("carriage returns as line ends", whole.replace("\n", "\r"), 0),
        ("a network of nothing", f"{VERSION}(declare-network net)\n{BOX}", 2), ("no output", declared(y=""), 2), ("no input", declared(x=""), 2),
        ("output before input", declared("(declare-output Y float32 [2])", "(declare-input X float32 [1,2])"), 2),
        ("a bare input", declared("(declare-input)"), 2),
        ("no type", declared("(declare-input X [1,2])"), 2), ("no shape", declared("(declare-input X float32)"), 2),
        ("a shape in parentheses", declared("(declare-input X float32 (1 2))"), 2),
        ("a shape and more", declared("(declare-input X float32 [1,2] 7)"), 2),
        ("two shapes", declared("(declare-input X float32 [1,2] [1,2])"), 2),
        ("a shape that is not closed", declared("(declare-input X float32 [1,2)"), 2),
        ("a shape in braces", declared("(declare-input X float32 {1,2})"), 2),
        ("a list as a name", declared("(declare-input (X) float32 [1,2])"), 2), ("a word among the declarations", declared(more=" X"), 2),
        ("an empty declaration", declared(more=" ()"), 2), ("an assertion in the network", declared(more=" (assert (<= Y[0] 1))"), 2),
        ("another declaration", declared(more=" (declare-tensor Z float32 [2])"), 2),
    )


def numbers() -> Iterator[Case]:
    tokens = ("1e3 1E3 1e-3 .5 -.5 5. -5. +1 +0.5 1/3 0x10 1e 1.2.3 --1 +-1 1_000 1,5 . - + 1f -inf 0b1 1#1 -Y[0] 1..2 1-2 1.0-2.0 1. 2Y[0] 1[0]"
              " -1e0 1[ 0x1p3 00.")
    for token in tokens.split():
        yield token, asserted(f"(<= Y[0] {token})"), LINE
    yield "1001 digits", asserted(f"(<= Y[0] {'1' * 1001})"), LINE
    yield "1001 characters", asserted(f"(<= Y[0] 0.{'1' * 999})"), LINE
    yield "inside a product", asserted("(<= (* 1e9 Y[0]) 1)"), LINE


def names() -> Iterator[Case]:
    tokens = ("Z Z[0] y[0] X Y X[0] Y[0,0] X[0,0,0] Y[] X[] Y[2] X[1,0] X[0,2] Y[-1] Y[00] Y[01] Y[0.0] Y[0,] Y[,0] X[0,,1] Y[a] Y[+0] Y[1e0] Y[:] "
              "X_0 Y_0 net net[0] inf NaN true and or float32 _Y[0] Y' Y[0]Y[1] Y[0]1 Y[0 Y]0 Y0] [0] [] \"Y\" , [ ] <= # |Y[0]| Y[9999999999] "
              "Y[0][0] Y[[0]] Y{0} Y.0 \x00 Y[0]\x00 Y\x0c[0] \x0c")
    for token in tokens.split(" "):
        yield f"the operand {token!r}", asserted(f"(<= {token} 1)"), LINE
    yield from (
        ("indices without commas", asserted("(<= X[0 1] 1)"), LINE), ("a form feed in an index", asserted("(<= Y[\x0c0] 1)"), LINE),
        ("a comment in the brackets", asserted("(<= Y[0;]\n] 1)").replace(";]\n", "; ,1\n,"), LINE),
        ("used before it is declared", VERSION + "(assert (<= X[0,0] 1))" + NETWORK, 2),
        ("one name for both", declared(y="(declare-output X float32 [2])"), 2), ("no name", f"{VERSION}(declare-network)", 2),
        ("a network without a name", f"{VERSION}(declare-network (declare-input X float32 [1,2]) (declare-output Y float32 [2]))", 2),
        ("a network called and", declared(name="and"), 2), ("a network with a shape", declared(name="net [2]"), 2),
    )
    for name in ("and", "or", "_X", "1X", "X-1", "X@1", "X_[1]", "X.1", "<=", "\"X\"", "[1]", "X'", "-"):
        yield f"the input {name}", declared(f"(declare-input {name} float32 [1,2])"), 2


def shapes() -> Iterator[Case]:
    for shape in ("[0]", "[1,0]", "[-1,2]", "[2.0]", "[02]", "[1 2]", "[1,]", "[,]", "[N,2]", "[?]", "[1,+2]", "[1e1]", "[1234567890]", "[\x0c2]"):
        yield f"the shape {shape}", declared(f"(declare-input X float32 {shape})"), 2


def operators() -> Iterator[Case]:
    for word in ("=", "!=", "=>", "not", "xor", "ite", "let", "distinct"):
        yield word, asserted(f"({word} Y[0] 1)"), LINE
        yield f"{word} inside", asserted(f"(or (<= Y[0] 1) (and ({word} Y[0] 1)))"), LINE
    for version in ("<1.0>", "<2.1>", "<3.0>", "<02.0>", "<2.00>", "2.0", "<2>", "<2.0", "\"2.0\""):
        yield f"version {version}", f"(vnnlib-version {version})\n" + NETWORK + BOX, 1
    for kind in ("float16", "float64", "bfloat16", "int8", "int32", "int64", "uint8", "bool", "string", "complex64", "Float32", "REAL", "Int", "foo"):
        yield f"element type {kind}", declared(f"(declare-input X {kind} [1,2])"), 2
        yield f"element type {kind} of the output", declared(y=f"(declare-output Y {kind} [2])"), 2
    hidden = '(declare-hidden H float32 [3] "relu")'
    yield from (
        ("not over a formula", asserted("(not (<= Y[0] 1))"), LINE), ("ite as a term", asserted("(<= (ite 1 Y[0] Y[1]) 1)"), LINE),
        ("a second network", HEAD + "(declare-network other (declare-input Z float32 [1]) (declare-output W float32 [1]))" + BOX, 5),
        ("a second network behind assertions", asserted("(<= Y[0] 1)") + NETWORK, 7),
        ("two inputs", declared("(declare-input X float32 [1,2]) (declare-input Z float32 [1])"), 2),
        ("two outputs", declared(more=" (declare-output Z float32 [1])"), 2),
        ("an output like another", declared(more=" (declare-output Y float32 [2])"), 2),
        ("a hidden node", declared(f"(declare-input X float32 [1,2]) {hidden}"), 2),
        ("a hidden node at the end", declared(more=f" {hidden}"), 2),
        ("a hidden node outside", HEAD + hidden + BOX, 5), ("isomorphic-to", declared("(isomorphic-to other) (declare-input X float32 [1,2])"), 2),
        ("equal-to", declared("(equal-to other) (declare-input X float32 [1,2])"), 2), ("equal-to outside", HEAD + "(equal-to net)" + BOX, 5),
        ("an ONNX name", declared('(declare-input X float32 [1,2] "input")'), 2),
        ("an ONNX name with a space", declared('(declare-input X real [1,2] "a b")'), 2),
        ("an ONNX name of the output", declared(y='(declare-output Y float32 [2] "y")'), 2),
        ("an initialized input", declared("(declare-input X float32 [1,2] initialized)"), 2),
        ("a declaration of 1.0", VERSION + "(declare-const X_0 Real)", 2), ("a declaration of 1.0 behind", HEAD + "(declare-const X_0 Real)", 5),
    )


def products() -> Iterator[Case]:
    for term in ("(* X[0,0] X[0,1])", "(* X[0,0] Y[0])", "(* Y[0] Y[0])", "(* (+ X[0,0] 1) (- Y[0] 1))", "(+ 1 (* 2 (* Y[0] Y[0])))",
                 "(* 2 Y[0] 3 Y[1])", "(* Y[0] 0 Y[0])", "(* 1 2 3 X[0,0] X[0,0])", "(* Y[0] (- Y[1] Y[1]))"):
        yield term, asserted(f"(<= {term} 1)"), LINE


def sizes() -> Iterator[Case]:
    for depth in (32, 1000, 100_000):
        yield f"{depth} nested conjunctions", asserted("(and " * depth + "(<= Y[0] 1)" + ")" * depth), 0
    yield "nested products", asserted("(<= " + "(* 2 2 " * 40 + "Y[0]" + ")" * 40 + " 1)"), 0
    yield "200,000 opening parentheses", "(" * 200_000, 0
    yield "2^28 + 1 elements", declared("(declare-input X float32 [268435457])"), 2
    yield "many dimensions", declared(f"(declare-input X float32 [{','.join(['9'] * 100_000)}])"), 2


def cases(**table: Callable[[], Iterator[Case]]) -> list[Any]:
    """Return the parameters of the cases under each code."""
    codes = {f"vnnlib-{word}": rows for word, rows in table.items()}
    return [pytest.param(code, *case[1:], id=f"{code}: {case[0]}") for code, rows in codes.items() for case in rows()]


@pytest.mark.parametrize(("code", "text", "line"),
                         cases(syntax=syntax, number=numbers, name=names, shape=shapes, operator=operators, nonlinear=products, size=sizes))
def test_refused_by_the_reader(code: str, text: str | bytes, line: int) -> None:
    started = time.process_time()
    with pytest.raises(Declined) as caught:
        read(text)
    assert (caught.value.code, caught.value.where) == (code, f"line {line}" if line else "")
    assert caught.value.fix
    assert time.process_time() - started < 1


@pytest.mark.parametrize("formula", ("(<= Y[0] 0)", "(or (<= X[0,1] 2) (<= Y[0] 0))", "(<= (+ X[0,0] X[0,1]) 2)", "(<= X[0,1] Y[0])",
                                     "(< (* 0 X[0,1]) 2)"))
def test_an_input_without_both_bounds_is_refused(formula: str) -> None:
    with pytest.raises(Declined) as caught:
        normal(HEAD + BOX.replace("(assert (<= X[0,1] 2))", f"(assert {formula})"))
    assert caught.value.code == "vnnlib-unbounded"
    assert caught.value.fix


def test_more_than_100000_disjuncts_are_refused() -> None:
    for text in (HEAD + BOX + "(assert (or (< Y[0] 0) (== Y[1] 0)))" * 17,
                 asserted("(or (<= Y[0] 1) (and " + "(or (< Y[0] 0) (> Y[1] 0))" * 200 + "))")):
        specification = read(text)
        with pytest.raises(Declined) as caught:
            parts(specification, Limits())
        assert caught.value.code == "vnnlib-size"
    assert len(normal(HEAD + BOX + "(assert (or (< Y[0] 0) (> Y[1] 0)))" * 16).parts[0].conjuncts) == 1 << 16


def test_a_file_of_more_than_64_mebibytes_is_refused() -> None:
    with pytest.raises(Declined) as caught:
        read(b" " * ((64 << 20) + 1))
    assert caught.value.code == "vnnlib-size"


def test_too_much_work_is_declined_before_it_is_done() -> None:
    for limits in (Limits(work=100), Limits(memory=1000)):
        with pytest.raises(Declined) as caught:
            read(asserted("(<= Y[0] 1)"), limits)
        assert caught.value.code == "limit-reached"
    digits = "9" * 1000
    for text in (asserted(f"(<= (* {' '.join([digits] * 5000)} Y[0]) 1)"), asserted(f"(<= (* {' '.join(['0.' + digits[2:]] * 5000)} Y[0]) 1)")):
        started = time.process_time()
        with pytest.raises(Declined) as caught:
            read(text)
        assert caught.value.code == "limit-reached"
        assert time.process_time() - started < 100


def test_small_files_take_little_memory_or_are_declined() -> None:
    many = range(3000)
    text = f"{VERSION}(declare-network n (declare-input X real [3000]) (declare-output Y real []))"
    text += f"(assert (<= (* {' '.join(['9' * 1000] * 20)} (+ {' '.join(f'X[{k}]' for k in many)})) 1))"
    assert len(text) < 60_000
    tracemalloc.start()
    try:
        read(text)
    except CertifyError as error:
        assert error.code == "limit-reached"
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 1 << 27


@pytest.mark.parametrize("text", ("X" + " " * 10**6, "X[" * 10**6, "X [" + " 0" * 10**6, "X[0" + "0" * 10**6, "Y" * 10**6 + "\n" + "[0 " * 10**5,
                                  "a;\n" * 10**6, "(assert (<= X[" + "0," * 10**6 + "0] 1))"), ids=range(7))
def test_reading_takes_linear_time(text: str) -> None:
    started = time.process_time()
    with pytest.raises(Declined):
        read(HEAD + text)
    assert declared_format(text.encode()) == "vnnlib-1"
    assert time.process_time() - started < 5


@pytest.mark.parametrize(("token", "value"), (
    ("0.1", Fraction(1, 10)), ("-0.1", Fraction(-1, 10)), ("5", Fraction(5)), ("-5", Fraction(-5)), ("-0", Fraction(0)), ("-0.0", Fraction(0)),
    ("007", Fraction(7)), ("00.50", Fraction(1, 2)), ("16777217", Fraction(16777217)), ("9007199254740993.0", Fraction(9007199254740993)),
    ("0.1000000000000000055511151231257827", Fraction(1000000000000000055511151231257827, 10**34)),
    ("0." + "3" * 998, Fraction(int("3" * 998), 10**998)), ("9" * 1000, Fraction(10**1000 - 1)),
))
def test_decimals_are_exact(token: str, value: Fraction) -> None:
    for text, row in {
        f"(<= Y[0] {token})": Row({}, {0: Fraction(1)}, -value), f"(> {token} Y[0])": Row({}, {0: Fraction(1)}, -value, strict=True),
        f"(< {token} X[0,0])": Row({0: Fraction(-1)}, {}, value, strict=True),
        f"(<= (* {token} Y[1] 1) (- 1))": Row({}, {1: value} if value else {}, Fraction(1)),
        f"(>= (- Y[1] {token} {token}) (+ {token}))": Row({}, {1: Fraction(-1)}, 3 * value),
    }.items():
        assert read(asserted(text)).assertions[-1] == row


def test_comparisons() -> None:
    two, one = Fraction(2), Fraction(1)
    less, more = Row({0: one}, {1: -two}, Fraction(-3)), Row({0: -one}, {1: two}, Fraction(3))
    for word, expected in {
        "<=": less, ">=": more, "<": Row(less.inputs, less.outputs, less.constant, True), ">": Row(more.inputs, more.outputs, more.constant, True),
        "==": Join("and", (less, more)),
    }.items():
        assert read(asserted(f"({word} X[0,0] (+ (* 2 Y[1]) 3))")).assertions[-1] == expected


def test_products_of_many_factors() -> None:
    for term, factor in {"(* 2 3 Y[0])": 6, "(* Y[0] 2 3)": 6, "(* 2 Y[0] -0.5 (+ 1 1))": -2, "(* (* 2 2 2) (* 1 Y[0] 1))": 8,
                         "(* 2 3 4 0 Y[0])": 0}.items():
        assert read(asserted(f"(<= {term} (* 2 3 4))")).assertions[-1] == Row({}, {0: Fraction(factor)} if factor else {}, Fraction(-24))


@pytest.mark.parametrize("shape", ((), (1,), (7,), (1, 5), (2, 3), (3, 2), (2, 3, 4), (1, 1, 2, 3), (4, 1, 2)))
def test_elements_are_in_c_order(shape: tuple[int, ...]) -> None:
    for side in ("input", "output"):
        dims = f"[{','.join(map(str, shape))}]"
        other = "(declare-output Z real [])" if side == "input" else "(declare-input Z real [])"
        own = f"(declare-{side} tensor_1 real {dims})"
        network = f"(declare-network n {own}{other})" if side == "input" else f"(declare-network n {other}{own})"
        elements = list(product(*map(range, shape)))
        for flat, place in enumerate(elements):
            token = f"tensor_1[{','.join(map(str, place))}]" if shape else "tensor_1"
            made = read(f"{VERSION}{network}(assert (<= {token} Z))")
            assert (made.inputs, made.outputs) == ((len(elements), 1) if side == "input" else (1, len(elements)))
            ours = {flat: Fraction(1)}
            expected = Row(ours, {0: Fraction(-1)}, Fraction(0)) if side == "input" else Row({0: Fraction(-1)}, ours, Fraction(0))
            assert made.assertions == (expected,)


def test_comments_white_space_names_and_types() -> None:
    plain = read(asserted("(or (< Y[0] 1) (== Y[1] 2))"))
    text = asserted("(or (< Y[0] 1) (== Y[1] 2))")
    for other in ("; caf\u00e9 (not closed [\n" + text + "; no line feed at the end)", text.replace(" ", "\t").replace("\n", "\r\n"),
                  text.replace("Y[0] 1", "Y[0];\n1"), text.replace("Y[0]", "Y ; here\n[ 0\t]").replace("X[0,0]", "X[ 0 ,\r\n0 ]"),
                  text.replace("(or (", "(or(").replace(") (== ", ")(== "), text.replace("(assert", "( assert").replace("float32 [", "float32["),
                  text.replace("float32", "real"), text.replace("float32", "Real"), text.replace("float32 [1,2]", "real [1 ,2]"),
                  text.replace("X", "Y2").replace("Y[", "out_put[").replace(" Y ", " out_put "), text.replace("X", "x"),
                  text.replace("network net", "network X"), text.replace("X", "x_0").replace("network net", "network Real"),
                  text.replace("Y", "true").replace("X", "assert"), text.replace("\n", " \n;;\n ")):
        assert read(other) == plain, other
    assert (plain.inputs, plain.outputs, len(plain.assertions)) == (2, 2, 5)


def test_the_shape_of_the_network() -> None:
    fits = {"[2,3]": [(2, 3), (1, 2, 3), (2, 1, 3, 1), (6,), (1, 6), (6, 1)], "[6]": [(6,), (1, 6), (2, 3), (1, 3, 2, 1)], "[1,6]": [(2, 3), (6,)],
            "[]": [(), (1,), (1, 1)], "[1]": [(), (1,)]}
    differs = {"[2,3]": [(3, 2), (1, 3, 2), (2, 3, 2), (2, 2)], "[1,4,4,3]": [(1, 3, 4, 4), (4, 12)], "[2,2,2]": [(2, 4), (4, 2)]}
    for table, expected in ((fits, True), (differs, False)):
        for shape, others in table.items():
            text = f"{VERSION}(declare-network n (declare-input X real {shape})(declare-output Y real []))(assert (<= Y 0))".encode()
            for other in others:
                try:
                    assert read_vnnlib2(text, Limits(), other).inputs
                except Declined as trouble:
                    assert trouble.code == "vnnlib-shape" and trouble.fix and not expected
                else:
                    assert expected


@pytest.mark.parametrize(("text", "expected"), (
    (HEAD, "vnnlib-2"), ("; 1.0\n\n \t" + HEAD, "vnnlib-2"), ("( vnnlib-version <2.0>)", "vnnlib-2"), ("(vnnlib-version", "vnnlib-2"),
    (NETWORK, "vnnlib-2"), ("; a\r\n; b\r\n" + HEAD, "vnnlib-2"), ("(declare-const X_0 Real)", "vnnlib-1"),
    ("; (vnnlib-version <2.0>)\n(declare-const X_0 Real)", "vnnlib-1"), ("", "vnnlib-1"), ("(", "vnnlib-1"), ("(assert (<= 0 1))" + HEAD, "vnnlib-1"),
    ("vnnlib-version", "vnnlib-1"), ("((vnnlib-version <2.0>))", "vnnlib-1"), ("(vnnlib-versions", "vnnlib-1"), (";", "vnnlib-1"),
    (b"\xff\x00", "vnnlib-1"),
))
def test_the_format_by_the_first_command(text: str | bytes, expected: str) -> None:
    assert declared_format(text.encode() if isinstance(text, str) else text) == expected


# Meaning. A term is a Fraction, the number of a variable (X_0 X_1 Y_0 Y_1), or (word, items); a formula is (word, items).

NUMBERS = [Fraction(k, 2) for k in (0, 1, -1, 2, -2, 3, 4)]
CORNERS = [Fraction(k, 2) for k in range(-3, 5)]
ORDER = {"<=": lambda a, b: a <= b, ">=": lambda a, b: a >= b, "<": lambda a, b: a < b, ">": lambda a, b: a > b, "==": lambda a, b: a == b}
SHAPES = ((2,), (1, 2), (2, 1), (1, 2, 1))


def random_term(rng: random.Random, variables: Sequence[int], depth: int = 2, factors: int = 3) -> Any:
    """Return a random linear term over few values, so that points fall on its boundary."""
    word = rng.choice(("number", "variable", "variable", "+", "-", "*")) if depth else rng.choice(("number", "variable"))
    if word == "number" or (word == "variable" and not variables):
        return rng.choice(NUMBERS)
    if word == "variable":
        return rng.choice(variables)
    if word != "*":
        return word, [random_term(rng, variables, depth - 1, factors) for _ in range(rng.randint(1, 3))]
    items = [random_term(rng, (), depth - 1, factors) for _ in range(rng.randint(1, factors - 1))]
    items.insert(rng.randrange(len(items) + 1), random_term(rng, variables, depth - 1, factors))
    return "*", items


def random_formula(rng: random.Random, words: Sequence[str], depth: int = 3, factors: int = 3) -> Any:
    """Return a random formula."""
    if depth and rng.random() < 0.55:
        return rng.choice(("and", "or", "or")), [random_formula(rng, words, depth - 1, factors) for _ in range(rng.choice((1, 2, 2, 3)))]
    variables = rng.choice(((0,), (1,), (2, 3), (0, 1, 2, 3), ()))
    if rng.random() < 0.4:
        sides = [random_term(rng, variables[:1], 0), random_term(rng, (), 0)]
        rng.shuffle(sides)
        return rng.choice(words), sides
    return rng.choice(words), [random_term(rng, variables, 2, factors), random_term(rng, variables, 1, factors)]


def box_formula(rng: random.Random, words: Sequence[str]) -> Any:
    """Return bounds of both inputs on both sides."""
    bounds: list[Any] = []
    for variable in (0, 1):
        for sign, end in zip("><", sorted(rng.sample(CORNERS, 2)), strict=True):
            bounds.append((rng.choice([word for word in words if word[0] == sign]), [variable, end]))
    return "and", bounds


def value(term: Any, point: Point) -> Fraction:
    """Return the value of a term at a point, from its definition."""
    if isinstance(term, Fraction):
        return term
    if isinstance(term, int):
        return point[term]
    word, items = term[0], [value(item, point) for item in term[1]]
    if word == "-" and len(items) == 1:
        return -items[0]
    result = items[0]
    for item in items[1:]:
        result = result + item if word == "+" else result - item if word == "-" else result * item
    return result


def holds(formula: Any, point: Point) -> bool:
    """Return whether a formula holds at a point, from its definition."""
    word, items = formula
    if word in ("and", "or"):
        return (all if word == "and" else any)([holds(item, point) for item in items])
    return bool(ORDER[word](value(items[0], point), value(items[1], point)))


def decimal(number: Fraction) -> str:
    return f"{'-' if number < 0 else ''}{abs(number) // 1}.{abs(number) % 1 * 10}"


def written(tree: Any, names: Sequence[str]) -> str:
    """Return the text of a term or a formula."""
    if isinstance(tree, Fraction):
        return decimal(tree)
    return names[tree] if isinstance(tree, int) else f"({tree[0]} {' '.join(written(item, names) for item in tree[1])})"


def file2(formulas: Sequence[Any], shapes: tuple[tuple[int, ...], tuple[int, ...]] = ((2,), (2,))) -> str:
    """Return a VNN-LIB 2.0 file of formulas over two inputs and two outputs of given shapes."""
    names = [f"{letter}[{','.join(str(min(k, n - 1)) for n in shape)}]" for letter, shape in zip("XY", shapes, strict=True) for k in range(2)]
    dims = [f"[{','.join(map(str, shape))}]" for shape in shapes]
    return (f"{VERSION}(declare-network n (declare-input X float32 {dims[0]}) (declare-output Y float32 {dims[1]}))\n"
            + "".join(f"(assert {written(formula, names)})\n" for formula in formulas))


def belongs(found: Parts, point: Point) -> bool:
    """Return whether a point lies in some part and in one of its conjuncts."""
    x, y = point[:2], point[2:]
    return any(part.holds_input(x) and any(all(row.holds(x, y) for row in rows) for rows in part.conjuncts) for part in found.parts)


def points_near(rng: random.Random, found: Sequence[Part]) -> list[Point]:
    """Return points on corners of parts, on a grid that the constants come from, and anywhere."""
    made = [tuple(rng.choices(CORNERS, k=4)) for _ in range(40)]
    made += [(*rng.choice((part.lower, part.upper)), *rng.choices(CORNERS, k=2)) for part in found[:20]]
    return made + [tuple(Fraction(rng.randint(-40, 40), rng.randint(1, 20)) for _ in range(4)) for _ in range(10)]


@pytest.mark.parametrize("seed", range(8))
def test_the_parts_are_the_formula(seed: int) -> None:
    rng = random.Random(seed)
    inside = outside = openings = 0
    for _ in range(60):
        formulas = [box_formula(rng, list(ORDER)), *(random_formula(rng, list(ORDER)) for _ in range(rng.choice((1, 1, 2, 3))))]
        rng.shuffle(formulas)
        found = normal(file2(formulas, (rng.choice(SHAPES), rng.choice(SHAPES))))
        openings += any(part.open_lower or part.open_upper for part in found.parts)
        for point in points_near(rng, found.parts):
            expected = all(holds(formula, point) for formula in formulas)
            assert belongs(found, point) == expected, (formulas, point)
            inside, outside = inside + expected, outside + (not expected)
    assert min(inside, outside) > 60
    assert openings > 10


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 180))
def test_the_parts_are_the_formula_in_many_files(seed: int) -> None:
    test_the_parts_are_the_formula(seed)


@pytest.mark.parametrize("seed", range(6))
def test_1_0_and_2_0_say_the_same(seed: int) -> None:
    rng = random.Random(seed)
    names = ["X_0", "X_1", "Y_0", "Y_1"]
    for _ in range(100):
        closed = [box_formula(rng, ("<=", ">=")), *(random_formula(rng, ("<=", ">="), factors=2) for _ in range(rng.choice((1, 2, 3))))]
        text = "".join(f"(declare-const {name} Real)" for name in names) + "".join(f"(assert {written(formula, names)})\n" for formula in closed)
        first, second = read_vnnlib1(text.encode(), Limits()), read(file2(closed, (rng.choice(SHAPES), rng.choice(SHAPES))))
        assert first == second
        assert parts(first, Limits()) == parts(second, Limits())


def test_strict_and_closed_differ_on_the_boundary_only() -> None:
    corner = (Fraction(1), Fraction(0), Fraction(2), Fraction(0))
    for formula, expected in {"(<= Y[0] 2)": True, "(< Y[0] 2)": False, "(> Y[0] 2)": False, "(== Y[0] 2)": True, "(or (< Y[0] 2) (> Y[0] 2))": False,
                              "(and (<= Y[0] 2) (>= Y[0] 2))": True, "(< X[0,0] 1)": False, "(or (< X[0,0] 1) (== X[0,0] 1))": True,
                              "(> X[0,1] 0)": False, "(== X[0,1] 0)": True, "(< (+ X[0,0] X[0,1]) 1)": False}.items():
        assert belongs(normal(asserted(formula)), corner) == expected, formula


def test_strict_bounds_open_ends() -> None:
    found = normal(asserted("(and (< X[0,0] 1) (> X[0,1] 0.5) (< X[0,1] 7) (<= Y[0] 0))"))
    assert [(part.lower, part.upper, part.open_lower, part.open_upper) for part in found.parts] == [
        ((Fraction(-1), Fraction(1, 2)), (Fraction(1), Fraction(2)), {1}, {0})]
    point = normal(asserted("(== X[0,0] 0.25)"))
    assert [(part.lower[0], part.upper[0]) for part in point.parts] == [(Fraction(1, 4), Fraction(1, 4))]
    assert not any(part.open_lower | part.open_upper for part in point.parts)
    for formula in ("(and (< X[0,0] 0) (>= X[0,0] 0))", "(and (== X[0,0] 0) (> X[0,0] 0))", "(and (< X[0,0] 0) (> X[0,0] 0))",
                    "(> X[0,0] 1)", "(< X[0,1] 0)", "(and (== X[0,0] 0) (== X[0,0] 1))", "(< 0 0)", "(< Y[0] Y[0])", "(== 0 1)",
                    "(> (- X[0,0] X[0,0]) 0)"):
        found = normal(asserted(formula))
        assert (found.parts, found.empty) == ((), 1), formula
    for formula in ("(>= X[0,0] 1)", "(== X[0,1] 0)", "(<= 0 0)", "(== 0 (- 1 1))", "(< 0 1)"):
        assert normal(asserted(formula)).empty == 0


def test_an_equation_in_an_or_is_one_disjunct() -> None:
    found = normal(asserted("(or (== Y[0] 1) (< Y[1] 0))"))
    assert [len(rows) for rows in found.parts[0].conjuncts] == [2, 1]
    both = normal(asserted("(or (== Y[0] 1) (== Y[1] 0))") + "(assert (> Y[0] Y[1]))")
    assert [len(rows) for rows in both.parts[0].conjuncts] == [3, 3]
    split = normal(asserted("(or (== X[0,0] 0.5) (== X[0,0] -0.5))"))
    assert [(part.lower[0], part.upper[0]) for part in split.parts] == [(Fraction(1, 2),) * 2, (Fraction(-1, 2),) * 2]


# The reference parser, which reads 2.0 and types it; only its syntax trees are used, never its arithmetic in floats.

def reference(text: str) -> Any:
    """Return the syntax tree of the reference parser."""
    return pytest.importorskip("vnnlib").parse_query_string(text)


def reference_holds(node: Any, point: Point) -> bool:
    """Return whether a formula of the reference parser holds at a point, exactly."""
    name = type(node).__name__
    if name in ("And", "Or"):
        return (all if name == "And" else any)([reference_holds(item, point) for item in node.args])
    words = {"LessEqual": "<=", "GreaterEqual": ">=", "LessThan": "<", "GreaterThan": ">", "Equal": "=="}
    return bool(ORDER[words[name]](reference_value(node.lhs, point), reference_value(node.rhs, point)))


def reference_value(node: Any, point: Point) -> Fraction:
    """Return the value of a term of the reference parser at a point, exactly, by the text of its numbers."""
    name = type(node).__name__
    if name == "Var":
        flat = 0
        for index, length in zip(node.indices, node.shape, strict=True):
            flat = flat * length + index
        return point[flat + (0 if node.kind.name == "Input" else 2)]
    if name == "Negate":
        return -reference_value(node.expr, point)
    if name == "Minus":
        return reference_value(node.head, point) - sum((reference_value(item, point) for item in node.rest), Fraction(0))
    if name in ("Plus", "Multiply"):
        values = [reference_value(item, point) for item in node.args]
        result = values[0]
        for other in values[1:]:
            result = result + other if name == "Plus" else result * other
        return result
    return Fraction(node.lexeme)


@pytest.mark.parametrize("seed", range(4))
def test_the_reference_parser_reads_the_same(seed: int) -> None:
    pytest.importorskip("vnnlib")
    rng = random.Random(seed)
    inside = 0
    for _ in range(50):
        formulas = [box_formula(rng, list(ORDER)), *(random_formula(rng, list(ORDER)) for _ in range(rng.choice((1, 2))))]
        text = file2(formulas, (rng.choice(SHAPES), rng.choice(SHAPES)))
        found, query = normal(text), reference(text)
        assert len(query.networks) == 1
        assert len(query.assertions) == len(formulas)
        for point in points_near(rng, found.parts):
            expected = all(reference_holds(item.expr, point) for item in query.assertions)
            assert belongs(found, point) == expected
            inside += expected
    assert inside > 20


REFUSED_BY_BOTH = (
    "(and)", "(or)", "()", "(<= 0.0 Y[0] 1.0)", "(<= Y[0])", "(= Y[0] 1.0)", "(=> (<= Y[0] 1.0) (<= Y[0] 1.0))", "(not (<= Y[0] 1.0))",
    "(<= Y[0] 1e3)", "(<= Y[0] .5)", "(<= Y[0] 5.)", "(<= Y[0] +5.0)", "(<= Y[0] - 5.0)", "(<= Y[0] 1/3)", "(<= Y[2] 1.0)", "(<= X[0] 1.0)",
    "(<= Y 1.0)", "(<= Y[] 1.0)", "(<= Y[0,0] 1.0)", "(<= Z[0] 1.0)", "(<= (+) 1.0)", "(<= (*) 1.0)", "(<= (-) 1.0)", "Y[0]", "1.0", "(<= net 1.0)",
    "(<= Y[0 1.0)", "(<= Y[0]] 1.0)", "(<= (and Y[0]) 1.0)", "(<= (/ Y[0] 2.0) 1.0)", "(<= and 1.0)", "(<= _Y[0] 1.0)",
)
READ_BY_BOTH = (
    "(and (<= Y[0] 1.0))", "(<= (+ Y[0]) 1.0)", "(<= (* 2.0 3.0 Y[0]) 1.0)", "(<= (- Y[0]) 1.0)", "(<= (- Y[0] 1.0 2.0) 007.50)", "(<= 1.0 2.0)",
    "(== Y[ 0 ] -0.0)", "(<= X [0 ,1] 1.0)", "(or (< Y[0] 1.0) (> Y[1] 1.0))", "(<= Y[0] ; a comment )\n1.0)",
)


def test_the_reference_parser_refuses_what_is_no_2_0() -> None:
    vnnlib = pytest.importorskip("vnnlib")
    box = BOX.replace("1))", "1.0))").replace("0))", "0.0))").replace("2))", "2.0))").replace("1.0.0", "1.0")
    for formula in REFUSED_BY_BOTH:
        with pytest.raises(Declined):
            read(asserted(formula))
        with pytest.raises(vnnlib.VNNLibException):
            reference(f"{HEAD}{box}(assert {formula})\n")
    for formula in READ_BY_BOTH:
        assert read(asserted(formula)).assertions
        assert len(reference(f"{HEAD}{box}(assert {formula})\n").assertions) == 5


def read_or_refuse(data: bytes) -> bool:
    """Return whether the bytes are a property; an exception that is not ours goes through."""
    try:
        found = normal(data)
    except CertifyError as error:
        assert error.code.startswith("vnnlib-") or error.code == "limit-reached"
        return False
    return found.empty >= 0


BASES = [text.encode() for text in (
    asserted("(or (and (<= Y[0] Y[1]) (> X[0,0] 0.25)) (< (+ (* 2 3 X[0,0]) (- Y[0] 0.001)) 5))"),
    HEAD + "; bounds\r\n" + BOX + "(assert (== Y[0] 0.5))",
    VERSION + "(declare-network n (declare-input X real [])(declare-output Y Real [1]))"
    "(assert (and (<= X 1) (> X 0)))(assert (or (== X 1) (< Y[0] -1)))")]
PIECES = st.sampled_from([
    b"(", b")", b" ", b";", b"\n", b"\r", b"and", b"or", b"<=", b">", b"==", b"X[0,0]", b"Y[1]", b"X[9]", b"X", b"1e9", b"-", b"(or", b"()",
    b"assert", b"0", b"\xff", b"(* 2 ", b"(+ ", b"999999999", b"not", b"=", b"[", b"]", b",", b"[0]", b"\"", b"[]", b"<2.0>", b"(declare-network",
    b"real", b"float64", b"(declare-input X real [2])", VERSION.encode(), NETWORK.encode()])


@st.composite
def mutants(draw: st.DrawFn) -> bytes:
    """Draw a valid file with one to five bytes, tokens or stretches changed."""
    data = draw(st.sampled_from(BASES))
    for _ in range(draw(st.integers(1, 5))):
        start = draw(st.integers(0, len(data)))
        end = start + draw(st.integers(0, 12))
        middle = draw(st.one_of(st.just(b""), PIECES, st.binary(max_size=3), st.just(data[start:end] * 2), st.just(data[start - 30 : start])))
        data = data[:start] + middle + data[end:]
    return data


few = settings(derandomize=True, database=None, max_examples=300, deadline=None)
many = settings(few, max_examples=100_000, suppress_health_check=list(HealthCheck))


@few
@given(mutants())
def test_mutated_files_are_read_or_refused(data: bytes) -> None:
    assert read_or_refuse(data) in (True, False)
    assert declared_format(data) in ("vnnlib-1", "vnnlib-2")


@few
@given(st.lists(PIECES, max_size=60))
def test_random_tokens_are_refused(pieces: list[bytes]) -> None:
    assert not read_or_refuse(b" ".join(pieces))


@pytest.mark.slow
@many
@given(mutants())
def test_many_mutated_files_are_read_or_refused(data: bytes) -> None:
    assert read_or_refuse(data) in (True, False)


def test_files_of_one_version_are_not_of_the_other() -> None:
    old = "(declare-const X_0 Real)(declare-const Y_0 Real)(assert (<= X_0 1))"
    with pytest.raises(Declined) as caught:
        read(old)
    assert caught.value.code == "vnnlib-syntax"
    with pytest.raises(Declined) as caught:
        read_vnnlib1(asserted("(<= Y[0] 1)").encode(), Limits())
    assert caught.value.code == "vnnlib-operator"
