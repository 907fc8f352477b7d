# SPDX-License-Identifier: Apache-2.0
"""auto_LiRPA: CROWN bounds, then alpha-CROWN where a conjunct is open; proves or says unknown, in float32.

A library of bounds, not a verifier: it gets the network and the property as the arrays that our reader made of them.
`run_auto_lirpa.py bounds float32|float64 ANSWER PROBLEM...` times one CROWN pass a problem, and writes the bounds too. Without the
distribution `auto-LiRPA`, the copy inside NeuralSAT is used (newer, needs no shims).
"""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
import time
import types
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch  # type: ignore[import-not-found]
from protocol import Answer, Job, serve


def load() -> Any:
    """Return the module; version 0.3 is taught what it misses in numpy and torch of today, where they lack it."""
    if find_spec("auto_LiRPA") is None:
        found = find_spec("src")
        if found is None or found.submodule_search_locations is None:
            raise ImportError("neither auto-LiRPA nor NeuralSAT is installed")
        sys.path.insert(0, str(Path(found.submodule_search_locations[0]) / "abstractor"))
    if find_spec("numpy.lib.arraysetops") is None:
        module = types.ModuleType("numpy.lib.arraysetops")
        module.isin = np.isin  # type: ignore[attr-defined]
        sys.modules["numpy.lib.arraysetops"] = module
    helper = importlib.import_module("torch.onnx.symbolic_helper")
    if not hasattr(helper, "_set_opset_version"):
        exporter = importlib.import_module("torch.onnx._internal.torchscript_exporter._globals").GLOBALS
        helper._set_opset_version = lambda version: setattr(exporter, "export_onnx_opset_version", version)
    if not hasattr(torch._C.Node, "__getitem__"):
        torch._C.Node.__getitem__ = lambda node, key: getattr(node, node.kindOf(key))(key)
    tool = importlib.import_module("auto_LiRPA")
    members = tool.BoundedModule._named_members
    if "remove_duplicate" not in members.__code__.co_varnames:
        tool.BoundedModule._named_members = lambda self, get, prefix="", recurse=True, remove_duplicate=True: members(self, get, prefix, recurse)
    return tool


def _bounded(tool: Any, problem: Any, dtype: Any, options: dict[str, Any]) -> Any:
    modules: list[Any] = []
    for index, kind in enumerate(problem["layers"]):
        if kind == "relu":
            modules.append(torch.nn.ReLU())
            continue
        weight, bias = problem[f"weight{index}"], problem[f"bias{index}"]
        linear = torch.nn.Linear(weight.shape[1], weight.shape[0])
        linear.weight.data, linear.bias.data = torch.tensor(weight), torch.tensor(bias)
        modules.append(linear)
    model = torch.nn.Sequential(*modules).to(dtype).eval()
    return tool.BoundedModule(model, torch.zeros((1, problem["lower"].shape[1]), dtype=dtype), bound_opts=options)


def _bounds(tool: Any, model: Any, problem: Any, part: int, method: str, dtype: Any) -> np.ndarray[Any, Any]:
    """Return lower bounds of the rows of a part."""
    own = problem["part"] == part
    low, high = (torch.tensor(problem[name][part : part + 1], dtype=dtype) for name in ("lower", "upper"))
    x = tool.BoundedTensor((low + high) / 2, tool.PerturbationLpNorm(norm=float("inf"), x_L=low, x_U=high))
    rows = torch.tensor(problem["rows"][own], dtype=dtype)[None]
    with contextlib.nullcontext() if "Optimized" in method else torch.no_grad():
        found, _ = model.compute_bounds(x=(x,), C=rows, method=method, bound_upper=False)
    return np.asarray(found.detach()[0].double().numpy() + problem["constant"][own])


def run(tool: Any, job: Job) -> Answer:
    """Return proved if every conjunct of every part has a row with a positive bound, else unknown."""
    torch.set_num_threads(1)
    problem = np.load(job.problem)
    if problem["of_inputs"].any():
        return Answer("unknown")
    for part in range(len(problem["lower"])):
        conjuncts = problem["conjunct"][problem["part"] == part]
        best = np.full(conjuncts.max() + 1, -np.inf)
        for method in ("CROWN", "CROWN-Optimized"):
            # 0.3 forgets to switch sparse slopes off where most neurons of a layer are unstable, and raises a shape mismatch.
            model = _bounded(tool, problem, torch.float32, {"sparse_features_alpha": False})
            np.maximum.at(best, conjuncts, _bounds(tool, model, problem, part, method, torch.float32))
            if (best > 0).all():
                break
        if not (best > 0).all():
            return Answer("unknown")
    return Answer("proved")


def bounds(dtype: Any, target: str, paths: list[str]) -> None:
    """Write, a problem: the lower bounds of its first part, and the CPU seconds of the fastest of three passes behind a warm-up."""
    torch.set_num_threads(1)
    tool = load()
    found = []
    for path in paths:
        problem = np.load(path)
        model = _bounded(tool, problem, dtype, {})
        seconds = []
        for _ in range(4):
            started = time.process_time()
            lower = _bounds(tool, model, problem, 0, "CROWN", dtype)
            seconds.append(time.process_time() - started)
        found.append({"lower": lower.tolist(), "seconds": min(seconds[1:])})
    Path(target).write_text(json.dumps({"version": tool.__version__, "problems": found}))


if __name__ == "__main__":
    if sys.argv[1] == "bounds":
        bounds(getattr(torch, sys.argv[2]), sys.argv[3], sys.argv[4:])
    else:
        serve("auto-LiRPA", load, run)
