# SPDX-License-Identifier: Apache-2.0
"""The public blocks of a circuit: the integers of a statement, in the power-of-two cubes in which relations speak of them.

Guarantee: made from policy and statement alone; entries are exact Python integers, and 0 in padding.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from certify_zk.policy import Policy
from certify_zk.relations import power_of_two
from certify_zk.statement import Box, Rows, Statement

Objects = np.ndarray[Any, np.dtype[np.object_]]


def public_values(policy: Policy, statement: Statement) -> dict[str, Objects]:
    """Return the entries of each public block by its name, arrays of the shapes of their cubes."""
    asked = statement.asked
    found: dict[str, Any] = {}
    if isinstance(asked, Rows):
        found |= {"rows": asked.coefficients, "thresholds": asked.thresholds}
    else:
        row = [int(output == asked.output) for output in range(policy.size(policy.depth))]
        found |= {"rows": [row, [-entry for entry in row]], "gap": [asked.gap]}
    for index, region in enumerate(statement.regions):
        if isinstance(region, Box):
            found |= {f"region{index}.start": region.lower, f"region{index}.width": region.width}
        else:
            found |= {f"region{index}.start": region.centre, f"region{index}.radius": [region.radius]}
    return {name: _cube(np.array(values, object)) for name, values in found.items()}


def _cube(values: Objects) -> Objects:
    """Return an array filled up with 0 to powers of two."""
    cube = np.full(tuple(map(power_of_two, values.shape)), 0, object)
    cube[tuple(map(slice, values.shape))] = values
    return cube
