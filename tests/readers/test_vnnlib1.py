# SPDX-License-Identifier: Apache-2.0
"""The VNN-LIB 1.0 reader: refusals with their codes, exact decimals, and the parts against a second evaluation of random formulas."""

from __future__ import annotations

import itertools
import random
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from certify.errors import CertifyError, Declined
from certify.limits import Limits
from certify.readers.formula import Join, Part, Parts, Row, Specification, parts
from certify.readers.vnnlib1 import read_vnnlib1

Case = tuple[str, str | bytes]
Point = tuple[Fraction, ...]
NAMES = "(declare-const X_0 Real)\n(declare-const X_1 Real)\n(declare-const Y_0 Real)\n(declare-const Y_1 Real)\n"
BOX = "(assert (>= X_0 -1)) (assert (<= X_0 1)) (assert (>= X_1 0)) (assert (<= X_1 2))\n"


def read(text: str | bytes) -> Specification:
    """Return the specification in a text."""
    return read_vnnlib1(text.encode() if isinstance(text, str) else text, Limits())


def normal(text: str | bytes) -> Parts:
    """Return the parts of a text."""
    return parts(read(text), Limits())


def asserted(formula: str) -> str:
    """Return a file with two inputs in a box, two outputs and one more assertion."""
    return f"{NAMES}{BOX}(assert {formula})\n"


def syntax() -> Iterator[Case]:
    for name, formula in {
        "an empty and": "(and)", "an empty or": "(or)", "an empty formula": "()", "a bare variable": "X_0", "a bare number": "1",
        "a nested formula": "((<= X_0 1))", "a chain of three": "(<= 0 X_0 1)", "a chain of four": "(>= 3 X_0 1 0)", "one side": "(<= X_0)",
        "no side": "(<=)", "an empty sum": "(<= (+) 1)", "an empty difference": "(<= (-) 1)", "an empty product": "(<= (*) 1)",
        "a product of one": "(<= (* X_0) 1)", "a product of three": "(<= (* 2 3 X_0) 1)", "an empty term": "(<= () 1)",
        "a list in place of a word": "(<= ((+ X_0 1)) 1)", "an unknown word": "(implies (<= X_0 1) (<= X_1 1))",
        "an unknown term": "(<= (/ X_0 2) 1)", "a word in capitals": "(AND (<= X_0 1))", "an empty and inside": "(or (<= X_0 1) (and))",
        "a bare word inside": "(and (<= X_0 1) true)",
        "and as a term": "(<= (and X_0 X_1) 1)", "le as a term": "(<= (<= X_0 1) 1)",
    }.items():
        yield name, asserted(formula)
    whole = asserted("(<= X_0 1)")
    yield from {
        "no assertion": NAMES, "a parenthesis too many": whole + ")", "a parenthesis too many inside": asserted("(<= X_0 1))"),
        "a parenthesis too many in front": ")" + whole, "a parenthesis not closed": NAMES + BOX + "(assert (<= X_0 1)", "cut in a word": whole[:-6],
        "a bare token": whole + "assert", "an empty command": whole + "()", "a list as a command": whole + "((assert (<= X_0 1)))",
        "an unknown command": whole + "(check-sat)", "set-logic": "(set-logic QF_LRA)" + whole, "declare-fun": "(declare-fun X_0 () Real)",
        "two formulas": NAMES + BOX + "(assert (<= X_0 1) (<= X_0 1))", "no formula": NAMES + BOX + "(assert)",
        "a bare declaration": "(declare-const)", "a declaration of three": "(declare-const X_0 Real Real)",
        "a declaration without a type": "(declare-const X_0)",
        "a comment that eats a parenthesis": NAMES + BOX + "(assert (<= X_0 1) ; )\n", "a letter outside ASCII": whole.replace("X_1", "X_\u0661"),
        "a minus sign outside ASCII": asserted("(<= X_0 \u22121)"), "a space outside ASCII": asserted("(<= X_0\u00a01)"),
        "a byte order mark": "\ufeff" + whole, "bytes that are no UTF-8": whole.encode() + b"\xff", "UTF-16": whole.encode("utf-16"),
    }.items()


