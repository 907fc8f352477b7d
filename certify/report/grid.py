# SPDX-License-Identifier: Apache-2.0
"""Sections of claims about power networks: the one-line diagram, the MW of the claim, the attacks that cost most, the tree, and bounds by budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from certify.certificate import Certificate, Claim
from certify.errors import CertifyError
from certify.limits import Limits
from certify.readers.power import Network
from certify.report.attack_trees import ATTACKS, HITTING, LeafBound, leaf_bounds, nodes, shown_tree
from certify.report.drawing import Bar, bars
from certify.report.html import Html, Section, join, number, paragraph, some, table, tag
from certify.report.one_line import Marks, one_line
from certify.report.outcome import Outcome
from certify.report.trees import MOST_LISTED
from certify.rules.attacks import network_of
from certify.rules.grid_words import listed_rows, mw, rounded
from certify.rules.shedding_dual import bounds

MEANINGS: Mapping[str, str] = {
    "leaves": "parts into which the tree cuts the attacks; one flow or dispatch bounds all attacks of a leaf",
    "nodes": "nodes of the tree, each with an attack that a defence misses",
    "attacks": "attacks within the budget, each of which was looked at",
    "dispatches": "dispatches of the pool; after every attack one of them serves enough",
    "shed_mw_shown": "what the evidence shows, in MW; the claim says no more than that",
}
_MOST_ATTACKS = 10
_MODEL = {
    "transport": "in a model where power goes any way that ratings allow (a real network can lose more)",
    "dc": "in the DC model with no line opened", "dc-switch": "in the DC model, if the operator opens the lines that are best opened",
}
_ENDS = {"grid-shedding": "shed_mw_at_most", "grid-attack": "shed_mw_at_least", "grid-defence-limit": "shed_mw_at_least"}


def headline(claim: Claim) -> str:
    """Return what a verified claim is, with the model in which it holds."""
    value = mw(claim.says[_ENDS[claim.kind]])
    return {"grid-shedding": f"no attack sheds more than {value} MW", "grid-attack": f"this attack sheds at least {value} MW",
            "grid-defence-limit": f"no defence guarantees less than {value} MW"}[claim.kind] + f" ({claim.given['operator']})"


def gloss(outcome: Outcome) -> list[Html]:
    """Return the claim in plain words, with the demand beside it."""
    claim, network = outcome.claim, _network(outcome)
    if claim is None or network is None:
        return []
    value, total = claim.says[_ENDS[claim.kind]], network.total
    share = f" ({number(100 * value / total, 3)} % of the demand of {_power(total)} MW)" if total else ""
    lost = f"{_power(value, up=claim.kind == 'grid-shedding')} MW{share}"
    spend = f"lines that cost {claim.given['attacks']} together" if claim.given["attack_costs"] else some(claim.given["attacks"], "line")
    words = {
        "grid-shedding": f"whatever an attacker takes out, up to {spend}, redispatch can keep the loss of load to at most {lost}",
        "grid-attack": f"when these lines are out, no redispatch keeps the loss of load below {lost}",
        "grid-defence-limit": f"whichever lines are hardened within the budget, an attack on up to {spend} is left that costs at least {lost}",
    }[claim.kind]
    return [paragraph(f"In plain words, {_MODEL[claim.given['operator']]}: {words}.")]


def not_claimed(claim: Claim) -> Sequence[str]:
    """Return sentences that say what the claim does not say."""
    told = ["Dynamics: cascades, protection, frequency and voltage, and the time and cost of repair.",
            "AC power flow: reactive power, losses and voltage limits are not part of the model.",
            "That an attack is physically possible, or likely."]
    if claim.given["operator"] == "transport" and claim.kind == "grid-shedding":
        told.append("The DC model, or an operator whose flows obey Ohm's law: they can shed more than this bound.")
    if claim.kind == "grid-attack":
        told.append("That no other attack is worse.")
    return (*told, "That the case file describes the network as it is: compare the sha256 of the file that the planners use.")


def sections(outcome: Outcome) -> list[Section]:
    """Return the parts of the page that are these kinds' own; what leaves and attacks allow only where the verdict is `verified`."""
    certificate, network = outcome.certificate, _network(outcome)
    if certificate is None:
        return []
    leaves: list[LeafBound] | None = None
    if outcome.verified and outcome.files is not None and certificate.evidence.kind in ATTACKS:
        leaves = leaf_bounds(certificate, outcome.files, outcome.limits.fresh())[1]
    shown = sorted(enumerate(leaves or ()), key=lambda pair: -pair[1].shed)[:_MOST_ATTACKS]
    found: list[Section] = []
    if network is not None:
        found.append(Section("network", "The network", one_line(network, _marks(outcome, certificate, network), _caption(certificate, outcome))))
    if any(one.claim is None or one.claim.kind == "grid-shedding" for one in outcome.beside):
        found.append(_by_budget(outcome))
    if outcome.beside and (others := [one for one in (outcome, *outcome.beside) if one.claim is not None and one.claim.kind != "grid-shedding"]):
        found.append(_others(others))
    if network is not None and outcome.verified:
        found.append(_numbers(outcome, certificate, network))
    if shown and leaves is not None:
        found.append(_largest(shown, leaves))
    if certificate.evidence.kind == HITTING:
        found.append(_pool(outcome, certificate, network))
    if "tree" in certificate.evidence.arrays:
        found.append(_tree(outcome, certificate, network, leaves))
    return found


