# SPDX-License-Identifier: Apache-2.0
"""A mutant in place of the code that runs: the code of one function is exchanged, or everything is imported again over the mutated file.

Both change this process for good, so they belong in a forked child.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from mutation.operators import Mutant

ROOT = Path(__file__).resolve().parents[2]
_OURS = ("certify", "certify_solvers", "certify_problems")


def exchange(mutant: Mutant) -> bool:
    """Give the function of a mutant its mutated code, which everyone who imported it then runs; False where that is not possible."""
    if not mutant.inside:
        return False
    function = _function(import_module(module_name(mutant.file)), mutant.function)  # claims are imported when first asked for
    code = _code(mutant.compiled(), mutant.function)
    if function is None or code is None or code.co_freevars != function.__code__.co_freevars:
        return False
    function.__code__ = code
    return True


def import_again(mutant: Mutant) -> None:
    """Forget all modules of ours, tests too, so that they are imported over the mutated file when next asked for."""
    code = mutant.compiled()
    for name, module in list(sys.modules.items()):
        origin = getattr(module, "__file__", None)
        of_tests = origin is not None and Path(origin).is_relative_to(ROOT / "tests") and not name.startswith("mutation")
        if name.split(".")[0] in _OURS or of_tests:
            del sys.modules[name]
    sys.meta_path.insert(0, _Finder(module_name(mutant.file), ROOT / mutant.file, code))


def module_name(file: str) -> str:
    """Return the name under which a file of ours, relative to the root, is imported."""
    return file.removesuffix(".py").replace("/", ".")


def _function(module: ModuleType, name: str) -> FunctionType | None:
    found: Any = module
    for part in name.split("."):
        found = vars(found).get(part) if found is not None else None
    found = getattr(found, "fget", None) or getattr(found, "__func__", None) or getattr(found, "__wrapped__", None) or found
    return found if isinstance(found, FunctionType) else None


def _code(code: CodeType, name: str) -> CodeType | None:
    for constant in code.co_consts:
        if isinstance(constant, CodeType) and (name == constant.co_qualname or name.startswith(f"{constant.co_qualname}.")):
            return constant if name == constant.co_qualname else _code(constant, name)
    return None


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, name: str, path: Path, code: CodeType) -> None:
        self._name, self._path, self._code = name, path, code

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, origin=str(self._path))

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = str(self._path)
        exec(self._code, module.__dict__)  # noqa: S102