def numbers() -> Iterator[Case]:
    tokens = "1/3 0x10 1e 1e+ 1.2.3 --1 +-1 1_000 1e12345 1e-12345 1,5 . - + +. 1.e .e1 1f 1e1.5 1e1e1 -inf +nan 0b1 1#1 -X_0 +1e99999 1..2 1e--1"
    for token in tokens.split():
        yield token, asserted(f"(<= X_0 {token})")
    yield "1001 digits", asserted(f"(<= X_0 {'1' * 1001})")
    yield "1001 characters", asserted(f"(<= X_0 0.{'1' * 999})")
    yield "inside a product", asserted("(<= (* 1e9e9 X_0) 1)")


def names() -> Iterator[Case]:
    for token in 'X_2 Y_2 Z_0 x_0 X_00 X_01 X0 X_ X_-1 X_0a inf NaN X _X_0 |X_0| X_1000000000 true Real <= e5 #b1 "X_0"'.split():
        yield f"the operand {token}", asserted(f"(<= {token} 1)")
    box = BOX + "(assert (<= X_0 1))"
    yield from {
        "an empty file": "", "white space": " \n\t", "a comment only": "; nothing\n",
        "a gap in the inputs": NAMES.replace("X_1", "X_2") + BOX.replace("X_1", "X_2"), "a gap in the outputs": NAMES.replace("Y_1", "Y_2") + box,
        "no input 0": NAMES.replace("X_0", "X_2") + BOX.replace("X_0", "X_2"), "declared twice": NAMES + "(declare-const X_0 Real)" + box,
        "no outputs": "(declare-const X_0 Real)(assert (<= X_0 1))", "no inputs": "(declare-const Y_0 Real)(assert (<= Y_0 1))",
        "used before it is declared": "(declare-const X_0 Real)(assert (<= Y_0 1))(declare-const Y_0 Real)", "not declared": "(assert (<= X_0 1))",
        "type Int": NAMES.replace("Real", "Int") + box, "type real": NAMES.replace("Real", "real") + box,
        "type Bool": "(declare-const X_0 Bool)" + box, "another letter": NAMES + "(declare-const Z_0 Real)" + box,
        "a leading zero": NAMES + "(declare-const X_02 Real)" + box, "a list as a name": "(declare-const (X_0) Real)" + box,
        "a list as a type": "(declare-const X_0 (Real))" + box, "an index of ten digits": "(declare-const X_1234567890 Real)" + box,
        "a hole of a billion": NAMES + "(declare-const X_999999999 Real)" + box,
    }.items()


def operators() -> Iterator[Case]:
    for word in ("<", ">", "=", "==", "!=", "=>", "not", "xor", "ite", "let", "distinct"):
        yield word, asserted(f"({word} X_0 1)")
        yield f"{word} inside", asserted(f"(or (<= X_0 1) (and ({word} X_0 1)))")
    yield "not over a formula", asserted("(not (<= X_0 1))")
    yield "ite as a term", asserted("(<= (ite 1 X_0 X_1) 1)")
    yield "a version", "(vnnlib-version <2.0>)" + asserted("(<= X_0 1)")
    yield "a network", "(declare-network N (declare-input X Real [2]) (declare-output Y Real [2]))" + asserted("(<= X_0 1)")
    yield "a hidden node", "(declare-hidden H_0 Real)" + asserted("(<= X_0 1)")


def products() -> Iterator[Case]:
    for term in ("(* X_0 X_1)", "(* X_0 Y_0)", "(* Y_0 Y_0)", "(* (+ X_0 1) (- Y_0 1))", "(+ 1 (* 2 (* X_0 X_0)))"):
        yield term, asserted(f"(<= {term} 1)")


def sizes() -> Iterator[Case]:
    for depth in (32, 1000, 200_000):
        yield f"{depth} nested conjunctions", asserted("(and " * depth + "(<= X_0 1)" + ")" * depth)
    yield "nested sums", asserted("(<= " + "(+ 1 " * 40 + "X_0" + ")" * 40 + " 1)")
    yield "200,000 opening parentheses", "(" * 200_000


def unbounded() -> Iterator[Case]:
    for name, box in {
        "no bounds": "", "no upper bound": BOX.replace("(assert (<= X_1 2))", ""), "no lower bound": BOX.replace("(assert (>= X_0 -1))", ""),
        "a bound through two inputs": BOX.replace("(assert (<= X_1 2))", "(assert (<= (+ X_0 X_1) 2))"),
        "a bound through an output": BOX.replace("(assert (<= X_1 2))", "(assert (<= X_1 Y_0))"),
        "a bound in one disjunct only": BOX.replace("(assert (<= X_1 2))", "(assert (or (<= X_1 2) (<= Y_0 0)))"),
        "a bound with factor 0": BOX.replace("(assert (<= X_1 2))", "(assert (<= (* 0 X_1) 2))"),
        "a bound that cancels": BOX.replace("(assert (<= X_1 2))", "(assert (<= (- X_1 X_1) 2))"),
        "the same bound twice": BOX.replace("(assert (<= X_1 2))", "(assert (>= X_1 -5))"),
    }.items():
        yield name, NAMES + box + "(assert (<= Y_0 0))"