def _network(outcome: Outcome) -> Network | None:
    """Return the network that the claim is about, or None where there is none: the verdict says why."""
    claim, files = outcome.claim, outcome.files
    if claim is None or files is None:
        return None
    try:
        return network_of(claim.given, files, outcome.limits.fresh(), attack=claim.kind != "grid-shedding")
    except CertifyError:
        return None


def _attacks(certificate: Certificate, most: int) -> list[list[int]]:
    """Return the first attacks of a hitting tree, by rows."""
    return [rows[rows >= 0].tolist() for rows in certificate.evidence.arrays["attacks"][:most]]


def _marks(outcome: Outcome, certificate: Certificate, network: Network) -> Marks:
    """Return what is drawn in colour. The rows of a leaf are no attack, so only an attack that was verified is drawn beside a bound."""
    given, evidence = certificate.claim.given, certificate.evidence
    side = evidence.arrays.get("side")
    if certificate.claim.kind == "grid-attack":
        return Marks(given["attack"], given["defended"], () if side is None else _side(side, network))
    if evidence.kind == HITTING:
        first = _attacks(certificate, 1)
        around = _side(side[0], network) if side is not None and len(side) else ()
        return Marks(first[0] if first else (), (), around, "the first attack of the list below")
    worst = max((one for one in outcome.beside if one.verified and one.claim is not None and one.claim.kind == "grid-attack"), default=None,
                key=lambda one: one.claim.says["shed_mw_at_least"] if one.claim is not None else 0)
    attacked = worst.claim.given["attack"] if worst is not None and worst.claim is not None else ()
    return Marks(attacked, given["defended"], (), "attacked in the certificate beside this one that sheds most")


def _side(side: Any, network: Network) -> list[int]:
    return [bus for bus, inside in zip(range(len(network.numbers)), side.tolist(), strict=False) if inside == 1]


def _caption(certificate: Certificate, outcome: Outcome) -> str:
    return f"One-line diagram of {certificate.claim.roles['case']}{'' if outcome.verified else ', as the file marks it, not verified'}"


def _numbers(outcome: Outcome, certificate: Certificate, network: Network) -> Section:
    """Return the MW of the claim beside demand and supply."""
    claim = certificate.claim
    upper = claim.kind == "grid-shedding"
    shown = outcome.verification.figures.get("shed_mw_shown") if outcome.verification is not None else None
    words, look = ("claimed: no attack sheds more than", "good") if upper else ("claimed: sheds at least", "bad")
    drawn = [Bar(words, claim.says[_ENDS[claim.kind]], look)]
    drawn += [Bar("shown by the evidence", shown, "plain")] if isinstance(shown, Fraction) else []
    drawn += [Bar("demand of all buses", network.total, "other"), Bar("supply at most", sum(network.supply, Fraction(0)), "other")]
    return Section("bounds", "The power in MW", bars(drawn, ("power", "MW"), "Rounded to nine digits; the claim holds the exact number", 9))


def _by_budget(outcome: Outcome) -> Section:
    """Return the bounds of this certificate and of those beside it, by the attacker's budget."""
    lines = []
    for one in sorted((one for one in (outcome, *outcome.beside) if one.claim is None or one.claim.kind == "grid-shedding"), key=_order):
        claim, result = one.claim, one.verification
        if claim is None or result is None or not one.verified:
            lines.append((str(claim.given["attacks"]) if claim is not None else "?", one.name, f"{one.word}: nothing is shown", "", ""))
            continue
        plan = listed_rows(claim.given["defended"]) if claim.given["defended"] else "nothing"
        bound = tag("strong", f"{_power(claim.says['shed_mw_at_most'])} MW")
        lines.append((str(claim.given["attacks"]), one.name, bound, plan, tag("code", result.id[:16])))
    said = "Each certificate was verified when this page was made, against the same case and for the same operator."
    head = ("attacker's budget", "certificate", "no attack sheds more than", "defended", "id begins with")
    return Section("budgets", "Bounds by what the attacker can spend", join([
        paragraph(said), table(head, lines, "A line costs 1, unless the claim says otherwise")]))


