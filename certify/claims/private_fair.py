# SPDX-License-Identifier: Apache-2.0
"""`private-fair` v1: a hidden network decides about one person the same, whatever the sensitive attributes are.

Let f be the ReLU network that the root in `commitment` binds, evaluated over the reals, x0 the given `row` of `points`, and B the x that have any
admissible values of the sensitive features of `schema`, values of the other features within their tolerances of x0 and in their ranges, and are as x0
in choices and one-hot groups that are not sensitive. For every x of B the decision about x is `decision`: 1 if f(x) is above `favourable_above`, 0 if
not; or, with the rule argmax, the only class with the highest output.
B is made of one box for each combination of sensitive categories, not their hull; integers are relaxed to intervals. x0 is admissible (else
`outside-domain`), and every sensitive feature has two values or more (else `claim-vacuous`). Not claimed: anything about other persons, that the
decision is right, or that the network is fair in another sense.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import chain, product
from typing import Any

from certify.certificate import Checked, Claim, Evidence, Files, Kind, Role
from certify.errors import Declined, Rejected
from certify.fields import Integer, Record
from certify.limits import Limits
from certify.readers.arrays import read_npy, read_row
from certify.readers.commitment import Commitment, read_commitment
from certify.readers.schema import Feature, Schema, read_schema
from certify.readers.table import read_table
from certify.rules.argument import HYRAX, LIGERO, bound, establish, premises
from certify.rules.private_statement import Point, boxes, spend, threshold
from certify.rules.private_words import CONTEXT, context_words, facts
from certify_zk.statement import MOST_BOXES, Rows, Statement, robust

_NPY = b"\x93NUMPY"


def statement_of(given: Mapping[str, Any], says: Mapping[str, Any], files: Files, limits: Limits) -> tuple[Commitment, Statement]:
    """Return the commitment, and what a claim states, in the integers of its policy; raises Rejected or Declined."""
    commitment, schema, person = person_of(given, files, limits)
    return commitment, _stated(commitment, schema, person, says, limits)


def _stated(commitment: Commitment, schema: Schema, person: Point, says: Mapping[str, Any], limits: Limits) -> Statement:
    policy, outputs, decision = commitment.policy, commitment.policy.size(commitment.policy.depth), says["decision"]
    regions = boxes(policy, _combinations(schema, person, limits), limits)
    if schema.favourable_above is None:
        if outputs < 2:
            raise Rejected("claim-vacuous", "a network with one output has one class", where="schema", fix="give the value that it is compared with")
        if decision >= outputs:
            raise Rejected("claim-mismatch", f"there are {outputs} classes", where="claim.says.decision")
        return robust(regions, outputs, decision)
    if outputs != 1 or decision > 1:
        raise Rejected("claim-mismatch", "a decision by a value is about a network with one output, and is 0 or 1", where="claim.says.decision")
    row = (1, threshold(policy, schema.favourable_above, True)) if decision else (-1, threshold(policy, -schema.favourable_above, False))
    return Statement(regions, Rows(((row[0],),), (row[1],)))


def person_of(given: Mapping[str, Any], files: Files, limits: Limits) -> tuple[Commitment, Schema, Point]:
    """Return the commitment, the schema, and the row that a claim is about; raises Rejected or Declined."""
    commitment_file, schema_file, points_file = files["commitment"], files["schema"], files["points"]
    if isinstance(commitment_file, tuple) or isinstance(schema_file, tuple) or isinstance(points_file, tuple):
        raise TypeError("a role takes one file")
    commitment, schema = read_commitment(commitment_file, limits), read_schema(schema_file, limits)
    if len(schema.columns) != commitment.policy.size(0):
        raise Rejected("claim-mismatch", f"the schema has {len(schema.columns)} columns, the network {commitment.policy.size(0)} inputs",
                       where="schema")
    person = _row(points_file, schema, given["row"], limits)
    start = 0
    for feature in schema.features:
        values = person[start : start + len(feature.columns)]
        if not feature.admits(values):
            raise Rejected("outside-domain", f"{feature.name} of row {given['row']} is not admissible", where="points",
                           fix="give a person whose features are in the ranges of the schema")
        start += len(values)
    if not any(feature.sensitive for feature in schema.features):
        raise Rejected("claim-vacuous", "the schema has no sensitive feature", where="schema", fix="name them under `sensitive`")
    return commitment, schema, person


def _row(data: bytes, schema: Schema, row: int, limits: Limits) -> Point:
    if data.startswith(_NPY):
        array = read_npy(data)
        rows, width = (array.shape[0], array[:1].size) if array.ndim else (0, 0)
    else:
        table = read_table(data, limits)
        rows, width = len(table.rows), len(table.columns)
        if table.columns != schema.columns:
            raise Rejected("claim-mismatch", "the columns of the points file are not those of the schema, in their order", where="points")
    if row >= rows or width != len(schema.columns):
        raise Rejected("claim-mismatch", f"row {row} of a points file with {rows} rows of {width} values", where="claim.given.row",
                       fix="rows are numbered from 0, and have one value for each column of the schema")
    return read_row(array, row) if data.startswith(_NPY) else table.rows[row]


def _combinations(schema: Schema, person: Point, limits: Limits) -> list[tuple[Point, Point]]:
    """Return the corners of a box for each combination of sensitive categories, in the order of the schema."""
    count = 1
    for feature in schema.features:
        count *= feature.count if feature.sensitive else 1
        if count > MOST_BOXES:
            raise Declined("property-range", f"more than {MOST_BOXES} combinations of sensitive categories", where="schema",
                           fix=f"at most {MOST_BOXES} are taken: name fewer sensitive features")
    spend(limits, count * len(person), (), "combining sensitive categories")
    sides: list[list[tuple[Point, Point]]] = []
    start = 0
    for feature in schema.features:
        sides.append(_sides(feature, person[start : start + len(feature.columns)]))
        start += len(feature.columns)
    return [(tuple(chain.from_iterable(low for low, _ in chosen)), tuple(chain.from_iterable(high for _, high in chosen)))
            for chosen in product(*sides)]


def _sides(feature: Feature, values: Point) -> list[tuple[Point, Point]]:
    if feature.ranged:
        least, most = feature.values
        low, high = (least, most) if feature.sensitive else (max(least, values[0] - feature.tolerance), min(most, values[0] + feature.tolerance))
        return [((low,), (high,))]
    return [(point, point) for point in (feature.points if feature.sensitive else (values,))]


def check(claim: Claim, evidence: Evidence, files: Files, limits: Limits) -> Checked:
    """Return what was checked if the evidence establishes the claim; raises Rejected or Declined."""
    commitment, schema, person = person_of(claim.given, files, limits)
    statement = _stated(commitment, schema, person, claim.says, limits)
    ledger = establish(commitment, statement, bound(KIND, claim.roles, files, claim.given, claim.says), evidence, limits)
    figures = {"soundness_bits": Fraction(ledger.tenths, 10), "regions": len(statement.regions)}
    return Checked(premises(commitment), (*_features(schema, claim.says["decision"]), *facts(commitment, statement, limits)), figures)


def _features(schema: Schema, decision: int) -> tuple[str, ...]:
    """Return what a decision is, what may vary freely, and what within tolerances."""
    above = schema.favourable_above
    rule = "the highest output" if above is None else f"the output is {'' if decision else 'not '}above {above}"
    free = ", ".join(f"{feature.name} ({_admissible(feature)})" for feature in schema.features if feature.sensitive)
    near = ", ".join(f"{feature.name} by {feature.tolerance}" for feature in schema.features if feature.tolerance)
    return f"decision {decision}: {rule}", f"sensitive: {free}", f"tolerances: {near or 'none'}"


def _admissible(feature: Feature) -> str:
    if feature.kind == "one-hot":
        return f"{len(feature.columns)} columns"
    return (" to " if feature.ranged else ", ").join(map(str, feature.values))


def sentence(claim: Claim) -> str:
    """Return the claim in words."""
    roles, given = claim.roles, claim.given
    return (f"The network committed in {roles['commitment']}, in real arithmetic, decides {claim.says['decision']} about row {given['row']} of "
            f"{roles['points']} for all values of the sensitive features of {roles['schema']}, and within its tolerances of the others"
            f"{context_words(given['context'])}.")


KIND = Kind(
    name="private-fair", version=1, roles=(Role("commitment"), Role("schema"), Role("points")), given=Record({"row": Integer(), "context": CONTEXT}),
    says=Record({"decision": Integer()}), evidence=(LIGERO, HYRAX), check=check, sentence=sentence,
    summary="a hidden network decides the same about a person whatever sensitive attributes are, shown in zero knowledge",
)
