# SPDX-License-Identifier: Apache-2.0
"""Sets of lower slopes a/255 for the ReLU neurons of a network: any of them is sound, some prove more."""

from __future__ import annotations

from typing import Any

import numpy as np

from certify.errors import Rejected
from certify.limits import Limits
from certify.readers.network import Network

Array = np.ndarray[Any, Any]


def slope_sets(network: Network, slope: Array, limits: Limits) -> dict[int, Array]:
    """Return the array `slope`, one row a set and one column a ReLU neuron, by ReLU layer; raises Rejected `array-shape`."""
    ends = np.cumsum([0, *(network.layers[k].size for k in network.activations)])
    if not slope.size or slope.shape[1] != ends[-1]:
        raise Rejected("array-shape", f"the network has {ends[-1]} ReLU neurons, a set of slopes {slope.shape[1]} columns",
                       where="evidence array slope")
    limits.within(16 * slope.size, "memory", "memory for the sets of slopes in bytes")
    return dict(zip(network.activations, np.split(slope, ends[1:-1], axis=1), strict=True))