def _order(outcome: Outcome) -> tuple[int, int]:
    claim = outcome.claim
    return (1 << 62, 0) if claim is None else (claim.given["attacks"], len(claim.given["defended"]))


def _others(others: Sequence[Outcome]) -> Section:
    """Return the attacks and limits of defences among the certificates, the largest first."""
    lines = []
    for one in sorted(others, key=lambda one: -one.claim.says["shed_mw_at_least"] if one.claim is not None else 0):
        if (claim := one.claim) is None:
            continue
        what = f"the attack on {listed_rows(claim.given['attack'])}" if claim.kind == "grid-attack" else (
            f"some attack, whatever is defended within a budget of {claim.given['budget']}")
        lines.append((str(claim.given["attacks"]), one.name, what, f"{_power(claim.says['shed_mw_at_least'], up=False)} MW" if one.verified else
                      f"{one.word}: nothing is shown"))
    return Section("attacks", "Attacks and limits of defences", join([
        paragraph("Each certificate was verified when this page was made, against the same case and for the same operator."),
        table(("attacker's budget", "certificate", "what sheds", "at least"), lines, "The largest first")]))


def _largest(shown: Sequence[tuple[int, LeafBound]], leaves: Sequence[LeafBound]) -> Section:
    """Return the leaves with the largest bounds."""
    lines = [(str(k), _listed(leaf.attacked), _further(leaf), f"{_power(leaf.shed)} MW") for k, leaf in shown]
    left = len(leaves) - len(shown)
    more = [paragraph(f"{some(left, 'leaf', 'leaves')} with smaller bounds left out.", class_="note")] if left else []
    said = ("These rows are not the worst attacks, and no list of lines to harden: each leaf of the tree stands for many attacks, those that take "
            "out its rows and further ones within the budget that is left. One flow bounds them all, by what is lost if the rows with its largest "
            "flows go out too; that attack itself may shed much less, even nothing. A worst attack is shown by a grid-attack certificate, which can "
            "stand beside this one in a report.")
    head = ("leaf", "rows out", "further rows counted in", "no attack of the leaf sheds more than")
    return Section("leaves", "How the bound comes about", join([paragraph(said), table(head, lines, "Leaves with the largest bounds"), *more]))


def _further(leaf: LeafBound) -> str:
    return _listed(leaf.counted or ()) if leaf.counted is not None or not leaf.budget else f"any, for up to {leaf.budget}"


def _pool(outcome: Outcome, certificate: Certificate, network: Network | None) -> Section:
    """Return the attacks of a hitting tree with what each is shown to shed."""
    evidence, attacks = certificate.evidence, _attacks(certificate, _MOST_ATTACKS)
    sheds: list[str] = ["not verified"] * len(attacks)
    if outcome.verified and network is not None:
        index = {line.row: k for k, line in enumerate(network.lines)}
        arrays = {name: array[: len(attacks)] for name, array in evidence.arrays.items() if name in ("side", "pi", "circulation")}
        limits: Limits = outcome.limits.fresh()
        lines_out = [frozenset(index[row] for row in rows) for rows in attacks]
        sheds = [f"{_power(value, up=False)} MW" for value in bounds(network, lines_out, arrays, evidence.items.get("scale", ()), limits)]
    lines = [(str(k), _listed(rows), shed) for k, (rows, shed) in enumerate(zip(attacks, sheds, strict=True))]
    left = len(evidence.arrays["attacks"]) - len(attacks)
    return Section("worst", "The attacks", join([
        paragraph("Whatever is defended within the budget, one of these attacks touches none of it."),
        table(("attack", "rows out", "sheds at least"), lines, "Attacks of the evidence"),
        *([paragraph(f"{some(left, 'attack')} left out.", class_="note")] if left else [])]))


def _tree(outcome: Outcome, certificate: Certificate, network: Network | None, leaves: Sequence[LeafBound] | None) -> Section:
    """Return the tree: counts, a picture where it is small, and its first nodes in words."""
    count, most = len(certificate.evidence.arrays["tree"]), outcome.limits.tree_nodes
    if count > most:
        return Section("tree", "The tree of the evidence", paragraph(f"Left out: {some(count, 'node')}, more than the limit of {most}."))
    kept = tuple(nodes(certificate, network, leaves, MOST_LISTED))
    return Section("tree", "The tree of the evidence", shown_tree(certificate, kept, outcome.verified))


def _power(value: Fraction, up: bool = True) -> str:
    """Return MW, exactly where nine digits behind the point do."""
    return mw(rounded(value, up=up))


def _listed(rows: Sequence[int]) -> str:
    return ", ".join(map(str, rows)) or "none"

