# SPDX-License-Identifier: Apache-2.0
"""Convolutions as relations: their matrix from the definition, the same network with dense layers, bounds at points, widths, and forged witnesses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from certify.errors import Declined
from certify_zk.circuit import assemble, circuit, relations
from certify_zk.convolution import image
from certify_zk.evaluation import violations
from certify_zk.policy import MOST_SIZE, Conv, Dense
from certify_zk.preparation import examples
from certify_zk.relations import Gated, Image, Inner, Linear, of, power_of_two, require_widths, widths
from certify_zk.statement import Box, Rows, Score, robust
from certify_zk.width import Interval, Ranges, cell
from certify_zk.witness import Choices, Integers, Model, Unknown, Witness, witness
from zk.convolutions import GEOMETRIES, NETWORKS, Problem, as_dense, convolved, specimen, values, written_out
from zk.forging import Forger, codes, forged, require_each_counts
from zk.test_circuit import made
from zk.test_forged_witnesses import Steps, at, lie
from zk.test_lemmas import read
from zk.tiny import Erratic

FULL, STOPPED = NETWORKS["conv-conv-dense"], NETWORKS["conv-conv-dense ibp"]


@pytest.mark.parametrize("layer", GEOMETRIES, ids=str)
def test_a_matrix_is_the_convolution(layer: Conv) -> None:
    layer.require()
    rng = np.random.default_rng(1)
    kernel, bias = rng.integers(1, 1 << 16, layer.stored), rng.integers(1, 99, layer.stored[0])
    shape = power_of_two(layer.outputs), power_of_two(layer.inputs)
    junk = [np.pad(kernel, [(0, 2), (0, 3)], constant_values=7), np.pad(bias, (0, 5), constant_values=7)]  # what is stored in padding does not count
    matrix, biases = image(layer, junk[0], shape), image(layer, junk[1], shape[:1])
    for _ in range(3):
        y = rng.integers(0, 99, layer.inputs)
        assert (matrix[: layer.outputs, : layer.inputs] @ y + biases[: layer.outputs]).tolist() == convolved(layer, kernel, bias, y)
    assert not matrix[layer.outputs :].any() and not matrix[:, layer.inputs :].any() and not biases[layer.outputs :].any()
    plain, other = written_out(layer, kernel, bias)
    assert (matrix[: layer.outputs, : layer.inputs] == plain).all() and (biases[: layer.outputs] == other).all()
    assert layer.parameters == kernel.size + bias.size and set(np.unique(matrix)) <= {0, *kernel.ravel().tolist()}


@pytest.mark.parametrize("layer", [
    Conv(0, 3, 3, 1, 2), Conv(1, 0, 3, 1, 2), Conv(1, 3, 0, 1, 2), Conv(1, 3, 3, 0, 2), Conv(1, 3, 3, 1, 0), Conv(1, 3, 3, 1, 2, 0),
    Conv(1, 3, 3, 1, 1, 1, -1), Conv(1, 3, 3, 1, 2, 1, 2), Conv(1, 3, 9, 1, 4), Conv(1, 9, 3, 1, 4), Conv(1 << 14, 1, 1, 1, 3, 1, 1),
    Conv(MOST_SIZE + 1, 1, 1, 1, 1), Conv(1, 1, 1, MOST_SIZE + 1, 1),
])
def test_limits_of_convolutions(layer: Conv) -> None:
    for layers in ((layer,), (Dense(1, layer.channels_in), layer)):
        policy = replace(NETWORKS["one conv"][0], layers=layers, modes=("crown",) * len(layers), tau=((), (9,))[: len(layers)])
        with pytest.raises(Declined) as caught:
            policy.require()
        assert caught.value.code == "commitment-limit" and caught.value.fix


def test_layers_have_the_sizes_of_those_before() -> None:
    policy = NETWORKS["conv-dense"][0]
    for layers in ((Conv(2, 3, 3, 3, 2, 1, 0), policy.layers[1]), (Conv(2, 3, 3, 4, 2, 1, 1), policy.layers[1])):
        with pytest.raises(Declined, match="does not fit"):
            replace(policy, layers=layers).require()


@pytest.mark.parametrize("name", NETWORKS)
def test_the_same_network_with_dense_layers_has_the_same_bounds(name: str) -> None:
    some, dense = NETWORKS[name], as_dense(NETWORKS[name])
    first, second = witness(*some), witness(*dense)
    assert isinstance(first, Witness) and isinstance(second, Witness)
    assert first.margins == second.margins
    assert violations(*some[::2], first.circuit, first.tables) == () == violations(*dense[::2], second.circuit, second.tables)
    shared = set(first.tables) & set(second.tables)
    assert all(name.startswith(("kernel", "weight")) for name in set(first.tables) ^ set(second.tables))
    for table in shared:
        if not table.startswith("bias"):
            assert np.array_equal(first.tables[table], second.tables[table]), table
    intervals = [dict(widths(found.circuit.blocks.values(), found.circuit.relations)) for found in (first, second)]
    assert all(intervals[0][name] == intervals[1][name] for name in intervals[0].keys() & intervals[1].keys() if name.startswith("region"))
    written = some[1].dense(some[0].layers)
    assert all(np.array_equal(a, b) for a, b in zip((*written.weights, *written.biases), (*dense[1].weights, *dense[1].biases), strict=True))


def test_verdicts_are_those_of_dense_layers() -> None:
    rng, unknown = np.random.default_rng(2), 0
    for _ in range(60):
        policy, model, statement = specimen(rng)
        found = witness(policy, model, statement)
        assert isinstance(found, Witness)
        asked = statement.asked
        if isinstance(asked, Rows):  # at the margins, or one unit above one of them
            least = [int(min(margin[i] for margin in found.margins) * (1 << policy.total_scale)) for i in range(len(asked.thresholds))]
            least[-1] += int(rng.integers(0, 2))
            statement = replace(statement, asked=Rows(asked.coefficients, tuple(least)))
        first, second = witness(policy, model, statement), witness(*as_dense((policy, model, statement)))
        assert isinstance(first, Witness) == isinstance(second, Witness) and first.margins == second.margins
        unknown += isinstance(first, Unknown)
    assert 10 < unknown < 50


def inputs(rng: np.random.Generator, region: Any, unit: Fraction) -> list[list[Fraction]]:
    """Return corners of a box and points within it, or points of a ball."""
    if isinstance(region, Box):
        steps = [[Fraction(int(t), 7) for t in rng.choice(list(ends), len(region.lower))] for ends in ((0, 7), (0, 7), (0, 7), range(8), range(8))]
        return [[unit * (low + t * w) for low, w, t in zip(region.lower, region.width, at_, strict=True)] for at_ in steps]
    found = []
    for _ in range(6):
        way = rng.normal(size=len(region.centre))
        step = [Fraction(int(v * (1 << 20)), 1 << 20) for v in way / np.linalg.norm(way) * region.radius * (1 - 2.0**-30)]
        x = [max(Fraction(0), c + s) for c, s in zip(region.centre, step, strict=True)]
        if sum((v - c) ** 2 for v, c in zip(x, region.centre, strict=True)) <= region.radius**2:
            found.append([unit * v for v in x])
    return found


def slack(rng: np.random.Generator, some: Problem, found: Witness) -> Fraction:
    """Return the least distance of a bound from what it bounds, over layers, rows and points."""
    policy, model, statement = some
    least, unit = Fraction(1 << 60), Fraction(1, 1 << policy.bias_scale)
    for index, region in enumerate(statement.regions):
        bounds = [[[unit * v for v in read(found, f"region{index}.layer{k}.{name}")] for name in ("lower", "upper")] for k in range(1, policy.depth)]
        for x in inputs(rng, region, Fraction(1, 1 << policy.input_scale)):
            *hidden, outputs = values(policy, model, x)
            for z, (lower, upper) in zip(hidden, bounds, strict=True):
                least = min([least, *(v - low for v, low in zip(z, lower, strict=True)), *(high - v for v, high in zip(z, upper, strict=True))])
            asked = statement.asked
            if isinstance(asked, Score):
                ends = unit * read(found, "least")[0], unit * read(found, "most")[0]
                least = min(least, outputs[asked.output] - ends[0], ends[1] - outputs[asked.output])
                continue
            for row, margin in zip(asked.coefficients, found.margins[index], strict=True):
                least = min(least, sum((c * v for c, v in zip(row, outputs, strict=True)), Fraction(0)) - margin)
    return least


def lemmas(seed: int, count: int, erratic: bool) -> tuple[int, int]:
    """Return how many random networks were bounded, and how many of them within 1/8."""
    rng, bounded, tight = np.random.default_rng(seed), 0, 0
    for _ in range(count):
        some = specimen(rng)
        found = witness(*some, Erratic(rng) if erratic else Choices())
        if isinstance(found, Unknown):
            continue
        assert violations(*some[::2], found.circuit, found.tables) == ()
        distance = slack(rng, some, found)
        assert distance >= 0
        bounded, tight = bounded + 1, tight + (distance < Fraction(1, 8))
    return bounded, tight


@pytest.mark.parametrize("erratic", [False, True])
def test_bounds_and_rows_hold_at_every_point(erratic: bool) -> None:
    bounded, tight = lemmas(3 + erratic, 80, erratic)
    assert bounded > 60 and tight > bounded // 3


@pytest.mark.slow
@pytest.mark.parametrize("erratic", [False, True])
def test_bounds_and_rows_of_many_networks_hold(erratic: bool) -> None:
    assert lemmas(5 + erratic, 3000, erratic)[0] > 2200


def test_intervals_of_images_are_those_of_all_assignments() -> None:
    """Of kernels whose weights have two bits: the entries of the matrix reach both ends of the interval, and no further."""
    layer = Conv(1, 2, 2, 1, 2, 1, 1)
    ranges = Ranges({"plus": cell(2), "minus": cell(1)}, frozenset(), {"matrix": Image(of("plus") - of("minus").scaled(2), layer).interval})
    found = [image(layer, np.array(plus).reshape(1, 4) - 2 * np.array(minus).reshape(1, 4), (16, 4))
             for plus in product(range(4), repeat=4) for minus in product(range(2), repeat=4)]
    assert ranges.of("matrix") == Interval(min(int(some.min()) for some in found), max(int(some.max()) for some in found)) == Interval(-2, 3)
    with pytest.raises(Declined, match="unknown cell"):
        Image(of("other"), layer).interval(ranges)
    with pytest.raises(Declined, match="not looked up"):
        ranges.limb("matrix")


def test_widths_of_an_image_that_is_always_positive_include_0() -> None:
    assert Image(of("a"), GEOMETRIES[1]).interval(Ranges({"a": Interval(3, 5)}, frozenset())) == Interval(0, 5)


def test_widths_of_convolutions_are_those_of_dense_layers_of_their_size() -> None:
    """The table of widths of 784-1024-1024-1024-10, with two layers of 1024 as convolutions: terms of sums are counted by the cube."""
    policy, statement = made(1024)
    layers = (Conv(1, 28, 28, 4, 4, 2, 3), *policy.layers[1:])
    assert layers[0].outputs == 1024 and layers[0].inputs == 784
    convs = replace(policy, layers=(layers[0], Conv(4, 16, 16, 16, 3, 2, 1), Conv(16, 8, 8, 4, 3, 1, 1), Dense(256, 10)))
    found = dict(widths(assemble(convs, statement).blocks.values(), assemble(convs, statement).relations))
    dense = dict(widths(assemble(policy, statement).blocks.values(), assemble(policy, statement).relations))
    for name in ("region0.pass2.step1.c2", "region0.pass3.step2.c2", "region0.pass3.step1.step", "region0.pass2.step1.c4", "region0.pass4.step2.c1"):
        assert found[name] == dense[name], name
    assert dense["region0.pass4.step3.c2"].magnitude == 4 * found["region0.pass4.step3.c2"].magnitude  # 256 neurons
    assert circuit(convs, statement).cells < circuit(policy, statement).cells
    wide = assemble(replace(convs, intercept_bits=40), statement)
    with pytest.raises(Declined, match="can reach") as caught:
        require_widths(wide.blocks.values(), wide.relations)
    assert caught.value.code == "commitment-width"


def every_kind() -> list[tuple[Any, Any]]:
    rng = np.random.default_rng(5)
    return [specimen(rng)[::2] for _ in range(25)]


def test_each_range_each_definition_and_each_cell_is_needed() -> None:
    for policy, statement in every_kind():
        found = assemble(policy, statement)
        for index, relation in enumerate(found.relations):
            narrows = isinstance(relation, Linear) and relation.narrows
            if narrows or isinstance(relation, Gated) or (isinstance(relation, Inner) and relation.defines):
                with pytest.raises(Declined, match="unknown cell"):
                    widths(found.blocks.values(), found.relations[:index] + found.relations[index + 1 :])
        for name, block in found.blocks.items():
            if block.kind == "model":
                with pytest.raises(Declined, match="unknown cell"):
                    widths([other for other in found.blocks.values() if other.name != name], found.relations)


def test_blocks_of_convolutions() -> None:
    policy, _, statement = FULL
    found = circuit(policy, statement)
    kinds = {name: (block.dimensions, block.kind) for name, block in found.blocks.items() if not name.startswith(("region", "rows", "thresholds"))}
    assert {name for name, (_, kind) in kinds.items() if kind == "image"} == {f"{name}{k}{part}" for k in (1, 2) for name, part in (
        ("weight", ".plus"), ("weight", ".minus"), ("bias", ""))}
    assert kinds["kernel1.plus.0"] == ((2, 9), "model") and kinds["kernel2.minus.0"] == ((3, 18), "model") and kinds["bias2.0"] == ((3,), "model")
    assert kinds["weight2.plus"] == ((18, 40), "image") and kinds["bias2"] == ((18,), "image") and "weight1.plus.0" not in found.blocks
    padding = {relation.name: relation.outside for relation in found.relations if isinstance(relation, Linear) and relation.outside}
    assert padding == {"kernel1.plus.padding": (2, 9), "kernel1.minus.padding": (2, 9), "kernel2.plus.padding": (3, 18),
                       "kernel2.minus.padding": (3, 18), "bias2.padding": (3,), "weight3.plus.padding": (3, 18), "weight3.minus.padding": (3, 18),
                       "bias3.padding": (3,)}
    assert relations(policy, statement) == found.relations


LIES: list[tuple[str, Problem, Callable[[], Choices], str, str]] = [
    ("u too tight by 3", FULL, lambda: lie(bounds=lambda k, low, high: (low, at(1, -3)(high))), "relation-lookup", "relation-closure"),
    ("l too high by 1", FULL, lambda: lie(bounds=lambda k, low, high: (at(2, 1)(low), high)), "relation-lookup", "relation-closure"),
    ("alpha above 1", FULL, lambda: lie(alpha=lambda k, low, high, one: at(0, one + 1)(Choices().alpha(k, low, high, one))), "relation-lookup",
     "relation-step"),
    ("intercept too small", FULL, lambda: lie(rise=lambda k, least: at(int(least.argmax()), -1)(least)), "relation-lookup", "relation-line"),
    ("minus below 0", FULL, lambda: Steps(lambda plus, minus: (plus - (minus == 0), minus - (minus == 0))), "relation-lookup", "relation-step"),
    ("remainder below 0", FULL, lambda: Steps(lambda plus, minus: (plus + 1, minus)), "relation-lookup", "relation-step"),
    ("beta -1", STOPPED, lambda: lie(active=lambda k, low: -1 * (low < 0)), "relation-lookup", "relation-constant"),
]


@pytest.mark.parametrize(("some", "choices", "wrapped", "clipped"), [line[1:] for line in LIES], ids=[line[0] for line in LIES])
def test_lies_in_what_a_prover_may_choose(some: Problem, choices: Callable[[], Choices], wrapped: str, clipped: str) -> None:
    assert codes(forged(*some, {}, True, choices())) == [wrapped]
    assert clipped in codes(forged(*some, {}, False, choices()))
    assert "relation-lookup" not in codes(forged(*some, {}, False, choices()))


@pytest.mark.parametrize(("name", "place", "change"), [("kernel1.plus", (1, 4), 1), ("kernel1.minus", (0, 8), 1), ("kernel2.plus", (2, 17), 1),
                                                       ("kernel2.minus", (0, 9), 1), ("bias1", (1,), 1), ("bias2", (2,), -1)])
def test_a_weight_is_in_every_bound(name: str, place: tuple[int, ...], change: int) -> None:
    def changed(values: Integers) -> Integers:
        values[place] += change
        return values
    found = codes(forged(*FULL, {name: changed}, True))
    assert set(found) <= {"relation-step", "relation-constant", "relation-closure"} and found


def test_phantom_cells_of_a_kernel_and_of_biases_are_found() -> None:
    """Each cell of the padding alone; they are in no entry of a matrix, so nothing else is broken."""
    run = forged(*FULL, {}, True)
    for name in ("kernel1.plus.0", "kernel1.minus.0", "kernel2.plus.0", "kernel2.minus.0", "bias2.0"):
        block = run.circuit.blocks[name]
        for place in np.ndindex(*block.shape):
            if any(index >= size for index, size in zip(place, block.dimensions, strict=True)) and sum(place) % 3 == 0:
                tables = {**run.tables, name: np.array(run.tables[name])}
                tables[name][place] += 1
                broken = violations(run.policy, run.statement, run.circuit, tables)
                assert [found.code for found in broken if found.name.endswith("padding")] == ["relation-padding"]
                assert {found.code for found in broken} <= {"relation-padding", "relation-range"}


def test_a_phantom_neuron_behind_an_image_is_found() -> None:
    """A prover that counts neurons beside the 18 of the second image: their weights are in no kernel, and those after them are in padding."""
    policy, model, statement = FULL
    run = Forger(policy, model, statement, Choices(), {}, True)
    run.weights[1][20, :5], run.biases[1][20] = 5, 9
    run.parts[1] = (np.maximum(run.weights[1], 0), np.maximum(-run.weights[1], 0))
    run.weights[2][:3, 20] = 40
    run.parts[2] = (np.maximum(run.weights[2], 0), np.maximum(-run.weights[2], 0))
    run.all()
    assert codes(run)[0] == "relation-padding" and {"relation-padding", "relation-constant"} <= set(codes(run))


def test_weights_that_differ_from_place_to_place_are_found() -> None:
    """A prover with a dense layer in place of the convolution: one entry of the matrix is not the kernel's, in an image or where two do not meet."""
    policy, model, statement = FULL
    for place in ((0, 0), (7, 30)):
        run = Forger(policy, model, statement, Choices(), {}, True)
        run.weights[1][place] += 9
        run.parts[1] = (np.maximum(run.weights[1], 0), np.maximum(-run.weights[1], 0))
        run.all()
        assert set(codes(run)) <= {"relation-step", "relation-constant"} and codes(run)


