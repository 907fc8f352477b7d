# SPDX-License-Identifier: Apache-2.0
"""Reports of claims about power networks: the diagram shows what the claim says, the tables what the checker bounds, and pages stay small."""

from __future__ import annotations

import re
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certify.cli.explain import pages
from certify.limits import Limits
from certify.readers.matpower import read_case
from certify.readers.power import power_network
from certify.report import layout, one_line
from certify.report.attack_trees import leaf_bounds
from certify.report.page import render
from cli.test_bad_input import refused, run
from kinds.forest_vectors import dispatched
from kinds.grid_hand import cut, dual, pool, tree, triangle
from kinds.grid_limit_vectors import limit
from power_networks import MODEL
from report.reading import ROOT, Page, outcome_of, page_of
from toolkit import Specimen

DATA = ROOT.parent / "shared/data/grid/pglib"
published = pytest.mark.skipif(not DATA.is_dir(), reason="the folder ../shared/data/grid with published networks is missing")


@pytest.fixture(autouse=True)
def _needs_networkx(request: pytest.FixtureRequest) -> None:
    if "without" not in request.node.name:
        pytest.importorskip("networkx", reason="diagrams need networkx")


def drawn(page: Page, look: str) -> list[str]:
    """Return what the lines of a look say when they are pointed at."""
    return re.findall(rf'<line [^>]*class="branch {look}"[^>]*><title>([^<]*)</title>', page.source)


def test_an_attack_is_drawn_with_its_side_and_nothing_else_in_colour() -> None:
    page = page_of(cut(triangle(60, 60, 10)))
    assert page.headings[0] == (1, "Verified: this attack sheds at least 40 MW (transport)")
    assert drawn(page, "attacked") == ["row 1: bus 1 to bus 2, 60 MW, attacked"]
    assert drawn(page, "plain") == ["row 2: bus 1 to bus 3, 60 MW", "row 3: bus 2 to bus 3, 10 MW"] and not drawn(page, "defended")
    side = re.search(r'<g class="side"><title>the side of the cut that is short of supply</title>(.*?)</g>', page.source)
    assert side is not None and side.group(1).count("<circle") == 1 and "<line" not in side.group(1)
    buses = re.findall(r"<title>(bus \d+: [^<]*)</title><circle [^>]*class=\"([^\"]*)\"", page.source)
    assert buses == [("bus 1: demand 0 MW, supply up to 120 MW", "bus supply"), ("bus 2: demand 50 MW, supply up to 0 MW", "bus demand"),
                     ("bus 3: demand 50 MW, supply up to 0 MW", "bus demand")]
    assert "In plain words, in a model where power goes any way that ratings allow (a real network can lose more): when these lines" in page.text
    assert "no redispatch keeps the loss of load below 40 MW (40 % of the demand of 100 MW)." in page.text
    assert [(row[0], row[-1]) for row in page.table("power")] == [
        ("claimed: sheds at least", "40"), ("shown by the evidence", "40"), ("demand of all buses", "100"), ("supply at most", "120")]
    assert [text for _, text in page.headings][2:5] == ["The network", "The power in MW", "What it rests on"]


def test_defended_and_unlimited_lines_are_drawn() -> None:
    grid = triangle(60, 0, 10)
    made = tree(grid, bound="0", nodes=(0, -1, -2), flow=((0, 100, -50), (50, 50, 0)), defended=[2])
    made.arrays["flow"] = np.array([[0, 60, -10], [50, 50, 0]], "<i8")
    made.says = {"shed_mw_at_most": "40"}
    page = page_of(made)
    assert page.headings[0][1] == "Verified: no attack sheds more than 40 MW (transport)"
    assert drawn(page, "defended") == ["row 2: bus 1 to bus 3, without a rating, defended"]
    assert drawn(page, "attacked") == []  # the rows of a leaf are no attack
    page = page_of(cut(grid, attack=[1]))
    assert drawn(page, "unlimited") == ["row 2: bus 1 to bus 3, without a rating"]


def test_leaves_with_the_largest_bounds_are_listed() -> None:
    page = page_of(tree())
    assert page.table("leaf") == [["0", "1", "none", "40 MW"], ["1", "2", "none", "40 MW"], ["2", "none", "none", "0 MW"]]
    assert "3 leaves; depth 2; 5 nodes." in page.text and "row 1 attacked: leaf 0: witness 0, at most 40 MW shed" in page.text
    loose = tree(bound="50", nodes=(-1,), flow=((50, 50, 0),))
    assert page_of(loose).table("leaf") == [["0", "none", "1", "50 MW"]]
    forest = page_of(dispatched())
    assert forest.table("leaf")[0][:3] == ["0", "1", "none"] and forest.headings[0][1].startswith("Verified: no attack sheds more than 40.0")
    assert [text for _, text in page_of(pool()).headings].count("The tree of the evidence") == 0


