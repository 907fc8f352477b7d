# SPDX-License-Identifier: Apache-2.0
"""Arguments about networks with convolutions: weights of claims, honest provers of all modes, and forged ones, found as the oracle finds them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from certify.errors import Declined
from certify.limits import Limits
from certify_zk import convolution, convolution_prover, prover, verifier
from certify_zk.argument import _Run
from certify_zk.circuit import Circuit
from certify_zk.convolution import image
from certify_zk.dialogue import Dialogue, Silent
from certify_zk.evaluation import violations
from certify_zk.field import Element, Extension, P
from certify_zk.layout import BlockClaim, Point, layout
from certify_zk.policy import Conv, Dense
from certify_zk.relations import ONE, Block, Linear, Relation, constant, of, power_of_two
from certify_zk.statement import Box, Rows, Statement
from certify_zk.transcript import Transcript
from certify_zk.verifier import arrangement
from certify_zk.witness import Choices, Model
from zk.arguments import CLAIM, Case, Tidy, case, played, small, verdict
from zk.convolutions import GEOMETRIES, NETWORKS, Problem, as_dense, specimen, values
from zk.forging import Forger
from zk.test_conv_relations import FULL, LIES
from zk.test_forged_arguments import expected, forgery, tidied

FIELD = Extension(2)


def point(rng: np.random.Generator, bits: int, degree: int = 2) -> Point:
    return tuple(tuple(int(word) for word in rng.integers(0, P, degree, dtype=np.uint64)) for _ in range(bits))


def bits(size: int) -> int:
    return (size - 1).bit_length()


def extended(field: Extension, table: Sequence[Sequence[int]], *points: Point) -> Element:
    """Return the multilinear extension of a matrix of integers, by its definition."""
    rows, columns = (field.equality(part) for part in points)
    total = field.zero
    for weight, row in zip(rows, table, strict=True):
        for other, entry in zip(columns, row, strict=True):
            total = field.add(total, field.scale(field.multiply(weight, other), int(entry)))
    return total


def combined(field: Extension, weights: np.ndarray, table: np.ndarray) -> Element:  # type: ignore[type-arg]
    total = field.zero
    for weight, entry in zip(weights.reshape(-1, field.degree).tolist(), table.ravel().tolist(), strict=True):
        total = field.add(total, field.scale(tuple(weight), entry))
    return total


@pytest.mark.parametrize("layer", GEOMETRIES, ids=str)
@pytest.mark.parametrize("degree", [2, 3])
def test_weights_of_claims(layer: Conv, degree: int) -> None:
    """The prover's weights give the extension of the image, and the verifier's closed form is their extension."""
    rng, field = np.random.default_rng(1), Extension(degree)
    kernel = rng.integers(0, 1 << 16, tuple(map(power_of_two, layer.stored)))
    bias = rng.integers(0, 1 << 16, kernel.shape[0])
    points = point(rng, bits(layer.outputs), degree), point(rng, bits(layer.inputs), degree)
    cell = point(rng, bits(kernel.shape[0]), degree), point(rng, bits(kernel.shape[1]), degree)
    shape = power_of_two(layer.outputs), power_of_two(layer.inputs)
    weights = convolution_prover.weights(layer, points, degree)
    assert combined(field, weights, kernel) == extended(field, image(layer, kernel, shape).tolist(), *points)
    assert not weights[layer.stored[0] :].any() and not weights[:, layer.stored[1] :].any()
    eq = [field.equality(part) for part in cell]
    total = field.zero
    for row, first in zip(weights.tolist(), eq[0], strict=True):
        for entry, second in zip(row, eq[1], strict=True):
            total = field.add(total, field.multiply(tuple(entry), field.multiply(first, second)))
    assert convolution.weight(field, layer, points, cell) == total
    weights = convolution_prover.weights(layer, points[:1], degree)
    assert combined(field, weights, bias) == extended(field, [[entry] for entry in image(layer, bias, shape[:1]).tolist()], points[0], ())
    total = field.zero
    for entry, first in zip(weights.tolist(), eq[0], strict=True):
        total = field.add(total, field.multiply(tuple(entry), first))
    assert convolution.weight(field, layer, points[:1], cell[:1]) == total


@pytest.mark.parametrize("columns", [2, 4, 7])
def test_weights_at_cells_of_a_layout(columns: int) -> None:
    """What the verifier computes of a claim through a layer is the extension of what the prover adds to each cell, for both major axes."""
    rng, axes = np.random.default_rng(columns), set()
    for layer in GEOMETRIES:
        blocks = [Block("k", layer.stored, "model"), Block("b", layer.stored[:1], "model"), Block("m", (3, 5), "model")]
        made = layout([*blocks, Block("x", (4,), "certificate")], columns)
        points = point(rng, bits(layer.outputs)), point(rng, bits(layer.inputs))
        row, column = point(rng, made.rows), point(rng, made.columns)
        for name, some in (("k", points), ("b", points[:1])):
            place, weights = made.places[name], convolution_prover.placed(layer, some, made.places[name], 2)
            axes.add(place.axis)
            assert weights.shape == (1 << place.major, 1 << place.minor, 2) and not weights[place.count :].any()
            total = FIELD.zero
            for index, weight in enumerate(weights.reshape(-1, 2).tolist()):
                part, address = tuple(weight), place.start + index
                for bit, coordinate in enumerate(column + row):
                    part = FIELD.multiply(part, coordinate if address >> bit & 1 else FIELD.subtract(FIELD.one, coordinate))
                total = FIELD.add(total, part)
            assert made.weight(FIELD, BlockClaim(name, some, through=layer), row, column) == total
    assert axes == {0, 1}


def test_images_are_claimed_whole() -> None:
    policy = FULL[0]
    given = case(*FULL)
    made = given.circuit
    run = _Run(Dialogue(Transcript(), FIELD, Silent(2), False), made, arrangement(given.policy, made.blocks.values()), {})
    zeros = [(FIELD.zero,) * 6] * 2
    run._block("weight1.plus", zeros, None)
    assert list(run.values) == [BlockClaim("kernel1.plus.0", (zeros[0][:6], zeros[1][:6]), None, policy.layers[0])]  # type: ignore[arg-type]
    weight = made.blocks["weight1.plus"]
    assert weight.image is not None
    for block, outside in ((weight, (1, 1)), (replace(weight, image=replace(weight.image, form=of("kernel1.plus.0").on(0))), None),
                           (replace(weight, image=replace(weight.image, form=of("kernel1.plus.0") + constant(1))), None)):
        assert block.image is not None
        with pytest.raises(ValueError, match="claimed in part"):
            run._image(block, block.image, tuple(zeros), outside)


@pytest.mark.parametrize("name", NETWORKS)
def test_honest_arguments_verify(name: str) -> None:
    assert played(case(*NETWORKS[name])) == "verified"


@pytest.mark.parametrize("seed", range(3))
def test_honest_arguments_of_random_networks_verify(seed: int) -> None:
    rng = np.random.default_rng(200 + seed)
    for number in range(4):
        some = specimen(rng)
        assert played(case(*some, Tidy(rng) if number % 2 else Choices())) == "verified"


def test_arguments_of_128_bits_verify() -> None:
    given = case(*NETWORKS["conv-conv-dense"], level=128)
    assert played(given) == "verified" and given.prove().messages.shape[1] == 3


@pytest.mark.parametrize(("some", "choices", "wrapped"), [line[1:4] for line in LIES], ids=[line[0] for line in LIES])
def test_lies_in_what_a_prover_may_choose(some: Problem, choices: Callable[[], Choices], wrapped: str) -> None:
    given = forgery(some, {}, True, choices())
    assert played(given) == expected(given) == wrapped
    given = forgery(some, {}, False, choices())
    assert played(given) == expected(given) != "verified"


def blocks_of(circuit: Circuit, relation: Relation) -> list[str]:
    """Return the committed blocks that a relation speaks of, those of images too."""
    forms = [form for identity in relation.identities() for form in (
        identity.left, identity.right, *(factor.form for product in identity.products for factor in product.factors))]
    named = {term.block for form in forms for term in form.terms} - {ONE}
    images = [block.image.form for name in named if (block := circuit.blocks[name]).image is not None]
    return sorted(name for name in named | {term.block for form in images for term in form.terms} - {ONE} if circuit.blocks[name].looked_up)


@pytest.mark.parametrize(("name", "codes"), [("conv-conv-dense", {"range", "line", "step", "constant", "floor", "closure", "margin"}),
                                             ("conv-conv-dense ibp", {"hull", "constant", "closure"})])
def test_forged_cells_of_every_relation_are_found_as_the_oracle_finds_them(name: str, codes: set[str]) -> None:
    """One cell is changed that a relation needs, and none before it if there is one; in clear mode, and with masked messages for some."""
    given, rng, caught = case(*NETWORKS[name]), np.random.default_rng(4), set()
    model, seen = given.commit(), set[str]()
    for relation in given.circuit.relations:
        kind = relation.name.replace("region0.", "").translate(str.maketrans("", "", "0123456789"))
        if relation.name.endswith("padding") or kind in seen:
            continue
        broken: list[str] = []
        tries = 0
        while relation.name not in broken or (broken[0] != relation.name and tries < 30):
            tries += 1
            block = str(rng.choice(blocks_of(given.circuit, relation)))
            table = np.array(given.tables[block]).astype(np.int64)
            place = tuple(int(rng.integers(size)) for size in given.circuit.blocks[block].dimensions)
            table[place] += 1 if table[place] < 65535 else -1
            forged = given.tampered({block: table})
            broken = [found.name for found in violations(given.policy, given.statement, given.circuit, forged.tables)]
        seen.add(kind)
        root = forged.commit() if given.circuit.blocks[block].kind == "model" else model
        padded = bool(rng.random() < 0.2)
        found = verdict(forged, forged.prove(root, padded=padded), root.root)
        assert found == ("argument-constraints" if padded else expected(forged)), relation.name
        caught.add(expected(forged))
    assert {f"relation-{code}" for code in codes} <= caught


@pytest.mark.parametrize("name", ["kernel2.plus.0", "kernel2.minus.0", "bias2.0"])
def test_phantom_cells_are_found(name: str) -> None:
    """Cells in the padding of a kernel, and of biases, that a row holds."""
    given = case(*FULL)
    place, block, found = arrangement(given.policy, given.circuit.blocks.values()).places[name], given.circuit.blocks[name], 0
    for entry in np.ndindex(*block.shape):
        outside = any(index >= size for index, size in zip(entry, block.dimensions, strict=True))
        if outside and entry[place.axis] < place.count and found < 3:
            table = np.array(given.tables[name]).astype(np.int64)
            table[entry] += 1
            tampered = given.tampered({name: table} | ({"bias2.narrow": table << 4} if name == "bias2.0" else {}))
            assert played(tampered) == expected(tampered) == "relation-padding"
            found += 1
    assert found


def test_a_phantom_neuron_behind_an_image_is_found() -> None:
    policy, model, statement = FULL
    run = Forger(small(policy), model, statement, Choices(), {}, True)
    run.weights[1][20, :5], run.biases[1][20] = 5, 9
    run.parts[1] = (np.maximum(run.weights[1], 0), np.maximum(-run.weights[1], 0))
    run.weights[2][:3, 20] = 40
    run.parts[2] = (np.maximum(run.weights[2], 0), np.maximum(-run.weights[2], 0))
    run.all()
    given = tidied(run.policy, statement, run.circuit, run.tables)  # no row has the weights behind the padding, and no kernel those before it
    assert played(given) == expected(given) == "relation-constant"
    with pytest.raises(ValueError, match="not stored"):
        replace(given, tables=run.tables).commit()


def test_a_dense_layer_is_no_convolution() -> None:
    """A prover whose weights differ from place to place: its rows are those of a network that no kernel gives."""
    policy, model, statement = FULL
    for place in ((0, 0), (7, 30)):
        run = Forger(small(policy), model, statement, Choices(), {}, True)
        run.weights[1][place] += 9
        run.parts[1] = (np.maximum(run.weights[1], 0), np.maximum(-run.weights[1], 0))
        run.all()
        given = tidied(run.policy, statement, run.circuit, run.tables)
        assert played(given) == expected(given) and expected(given) in ("relation-step", "relation-constant")


@pytest.mark.parametrize("change", [1, -1])
def test_a_network_with_another_weight_is_not_the_committed_one(change: int) -> None:
    """One weight of a kernel, on an active path: under a root of its own with the old bounds, or with new bounds under the old root."""
    given = case(*FULL)
    model = given.commit()
    policy, network, statement = FULL
    region = statement.regions[0]
    assert isinstance(region, Box)
    x = [Fraction(2 * low + width, 16) for low, width in zip(region.lower, region.width, strict=True)]
    for entry in np.ndindex(*network.weights[1].shape):
        changed = [np.array(weight) for weight in network.weights]
        changed[1][entry] += change
        other = replace(network, weights=tuple(changed))
        if values(policy, network, x)[-1] != values(policy, other, x)[-1]:
            break
    true = case(policy, other, statement)
    assert played(true) == "verified"
    old = true.tampered({name: table for name, table in given.tables.items() if not name.startswith("kernel")})
    assert played(old) == expected(old) and expected(old) in ("relation-step", "relation-constant")
    fresh = true.commit()
    assert fresh.root != model.root
    for tampered, code in ((model, "argument-opening"), (replace(fresh, tree=[*fresh.tree[:-1], model.tree[-1]]), "argument-path"),
                           (replace(model, tableau=fresh.tableau), "argument-opening")):
        for padded in (False, True):
            found = verdict(true, true.prove(tampered, padded=padded), model.root)
            assert found == code or (padded and found == "argument-constraints")


def test_the_geometry_of_a_layer_is_part_of_the_statement() -> None:
    """The same kernel on an image with rows and columns exchanged, or with taps elsewhere: other networks, whose arguments are not each other's."""
    first, second = Conv(1, 4, 2, 2, 2, 2), Conv(1, 2, 4, 2, 2, 2)
    policy, model, statement = NETWORKS["conv-dense-dense"]
    layers = (first, Dense(4, 4), Dense(4, 2))
    policy = replace(policy, layers=layers, modes=("crown", "ibp", "ibp"), tau=((), (), ()))
    rng = np.random.default_rng(5)
    model = Model((rng.integers(-32, 33, (2, 4)), rng.integers(-32, 33, (4, 4)), model.weights[2]), (rng.integers(-9, 9, 2), *model.biases[1:]))
    statement = Statement((Box((2, 9, 4, 7, 1, 8, 3, 5), (3,) * 8),), statement.asked)
    given = case(policy, model, statement)
    root = given.commit().root
    made = given.prove()
    turned = replace(given.policy, layers=(second, *layers[1:]))
    assert verdict(given, made, root) == "verified"
    assert verdict(given, made, root, policy=turned) == "relation-lookup"  # other challenges
    other = replace(given, policy=turned, circuit=case(turned, model, statement).circuit)
    assert played(other) == expected(other) != "verified"