def disjuncts() -> Iterator[Case]:
    yield "2^17 by 17 disjunctions", NAMES + BOX + "(assert (or (<= Y_0 0) (<= Y_1 0)))" * 17
    yield "2^17 in one conjunction", asserted("(and " + "(or (<= Y_0 0) (<= Y_1 0))" * 17 + ")")
    yield "10^30", NAMES + BOX + ("(assert (or " + "(<= Y_0 0)" * 1000 + "))") * 10
    yield "2^200 in an or", asserted("(or (<= Y_0 1) (and " + "(or (<= Y_0 0) (<= Y_1 0))" * 200 + "))")
    yield "nested", asserted("(and (or (<= Y_0 1) " * 10 + "(and " + "(or (<= Y_0 0) (<= Y_1 0))" * 17 + ")" + "))" * 10)
    yield "50,001 twice", asserted("(and (or (<= Y_0 0) (<= Y_1 0)) (or " + "(<= Y_0 1)" * 50_001 + "))")


def cases(**table: Callable[[], Iterator[Case]]) -> list[Any]:
    """Return the parameters of the cases under each code."""
    codes = {f"vnnlib-{word}": rows for word, rows in table.items()}
    return [pytest.param(code, text, id=f"{code}: {name}") for code, rows in codes.items() for name, text in rows()]


@pytest.mark.parametrize(("code", "text"), cases(syntax=syntax, number=numbers, name=names, operator=operators, nonlinear=products, size=sizes))
def test_refused_by_the_reader(code: str, text: str | bytes) -> None:
    started = time.process_time()
    with pytest.raises(Declined) as caught:
        read(text)
    assert caught.value.code == code
    assert caught.value.fix
    assert time.process_time() - started < 1


@pytest.mark.parametrize(("code", "text"), cases(unbounded=unbounded, size=disjuncts))
def test_refused_in_normal_form(code: str, text: str) -> None:
    specification = read(text)
    started = time.process_time()
    with pytest.raises(Declined) as caught:
        parts(specification, Limits())
    assert caught.value.code == code
    assert caught.value.fix
    assert time.process_time() - started < 1


def test_the_deepest_nesting() -> None:
    for depth, formula in ((31, "X_0"), (30, "(+ X_0)")):  # beside the parentheses of assert
        text = f"(<= {formula} 1)"
        assert normal(asserted("(and " * (depth - 1) + text + ")" * (depth - 1))).empty == 0
        with pytest.raises(Declined) as caught:
            read(asserted("(and " * depth + text + ")" * depth))
        assert caught.value.code == "vnnlib-size"


def test_a_file_of_more_than_64_mebibytes_is_refused() -> None:
    with pytest.raises(Declined) as caught:
        read(b" " * ((64 << 20) + 1))
    assert caught.value.code == "vnnlib-size"


def test_the_largest_files_are_read() -> None:
    started = time.process_time()
    found = normal(NAMES + BOX + "(assert (or (<= Y_0 0) (<= Y_1 0)))" * 16)
    assert len(found.parts) == 1
    assert len(found.parts[0].conjuncts) == 1 << 16
    terms = " ".join(f"(* {k % 7}.5 {('X_0', 'Y_0', 'X_1', 'Y_1')[k % 4]})" for k in range(20_000))
    (row,) = normal(asserted(f"(<= (+ {terms}) 1)")).parts[0].conjuncts[0]
    factors = [sum(Fraction(2 * (k % 7) + 1, 2) for k in range(place, 20_000, 4)) for place in range(4)]
    assert (row.inputs, row.outputs) == ({0: factors[0], 1: factors[2]}, {0: factors[1], 1: factors[3]})
    assert time.process_time() - started < 5