@pytest.mark.parametrize("made", [tree(), dispatched(), tree(bound="50", nodes=(-1,), flow=((50, 50, 0),))], ids=["flows", "forests", "one"])
def test_bounds_of_leaves_are_those_of_the_verdict(made: Specimen) -> None:
    outcome = outcome_of(made)
    assert outcome.verification is not None and outcome.certificate is not None and outcome.files is not None
    _, found = leaf_bounds(outcome.certificate, outcome.files, Limits())
    shown = outcome.verification.figures["shed_mw_shown"]
    assert isinstance(shown, Fraction) and 0 <= shown - max(leaf.shed for leaf in found) < Fraction(1, 10**9)
    assert len(found) == outcome.verification.figures["leaves"]


def test_a_limit_lists_its_attacks_with_what_each_is_shown_to_shed() -> None:
    page = page_of(limit())
    assert page.headings[0][1] == "Verified: no defence guarantees less than 40 MW (transport)"
    assert page.table("attack") == [["0", "1", "40 MW"], ["1", "2", "40 MW"]]
    assert "attack 0 on row 1" in page.text and "defend row 1: attack 1 on row 2" in page.text and drawn(page, "attacked")[0].startswith("row 1:")
    padded = page_of(limit(attacks=((1, -1), (2, -1))))
    assert padded.table("attack") == page.table("attack")


def test_what_was_not_verified_is_drawn_as_such_and_bounds_nothing() -> None:
    for made in (tree(bound="39"), cut(bound="41"), limit(bound="41")):
        page = page_of(made)
        assert page.headings[0][1] == "REJECTED" and "as the file marks it, not verified" in page.source
        assert not any(table and table[0][0] in ("power", "leaf") for table in page.tables)
        assert all(row[2] == "not verified" for table in page.tables if table[0][0] == "attack" for row in table[1:])
    short = cut()
    short.arrays["side"] = np.ones(50, "|u1")
    assert page_of(short).headings[0][1] == "REJECTED"


@pytest.mark.parametrize("made", [tree(), pool(), dispatched()], ids=["transport", "dc", "dc-switch"])
def test_what_it_rests_on_is_said_in_short(made: Specimen) -> None:
    made.assumptions = sorted({*made.assumptions, "pmin-relaxed"})
    text = made.files["case"][1].decode()
    row = text.split("mpc.gen = [\n")[1].split("\n")[0]
    made.files["case"] = ("case.m", text.replace(row, row.removesuffix(";").rpartition("\t")[0] + "\t1;").encode())
    page = page_of(made)
    assert page.headings[0][1].startswith("Verified: ") and "each can run down to 0. Where it can't, more may be shed." in page.text
    words = {"transport-flow": "balance and ratings. Flows", "dc-power-flow": "Flows follow the DC model", "dc-switching": "may open any line"}
    assert words[next(name for name in made.assumptions if name != "pmin-relaxed")] in page.text


def test_prices_have_no_side_to_shade() -> None:
    page = page_of(dual())
    assert page.headings[0][1] == "Verified: this attack sheds at least 60 MW (dc)" and 'class="side"' not in page.source


def test_the_page_comes_without_networkx_and_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    page = page_of(cut())
    assert page.headings[0][1] == "Verified: this attack sheds at least 40 MW (transport)" and "<svg class=\"grid\"" not in page.source
    assert "No drawing: the package networkx is not installed. pip install 'certify-engine[grid]' brings what is missing." in page.text


def test_islands_stand_apart_and_parallel_circuits_side_by_side() -> None:
    grid = triangle()
    for branch in grid.branches[:2]:
        branch.status = 0
    grid.branches[3].status = 1
    network = power_network(read_case(grid.data(), Limits()), "transport", {**MODEL, "angle_limits": "ignored"}, False)
    found = layout.lay_out(network)
    assert len(set(found.places)) == 3 and all(layout.EDGE <= x <= found.width - layout.EDGE and layout.EDGE <= y <= found.height - layout.EDGE
                                               for x, y in found.places)
    assert found == layout.lay_out(network)
    ends = one_line._ends(network, found)
    assert len(ends) == 2 and ends[0] != ends[1]


def test_a_network_of_very_many_buses_is_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_line, "MOST_BUSES", 2)
    assert "No drawing: the network has more than 2 buses." in page_of(cut()).text


@published
@pytest.mark.parametrize(("name", "buses", "lines", "named"), [("118_ieee", 118, 186, 118), ("300_ieee", 300, 411, 4),
                                                            pytest.param("500_goc", 500, 728, 4, marks=pytest.mark.slow)])
