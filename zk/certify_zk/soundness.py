# SPDX-License-Identifier: Apache-2.0
"""The soundness ledger: how likely a false claim passes, entry by entry, in exact rationals.

F is the challenge field with p^D elements. An n-bit level means: a forger who makes Q hash calls succeeds with probability at most about Q 2^-n. The
argument is sound round by round, so the ledger lists, for each kind of challenge, the chance that it turns a false state into a true one; by the
union bound their sum is what a forger has for each call.

- *query*: (1 - e/N)^t, e the radius of the code. If the committed rows are further than e columns from codewords, a wrong combination escapes a query
  with less than 1 - e/N; if not, a wrong one agrees with the right one on at most k - 1 + e <= N - e columns. The larger of two cases, not the sum.
- *proximity*: N/|F| (correlated agreement over affine spaces up to unique decoding: Ben-Sasson, Carmon, Ishai, Kopparty, Saraf 2020, theorem 1.6),
  and 1/|F| for the factor drawn after the mask's value.
- *lookup*: one pole for every ranged cell and every entry of the table of 2^16.
- *rounds*, *relations*, *batch*: degrees of the polynomials at whose random points claims are compared (Schwartz, Zippel), added over all challenges.
- *pad queries*, *pad field*: the same for the tableau of pads, on a code with kappa = slots + t coefficients. Of what its verifier compares, products
  have the highest degree: a wrong one agrees with the right one on at most 2 kappa - 2 + e columns, more than the kappa + slots - 2 + e of linear
  constraints and the N - e of rows that are no codewords.

With rows committed as points of a group, `group_ledger`, there are no queries and no proximity.

Nothing is decided by a floating-point number.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from certify.errors import Declined
from certify_zk.field import Extension
from certify_zk.policy import LEVELS
from certify_zk.reed_solomon import Code

TABLE = 1 << 16
PAD_BLOCK = 64
MOST_QUERIES = 1024
MOST_USES = 4096
GROUP_BITS = 117
MOST_CELLS = (1 << 32) - TABLE - 1  # the multiplicity of a cell must not wrap to zero mod p


@dataclass(frozen=True)
class Parameters:
    """What a commitment fixes: the level in bits, the degree of the challenge field, uses, queries a use, and the code of the rows."""

    level: int
    degree: int
    uses: int
    queries: int
    code: Code


@dataclass(frozen=True)
class Counts:
    """What the circuit makes of an argument.

    Ranged cells; for the lookup's rounds, the relations and the batch, the degrees of all polynomials at whose random points claims are compared,
    added; messages, and the linear constraints and products among them.
    """

    ranged_cells: int
    round_degrees: int
    relation_degrees: int
    batch_degrees: int
    messages: int
    constraints: int
    products: int


@dataclass(frozen=True)
class Ledger:
    """The entries by name, each a probability, and their sum."""

    entries: dict[str, Fraction]

    @property
    def union(self) -> Fraction:
        """The sum of the entries."""
        return sum(self.entries.values(), Fraction(0))

    def reaches(self, level: int) -> bool:
        """Return whether the union is at most 2^-level."""
        return self.union * (1 << level) <= 1

    @property
    def tenths(self) -> int:
        """The largest integer b such that the union is at most 2^(-b/10)."""
        return tenths(self.union)


def tenths(error: Fraction) -> int:
    """Return the largest b with `error` <= 2^(-b/10), for 0 < `error` <= 1: 2^b <= 1 / error^10."""
    return int(1 / error**10).bit_length() - 1


def pads(queries: int, uses: int) -> int:
    """Return the pads of a row that this many openings of `queries` columns leave hidden: whole blocks of 64."""
    return -(-queries * uses // PAD_BLOCK) * PAD_BLOCK


def missed(code: Code, queries: int) -> Fraction:
    """Return the chance that `queries` uniform columns all miss the `radius` wrong ones."""
    return (1 - Fraction(code.radius, code.length)) ** queries


def enough(code: Code, queries: int, level: int) -> bool:
    """Return whether the queries alone give half a bit more than the level: -t log2(1 - e/N) >= level + 1/2; the half pays for the other entries."""
    return missed(code, queries) ** 2 * (1 << (2 * level + 1)) <= 1


def choose(level: int, uses: int, cells: int, length: int, counts: Counts) -> Parameters:
    """Return the parameters with the fewest queries for which `enough` holds, their pads included, and the ledger has the level.

    With longer codewords fewer queries are `enough`, and those of the pad tableau, as many, decide. Raises Declined `commitment-limit` without any.
    """
    if level not in LEVELS or not 1 <= uses <= MOST_USES:
        raise Declined("commitment-limit", f"level {level} with {uses} uses", fix=f"the level is 100 or 128, and uses are from 1 to {MOST_USES}")
    for queries in range(1, MOST_QUERIES + 1):
        found = Parameters(level, LEVELS[level], uses, queries, Code(cells, pads(queries, uses), length))
        if enough(found.code, queries, level) and ledger(found, counts).reaches(level):
            return found
    raise Declined("commitment-limit", f"no {MOST_QUERIES} queries give {level} bits", fix="commit for fewer uses, or with longer codewords")


def pad_code(parameters: Parameters, messages: int) -> Code:
    """Return the code of the pad tableau of an argument with this many messages.

    It has slots for 1/32 of the messages, at least 512, one more coefficient a query, and 16 times the slots as length, 32 times at the 128-bit
    level. Its product masks overlap in t coefficients, which needs slots >= t - 1: raises Declined `commitment-limit` otherwise.
    """
    slots = 512
    while 32 * slots < messages:
        slots *= 2
    if parameters.queries > slots + 1:
        raise Declined("commitment-limit", f"{parameters.queries} queries of a pad tableau with {slots} slots",
                       fix="commit for fewer uses, or with longer codewords")
    return Code(slots, parameters.queries, slots * (32 if parameters.level == 128 else 16))


def ledger(parameters: Parameters, counts: Counts) -> Ledger:
    """Return the entries for an argument of this size."""
    order, queries = Extension(parameters.degree).order, parameters.queries
    code, pad = parameters.code, pad_code(parameters, counts.messages)
    agreeing = 2 * pad.dimension - 2 + pad.radius
    rows = -(-counts.products // pad.cells)
    return Ledger({
        "query": missed(code, queries),
        "proximity": Fraction(code.length + 1, order),
        "lookup": Fraction(counts.ranged_cells + TABLE, order),
        "rounds": Fraction(counts.round_degrees, order),
        "relations": Fraction(counts.relation_degrees, order),
        "batch": Fraction(counts.batch_degrees, order),
        "pad queries": Fraction(agreeing, pad.length) ** queries,
        "pad field": Fraction(pad.length + counts.constraints + rows, order),
    })


def group_ledger(level: int, order: int, counts: Counts, answers: int) -> Ledger:
    """Return the entries for an argument over a prime field of this order with rows committed as points (docs/hyrax.md, 8).

    `answers` are the challenges by which the last proof and the sum of its equations are compared, as a degree. *group* is what is assumed of
    the chance, for each operation, to find a relation between generators; it is proved of nothing.
    Raises Declined `commitment-soundness` where the union exceeds 2^-level.
    """
    found = Ledger({
        "lookup": Fraction(counts.ranged_cells + TABLE, order),
        "rounds": Fraction(counts.round_degrees, order),
        "relations": Fraction(counts.relation_degrees, order),
        "batch": Fraction(counts.batch_degrees, order),
        "constraints": Fraction(counts.constraints + 1, order),
        "answers": Fraction(answers, order),
        "group": Fraction(1, 1 << GROUP_BITS),
    })
    if not found.reaches(level):
        raise Declined("commitment-soundness", f"{_shown(found)} bits of {level}", fix="the owner must commit again, with the level 100")
    return found


def require(parameters: Parameters, counts: Counts) -> Ledger:
    """Return the ledger of an argument that has its level.

    Raises Declined `commitment-limit` for numbers outside the limits and for fewer pads than all uses together open, and `commitment-soundness` where
    the union exceeds 2^-level, or the level is none of 100 and 128.
    """
    code = parameters.code
    for name, value, most in (("uses", parameters.uses, MOST_USES), ("queries", parameters.queries, MOST_QUERIES),
                              ("ranged cells", counts.ranged_cells, MOST_CELLS)):
        if not 1 <= value <= most:
            raise Declined("commitment-limit", f"{value} {name}: from 1 to {most} are taken", fix="commit with the default sizes")
    if parameters.uses * parameters.queries > code.pads:
        raise Declined("commitment-limit", f"{parameters.uses} uses of {parameters.queries} columns, and rows have {code.pads} pads",
                       fix="the owner must commit again, with a pad for every opened column")
    if parameters.level not in LEVELS:
        raise Declined("commitment-soundness", f"a level of {parameters.level} bits", fix="commitments have 100 or 128 bits")
    found = ledger(parameters, counts)
    if not found.reaches(parameters.level):
        raise Declined("commitment-soundness", f"{_shown(found)} bits of {parameters.level}",
                       fix="the owner must commit again, with more queries a use")
    return found


def _shown(found: Ledger) -> str:
    return "no" if found.union >= 1 else f"{found.tenths // 10}.{found.tenths % 10}"