def test_too_much_work_is_declined_before_it_is_done() -> None:
    with pytest.raises(Declined) as caught:
        read_vnnlib1(asserted("(<= X_0 1)").encode(), Limits(work=100))
    assert caught.value.code == "limit-reached"
    specification = read(NAMES + BOX + "(assert (or (<= Y_0 0) (<= Y_1 0)))" * 10)
    for limits in (Limits(work=1000), Limits(table_cells=1000)):
        with pytest.raises(Declined) as caught:
            parts(specification, limits)
        assert caught.value.code == "limit-reached"


def test_the_work_of_long_numbers_is_charged() -> None:
    def power(exponent: int) -> str:
        return f"(* 1e{exponent} " * 23 + f"1e{exponent}" + ")" * 23

    text = asserted(f"(<= (+ {f'(* {power(-9999)} Y_0) (* {power(9999)} Y_0) ' * 2}) 1)")
    assert len(text) < 1500
    with pytest.raises(Declined) as caught:
        read_vnnlib1(text.encode(), Limits())
    assert caught.value.code == "limit-reached"


def test_small_files_take_little_memory_or_are_declined() -> None:
    many = range(250)
    factor = "(* 1e9999 " * 27 + "1e9999" + ")" * 27
    text = "".join(f"(declare-const X_{k} Real)" for k in many) + "(declare-const Y_0 Real)"
    text += f"(assert (<= (* {factor} (+ {' '.join(f'X_{k}' for k in many)})) 1))"
    assert len(text) < 10_000
    tracemalloc.start()
    try:
        read(text)
    except CertifyError as error:
        assert error.code in {"limit-reached", "vnnlib-number", "vnnlib-size"}
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 1 << 24


@pytest.mark.parametrize(("token", "value"), (
    ("0.1", Fraction(1, 10)), ("-0.1", Fraction(-1, 10)), ("+0.1", Fraction(1, 10)), (".5", Fraction(1, 2)), ("-.5", Fraction(-1, 2)),
    ("+.5", Fraction(1, 2)), ("5.", Fraction(5)), ("1.e2", Fraction(100)), (".5e1", Fraction(5)), ("1e-3", Fraction(1, 1000)),
    ("1E3", Fraction(1000)), ("1e+3", Fraction(1000)), ("2.5e-1", Fraction(1, 4)), ("-0", Fraction(0)), ("-0.0", Fraction(0)),
    ("007", Fraction(7)), ("0e0", Fraction(0)),
    ("1e0005", Fraction(10**5)), ("0.1000000000000000055511151231257827", Fraction(1000000000000000055511151231257827, 10**34)),
    ("16777217", Fraction(16777217)), ("9007199254740993", Fraction(9007199254740993)), ("1e9999", Fraction(10**9999)),
    ("1e-9999", Fraction(1, 10**9999)), ("0." + "3" * 998, Fraction(int("3" * 998), 10**998)),
))
def test_decimals_are_exact(token: str, value: Fraction) -> None:
    for text, row in {
        f"(<= Y_0 {token})": Row({}, {0: Fraction(1)}, -value), f"(>= {token} Y_0)": Row({}, {0: Fraction(1)}, -value),
        f"(<= {token} X_0)": Row({0: Fraction(-1)}, {}, value), f"(<= (* {token} Y_1) (- 1))": Row({}, {1: value} if value else {}, Fraction(1)),
        f"(>= (- Y_1 {token} {token}) (+ {token}))": Row({}, {1: Fraction(-1)}, 3 * value),
    }.items():
        assert read(asserted(text)).assertions[-1] == row


def test_linear_forms() -> None:
    for text, row in {
        "(<= (+ X_0 (* 2 Y_0) (* X_1 3) -4) (- Y_1))": Row({0: Fraction(1), 1: Fraction(3)}, {0: Fraction(2), 1: Fraction(1)}, Fraction(-4)),
        "(>= (- X_0 X_1 Y_0) (- 1 2 4))": Row({0: Fraction(-1), 1: Fraction(1)}, {0: Fraction(1)}, Fraction(-5)),
        "(<= (* (+ 1 1) (- (* 0.5 X_0) Y_0)) (* 2 3))": Row({0: Fraction(1)}, {0: Fraction(-2)}, Fraction(-6)),
        "(<= (- (- (- X_0))) (+ X_0 X_0))": Row({0: Fraction(-3)}, {}, Fraction(0)),
        "(<= Y_0 Y_0)": Row({}, {}, Fraction(0)),
        "(<= (* 0 Y_0) (- X_1 X_1))": Row({}, {}, Fraction(0)),
    }.items():
        assert read(asserted(text)).assertions[-1] == row