def test_large_networks_are_drawn_small_and_the_same_again(name: str, buses: int, lines: int, named: int) -> None:
    data = (DATA / f"pglib_opf_case{name}.m").read_bytes()
    given: dict[str, Any] = {"operator": "transport", "model": {**MODEL, "angle_limits": "ignored"}, "attacks": 2, "attack_costs": [],
                             "attackable": None, "defended": [], "budget": None, "defence_costs": [], "attack": [1, 3]}
    made = Specimen("grid-attack", {"case": (f"{name}.m", data)}, given, {"shed_mw_at_least": "0"}, "cut", {},
                    {"side": np.zeros(buses, "|u1")}, ["pmin-relaxed", "transport-flow"] if name == "500_goc" else ["transport-flow"])
    outcome = outcome_of(made)
    assert outcome.verified, outcome.trouble
    page, again = render(outcome, pages()), render(outcome, pages())
    assert page == again and len(page) < 2_000_000
    found = Page(page)
    picture = found.source[found.source.index("<svg") : found.source.index("</svg>")]
    assert picture.count('class="bus') == buses and picture.count('class="branch ') == lines
    numbers = len(re.findall(r"<text x=", picture))
    assert min(named, 3) <= numbers - 2 <= named  # two of them are rows
    places = [tuple(map(int, place)) for place in re.findall(r'<circle cx="(\d+)" cy="(\d+)"', picture)]
    close = sum(abs(a[0] - b[0]) + abs(a[1] - b[1]) < 6 for k, a in enumerate(places) for b in places[:k])
    assert len(places) == buses and close < buses // 10 and max(x for x, _ in places) <= 850


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a case, and bounds for one line, for two, and for two where one is defended."""
    (tmp_path / "case.m").write_bytes(triangle().data())
    for name, made in (("k1", tree()), ("k2", tree(bound="100", nodes=(-1,), flow=((50, 50, 0),), attacks=2)),
                       ("plan", tree(bound="50", nodes=(-1,), flow=((50, 50, 0),), attacks=2, defended=[1], budget=1)), ("limit", limit()),
                       ("wrong", tree(bound="1"))):
        (tmp_path / f"{name}.cert").write_bytes(made.seal())
    return tmp_path


def test_several_bounds_stand_in_one_table(folder: Path) -> None:
    done = run(folder, "report", "k2.cert", "plan.cert", "k1.cert", "--subject", "case.m", "-o", "out.html")
    assert done.returncode == 0 and done.stdout.count("verified  ") == 3 and done.stdout.count("certificate: ") == 3
    page = Page((folder / "out.html").read_bytes())
    assert page.headings[0][1] == "Verified: no attack sheds more than 100 MW (transport)"
    assert [row[:4] for row in page.table("attacker's budget")] == [
        ["1", "k1.cert", "40 MW", "nothing"], ["2", "k2.cert", "100 MW", "nothing"], ["2", "plan.cert", "50 MW", "row 1"]]


def test_attacks_and_limits_stand_beside_a_bound_and_the_worst_attack_is_drawn(folder: Path) -> None:
    (folder / "attack.cert").write_bytes(cut().seal())
    (folder / "weak.cert").write_bytes(cut(bound="5", attack=[2], side=(0, 0, 1)).seal())
    for files in (("k1.cert", "weak.cert", "attack.cert", "limit.cert"), ("limit.cert", "k1.cert", "attack.cert", "weak.cert")):
        done = run(folder, "report", *files, "--subject", "case.m", "-o", "out.html")
        assert done.returncode == 0, done.stdout
        page = Page((folder / "out.html").read_bytes())
        beside = next(table[1:] for table in page.tables if table and table[0][2:3] == ["what sheds"])
        assert sorted(row[1] for row in beside[:2]) == ["attack.cert", "limit.cert"] and beside[2][1] == "weak.cert"
        assert "the attack on row 1" in page.text and "some attack, whatever is defended within a budget of 1" in page.text
        assert drawn(page, "attacked")[0].startswith("row 1:")


def test_what_can_not_be_compared_is_refused_and_what_is_rejected_is_no_bound(folder: Path) -> None:
    (folder / "dear.cert").write_bytes(tree(attack_costs=[[3, 2]]).seal())
    said = refused(folder, 2, "setting-value", "report", "k1.cert", "dear.cert", "--subject", "case.m", "-o", "out.html")
    assert "dear.cert is no claim about the same case, operator, model and costs as the first" in said
    done = run(folder, "report", "k1.cert", "wrong.cert", "--subject", "case.m", "-o", "out.html")
    assert done.returncode == 1 and "bound-too-strong" in done.stdout and "wrong.cert" in done.stdout
    rows = Page((folder / "out.html").read_bytes()).table("attacker's budget")
    assert rows[0][1:3] == ["k1.cert", "40 MW"] and rows[1][1:3] == ["wrong.cert", "rejected: nothing is shown"]
    refused(folder, 2, "output-taken", "report", "k1.cert", "k2.cert", "--subject", "case.m", "-o", "k2.cert")
