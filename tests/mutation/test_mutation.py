# SPDX-License-Identifier: Apache-2.0
"""The mutator makes what it should and nothing else; the list of equivalents fits the source; a sample of mutants is noticed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mutation import swap
from mutation.equivalents import equivalents
from mutation.operators import mutants
from mutation.run import all_mutants

RUN = [sys.executable, str(Path(__file__).with_name("run.py"))]
_SOURCE = '''
"""Prose with 1 < 2."""
LIMIT = 4
def check(x: int, names: tuple[str, ...] = ()) -> int:
    """Raise for x < 0."""
    if x < 0 and not names:
        raise Rejected("too-small", f"{x} < {0}", where="x", fix="give more")
    total = max(x, LIMIT)
    total += 1
    limits.spend(total, "work")
    return np.where(x > 1, lower[1:x], -total)
'''


def _made(tmp_path: Path, source: str = _SOURCE) -> dict[str, set[str]]:
    path = tmp_path / "module.py"
    path.write_text(source, "utf-8")
    found: dict[str, set[str]] = {}
    for mutant in mutants(path, "module.py"):
        found.setdefault(mutant.original, set()).add(mutant.mutated)
    return found


def test_every_operator_is_applied(tmp_path: Path) -> None:
    found = _made(tmp_path)
    assert found["if x < 0 and (not names):"] == {
        "if True:", "if False:", "if x < 0 or not names:", "if not names:", "if x < 0:", "if x <= 0 and (not names):", "if x >= 0 and (not names):",
        "if x < 1 and (not names):", "if x < -1 and (not names):", "if x < 0 and names:"}
    assert found["LIMIT = 4"] == {"LIMIT = 5", "LIMIT = 3"}
    assert found["total = max(x, LIMIT)"] == {"total = min(x, LIMIT)"}
    assert found["total += 1"] == {"pass", "total -= 1", "total += 2", "total += 0"}
    assert found["limits.spend(total, 'work')"] == {"pass"}
    returned = found["return np.where(x > 1, lower[1:x], -total)"]
    assert {"return np.where(x > 1, -total, lower[1:x])", "return np.where(x > 1, upper[1:x], -total)", "return np.where(x > 1, lower[1:x], total)",
            "return np.where(x > 1, lower[1:x + 1], -total)", "return np.where(x > 1, lower[0:x], -total)"} <= returned


def test_errors_are_removed_and_their_words_are_not_changed(tmp_path: Path) -> None:
    found = _made(tmp_path)
    assert [value for original, value in found.items() if original.startswith("raise")] == [{"pass"}]
    assert not any("Prose" in original or original.startswith("def") for original in found)


def test_a_mutant_is_known_by_what_it_changes_not_by_its_place(tmp_path: Path) -> None:
    def keys(source: str) -> set[tuple[str, str, str, str, int]]:
        path = tmp_path / "module.py"
        path.write_text(source, "utf-8")
        return {mutant.key for mutant in mutants(path, "module.py")}

    assert keys(_SOURCE) == keys("\n\n# moved\n" + _SOURCE.replace("max(x, LIMIT)", "max(x,\n        LIMIT)"))
    twice = keys(_SOURCE.replace("    total += 1\n", "    total += 1\n    total += 1\n"))
    assert ("module.py", "check", "total += 1", "pass", 2) in twice


def test_a_mutant_is_compiled_into_its_function(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text("class A:\n    def f(self):\n        return 1\n", "utf-8")
    for mutant in mutants(path, "module.py"):
        namespace: dict[str, type] = {}
        exec(mutant.compiled(), namespace)  # noqa: S102
        assert f"return {namespace['A']().f()}" == mutant.mutated
        break
    else:
        raise AssertionError("no mutant")
    assert swap.module_name("certify/rules/tree.py") == "certify.rules.tree"


def test_a_mutant_of_a_module_that_nobody_has_imported_is_put_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    name, mutant = "certify.rules.hitting", next(mutant for mutant in all_mutants(module="hitting") if mutant.inside)
    monkeypatch.delitem(sys.modules, name, raising=False)
    assert swap.exchange(mutant) and name in sys.modules
    monkeypatch.delitem(sys.modules, name)


def test_every_entry_of_the_list_fits_a_mutant_and_gives_a_reason() -> None:
    told, made = equivalents(), {mutant.key for mutant in all_mutants()}
    assert sorted(set(told) - made) == []


def test_a_sample_of_mutants_is_noticed(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    done = subprocess.run([*RUN, "--sample", "40", "--seed", "13", "--out", str(out)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(out.read_text("utf-8"))["noticed"] == 40


def test_a_checker_whose_tests_are_gone_has_survivors(tmp_path: Path) -> None:
    done = subprocess.run([*RUN, "--module", "tree", "--match", "limits.within(depth + 2", "--kind", "container", "--budget", "0", "--sample", "1"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "survives" in done.stdout, done.stdout + done.stderr


@pytest.mark.slow
def test_every_mutant_is_noticed_or_listed() -> None:
    done = subprocess.run([*RUN, "--jobs", "2"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