def test_a_relation_that_is_left_out_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A verifier without a relation does not accept what an honest prover of all of them sends; without paddings, it has as many messages."""
    given = case(*FULL)
    model = given.commit()
    made = given.prove(model)
    rng = np.random.default_rng(8)
    for relation in given.circuit.relations:
        kept = isinstance(relation, Linear) and not relation.outside
        if (kept and rng.random() > 0.2) or (not kept and not relation.name.endswith("padding") and rng.random() > 0.5):
            continue
        without = replace(given.circuit, relations=tuple(other for other in given.circuit.relations if other is not relation))
        monkeypatch.setattr(verifier, "circuit", lambda policy, statement, without=without: without)
        try:
            found = verdict(given, made, model.root)
        except ValueError as trouble:  # a constant that nothing defines
            found = str(trouble)
        assert found == "argument-malformed" or "no relation defines" in found, relation.name


def test_a_verifier_without_the_padding_of_kernels_takes_phantom_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """So it is that relation which refuses them; the cells are in no matrix, and the statement would be true."""
    given = case(*FULL)
    table = np.array(given.tables["kernel2.plus.0"]).astype(np.int64)
    table[3, 5] += 1
    tampered = given.tampered({"kernel2.plus.0": table})
    assert played(tampered) == "relation-padding"
    relations = tuple(relation for relation in given.circuit.relations if relation.name != "kernel2.plus.padding")
    weaker = replace(given.circuit, relations=relations)
    monkeypatch.setattr(verifier, "circuit", lambda policy, statement: weaker)
    assert played(replace(tampered, circuit=weaker)) == "verified"


def test_weights_that_a_layer_puts_elsewhere_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A prover and oracle for whom the kernel is mirrored: what they claim of the image is not what the verifier counts."""
    given = case(*FULL)
    model = given.commit()
    real = convolution_prover.weights

    def mirrored(layer: Conv, points: Sequence[Sequence[Element]], degree: int) -> np.ndarray:  # type: ignore[type-arg]
        found = real(layer, points, degree)
        if found.ndim == 3:
            found[:, : layer.stored[1]] = found[:, : layer.stored[1]][:, ::-1]
        return found
    monkeypatch.setattr(prover.convolution_prover, "weights", mirrored)
    assert verdict(given, given.prove(model), model.root) != "verified"