def test_comments_and_white_space() -> None:
    plain = read(asserted("(or (<= Y_0 1) (<= Y_1 2))"))
    for text in ("; caf\u00e9 (not closed\n" + asserted("(or (<= Y_0 1) (<= Y_1 2))") + "; no line feed at the end)",
                 asserted("(or(<= Y_0 1)(<= Y_1 2))").replace(" ", "\t").replace("\n", "\r\n"),
                 asserted("(or (<= Y_0;\n1) (<= Y_1; 1\n2))"),
                 asserted("(or ; (and)\n(<= Y_0 1;2\n)\n(<= Y_1\n\n2))"), asserted("(or(<= Y_0 1)(<=\nY_1 2))").replace("\n", " \n;;\n ")):
        assert read(text) == plain
    assert (plain.inputs, plain.outputs, len(plain.assertions)) == (2, 2, 5)
    assert isinstance(plain.assertions[-1], Join)


def test_declarations_in_any_order() -> None:
    lines = NAMES.splitlines()
    for order in (lines[::-1], [lines[2], lines[1], lines[3], lines[0]]):
        assert read("".join(order) + BOX) == read(NAMES + BOX)
    many = "".join(f"(declare-const X_{k} Real)" for k in reversed(range(12))) + "(declare-const Y_0 Real)"
    assert read(many + "(assert (<= X_11 1))").inputs == 12


# The normal form. A tree is ("and" | "or", items) or ("<=" | ">=", left, right) with terms (text, factors of X_0 X_1 Y_0 Y_1, constant).

Term = tuple[str, tuple[Fraction, ...], Fraction]
LITERALS = (("0", 0), ("1", 1), ("-1", -1), ("0.5", Fraction(1, 2)), ("-.5", Fraction(-1, 2)), ("15e-1", Fraction(3, 2)), ("2.", 2), ("1E0", 1))
CORNERS = [Fraction(k, 2) for k in range(-3, 4)]


def random_term(rng: random.Random, variables: Sequence[str], depth: int = 2) -> Term:
    """Return the text of a linear term with its meaning, over few values so that points fall on its boundary."""
    kind = rng.choice(("number", "variable", "variable", "+", "-", "minus", "*")) if depth else rng.choice(("number", "variable"))
    if kind == "number" or (kind == "variable" and not variables):
        text, value = rng.choice(LITERALS)
        return text, (Fraction(0),) * 4, Fraction(value)
    if kind == "variable":
        name = rng.choice(variables)
        return name, tuple(Fraction(int(name == other)) for other in ("X_0", "X_1", "Y_0", "Y_1")), Fraction(0)
    items = [random_term(rng, variables, depth - 1) for _ in range(1 if kind == "minus" else rng.choice((1, 2, 3)) if kind == "+" else 2)]
    if kind == "*":
        items[rng.randrange(2)] = factor = random_term(rng, (), depth - 1)
        other = items[0] if items[1] is factor else items[1]
        return (f"(* {items[0][0]} {items[1][0]})", tuple(factor[2] * value for value in other[1]), factor[2] * other[2])
    signs = [-1] if kind == "minus" else [1] + [1 if kind == "+" else -1] * (len(items) - 1)
    return (f"({'+' if kind == '+' else '-'} {' '.join(text for text, _, _ in items)})",
            tuple(sum((sign * item[1][k] for sign, item in zip(signs, items, strict=True)), Fraction(0)) for k in range(4)),
            sum((sign * item[2] for sign, item in zip(signs, items, strict=True)), Fraction(0)))


def random_formula(rng: random.Random, depth: int = 3) -> Any:
    """Return a random formula as a tree."""
    if depth and rng.random() < 0.55:
        return rng.choice(("and", "or", "or")), [random_formula(rng, depth - 1) for _ in range(rng.choice((1, 2, 2, 3)))]
    variables = rng.choice((("X_0",), ("X_1",), ("Y_0", "Y_1"), ("X_0", "X_1", "Y_0", "Y_1"), ()))
    if rng.random() < 0.3 and variables:
        variables = variables[:1]
        sides = [random_term(rng, variables, 0), random_term(rng, (), 0)]
        rng.shuffle(sides)
        return (rng.choice(("<=", ">=")), *sides)
    return rng.choice(("<=", ">=")), random_term(rng, variables), random_term(rng, variables, 1)


