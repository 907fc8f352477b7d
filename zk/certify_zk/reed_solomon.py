# SPDX-License-Identifier: Apache-2.0
"""The code of a tableau's rows: polynomials of degree below `dimension` over F_p, evaluated at all `length`-th roots of unity.

A row has `cells` entries, the coefficients of 1, X, ..., then `pads` random ones. With k = cells + pads and N = length, two codewords agree on at
most k - 1 points, so within `radius` = floor((N - k) / 2) columns of a word there is at most one codeword.

Order of the domain: B = N / cells cosets of the cells-th roots of unity; column j = c cells + i is the point g^c w^rev(i) = g^(c + B rev(i)), where
g = 7^((p-1)/N), w = g^B, and rev reverses the log2(cells) bits of i (the order in which a decimation-in-frequency transform leaves them). No point is
zero, so the values at any `pads` of them, or fewer, are uniform where the pads are: the map is a Vandermonde matrix with columns scaled by x^cells.
"""

from __future__ import annotations

from dataclasses import dataclass

from certify.errors import Declined
from certify_zk.field import P, root_of_unity

LARGEST = 1 << 24


@dataclass(frozen=True)
class Code:
    """Entries, pads and codeword length of a row.

    `cells` and `length` are powers of two, `length` at most 2^24, above `cells` + `pads` by at least 2, so that the radius is positive; raises
    Declined `commitment-limit` otherwise.
    """

    cells: int
    pads: int
    length: int

    def __post_init__(self) -> None:
        for name, value in (("cells", self.cells), ("codeword length", self.length)):
            if not 1 <= value <= LARGEST or value & (value - 1):
                raise Declined("commitment-limit", f"the {name} of a row, {value}, is no power of two up to {LARGEST}",
                               fix="commit with the default sizes")
        if self.pads < 0 or self.dimension + 2 > self.length:
            raise Declined("commitment-limit", f"{self.cells} cells and {self.pads} pads do not fit a codeword of length {self.length}",
                           fix="commit for fewer uses, or with longer codewords")

    @property
    def dimension(self) -> int:
        """Number of coefficients of a row's polynomial."""
        return self.cells + self.pads

    @property
    def radius(self) -> int:
        """Number of wrong columns up to which decoding is unique."""
        return (self.length - self.dimension) // 2

    @property
    def cosets(self) -> int:
        """Number of cosets of the cells-th roots of unity in the domain."""
        return self.length // self.cells

    def point(self, column: int) -> int:
        """Return the point of the domain at which a column holds the rows' values; raises ValueError for a number that is no column."""
        if not 0 <= column < self.length:
            raise ValueError("columns are numbered from 0 to the length of a codeword")
        coset, place = divmod(column, self.cells)
        bits = self.cells.bit_length() - 1
        turned = int(f"{place:0{bits}b}"[::-1], 2) if bits else 0
        return pow(root_of_unity(self.length), coset + self.cosets * turned, P)