def test_random_changes_of_cells_are_found_as_the_oracle_finds_them() -> None:
    rng, found = np.random.default_rng(0), set()
    for number in range(8):
        policy, model, statement = specimen(rng)
        given = case(policy, model, statement)
        names = [name for name, block in given.circuit.blocks.items() if block.looked_up]
        tables = {name: np.array(table).astype(object) for name, table in given.tables.items()}
        for name in rng.choice(names, 1 + number % 2):
            table, dimensions = tables[str(name)], given.circuit.blocks[str(name)].dimensions
            place = tuple(int(rng.integers(size)) for size in dimensions)
            table[place] = (table[place] + int(rng.choice([1, -1, 256, 65536, P - 1, 5 * P]))) % P if number % 3 else int(rng.integers(1 << 16))
        given = tidied(given.policy, statement, given.circuit, tables)
        found.add(played(given))
        assert played(given) == expected(given)
    assert len(found) > 1


def test_a_false_statement_is_not_verified() -> None:
    given, rows = case(*FULL), FULL[2].asked
    assert isinstance(rows, Rows)
    assert played(replace(given, statement=Statement(FULL[2].regions, Rows(rows.coefficients, (1 << 20,) * 2)))) == "relation-margin"


def test_the_work_of_convolutions_is_charged() -> None:
    spent = []
    for some in (FULL, as_dense(FULL)):
        given = case(*some)
        limits = Limits()
        verifier.verify_clear(given.policy, given.commit().root, given.statement, CLAIM, given.prove(), limits)
        spent.append(limits.spent)
    assert spent[0] > spent[1]
    wide = Conv(1, 128, 128, 1, 127, 1, 126)
    policy = replace(FULL[0], layers=(wide, Dense(wide.outputs, 1)), modes=("crown", "ibp"), tau=((), ()))
    assert convolution.entries(wide, 2) > wide.taps * wide.inputs
    statement = Statement((Box((0,) * wide.inputs, (1,) * wide.inputs),), Rows(((1,),), (0,)))
    with pytest.raises(Declined) as caught:
        verifier.measured(small(policy), statement, Limits())
    assert caught.value.code in ("limit-reached", "commitment-limit")