def written(tree: Any) -> str:
    """Return the text of a tree."""
    if tree[0] in ("and", "or"):
        return f"({tree[0]} {' '.join(map(written, tree[1]))})"
    return f"({tree[0]} {tree[1][0]} {tree[2][0]})"


def holds(tree: Any, point: Sequence[Fraction]) -> bool:
    """Return whether (x, y) satisfies a tree, from its definition."""
    if tree[0] == "and":
        return all(holds(item, point) for item in tree[1])
    if tree[0] == "or":
        return any(holds(item, point) for item in tree[1])
    left, right = (sum((f * v for f, v in zip(factors, point, strict=True)), constant) for _, factors, constant in tree[1:])
    return left <= right if tree[0] == "<=" else left >= right


def belongs(found: Parts, x: Point, y: Point) -> bool:
    """Return whether a point lies in some part and in one of its conjuncts."""
    return any(part.holds_input(x) and any(all(row.value(x, y) <= 0 for row in rows) for rows in part.conjuncts) for part in found.parts)


def box_tree(rng: random.Random) -> list[Any]:
    """Return assertions that bound both inputs, as trees."""
    atoms = []
    for name, place in (("X_0", 0), ("X_1", 1)):
        variable = (name, tuple(Fraction(int(k == place)) for k in range(4)), Fraction(0))
        for _ in range(rng.choice((1, 1, 2))):
            low, high = sorted(rng.choices(CORNERS, k=2))
            zero = (Fraction(0),) * 4
            atoms += [(">=", variable, (str(float(low)), zero, low)), (">=", (str(float(high)), zero, high), variable)]
    rng.shuffle(atoms)
    return [("and", atoms)] if rng.random() < 0.3 else atoms


@pytest.mark.parametrize("seed", range(10))
def test_the_parts_are_the_formula(seed: int) -> None:
    rng = random.Random(seed)
    inside = outside = joined = 0
    for _ in range(60):
        trees = [*box_tree(rng), *(random_formula(rng) for _ in range(rng.choice((1, 1, 2, 3))))]
        rng.shuffle(trees)
        found = normal(NAMES + "".join(f"(assert {written(tree)})\n" for tree in trees))
        boxes = [(part.lower, part.upper) for part in found.parts]
        assert len(set(boxes)) == len(boxes)
        assert all(a <= b for lower, upper in boxes for a, b in zip(lower, upper, strict=True))
        assert all(row.outputs or len(row.inputs) > 1 for part in found.parts for rows in part.conjuncts for row in rows)
        joined += any(len(part.conjuncts) > 1 for part in found.parts)
        points = [tuple(rng.choices(CORNERS, k=4)) for _ in range(40)]
        points += [(*rng.choice((part.lower, part.upper)), *rng.choices(CORNERS, k=2)) for part in found.parts[:20]]
        points += [tuple(Fraction(rng.randint(-40, 40), rng.randint(1, 20)) for _ in range(4)) for _ in range(10)]
        for point in points:
            expected = all(holds(tree, point) for tree in trees)
            assert belongs(found, point[:2], point[2:]) == expected
            inside, outside = inside + expected, outside + (not expected)
    assert min(inside, outside) > 100
    assert joined > 3


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 160))
def test_the_parts_are_the_formula_in_many_files(seed: int) -> None:
    test_the_parts_are_the_formula(seed)


PlainRow = tuple[tuple[Fraction, ...], Fraction]  # factors of X_0 X_1 Y_0 Y_1, constant; holds where the sum is <= 0


def plain(row: Row) -> PlainRow:
    """Return a row as a tuple."""
    zero = Fraction(0)
    return (*(row.inputs.get(k, zero) for k in range(2)), *(row.outputs.get(k, zero) for k in range(2))), row.constant


def expanded(tree: Any) -> list[list[PlainRow]]:
    """Return the terms of a tree, from the definition of the normal form."""
    if tree[0] == "or":
        return [term for item in tree[1] for term in expanded(item)]
    if tree[0] == "and":
        return [[row for term in chosen for row in term] for chosen in itertools.product(*map(expanded, tree[1]))]
    left, right = tree[1:] if tree[0] == "<=" else tree[:0:-1]
    return [[(tuple(a - b for a, b in zip(left[1], right[1], strict=True)), left[2] - right[2])]]


