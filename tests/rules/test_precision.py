# SPDX-License-Identifier: Apache-2.0
"""Each error term alone: inputs chosen so that one term of the proofs decides, and a checker without it accepts something false."""

from fractions import Fraction

import numpy as np
import pytest

import random_networks as made
from certify.limits import Limits
from certify.readers.formula import Part, Row
from certify.readers.network import Dense, Network, Relu, Scale
from certify.rules import bounds_tree
from certify.rules.balls import SNAP
from certify.rules.evaluation import evaluate
from certify.rules.relaxation import Bounds, Relaxation
from toolkit import refused

leaf = {"tree": np.array([-1], "<i4")}


def array(*values):
    """Return a float array."""
    return np.array(values, float)


def checked(net, parts, arrays, limits=None):
    """Check evidence for parts."""
    return bounds_tree.check(Relaxation(net, limits or Limits()), parts, arrays, limits or Limits())


def box(lo, hi, *conj):
    """Return a part with rational ends."""
    return Part(tuple(map(Fraction, lo)), tuple(map(Fraction, hi)), conj)


def cancelling(rng, n):
    """Return a network whose products and sums cancel, and a point: nearly opposite rows, biases that cancel W x."""
    x = [Fraction(int(v), 2**20) for v in rng.integers(-(2**21), 2**21, n)]
    layers = []
    h = x
    cur = n
    for _k in range(int(rng.integers(1, 4))):
        m = 2 * int(rng.integers(1, 5))
        w = (rng.standard_normal((m, cur))).astype(np.float32).astype(float)
        w[1::2] = -(w[0::2] * (1 + 2.0**-22 * rng.integers(-2, 3, (m // 2, 1)))).astype(np.float32)
        z = [sum((Fraction(a) * b for a, b in zip(r, h, strict=True)), Fraction(0)) for r in w.tolist()]
        b = np.array([-float(v) for v in z]).astype(np.float32).astype(float) if rng.random() < 0.5 else np.zeros(m)
        layers.append(Dense(w, b))
        cur = m
        if rng.random() < 0.5:
            layers.append(Scale(int(rng.choice([1, -1])), np.resize([1e6, -1e6], m).astype(np.float32).astype(float)))
        if rng.random() < 0.4:
            layers.append(Relu(cur))
        h = made.exact_values(Network((1, n), n, tuple(layers)), x)[-1]
    layers.append(Dense(np.ones((1, cur)), np.zeros(1)))
    return Network((1, n), n, tuple(layers)), x


@pytest.mark.parametrize("seed", range(5, 9))
def test_cancellation(seed):
    rng = np.random.default_rng(seed)
    for _ in range(100):
        net, x = cancelling(rng, int(rng.integers(1, 13)))
        L = np.array([[float(v) for v in x]])
        wide = rng.random() < 0.3
        U = L + (np.abs(L) * 1e-9 if wide else 0)
        rel = Relaxation(net, Limits())
        b = rel.propagate(L, U, None)
        for p in [x] if not wide else [x, [Fraction(float(v)) for v in U[0]]]:
            vals = made.exact_values(net, p)
            for k, v in enumerate(vals):
                for i, e in enumerate(v):
                    assert Fraction(float(b.lower[k][0, i])) <= e <= Fraction(float(b.upper[k][0, i])), k
            for s in (1.0, -1.0):
                for j in range(1, len(net.layers) + 1):
                    sz = len(vals[j])
                    c = rng.integers(-2, 3, sz).astype(float)
                    c[::2] = 1.0
                    c = s * c
                    got = rel.lower_bounds(c[None], np.zeros(1), np.zeros(1, np.int64), j, b, L, U)
                    assert Fraction(float(got[0])) <= sum((Fraction(q) * v for q, v in zip(c, vals[j], strict=True)), Fraction(0)), ("row", j)


def test_constant_much_larger_than_gain():
    net = Network((1, 1), 1, ())
    rel = Relaxation(net, Limits())
    b = rel.propagate(array([2.0**-60]), array([2.0**-60]), None)
    got = rel.lower_bounds(array([-1.0]), array(1.0), np.zeros(1, np.int64), 0, b, array([2.0**-60]), array([2.0**-60]))
    assert Fraction(float(got[0])) <= 1 - Fraction(1, 2**60)


def test_input_reach_of_upper_end():
    rng = np.random.default_rng(6)
    for _ in range(300):
        n = int(rng.integers(2, 9))
        U = rng.standard_normal((1, n))
        U = np.abs(U) * 1e3
        L = np.zeros((1, n))
        net = Network((1, n), n, ())
        rel = Relaxation(net, Limits())
        b = rel.propagate(L, U, None)
        c = -rng.random(n)
        got = rel.lower_bounds(c[None], array(0.0), np.zeros(1, np.int64), 0, b, L, U)
        # exact minimum is at U
        e = sum((Fraction(q) * Fraction(float(u)) for q, u in zip(c, U[0], strict=True)), Fraction(0))
        assert Fraction(float(got[0])) <= e


def test_snap_is_paid_for():
    t = 2.0**-149
    net = Network((1, 1), 1, tuple(Dense(array([t]), array(0.0)) for _ in range(3)))
    rel = Relaxation(net, Limits())
    X = array([2.0**290])
    b = rel.propagate(X, X, None)
    got = rel.lower_bounds(array([-1.0]), array(0.0), np.zeros(1, np.int64), 3, b, X, X)
    assert Fraction(float(got[0])) <= -(Fraction(t) ** 3) * Fraction(2) ** 290
    net = Network(
        (1, 1),
        1,
        (
            *tuple(Dense(array([t]), array(0.0)) for _ in range(2)),
            Dense(array([1.0]), array(0.0)),
            *tuple(Dense(array([t]), array(0.0)) for _ in range(3)),
        ),
    )
    X = array([2.0**299])
    rel = Relaxation(net, Limits())
    b = rel.propagate(X, X, None)


def test_relu_step_keeps_the_invariant():
    rng = np.random.default_rng(7)
    for _ in range(300):
        m = int(rng.integers(1, 40))
        net = Network((1, m), m, (Relu(m),))
        rel = Relaxation(net, Limits())
        lo = -np.abs(rng.standard_normal((1, m))) * 2.0 ** rng.integers(-20, 20, (1, m))
        hi = np.abs(rng.standard_normal((1, m))) * 2.0 ** rng.integers(-20, 20, (1, m))
        z = rng.random((1, m))
        lo = np.where(z < 0.1, 0.0, np.where(z < 0.2, hi / 2, lo))
        hi = np.where((z > 0.9), np.minimum(0.0, lo / 2), hi)
        hi = np.maximum(lo, hi)
        tiny = (z > 0.5) & (z < 0.55)
        hi = np.where(tiny, 1e-13, hi)
        c = rng.standard_normal((1, m)) * 2.0 ** rng.integers(-30, 30, (1, m))
        k0 = rng.standard_normal(1)
        r, k = rel._relu(0, c, k0, np.zeros(1, np.int64), Bounds((lo, np.maximum(lo, 0)), (hi, np.maximum(hi, 0))), None, slice(None))
        # worst case neuron by neuron over l, u, 0: min of c relu(z) - r z
        tot = Fraction(float(k0[0])) - Fraction(float(k[0]))
        for i in range(m):
            pts = [Fraction(float(lo[0, i])), Fraction(float(hi[0, i]))] + ([Fraction(0)] if lo[0, i] < 0 < hi[0, i] else [])
            tot += min(Fraction(float(c[0, i])) * max(p, Fraction(0)) - Fraction(float(r[0, i])) * p for p in pts)
        assert tot >= 0


def test_relu_at_zero_lower_bound():
    def row(q, k):
        return (Row({}, {0: Fraction(q)}, Fraction(k)),)

    for layers in (
        (Relu(1),),
        (Relu(1), Relu(1)),
        (Dense(array([1.0]), array(0.0)), Relu(1), Relu(1)),
        (Dense(array([1.0]), array(0.0)), Relu(1), Scale(1, array(0.0)), Relu(1)),
    ):
        refused("leaf-uncovered", checked, Network((1, 1), 1, layers), [box([0], [1], row(-1, "1/2"))], leaf)
        checked(Network((1, 1), 1, layers), [box([0], [1], row(-1, "3/2"))], leaf)


def test_relu_with_a_tiny_positive_end():
    refused(
        "leaf-uncovered",
        checked,
        Network((1, 1), 1, (Relu(1),)),
        [box([-1], [Fraction(1, 10**13)], (Row({}, {0: Fraction(-1)}, Fraction(1, 2 * 10**13)),))],
        leaf,
    )


def test_inherited_bounds_are_those_of_the_own_parent():
    for s in (1.0, -1.0):
        net = Network((1, 1), 1, (Dense(array([s]), array(0.0)), Relu(1)))
        conj = (
            Row({}, {0: Fraction(1)}, Fraction(-1, 10)),
            Row({}, {0: Fraction(-1)}, Fraction(-1, 10)),
            Row({0: Fraction(s)}, {}, Fraction(11, 20)),
        )
        arrays = {"tree": np.array([0, 0, -1, -2, 0, -3, -4], "<i4"), "split_at": array(0.25 * s, 0.5, -0.5), "recompute": np.ones(7, "|u1")}
        refused("leaf-uncovered", checked, net, [box([-1], [1], conj)], arrays)


def test_rows_are_bounded_on_their_own_leaf():
    # two conjuncts, two leaves; the first conjunct is violated in the second leaf only
    net = Network((1, 1), 1, ())
    a = (Row({}, {0: Fraction(1)}, Fraction(1, 2)),)
    b = (Row({}, {0: Fraction(0)}, Fraction(1)),)
    b = (Row({}, {0: Fraction(1)}, Fraction(9)),)
    for order in ((a, b), (b, a)):
        for _theta in (-0.75, 0.25):
            refused(
                "leaf-uncovered",
                checked,
                net,
                [box([-1], [1], *order)],
                {"tree": np.array([0, -1, -2], "<i4"), "split_at": array(0.0)},
            )


def test_sizes_above_2_300():
    refused(
        "number-too-large",
        lambda: Relaxation(Network((1, 1), 1, (Dense(array([2.0**200]), array(0.0)), Dense(array([2.0**120]), array(0.0)))), Limits()).propagate(
            array([0.0]), array([1.0]), None
        ),
    )
    net = Network((1, 1), 1, (Dense(array([2.0**-200]), array(0.0)), Dense(array([2.0**200]), array(0.0))))
    refused("number-too-large", checked, net, [box([0], [1], (Row({}, {0: Fraction(2) ** 150}, Fraction(1)),))], leaf)
    refused("number-too-large", Relaxation, Network((1, 1), 1, (Dense(array([1.0]), array(2.0**220)),)), Limits())
    refused("number-too-large", Relaxation, Network((1, 1), 1, (Scale(1, array(2.0**220)),)), Limits())
    refused("number-too-large", checked, Network((1, 1), 1, ()), [box([0], [1], (Row({}, {0: Fraction(1)}, Fraction(2) ** 301),))], leaf)
    refused(
        "number-too-large", checked, Network((1, 1), 1, ()), [box([0], [1], (Row({0: Fraction(2) ** 301}, {0: Fraction(1)}, Fraction(1)),))], leaf
    )


def test_memory_of_weights():
    net = Network((1, 10), 10, (Dense(np.ones((10, 10)), np.zeros(10)),))
    Relaxation(net, Limits(memory=5200))
    refused("limit-reached", Relaxation, net, Limits(memory=5199))


def test_work_is_the_documented_sum():
    net = Network(
        (1, 2),
        2,
        (
            Dense(np.ones((3, 2)), np.zeros(3)),
            Relu(3),
            Dense(np.array([[1.0, -1, 1], [-1, 1, 1], [1, 1, -1]]), np.zeros(3)),
            Relu(3),
            Dense(np.ones((1, 3)), np.ones(1)),
        ),
    )
    part = box([-1, -1], [1, 1], (Row({}, {0: Fraction(1)}, Fraction(5)),))
    limits = Limits().fresh()
    checked(net, [part], {"tree": np.array([0, -1, -2], "<i4"), "split_at": array(0.0), "recompute": array(1, 1, 1).astype("|u1")}, limits)
    assert limits.spent == 2320876, limits.spent


def test_largest_and_smallest():
    net = Network((1, 1), 1, ())
    p = [box([0], [9], (Row({}, {0: Fraction(1)}, Fraction(1)),)), box([0], [1], (Row({}, {0: Fraction(1)}, Fraction(5)),))]
    f = checked(net, p, {"tree": np.array([-1, -2], "<i4")})
    assert f.largest_value == 9.0 and abs(f.smallest_margin - 1) < 1e-9


def test_item_and_row_ranges():
    net = Network((1, 1), 1, ())
    p = [box([0], [1], (Row({}, {0: Fraction(1)}, Fraction(1)),))]
    refused("branch-invalid", checked, net, p, {"tree": np.array([1, -1, -2], "<i4"), "split_at": array(0.5)})
    refused("evidence-range", checked, net, p, {"tree": np.array([-1], "<i4"), "row": np.array([1], "<i4")})


def _low(net, rows, k, L, U):
    rel = Relaxation(net, Limits())
    b = rel.propagate(L, U, None)
    return b, [Fraction(float(v)) for v in rel.lower_bounds(rows, np.zeros(len(rows)), np.zeros(len(rows), np.int64), k, b, L, U)]


def _cancel(rng, a, v):
    """Return v with its last entry (or row) set so that a.v nearly vanishes."""
    v = v.copy()
    v[-1] = -(a[:-1] @ v[:-1]) / a[-1]
    return v


def _fdot(a, b):
    return sum((Fraction(float(p)) * Fraction(float(q)) for p, q in zip(a, b, strict=True)), Fraction(0))


def test_each_error_term_alone():
    rng = np.random.default_rng(8)
    for trial in range(120):
        m = int(rng.integers(2, 9))
        n = int(rng.integers(2, 6))
        a = rng.standard_normal(m)
        # dense: A W cancels, at a corner of large size and at one of size 0
        W = _cancel(rng, a, rng.standard_normal((m, n)))
        net = Network((1, n), n, (Dense(W, np.zeros(m)),))
        sg = rng.choice([-1.0, 1.0], n) * rng.random(n)
        L = np.minimum(sg, 0.0)[None]
        U = np.maximum(sg, 0.0)[None]
        if trial % 3 == 0:
            L = -rng.random((1, n))
            U = np.zeros((1, n))
        if trial % 3 == 1:
            U = rng.random((1, n))
            L = np.zeros((1, n))
        col = [_fdot(a, W[:, j]) for j in range(n)]
        for s in (1, -1):
            _, (got,) = _low(net, s * a[None], 1, L, U)
            assert got <= sum(min(s * c * Fraction(float(low)), s * c * Fraction(float(u))) for c, low, u in zip(col, L[0], U[0], strict=True)), (
                "dense"
            )
        # dense: A b cancels, W x is small
        b = _cancel(rng, a, rng.standard_normal(m))
        W = rng.standard_normal((m, n)) * 1e-9
        x = rng.random((1, n))
        net = Network((1, n), n, (Dense(W, b),))
        for s in (1, -1):
            _, (got,) = _low(net, s * a[None], 1, x, x)
            e = s * (_fdot(a, b) + sum(_fdot(a, W[:, j]) * Fraction(float(x[0, j])) for j in range(n)))
            assert got <= e, "bias"
        # scale: A b cancels, x is small
        x = rng.random((1, m)) * 1e-9
        net = Network((1, m), m, (Scale(1, b),))
        for s in (1, -1):
            _, (got,) = _low(net, s * a[None], 1, x, x)
            assert got <= s * (_fdot(a, b) + _fdot(a, x[0])), "scale"
        # input: A x cancels
        x = _cancel(rng, a, rng.standard_normal(m))[None]
        net = Network((1, m), m, ())
        for s in (1, -1):
            _, (got,) = _low(net, s * a[None], 0, x, x)
            assert got <= s * _fdot(a, x[0]), "input"


@pytest.mark.parametrize("seed", range(9, 19))
def test_long_sums(seed):
    rng = np.random.default_rng(seed)
    for _trial in range(3):
        n = 4096
        h = n // 2
        p = 1 + rng.random(n)
        p[h:] *= -1
        p[-1] -= p.sum()
        q = 1 + rng.random(n)
        q = np.float32(q).astype(float)
        w = p / q
        for s in (1, -1):
            net = Network((1, n), n, ())
            _, (got,) = _low(net, s * w[None], 0, q[None], q[None])
            assert got <= s * _fdot(w, q), "input"
            net = Network((1, n), n, (Dense(s * w[None], np.zeros(1)),))
            b, (got,) = _low(net, np.ones((1, 1)), 1, q[None], q[None])
            e = s * _fdot(w, q)
            assert Fraction(float(b.lower[1][0, 0])) <= e <= Fraction(float(b.upper[1][0, 0])), "interval"
            net = Network((1, 1), 1, (Dense(q[:, None], np.zeros(n)),))
            b, (got,) = _low(net, s * w[None], 1, np.ones((1, 1)), np.ones((1, 1)))
            assert got <= s * _fdot(w, q), "dense"
        U = (rng.random((1, n)) + 1) * rng.random()
        c = -rng.random(n)
        net = Network((1, n), n, ())
        _, (got,) = _low(net, c[None], 0, np.zeros((1, n)), U)
        assert got <= _fdot(c, U[0]), "upper end"


def test_chord_that_is_rounded_up():
    lo, hi = -(1 + 2.0**-24), 2.0**30 - 1
    net = Network((1, 1), 1, (Relu(1),))
    b, (_got,) = _low(net, -np.ones((1, 1)), 1, array([lo]), array([hi]))
    rel = Relaxation(net, Limits())
    r, k = rel._relu(0, array([-1.0]), array(0.0), np.zeros(1, np.int64), b, None, slice(None))
    for z in (lo, hi, 0.0):
        assert Fraction(float(r[0, 0])) * Fraction(z) + Fraction(float(k[0])) <= -max(Fraction(z), 0)


def test_offsets_of_many_neurons():
    rng = np.random.default_rng(10)
    for _ in range(20):
        m = 4096
        net = Network((1, m), m, (Relu(m),))
        rel = Relaxation(net, Limits())
        lo = -1e9 * (1 + rng.random((1, m)))
        hi = 1 + rng.random((1, m))
        hi = hi * 1e-3
        c = -rng.random((1, m))
        r, k = rel._relu(0, c, array(0.0), np.zeros(1, np.int64), Bounds((lo, lo * 0), (hi, hi)), None, slice(None))
        assert _fdot(c[0], hi[0]) - _fdot(r[0], hi[0]) >= Fraction(float(k[0]))


def test_memory_of_boxes():
    net = Network((1, 4), 4, ())
    p = [box([0] * 4, [1] * 4, (Row({}, {0: Fraction(1)}, Fraction(1)),))]
    t = {"tree": np.array([0, 0, 0, 0, 0, -1, -2, -3, -4, -5, -6], "<i4"), "split_at": array(0.5, 0.75, 0.875, 0.9375, 0.96875)}
    checked(net, p, t, Limits(memory=640))
    refused("limit-reached", checked, net, p, t, Limits(memory=639))


def test_a_decimal_box_is_rounded_outward():
    """A box of one decimal point touches the unsafe set in that point, from either side."""
    for v in (Fraction(1, 10), Fraction(3, 10), Fraction(-1, 3), Fraction(7, 10**20)):
        for sign in (1, -1):
            row = (Row({}, {0: Fraction(sign)}, -sign * v),)
            refused("leaf-uncovered", checked, Network((1, 1), 1, ()), [box([v], [v], row)], leaf)


def test_residues():
    # g = q x with q no double; identity; margins smaller than the residue
    net = Network((1, 1), 1, ())
    for q, x in (
        (Fraction(1, 3), Fraction(2) ** 40),
        (Fraction(1, 10), Fraction(2) ** 50),
        (Fraction(1, 10**400), Fraction(2) ** 299),
        (Fraction(1, 3) * Fraction(1, 10**95), Fraction(2) ** 290),
        (Fraction(7, 10**92), Fraction(2) ** 299),
    ):
        for side in ("in", "out"):
            for s in (1, -1):
                g = s * q * x
                for _c in (
                    Fraction(0),
                    Fraction(10**40),
                ):
                    row = Row({0: s * q}, {}, -g) if side == "in" else Row({}, {0: s * q}, -g)
                    refused("leaf-uncovered", checked, net, [box([x], [x], (row,))], leaf)
                # several parts' boxes in one batch: another leaf's reach
    # two leaves of one tree with different reach: violated where |x| is large
    refused(
        "leaf-uncovered",
        checked,
        net,
        [box([0], [2**40], (Row({0: Fraction(-1, 3)}, {}, Fraction(1, 3) * 2**40),))],
        {"tree": np.array([0, -1, -2], "<i4"), "split_at": array(1.0)},
    )
    refused(
        "leaf-uncovered",
        checked,
        net,
        [box([0], [2**40], (Row({0: Fraction(-1, 3)}, {}, Fraction(1, 3) * 2**40),))],
        {"tree": np.array([0, -1, -2], "<i4"), "split_at": array(2.0**40 - 1)},
    )


def test_residue_of_its_own_leaf():
    net = Network((1, 1), 1, ())
    q, X = Fraction(7, 10**92), Fraction(2) ** 299
    for row in (Row({0: q}, {}, q * X), Row({}, {0: q}, q * X)):
        for rec in ({}, {"recompute": np.ones(3, "|u1")}):
            refused(
                "leaf-uncovered",
                checked,
                net,
                [box([-X], [0], (row,))],
                {"tree": np.array([0, -1, -2], "<i4"), "split_at": array(-1.0), **rec},
            )


def test_nan_is_never_above_zero():
    """Infinities that meet give NaN, and every comparison with NaN is false."""
    far = Fraction(10) ** 308
    row = Row({}, {0: Fraction(10) ** 89, 1: -(Fraction(10) ** 90)}, Fraction(1))
    refused("leaf-uncovered", checked, Network((1, 2), 2, ()), [box([far] * 2, [far] * 2, (row,))], leaf)
    net = Network((1, 2), 2, (Dense(array([2.0**120, -(2.0**120)]), array(0.0)),))
    refused("number-too-large", checked, net, [box([far] * 2, [far] * 2, (Row({}, {0: Fraction(1)}, Fraction(1)),))], leaf)


def test_empty_and_idle_arrays():
    net = Network((1, 1), 1, ())
    p = [box([0], [1], (Row({}, {0: Fraction(1)}, Fraction(1)),))]
    for k, v in (("split_at", np.zeros(0)), ("mix", np.zeros(0)), ("recompute", np.ones(1, "|u1"))):
        refused("unused-evidence", checked, net, p, {**leaf, k: v})


def test_exact_evaluation_is_charged():

    limits = Limits().fresh()
    evaluate(
        Network((1, 2), 2, (Dense(np.full((2, 2), 2.0**-149), np.zeros(2)), Scale(1, np.ones(2)), Relu(2))),
        [Fraction(1, 3**99), Fraction(1, 5**99)],
        limits,
    )
    assert limits.spent == 7538, limits.spent


def test_constant_is_rounded_down():
    net = Network((1, 1), 1, ())
    spec = Relaxation(net, Limits()).specify(((Row({}, {0: Fraction(1)}, Fraction(1, 3)), Fraction(1)),))
    assert Fraction(spec.constant) < Fraction(1, 3)
    for v in (Fraction(1, 3), Fraction(-1, 3), Fraction(1, 10**400), Fraction(-1, 10**95), Fraction(7, 10**91)):
        spec = Relaxation(net, Limits()).specify(((Row({0: v}, {0: v}, Fraction(0)), Fraction(1)),))
        for c, r in ((spec.inputs, spec.input_residue), (spec.outputs, spec.output_residue)):
            assert abs(v - Fraction(float(c[0]))) <= Fraction(float(r[0])) and (c[0] == 0 or abs(c[0]) >= SNAP) and (r[0] == 0 or r[0] >= SNAP)
