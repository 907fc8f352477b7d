# SPDX-License-Identifier: Apache-2.0
"""A scoring model of loan applications, 12-32-32-1, and applicants to ask about: `python -m certify_problems.private.credit FOLDER`.

*The population* is made up, from a fixed seed. Age is uniform on 18..75, sex is 0 or 1. Monthly income is log-normal around 2400, higher by a fifth
in the middle of working life and by a tenth for sex 1; savings (none, low, medium, high) and housing (rent, own, free) are drawn with weights that
favour more savings and own housing at higher income and age. Amounts are log-normal around 3000, durations uniform on 4..72 months. A loan is repaid
if 3 log(income / 2400) - 1.2 log(amount / 3000) - (duration - 24) / 40 + savings (-0.8, -0.2, 0.5, 1.1) + housing (-0.2, 0.3, 0) + noise is above 0.
Neither age nor sex is in that rule, but both go with what is, and recorded decisions were worse for the young and for sex 0: their score is lower by
0.4 each, so a network that is trained on the records learns to use both.

*The network* is trained on records of which each is given five times, with age and sex drawn anew for all but the first: counterfactual augmentation.
A positive score is a loan. Its inputs are in the units above; it maps each to 0..1 itself, by Sub and Div.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from certify.canonical import encode
from certify_problems.nn.dense import dense_onnx
from certify_problems.private.properties import box

Array = np.ndarray[Any, Any]

RECORDS, ASKED, COPIES = 4000, 100, 5
HIDDEN, DECAY = (32, 32), 1.0
SAVINGS, HOUSING = ("none", "low", "medium", "high"), ("rent", "own", "free")
NUMBERS = (("age", 18, 75), ("sex", 0, 1), ("income", 300, 12000), ("amount", 250, 20000), ("duration", 4, 72))
COLUMNS = (*(name for name, _, _ in NUMBERS), *(f"savings_{name}" for name in SAVINGS), *(f"housing_{name}" for name in HOUSING))
LOWER = (*(low for _, low, _ in NUMBERS), *(0,) * (len(SAVINGS) + len(HOUSING)))
UPPER = (*(high for _, _, high in NUMBERS), *(1,) * (len(SAVINGS) + len(HOUSING)))
SENSITIVE = ("age", "sex")
POLICY = f"""# The policy of a commitment to credit.onnx. The network maps each input to 0..1 by Sub and Div, and the commitment takes that map over.
modes = "crown"
uses = 16

[input]                      # {", ".join(COLUMNS)}
lower = {list(LOWER)}
upper = {list(UPPER)}
"""


def population(count: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return applications (count, 12), whole numbers in the order of `COLUMNS`, and the recorded decisions."""
    age, sex = rng.integers(18, 76, count), rng.integers(0, 2, count)
    income = 2400 * np.exp(rng.normal(0, 0.45, count)) * (1 + 0.2 * (np.abs(age - 46) < 14)) * (1 + 0.1 * sex)
    amount, duration = 3000 * np.exp(rng.normal(0, 0.8, count)), rng.integers(4, 73, count)
    wealth = np.log(income / 2400) + (age - 46) / 60
    savings = np.clip(np.floor(1.5 + wealth + rng.normal(0, 1, count)), 0, 3).astype(int)
    housing = np.where(wealth + rng.normal(0, 0.7, count) > 0.2, 1, np.where(rng.random(count) < 0.2, 2, 0))
    numbers = np.stack([age, sex, income, amount, duration], axis=1)
    rows = np.hstack([numbers, np.eye(len(SAVINGS))[savings], np.eye(len(HOUSING))[housing]])
    rows = np.clip(np.rint(rows), LOWER, UPPER)
    score = 3 * np.log(rows[:, 2] / 2400) - 1.2 * np.log(rows[:, 3] / 3000) - (duration - 24) / 40
    score += np.array([-0.8, -0.2, 0.5, 1.1])[savings] + np.array([-0.2, 0.3, 0])[housing] - 0.4 * (age < 30) - 0.4 * (sex == 0)
    return rows, (score + rng.normal(0, 0.5, count) > 0).astype(np.int64)


def schema() -> bytes:
    """Return what the columns are, which of them are sensitive, and what is decided: canonical JSON."""
    features: list[dict[str, Any]] = [
        {"name": name, "kind": "choice", "values": ["0", "1"]} if name == "sex" else
        {"name": name, "kind": "integer", "lower": str(low), "upper": str(high)} for name, low, high in NUMBERS]
    features += [{"name": name, "kind": "one-hot", "columns": [f"{name}_{value}" for value in values]}
                 for name, values in (("savings", SAVINGS), ("housing", HOUSING))]
    return encode({"features": features, "sensitive": list(SENSITIVE), "tolerances": {}, "decision": {"favourable_above": "0"}})


def files() -> dict[str, bytes]:
    """Return the files of the example by name, and train the network for it; needs scikit-learn and onnx."""
    from sklearn.neural_network import MLPClassifier

    rng = np.random.default_rng(0)
    rows, decisions = population(RECORDS + ASKED, rng)
    low, width = np.array(LOWER), np.subtract(UPPER, LOWER)
    trained = np.tile(rows[:RECORDS], (COPIES, 1))
    trained[RECORDS:, 0] = rng.integers(18, 76, len(trained) - RECORDS)
    trained[RECORDS:, 1] = rng.integers(0, 2, len(trained) - RECORDS)
    model = MLPClassifier(HIDDEN, alpha=DECAY, max_iter=200, random_state=0).fit((trained - low) / width, np.tile(decisions[:RECORDS], COPIES))
    asked = rows[RECORDS:]
    print(f"credit: {model.score((asked - low) / width, decisions[RECORDS:]):.3f} of the recorded decisions about new applicants")
    text = "\n".join([",".join(COLUMNS), *(",".join(str(int(value)) for value in row) for row in asked), ""])
    safe = [(18, 75), (0, 1), (5000, 8000), (250, 2000), (4, 24), (0, 0), (0, 0), (0, 0), (1, 1), (0, 0), (1, 1), (0, 0)]
    front = [("Sub", np.array([LOWER])), ("Div", width[None])]
    return {
        "credit.onnx": dense_onnx([weight.T for weight in model.coefs_], model.intercepts_, "credit", front),
        "credit-policy.toml": POLICY.encode(),
        "credit.schema": schema(),
        "applicants.csv": text.encode(),
        "credit.vnnlib": box(safe, 1, ["(<= Y_0 0)"]).encode(),
    }


if __name__ == "__main__":
    for name, content in files().items():
        (Path(sys.argv[1]) / name).write_bytes(content)