def test_every_term_of_an_image_is_charged_as_a_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convolution, "entries", lambda layer, axes: 0)
    given = case(*FULL)
    arranged = arrangement(given.policy, given.circuit.blocks.values())
    blocks = {name: block if block.image is None else replace(block, image=replace(block.image, form=block.image.form + block.image.form))
              for name, block in given.circuit.blocks.items()}
    costs = [verifier.messages_cost(made, arranged) for made in (given.circuit, replace(given.circuit, blocks=blocks))]
    named = [term.block for relation in given.circuit.relations for identity in relation.identities() for form in (
        identity.left, identity.right, *(factor.form for product in identity.products for factor in product.factors)) for term in form.terms]
    images = [block.image for name in named if name != ONE and (block := given.circuit.blocks[name]).image is not None]
    assert costs[1] - costs[0] == verifier._CLAIM * sum(len(found.form.terms) for found in images if found is not None) > 0


def test_tables_of_images_are_the_provers_own() -> None:
    """What a witness has under the name of an image is not looked at: images are made of what is committed."""
    given = case(*FULL)
    assert not any(block.image is not None for name, block in given.circuit.blocks.items() if name in given.tables)
    lying: Case = given.tampered({"weight1.plus": np.zeros((64, 32), np.int64)})
    assert violations(given.policy, given.statement, given.circuit, lying.tables) == () and played(lying) == "verified"
