# SPDX-License-Identifier: Apache-2.0
"""Every attack of a game, one by one, in blocks: for rules that look at each."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, combinations, islice
from math import comb
from typing import Any

import numpy as np

from certify.errors import Declined
from certify.limits import Limits
from certify.rules.attacks import Game

_MOST_ATTACKS, _BLOCK = 10**8, 8192


def attacks_within(played: Game, limits: Limits) -> Iterator[np.ndarray[Any, Any]]:
    """Yield every attack within the budget, the empty one included, as blocks of line indices [attacks, size], one size a block.

    Raises Declined `limit-reached` above 10^8 sets of one size, or above the work budget.
    """
    free = [k for k, is_free in enumerate(played.free) if is_free and played.costs[k] <= played.budget]
    cheapest = sorted(played.costs[k] for k in free)
    most = sum(1 for total in accumulate(cheapest) if total <= played.budget)
    for size in range(most + 1):
        count = comb(len(free), size)
        if count > _MOST_ATTACKS:
            raise Declined("limit-reached", f"more than {_MOST_ATTACKS} attacks would be looked at one by one", fix="use a smaller budget of attacks")
        limits.spend(2000 * count, "enumerating attacks")
    costs = np.array(played.costs)
    for size in range(most + 1):
        sets = combinations(free, size)
        while chosen := list(islice(sets, _BLOCK)):
            block = np.array(chosen, np.int64).reshape(len(chosen), size)
            yield block[costs[block].sum(axis=1) <= played.budget]
