# SPDX-License-Identifier: Apache-2.0
"""The best lines to defend within a budget: an implicit hitting set, whose last failure is the proof that nothing better exists.

A list of attacks with what each sheds gives a lower bound: the largest x for which no affordable defence touches every attack that sheds at least
x. The search for such a defence branches on the lines of an attack that is not touched; where it fails, it is a hitting tree. The defence that
touches the attacks above x is then tried by an oracle, which adds an attack that sheds more than x, or proves that there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

Attack = frozenset[int]


@dataclass(frozen=True)
class Budget:
    """What may be defended, at what cost, and how much in all."""

    costs: tuple[int, ...]
    defendable: frozenset[int]
    money: int


@dataclass(eq=False)
class Attacks:
    """The attacks so far, each with the shed that was shown for it."""

    shed: dict[Attack, Fraction] = field(default_factory=dict)

    def add(self, found: Iterable[tuple[Attack, Fraction]]) -> bool:
        """Add attacks; return whether one is new."""
        before = len(self.shed)
        for attack, shed in found:
            self.shed[attack] = max(shed, self.shed.get(attack, Fraction(0)))
        return len(self.shed) > before


@dataclass(frozen=True)
class Limit:
    """No affordable defence guarantees less than `shed`: attacks, and a hitting tree over them in preorder."""

    shed: Fraction
    attacks: list[Attack]
    tree: list[int]


def touching(attacks: Sequence[Attack], budget: Budget) -> frozenset[int] | list[int]:
    """Return an affordable defence that touches every attack, or a hitting tree over them where there is none."""
    tree: list[int] = []

    def search(inside: frozenset[int], outside: frozenset[int], left: int) -> frozenset[int] | None:
        best, fewest = None, None
        for index, attack in enumerate(attacks):
            if attack & inside:
                continue
            candidates = sorted(line for line in attack - outside if line in budget.defendable and budget.costs[line] <= left)
            if fewest is None or len(candidates) < len(fewest):
                best, fewest = index, candidates
                if not candidates:
                    break
        if best is None or fewest is None:
            return inside
        tree.append(best)
        for k, line in enumerate(fewest):
            found = search(inside | {line}, outside | frozenset(fewest[:k]), left - budget.costs[line])
            if found is not None:
                return found
        return None

    found = search(frozenset(), frozenset(), budget.money)
    return tree if found is None else found


def limit(known: Attacks, budget: Budget) -> tuple[Limit, frozenset[int]]:
    """Return the best lower bound of the attacks so far with its proof, and a defence that touches all attacks above it."""
    levels = sorted(set(known.shed.values()), reverse=True)
    low, high = 0, len(levels)  # levels before `low` can be touched; at `high` it is not known or can't be
    defence: frozenset[int] = frozenset()
    proof = Limit(Fraction(0), [], [])
    while low < high:
        middle = (low + high) // 2
        listed = sorted((attack for attack, shed in known.shed.items() if shed >= levels[middle]), key=lambda a: (len(a), sorted(a)))
        found = touching(listed, budget)
        if isinstance(found, frozenset):
            low, defence = middle + 1, found
        else:
            high = middle
            used = sorted(set(found))
            place = {index: k for k, index in enumerate(used)}
            proof = Limit(levels[middle], [listed[index] for index in used], [place[index] for index in found])
    return proof, defence


def search(known: Attacks, budget: Budget, beyond: Callable[[frozenset[int], Fraction], list[tuple[Attack, Fraction]]],
           stop: Callable[[], bool], note: Callable[[int, Fraction], None]) -> tuple[Limit, frozenset[int], bool]:
    """Return the limit, the defence that meets it, and whether that is proved.

    `beyond(defence, shed)` returns attacks that avoid a defence and shed more than `shed`; none only where it is proved that there are none.
    """
    rounds = 0
    while True:
        proof, defence = limit(known, budget)
        note(rounds, proof.shed)
        if stop():
            return proof, defence, False
        rounds += 1
        if not known.add(beyond(defence, proof.shed)):
            return proof, defence, not stop()
