# SPDX-License-Identifier: Apache-2.0
"""Flows as witnesses: what `check_flows` accepts is feasible with its shed, and what `tree_of_flows` returns bounds every attack."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import power_evidence as evidence
import power_networks as power
from certify.errors import CertifyError
from certify.limits import Limits
from certify.readers.matpower import read_case
from certify.readers.power import Network, power_network
from certify.rules.attacks import Game
from certify.rules.flows import Witnesses, check_flows, tree_of_flows
from rules.hand_networks import network as by_hand
from toolkit import refused

LARGEST = (1 << 63) - 1


def networks(rng: np.random.Generator, lines: tuple[int, int] = (1, 9), buses: tuple[int, int] = (2, 6)) -> tuple[power.Plain, power.Transport,
                                                                                                                  Network]:
    """Return a random network: plain, with its oracle, and as the checker reads it."""
    grid = power.random_grid(rng, False, buses, lines)
    model = power.conventions(grid, "transport")
    network, transport, _ = power.oracles(grid, "transport", model)
    return network, transport, power_network(read_case(grid.data(), Limits()), "transport", model, False)


def checked(network: Network, flows: list[list[int]], scales: list[int]) -> Witnesses:
    """Return the witnesses that the checker makes of flows."""
    return check_flows(network, np.array(flows, np.int64).reshape(len(scales), len(network.lines)), np.array(scales, np.int64), Limits().fresh())


def shed_in(found: Witnesses, index: int) -> Fraction:
    """Return the shed of a witness in MW."""
    return Fraction(int(found.shed[index]), found.scale[index] * found.quantum)


def test_feasible_flows_give_their_shed() -> None:
    rng = np.random.default_rng(1)
    moving = 0
    for _ in range(150):
        plain, transport, network = networks(rng)
        scales = [evidence.unit_of(plain) * int(rng.integers(1, 4)) for _ in range(3)]
        flows = [evidence.flow(plain, (), scales[0]), *(evidence.flow(plain, (), scale, rng) for scale in scales[1:])]
        found = checked(network, flows, scales)
        assert [shed_in(found, k) for k in range(3)] == [evidence.shed_of(plain, f, s) for f, s in zip(flows, scales, strict=True)]
        assert shed_in(found, 0) == transport.shed(())  # augmenting paths serve all that can be served
        assert all(shed_in(found, k) >= transport.shed(()) for k in range(3))
        moving += any(map(any, flows))
    assert moving > 60


def _adversarial(rng: np.random.Generator, plain: power.Plain) -> tuple[list[int], int]:
    """Return flows near a feasible flow, near the limits, or near the ends of int64, and a scale to match."""
    unit = evidence.unit_of(plain)
    scale = unit * int(rng.choice([1, 2, 3, 1000, 10**9, (1 << 62) // unit, LARGEST // unit]))
    if rng.random() < 0.5:
        scale = int(rng.choice([1, 7, unit, LARGEST, LARGEST - 1, 1 << 62]))
    flows = [int(min(LARGEST, value * (scale // unit))) for value in evidence.flow(plain, (), unit, rng)] if scale >= unit else [0] * len(plain.lines)
    for k, line in enumerate(plain.lines):
        choice = rng.random()
        if choice < 0.1 and line.high is not None:
            flows[k] = int(line.high * scale) + int(rng.integers(-1, 2))
        elif choice < 0.2 and line.low is not None:
            flows[k] = int(line.low * scale) + int(rng.integers(-1, 2))
        elif choice < 0.25:
            flows[k] = int(rng.choice([LARGEST, -LARGEST, -LARGEST - 1, 1 << 62, -(1 << 62), 1 << 53, (1 << 53) + 1, 1 << 32]))
        elif choice < 0.35:
            flows[k] += int(rng.integers(-2, 3))
    return [max(-LARGEST - 1, min(LARGEST, value)) for value in flows], max(1, min(LARGEST, scale))


def _accepted(rng: np.random.Generator, count: int) -> tuple[int, int]:
    yes = no = 0
    for _ in range(count):
        plain, _, network = networks(rng)
        flows, scale = _adversarial(rng, plain)
        wanted = evidence.shed_of(plain, flows, scale)
        if any(line.high is None and abs(value) > 1 << 53 for line, value in zip(plain.lines, flows, strict=True)):
            wanted = None
        try:
            found = checked(network, [flows], [scale])
        except CertifyError as trouble:
            assert trouble.code in ("leaf-flow-limit", "leaf-balance") and wanted is None, (trouble, flows, scale)
            no += 1
            continue
        assert wanted == shed_in(found, 0)
        assert [Fraction(int(v), found.scale[0] * found.quantum) for v in found.size[0]] == [Fraction(abs(v), scale) for v in flows]
        yes += 1
    return yes, no


def test_exactly_the_feasible_flows_are_accepted() -> None:
    yes, no = _accepted(np.random.default_rng(2), 600)
    assert yes > 100 and no > 100


@pytest.mark.slow
def test_exactly_the_feasible_flows_are_accepted_in_long_runs() -> None:
    yes, no = _accepted(np.random.default_rng(3), 20_000)
    assert yes > 3000 and no > 3000


def _ring(rates: tuple[int, int, int], demand: int = 10, supply: int = 10) -> tuple[power.Plain, Network]:
    grid = power.Grid([power.Bus(1), power.Bus(2, Fraction(demand)), power.Bus(3)], [power.Unit(1, Fraction(supply))],
                      [power.Branch(1, 2, Fraction(rates[0])), power.Branch(2, 3, Fraction(rates[1])), power.Branch(3, 1, Fraction(rates[2]))])
    model = power.conventions(grid, "transport")
    return power.plain(grid, "transport", model), power_network(read_case(grid.data(), Limits()), "transport", model, False)


@pytest.mark.parametrize("flows",
                         [(1 << 62, 1 << 62, 1 << 62), (-(1 << 63), -(1 << 63), -(1 << 63)), (LARGEST, LARGEST, LARGEST),
                          (1 << 54, 1 << 54, 1 << 54)])
@pytest.mark.parametrize("rates", [(0, 0, 0), (9, 9, 9)])
def test_flows_around_a_ring_that_wrap_around(flows: tuple[int, int, int], rates: tuple[int, int, int]) -> None:
    refused("leaf-flow-limit", checked, _ring(rates)[1], [list(flows)], [1])


def test_sums_at_a_bus_do_not_wrap_around() -> None:
    """Sixteen unlimited lines into one bus, each at the limit of 2^53 and more, with sums that are small modulo 2^64."""
    grid = power.Grid([power.Bus(1), power.Bus(2, Fraction(1, 2**10 * 5**10))], [power.Unit(1, Fraction(1))],
                      [power.Branch(1, 2, Fraction(0)) for _ in range(16)])
    model = power.conventions(grid, "transport")
    network = power_network(read_case(grid.data(), Limits()), "transport", model, False)
    refused("leaf-balance", checked, network, [[1 << 53] * 16], [1])  # 2^53 * 16 * 10^10 is 0 modulo 2^64
    refused("leaf-flow-limit", checked, network, [[1 << 60] * 16], [1])
    refused("leaf-balance", checked, network, [[1 << 53] * 16], [LARGEST])


@pytest.mark.parametrize("scale", [0, -1, -(1 << 63)])
def test_scales_below_one(scale: int) -> None:
    refused("evidence-range", checked, _ring((9, 9, 9))[1], [[0, 0, 0]], [scale])


def test_a_scale_that_overflows_products() -> None:
    plain, network = _ring((9, 9, 9))
    assert evidence.shed_of(plain, [8 * (LARGEST // 8), 0, 0], LARGEST // 8) == 2
    found = checked(network, [[8 * (LARGEST // 8), 0, 0], [0, 0, 0]], [LARGEST // 8, LARGEST])
    assert [shed_in(found, k) for k in range(2)] == [2, 10]
    refused("leaf-flow-limit", checked, network, [[9 * (LARGEST // 9) + 1, 0, 0]], [LARGEST // 9])


@pytest.mark.parametrize(("flows", "scales"), [((1, 2), 1), ((2, 3), 1), ((1, 4), 1), ((0, 3), 1), ((1, 0), 1), ((1, 3), 0), ((1, 3), 2)])
def test_shapes(flows: tuple[int, int], scales: int) -> None:
    refused("array-shape", check_flows, _ring((9, 9, 9))[1], np.zeros(flows, np.int64), np.ones(scales, np.int64), Limits().fresh())


def walked(network: Network, played: Game, nodes: list[int], found: Witnesses) -> tuple[Fraction, int]:
    """Return the worst leaf and the number of leaves."""
    return tree_of_flows(network, played, np.array(nodes, np.int32), found, Limits().fresh())


def _game(rng: np.random.Generator, lines: int, most: int = 4) -> Game:
    costs = tuple(int(v) for v in rng.integers(1, 4, lines)) if rng.random() < 0.5 else (1,) * lines
    return Game(costs, tuple(bool(v) for v in rng.random(lines) < 0.85), int(rng.integers(0, most)))


def test_leaves_of_random_trees_bound_every_attack() -> None:
    rng = np.random.default_rng(4)
    branched = sharp = 0
    for _ in range(150):
        plain, transport, network = networks(rng, (1, 8))
        played = _game(rng, len(plain.lines))
        truth = transport.worst(played.free, played.costs, played.budget)
        scale = evidence.unit_of(plain)
        for source in (rng, None):
            made = evidence.tree(plain, played.free, played.costs, played.budget, truth, source)
            worst, leaves = walked(network, played, made.nodes, checked(network, made.flows, [scale] * len(made.flows)))
            assert worst == made.worst >= truth and leaves == sum(node < 0 for node in made.nodes)
            if source is None:
                assert worst == truth  # the tree that is grown until it meets the truth does
                sharp += 1
            branched += len(made.nodes) > 1
    assert branched > 60 and sharp == 150


def _random_trees(rng: np.random.Generator, count: int) -> tuple[int, dict[str, int]]:
    """Try arrays of nodes, right and wrong, with flows that may use attacked lines; what is accepted is true."""
    accepted, codes = 0, dict[str, int]()
    for _ in range(count):
        plain, transport, network = networks(rng, (1, 6), (2, 4))
        played = _game(rng, len(plain.lines))
        scale = evidence.unit_of(plain)
        made = evidence.tree(plain, played.free, played.costs, played.budget, Fraction(0), rng)
        flows = [*made.flows, evidence.flow(plain, (), scale)]
        nodes = list(made.nodes)
        for _ in range(int(rng.integers(1, 3))):
            at = int(rng.integers(len(nodes) + 1))
            edit = rng.random()
            if edit < 0.3 and nodes:
                nodes[min(at, len(nodes) - 1)] = int(rng.integers(-len(flows) - 1, len(plain.lines) + 1))
            elif edit < 0.6:
                nodes.insert(at, int(rng.integers(-len(flows), len(plain.lines))))
            elif edit < 0.8 and len(nodes) > 1:
                nodes.pop(min(at, len(nodes) - 1))
            else:
                nodes = [int(v) for v in rng.integers(-len(flows), len(plain.lines), int(rng.integers(1, 6)))]
        try:
            used = sorted({-1 - node for node in nodes if node < 0 and -1 - node < len(flows)})
            renumbered = [-1 - used.index(-1 - node) if -1 - node in used else node for node in nodes]  # no flow is left over
            worst, _ = walked(network, played, renumbered, checked(network, [flows[k] for k in used], [scale] * len(used)))
        except CertifyError as trouble:
            codes[trouble.code] = codes.get(trouble.code, 0) + 1
            continue
        accepted += 1
        assert worst >= transport.worst(played.free, played.costs, played.budget), (nodes, flows)
    return accepted, codes


def test_no_tree_that_is_accepted_is_wrong() -> None:
    accepted, codes = _random_trees(np.random.default_rng(5), 500)
    assert accepted > 30 and set(codes) == {"branch-invalid", "leaf-attacked-flow", "tree-malformed", "evidence-range"}
    assert min(codes.values()) >= 10


@pytest.mark.slow
def test_no_tree_that_is_accepted_is_wrong_in_long_runs() -> None:
    accepted, _ = _random_trees(np.random.default_rng(6), 15_000)
    assert accepted > 1000


def _simple() -> tuple[Network, Witnesses]:
    network = _ring((9, 9, 9), demand=12, supply=12)[1]
    return network, checked(network, [[6, -6, -6], [9, 0, 0], [0, -9, -9], [0, 0, 0]], [1, 1, 1, 1])


def _four(nodes: list[int], played: Game, code: str) -> None:
    network, found = _simple()
    refused(code, walked, network, played, nodes, found)


@pytest.mark.parametrize(("nodes", "code"), [
    ([], "tree-malformed"), ([0], "tree-malformed"), ([0, -3], "tree-malformed"), ([0, -3, -2, -4], "tree-malformed"),
    ([3, -1, -1], "branch-invalid"),
    ([0, -3, 0, -2, -2], "branch-invalid"), ([0, 0, -3, -3, -2], "branch-invalid"), ([2**31 - 1, -1, -1], "branch-invalid"),
    ([0, -2, -1], "leaf-attacked-flow"),
    ([0, 1, -3, -3, -2], "branch-invalid"), ([0, -5, -1], "evidence-range"), ([-(2**31)], "evidence-range"), ([0, -3, -2], "unused-evidence"),
])
def test_trees_that_are_refused(nodes: list[int], code: str) -> None:
    _four(nodes, Game((1, 1, 1), (True, True, True), 1), code)


@pytest.mark.parametrize("played",
                         [Game((1, 1, 1), (False, True, True), 1), Game((2, 1, 1), (True, True, True), 1), Game((1, 1, 1), (True, True, True), 0)])
def test_a_branch_on_a_line_that_is_not_free_or_costs_too_much(played: Game) -> None:
    _four([0, -3, -2], played, "branch-invalid")


def test_a_leaf_that_affords_more_is_charged_for_it() -> None:
    network, found = _simple()
    free = (True, True, True)

    def worst(nodes: list[int], played: Game, used: list[int]) -> Fraction:
        few = Witnesses(found.size[used], found.shed[used], [1] * len(used), found.quantum)
        return walked(network, played, nodes, few)[0]

    assert worst([-1], Game((1, 1, 1), free, 0), [0]) == 0 and worst([-1], Game((1, 1, 1), free, 1), [0]) == 6
    assert worst([-1], Game((1, 1, 1), free, 2), [0]) == 12 and worst([-1], Game((2, 2, 3), free, 4), [0]) == 12
    assert worst([-1], Game((2, 2, 3), free, 3), [0]) == 6 and worst([-1], Game((1, 1, 1), (False,) * 3, 3), [0]) == 0
    assert worst([0, -1, -2], Game((1, 1, 1), free, 1), [2, 1]) == 3  # 3 shed by each flow; no line of the second flow is free
    assert worst([0, -1, -2], Game((1, 1, 1), free, 2), [2, 1]) == 12  # after line 0, one more takes out 9


def test_limits_of_trees() -> None:
    network, found = _simple()
    played = Game((1, 1, 1), (True, True, True), 1)
    few = Witnesses(found.size[[2, 1]], found.shed[[2, 1]], [1, 1], found.quantum)
    nodes: Any = np.array([0, -1, -2], np.int32)
    assert tree_of_flows(network, played, nodes, few, Limits(tree_nodes=3, tree_depth=1).fresh())[1] == 2
    for limits in (Limits(tree_nodes=2), Limits(tree_depth=0), Limits(work=1000)):
        refused("limit-reached", tree_of_flows, network, played, nodes, few, limits.fresh())


@pytest.mark.parametrize(("low", "high"), [(None, Fraction(9, 2)), (-Fraction(9, 2), None), (-Fraction(1, 3), Fraction(9, 2)),
                                           (-Fraction(9, 2), Fraction(1, 7)), (-4, 4), (None, None)])
def test_each_limit_holds_alone_and_exactly(low: Fraction | None, high: Fraction | None) -> None:
    """Lines of a case are limited alike both ways; the rule takes any limits, and their denominators count."""
    network = by_hand([(0, 1, low, high)], [1 << 70] * 2, [1 << 70] * 2)
    for flow in (-200, -190, -189, -169, -168, -15, -14, -13, 0, 5, 6, 7, 168, 169, 189, 190, 200, 1 << 53, -(1 << 53)):
        if (low is None or Fraction(flow, 42) >= low) and (high is None or Fraction(flow, 42) <= high):
            assert Fraction(int(checked(network, [[flow]], [42]).size[0, 0]), checked(network, [[flow]], [42]).quantum) == abs(flow)
        else:
            refused("leaf-flow-limit", checked, network, [[flow]], [42])
    for flow in ((1 << 53) + 1, -(1 << 53) - 1):
        refused("leaf-flow-limit", checked, network, [[flow]], [42])  # without limits, a flow ends at 2^53 all the same


def test_numbers_that_do_not_fit_64_bits_are_exact() -> None:
    """Each product alone is too large for 64 bits: of a demand and a scale, of a flow and the denominator, and of a limit and a scale."""
    assert shed_in(checked(by_hand([], [10], [0]), [[]], [LARGEST // 3]), 0) == 10
    assert shed_in(checked(by_hand([], [10, 20], [0, 0]), [[]], [LARGEST // 25]), 0) == 30
    one = by_hand([(0, 1, -Fraction(19, 2), Fraction(19, 2))], [1, 1], [1, 1])
    refused("leaf-flow-limit", checked, one, [[LARGEST]], [1])  # twice that is -2 modulo 2^64
    tiny = Fraction(1, 10**30)  # also of a denominator and nothing
    assert shed_in(checked(by_hand([(0, 1, None, None)], [0, tiny], [tiny, 0]), [[0]], [1]), 0) == tiny
    far = by_hand([(0, 1, -(1 << 40), 1)], [1, 1], [1, 1])
    assert checked(far, [[-5]], [1 << 30]).size.tolist() == [[5]]
    refused("leaf-flow-limit", checked, far, [[5 << 30]], [1 << 30])


def test_work_is_the_sum_of_its_parts() -> None:
    network, limits = by_hand([(0, 1, -9, 9), (1, 2, -9, 9)], [9] * 3, [9] * 3), Limits().fresh()
    found = check_flows(network, np.zeros((5, 2), np.int64), np.ones(5, np.int64), limits)
    assert limits.spent == 40 * 5 * (2 + 3) + 1000 * (2 + 3)
    few, limits = Witnesses(found.size[:1], found.shed[:1], [1], found.quantum), Limits().fresh()
    tree_of_flows(network, Game((1, 1), (True, True), 1), np.array([0, -1, -1], np.int32), few, limits)
    assert limits.spent == 3 * (20_000 + 20 * 2)


@pytest.mark.parametrize(("scale", "each"), [(1, 8), (1 << 60, 80 + 10)])
def test_flows_and_paths_take_exactly_so_much_memory(scale: int, each: int) -> None:
    network, most = by_hand([(0, 1, -9, 9), (1, 2, -9, 9)], [9] * 3, [9] * 3), each * 5 * (3 * 2 + 3 + 6)
    given: Any = network, np.zeros((5, 2), np.int64), np.full(5, scale, np.int64)
    found = check_flows(*given, Limits(memory=most).fresh())
    refused("limit-reached", check_flows, *given, Limits(memory=most - 1).fresh())
    one, tree = Witnesses(found.size[:1], found.shed[:1], [scale], found.quantum), np.array([0, -1, -1], np.int32)
    for path, deepest in ((3 * 2, 4), (2 * 2, 2)):  # a path has at most as many nodes as the tree, and as the depth allows
        given = network, Game((1, 1), (True, True), 1), tree, one
        assert tree_of_flows(*given, Limits(memory=path, tree_depth=deepest).fresh())[1] == 2
        refused("limit-reached", tree_of_flows, *given, Limits(memory=path - 1, tree_depth=deepest).fresh())
