# SPDX-License-Identifier: Apache-2.0
"""Pyomo models to HiGHS and back, by an LP file; a value counts only after the status was checked."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import highspy
from pyomo.environ import ConcreteModel, Constraint
from pyomo.opt import ProblemFormat

from certify_solvers.grid.nodelp import SolverFailed, quiet


def solve(model: ConcreteModel, seconds: float = float("inf"), export: Path | None = None) -> float:
    """Solve a model to optimality, set its variables, and return its value; duals go to `model.dual`, if it has one.

    Raises SolverFailed for every other status. `export` also writes the model there, as an LP file with the names of the model.
    """
    if export is not None:
        model.write(str(export), format=ProblemFormat.cpxlp, io_options={"symbolic_solver_labels": True})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.lp"
        _, number = model.write(str(path), format=ProblemFormat.cpxlp)
        names = model.solutions.symbol_map[number].bySymbol
        highs = quiet()
        highs.setOptionValue("presolve", "choose")
        highs.setOptionValue("mip_rel_gap", 1e-9)
        if seconds < float("inf"):
            highs.setOptionValue("time_limit", max(0.1, seconds))
        if highs.readModel(str(path)) == highspy.HighsStatus.kError:
            raise SolverFailed("HiGHS refused the model")
    highs.run()
    if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        raise SolverFailed(f"HiGHS ended with {highs.modelStatusToString(highs.getModelStatus())}")
    found, lp = highs.getSolution(), highs.getLp()
    for name, value in zip(lp.col_names_, found.col_value, strict=True):
        if (variable := names.get(name)) is not None:
            variable.set_value(value, skip_validation=True)
    if hasattr(model, "dual"):
        _set_duals(model, names, lp.row_names_, found.row_dual)
    return float(highs.getInfo().objective_function_value)


def _set_duals(model: ConcreteModel, names: dict[str, Any], rows: list[str], duals: list[float]) -> None:
    """Note the dual of each row; the writer calls them c_e_NAME_, c_u_NAME_, c_l_NAME_ or r_u_NAME_, r_l_NAME_."""
    for row, dual in zip(rows, duals, strict=True):
        constraint = names.get(row) or names.get(row.split("_", 2)[-1].rstrip("_"))
        if constraint is not None and getattr(constraint, "ctype", None) is Constraint:
            model.dual[constraint] = model.dual.get(constraint, 0.0) + dual