def defined(trees: Sequence[Any]) -> tuple[list[tuple[Any, list[list[PlainRow]]]], int]:
    """Return boxes with their conjuncts, and the number of empty disjuncts, from the definition of the normal form."""
    choices = [expanded(tree) for tree in trees]
    common = [row for terms in choices if len(terms) == 1 for row in terms[0]]
    found: dict[Any, list[list[PlainRow]]] = {}
    empty = 0
    for chosen in itertools.product(*(terms for terms in choices if len(terms) > 1)):
        rows = common + [row for term in chosen for row in term]
        box, kept, possible = [[-Fraction(10**9), Fraction(10**9)] for _ in range(2)], [], True
        for factors, constant in rows:
            used = [k for k, factor in enumerate(factors) if factor]
            if used in ([0], [1]):
                end = -constant / factors[used[0]]
                side = box[used[0]]
                side[:] = [side[0], min(side[1], end)] if factors[used[0]] > 0 else [max(side[0], end), side[1]]
            elif used:
                kept.append((factors, constant))
            else:
                possible = possible and constant <= 0
        if possible and all(low <= high for low, high in box):
            found.setdefault(tuple(map(tuple, box)), []).append(kept)
        else:
            empty += 1
    return list(found.items()), empty


@pytest.mark.parametrize("seed", range(200, 206))
def test_the_normal_form_is_the_defined_one(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(60):
        trees = [*box_tree(rng), *(random_formula(rng) for _ in range(rng.choice((1, 1, 2, 3))))]
        rng.shuffle(trees)
        found = normal(NAMES + "".join(f"(assert {written(tree)})\n" for tree in trees))
        boxes = [tuple(zip(part.lower, part.upper, strict=True)) for part in found.parts]
        conjuncts = [[[plain(row) for row in rows] for rows in part.conjuncts] for part in found.parts]
        assert (list(zip(boxes, conjuncts, strict=True)), found.empty) == defined(trees)


def rows_of(part: Part) -> list[list[tuple[dict[int, Fraction], dict[int, Fraction], Fraction]]]:
    return [[(dict(row.inputs), dict(row.outputs), row.constant) for row in rows] for rows in part.conjuncts]


def test_an_or_followed_by_an_assertion_is_a_conjunction() -> None:
    both = normal(asserted("(or (<= Y_0 0) (<= Y_1 0))") + "(assert (<= Y_0 -5))")
    assert [len(rows) for rows in both.parts[0].conjuncts] == [2, 2]
    assert belongs(both, (Fraction(0), Fraction(0)), (Fraction(-6), Fraction(1)))
    assert not belongs(both, (Fraction(0), Fraction(0)), (Fraction(1), Fraction(-1)))
    assert not belongs(both, (Fraction(0), Fraction(0)), (Fraction(-1), Fraction(-1)))


def test_equal_boxes_are_joined_where_they_occur_first() -> None:
    low, high, zero = "(<= X_0 0)", "(>= X_0 0)", Fraction(0)
    found = normal(asserted("(or " + " ".join(f"(and {half} (<= Y_0 {k}))" for k, half in enumerate((high, low, high, "(<= 0 X_0)", low))) + ")"))
    boxes = [(part.lower, part.upper) for part in found.parts]
    assert boxes == [((zero, zero), (Fraction(1), Fraction(2))), ((Fraction(-1), zero), (zero, Fraction(2)))]
    assert [[row.constant for rows in part.conjuncts for row in rows] for part in found.parts] == [[0, -2, -3], [-1, -4]]
    bounds_that_change_nothing = normal(asserted("(or (and (<= X_0 1) (<= Y_0 0)) (<= Y_0 1) (and (<= X_0 7) (>= X_1 -9) (<= Y_0 2)))"))
    assert [len(part.conjuncts) for part in bounds_that_change_nothing.parts] == [3]


def test_the_first_assertion_varies_slowest() -> None:
    found = normal(asserted("(or (<= Y_0 1) (<= Y_0 2))") + "(assert (or (<= Y_1 3) (<= Y_1 4)))")
    assert [[-row.constant for row in rows] for rows in found.parts[0].conjuncts] == [[1, 3], [1, 4], [2, 3], [2, 4]]
    nested = normal(asserted("(and (or (<= Y_0 1) (<= Y_0 2)) (or (<= Y_1 3) (and (<= Y_1 4) (<= Y_1 5))))"))
    assert [[-row.constant for row in rows] for rows in nested.parts[0].conjuncts] == [[1, 3], [1, 4, 5], [2, 3], [2, 4, 5]]


def test_empty_disjuncts_are_counted() -> None:
    found = normal(asserted("(or (and (>= X_0 2) (<= Y_0 0)) (<= Y_0 1) (>= X_1 2.5) (and (<= X_0 0) (>= X_0 0)) (and (<= 1 0) (<= Y_0 0)))"))
    assert found.empty == 3
    assert [(part.lower[0], part.upper[0]) for part in found.parts] == [(-1, 1), (0, 0)]
    nothing = normal(asserted("(>= X_0 2)"))
    assert (nothing.parts, nothing.empty) == ((), 1)
    assert normal(asserted("(or (>= X_0 2) (<= X_1 -1))")).empty == 2


def test_repeated_bounds_tighten() -> None:
    found = normal(asserted("(<= X_0 0.5)") + "(assert (<= (* 2 X_0) 1.5)) (assert (>= X_0 -0.25)) (assert (>= X_0 -3)) (assert (<= (- X_1) -1))")
    assert found.parts == (Part((Fraction(-1, 4), Fraction(1)), (Fraction(1, 2), Fraction(2)), ((),)),)
    inside = normal(asserted("(or (and (<= X_0 0.5) (<= X_0 0.25) (<= X_0 3)) (>= (* -1 X_0) 1))"))
    assert [(part.lower[0], part.upper[0]) for part in inside.parts] == [(-1, Fraction(1, 4)), (-1, -1)]


def test_constant_atoms() -> None:
    for formula in ("(<= 0 0)", "(<= 1 2)", "(<= (- X_0 X_0) 0)", "(<= (* 0 Y_0) 0.5)", "(>= Y_0 Y_0)", "(or (<= 1 0) (<= 0 1))"):
        found = normal(asserted(formula))
        assert [rows_of(part) for part in found.parts] == [[[]]]
    for formula in ("(<= 1 0)", "(<= (- Y_0 Y_0) -1)", "(>= 0 1e-9999)", "(and (<= Y_0 0) (<= 1 0))"):
        found = normal(asserted(formula))
        assert (found.parts, found.empty) == ((), 1)
    found = normal(asserted("(or (<= 1 0) (<= Y_0 0) (<= 0 0))"))
    assert found.empty == 1
    assert [rows_of(part) for part in found.parts] == [[[({}, {0: 1}, 0)], []]]


def test_rows_over_inputs_stay_rows() -> None:
    found = normal(asserted("(<= (+ X_0 X_1) 1)"))
    assert [rows_of(part) for part in found.parts] == [[[({0: 1, 1: 1}, {}, -1)]]]
    assert found.parts[0].holds_input((Fraction(1), Fraction(2)))
    assert not found.parts[0].holds_input((Fraction(1), Fraction(2), Fraction(0)))
    assert not belongs(found, (Fraction(1), Fraction(2)), (Fraction(0), Fraction(0)))


def read_or_refuse(data: bytes) -> bool:
    """Return whether the bytes are a property; an exception that is not ours goes through."""
    try:
        found = normal(data)
    except CertifyError as error:
        assert error.code.startswith("vnnlib-") or error.code == "limit-reached"
        return False
    return found.empty >= 0


BASES = [text.encode() for text in (
    asserted("(or (and (<= Y_0 Y_1) (>= X_0 0.25)) (<= (+ (* 2 X_0) (- Y_0 1e-3)) 5))"), NAMES + "; bounds\n" + BOX + "(assert (<= Y_0 .5))",
    "(declare-const X_0 Real)(declare-const Y_0 Real)(assert (and (<= X_0 1) (>= X_0 0)))(assert (or (and (<= X_0 1e0)) (and (<= Y_0 -1))))")]
PIECES = st.sampled_from([b"(", b")", b" ", b";", b"\n", b"and", b"or", b"<=", b">=", b"X_0", b"Y_1", b"X_9", b"1e9", b"-", b"(or", b"()", b"assert",
                          b"0", b"\xff", b"(* 2 ", b"(+ ", b"1e9999", b"not", b"="])


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


@few
@given(st.lists(PIECES, max_size=60))
def test_random_tokens_are_refused(pieces: list[bytes]) -> None:
    assert not read_or_refuse(b" ".join(pieces))


@pytest.mark.slow
@many
@given(mutants())
def test_many_mutated_files_are_read_or_refused(data: bytes) -> None:
    assert read_or_refuse(data) in (True, False)