@pytest.mark.parametrize("name", ["conv-conv-dense", "conv-conv-dense ibp", "dense-conv-conv", "score"])
def test_each_cell_and_each_relation_counts(name: str) -> None:
    require_each_counts(*NETWORKS[name], ("weight2", "bias2"))


def test_a_kernel_that_meets_nothing_at_some_places() -> None:
    """With a stride of 3, columns 4 and 5 of the image meet no weight: bounds are those of the network without them."""
    layers = (Conv(1, 2, 6, 2, 2, 3), Dense(4, 2))
    rng = np.random.default_rng(6)
    policy = replace(NETWORKS["one entry"][0], layers=layers)
    model = Model((rng.integers(-32, 33, (2, 4)), rng.integers(-32, 33, (2, 4))), (rng.integers(-9, 10, 2), rng.integers(-9, 10, 2)))
    margins = []
    for far in (0, 9):
        lower = np.full((2, 6), 5)
        lower[:, 2] = lower[:, 5] = far
        found = witness(policy, model, robust((Box(tuple(lower.ravel().tolist()), (3,) * 12),), 2, 0, -(1 << 20)))
        assert isinstance(found, Witness)
        margins.append(found.margins)
    assert margins[0] == margins[1]


def test_labels_of_examples_are_those_of_the_convolution() -> None:
    policy, model, _ = NETWORKS["conv-dense"]
    rng = np.random.default_rng(7)
    for _ in range(10):
        row = tuple(Fraction(int(v), 8) for v in rng.integers(0, 33, 18))
        (statement,) = examples(policy, model, [row], Fraction(0))
        best = int(np.argmax([float(v) for v in values(policy, model, list(row))[-1]]))
        assert statement == robust(statement.regions, 3, best, -(1 << 46))
