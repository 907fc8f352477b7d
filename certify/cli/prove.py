# SPDX-License-Identifier: Apache-2.0
"""`certify prove`: files and settings to a prover, its certificate checked and written."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from certify import archive, registry
from certify.certificate import MIMETYPE
from certify.cli.answered import require_same_question
from certify.cli.completion import file_names, kind_names
from certify.cli.config import RANGES, Config, effort, read_config
from certify.cli.output import as_json, error_json, fail, require_writable, verdict
from certify.cli.question import Question
from certify.cli.settings import keyed, order_of, settings
from certify.errors import CertifyError, Rejected, UsageError

Progress = Callable[[str, Mapping[str, Any]], None]
_START = b"".join(itertools.islice(archive.pieces([("mimetype", MIMETYPE.encode())]), 2))  # how every certificate begins, and nothing else
_WANTED = {"model": "an ONNX model", "property": "a VNN-LIB property", "points": "a .npy array or a CSV file"}
_SCORES = "leave it out of the export, so that the network ends in scores (logits): which class is highest stays the same"
_SCALED = "if it prepares the input, leave it out of the export and ask with --set subtract=... --set divide=... or scale=..."
_ADVICE = {"Softmax": _SCORES, "LogSoftmax": _SCORES, "ArgMax": _SCORES, "Div": _SCALED}


@click.command(context_settings={"ignore_unknown_options": False})
@click.argument("claim", shell_complete=kind_names)
@click.argument("subjects", nargs=-1, shell_complete=file_names)
@click.option("--set", "pairs", multiple=True, metavar="KEY=VALUE", help="A role, a field of the claim or a prover option.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Where the certificate goes.  [default: named after the subjects]")
@click.option("--time-limit", default=None, metavar="TIME", help="Such as 90s, 10m, 1h; of a data set, for each row.  [default: none]")
@click.option("--config", "settings_file", default=None, type=click.Path(path_type=Path), metavar="FILE",
              help="A TOML file with settings, one table a claim; --set counts more.")
@click.option("--workers", default=None, type=click.IntRange(*RANGES["workers"]),
              help="Processes; the answer does not depend on their number.  [default: 1]")
@click.option("--resume", default=None, type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
              help="Keep finished rows of a data set in DIR, and go on from there.")
@click.option("--seed", default=None, type=click.IntRange(*RANGES["seed"]), help="Same input and seed: same certificate.  [default: 0]")
@click.option("--work", type=click.IntRange(1), default=None, metavar="N",
              help="Work budget of the check in elementary operations; who verifies needs it too.  [default: 2^36]")
@click.option("--progress", type=click.Choice(["auto", "json", "none"]), default="auto", show_default=True, help="Progress on stderr.")
@click.option("--json", "json_output", is_flag=True, help="The outcome as one JSON object.")
@click.option("--dry-run", is_flag=True, help="Print the complete question and stop.")
def prove(claim: str, subjects: tuple[str, ...], pairs: tuple[str, ...], output: Path | None, time_limit: str | None,
          settings_file: Path | None, workers: int | None, resume: Path | None, seed: int | None, work: int | None, progress: str, json_output: bool,
          dry_run: bool) -> None:
    """Prove or refute CLAIM about the SUBJECTS and write the certificate.

    \b
    certify prove region model.onnx property.vnnlib -o out.cert
    certify prove robust model.onnx images.npy --set row=3 --set radius=1/2 -o out.cert
    certify prove robust --config certify.toml --set row=4 -o out.cert

    A refutation is written beside the output as NAME-refuted.cert. `certify claims CLAIM` lists the settings of a claim.
    """
    try:
        kind = _known(claim)
        config = Config(Path(), claim) if settings_file is None else read_config(settings_file, kind)
        try:
            spent = effort(config, time_limit, workers, seed)
            status = _prove(kind, subjects, pairs, config, output, spent, resume, work, progress, json_output, dry_run)
        except CertifyError as trouble:
            raise config.placed(trouble, keyed(pairs)) from None
    except Rejected as trouble:  # the question itself is at fault, so it is a usage error here
        fix = f"correct the question: `certify claims {claim}` lists its settings" if trouble.fix == trouble.usual_fix else trouble.fix
        wrong = UsageError(trouble.code, trouble.what, where=trouble.where, fix=fix)
        if json_output:
            as_json(error_json(wrong))
            raise SystemExit(2) from None
        raise wrong from None
    except CertifyError as trouble:
        if json_output:
            as_json(error_json(trouble))
            raise SystemExit(trouble.exit_status) from None
        raise SystemExit(fail(trouble)) from None
    raise SystemExit(status)


def _prove(kind: Question, subjects: tuple[str, ...], pairs: tuple[str, ...], config: Config, output: Path | None,
           spent: tuple[float | None, int, int], resume: Path | None, work: int | None, progress: str, json_output: bool, dry_run: bool) -> int:
    from certify.certificate import Subject
    from certify.cli.listing import prover_for
    from certify.cli.notes import notes
    from certify.cli.report_text import verification_json
    from certify.files import save
    from certify.limits import Limits
    from certify.verification import read_subject
    from certify_solvers.common.emit import certificate, checked
    from certify_solvers.common.prover import Effort, Outcome, Problem, Proved, Refuted, Unknown

    prover = prover_for(kind.name)
    asked = settings(kind, subjects, pairs, prover.defaults(kind.name), prover.options(kind.name), prover.searched(kind.name), config)
    limit, workers, seed = spent
    target = output if output is not None else Path("-".join(path.name.removesuffix(".gz").rsplit(".", 1)[0] for paths in asked.files.values()
                                                             for path in paths)[:120] + ".cert")
    require_writable(target, _START, "certificate")
    refuted = target.with_name(f"{target.stem}-refuted{target.suffix or '.cert'}")
    require_writable(refuted, _START, "certificate")
    limits = Limits() if work is None else Limits(work=work)
    many = {role.name for role in kind.roles if role.many}
    data = {role: [read_subject(path, limits) for path in paths] for role, paths in asked.files.items()}
    named = _names({role: [(path.name.removesuffix(".gz"), content) for path, content in zip(asked.files[role], data[role], strict=True)]
                    for role in data})
    files = {role: tuple(parts) if role in many else parts[0] for role, parts in data.items()}
    roles = {role: tuple(names) if role in many else names[0] for role, names in named.items()}
    listed = {name: hashlib.sha256(content).hexdigest() for role in data for name, content in zip(named[role], data[role], strict=True)}
    outcome: Outcome = Unknown("")
    further: list[tuple[Path, bytes, str]] = []
    try:
        given = prover.complete(kind.name, asked.given, files, limits.fresh())
        problem = Problem(kind.name, roles, tuple(Subject(name, digest) for name, digest in listed.items()), files, given, asked.says, asked.options,
                          limits)
        if dry_run:
            told = {name: prover.searched(kind.name)[name] if value is None and name in prover.searched(kind.name)
                    else kind.given.fields[name].encode(value) for name, value in given.items()}
            as_json({"kind": kind.name, "roles": roles, "given": told, "says": kind.says.encode(asked.says), "options": asked.options,
                     **({"rehearsal": prover.rehearse(problem)} if hasattr(prover, "rehearse") else {}),
                     "files": {role: list(map(str, paths)) for role, paths in asked.files.items()}, "output": str(target),
                     "time_limit": limit, "workers": workers, "seed": seed}, indent=2)
            return 0
        if output is None:
            require_same_question(target, kind, given, prover.searched(kind.name).keys(), listed)
        with _reporter(progress) as report:
            outcome = prover.prove(problem, Effort(limit, workers=workers, seed=seed, resume=resume), report)
            if not isinstance(outcome, Unknown):
                report("checking", {})
                data_out = certificate(outcome.draft, problem, prover.name, seed)
                result = checked(data_out, problem)
                beyond = outcome.beyond if isinstance(outcome, Proved) else None
                if beyond is not None:
                    beyond_out = certificate(beyond, problem, prover.name, seed)
                    checked(beyond_out, problem)
                for name, draft in outcome.further if isinstance(outcome, Proved) else ():
                    more = certificate(draft, problem, prover.name, seed)
                    further.append((target.with_name(f"{target.stem}-{name}{target.suffix or '.cert'}"), more, checked(more, problem).sentence))
    except Rejected as trouble:
        if not isinstance(outcome, (Proved, Refuted)):
            raise _placed(trouble, roles, files, order_of(kind)) from None
        outcome = Unknown(f"the checker did not accept the prover's certificate: {trouble}")
    except CertifyError as trouble:
        raise _placed(trouble, roles, files, order_of(kind)) from None
    noted = notes(given, roles, files)
    if isinstance(outcome, Unknown):
        rows = "nothing was shown of the rows, or less than was wanted"
        none = "nothing was proved" if kind.name.startswith("private-") else "neither a proof nor a counterexample was found"
        missing = rows if kind.name == "accuracy" else none
        _say(json_output, "unknown", missing, [outcome.why, *noted, "nothing was written", *_stale(target, refuted)],
             {"why": outcome.why, **({"notes": noted} if noted else {})})
        return 4
    path = target if isinstance(outcome, Proved) else refuted
    for other, _, _ in further:
        require_writable(other, _START, "certificate")
    save(path, [data_out])
    for other, more, _ in further:
        save(other, [more])
    if beyond is not None:
        save(refuted, [beyond_out])
    word = "proved" if isinstance(outcome, Proved) else "refuted"
    first = result.sentence if word == "proved" else f"shown instead: {result.sentence}"
    left, interrupted = (outcome.left, outcome.interrupted) if isinstance(outcome, Proved) else ("", False)
    remarks = list(outcome.remarks)
    if word == "proved" and given.get("radius", 0) is None and "smallest_margin" in result.figures:  # it was searched
        remarks.insert(1, f"smallest margin {float(result.figures['smallest_margin']):.4g}")
    noted += [left if interrupted else f"{left}, and so the exit status is 4, not 0"] if left else []
    wrote = [f"wrote {path} ({len(data_out)} bytes), checked before it was written"]
    wrote += [f"wrote {refuted} ({len(beyond_out)} bytes), the counterexample, checked too"] if beyond is not None else []
    wrote += [line for other, more, sentence in further for line in (sentence, f"wrote {other} ({len(more)} bytes), checked too")]
    if interrupted:
        kept = "; the same command goes on from there" if resume is not None else "; with --resume DIR, the next run would go on from there"
        wrote.append(f"interrupted: what was found so far was written{kept if isinstance(outcome, Proved) and outcome.resumable else ''}")
    others = () if beyond is not None else (target if path == refuted else refuted,)
    _say(json_output, word, first, [*remarks, *noted, f"rests on: {', '.join(result.assumptions) or 'nothing outside the files'}",
                                              *wrote, *_stale(*others)],
         {"certificate": str(path), "id": result.id, "sentence": result.sentence, "claim": verification_json(result)["claim"],
          "remarks": [*remarks, *noted],
          "assumptions": list(result.assumptions), "figures": result.figures, **({"refuted": str(refuted)} if beyond is not None else {}),
          **({"further": {str(other): sentence for other, _, sentence in further}} if further else {}),
          **({"found": outcome.found} if isinstance(outcome, Proved) and outcome.found else {}), **({"open": left} if left else {})})
    if interrupted:
        return 130
    return 5 if word == "refuted" else 4 if left else 0


def _known(claim: str) -> Question:
    """Return a kind of claim, or a task of a prover that makes several certificates."""
    if claim not in registry.KINDS:
        from certify.cli.listing import tasks
        if (found := tasks().get(claim)) is not None:
            return found
    try:
        return registry.kind(claim)
    except CertifyError as trouble:
        raise UsageError(trouble.code, trouble.what, fix=trouble.fix) from None


def _say(json_output: bool, word: str, first: str, rest: list[str], more: Mapping[str, Any]) -> None:
    if json_output:
        as_json({"verdict": word, **more})
    else:
        verdict(word, first, rest)


def _stale(*paths: Path) -> list[str]:
    """Return a line for each certificate of an earlier run that is still there: it answers another question."""
    return [f"{path} is from an earlier run and was left as it is" for path in paths if os.path.exists(path)]


def _names(files: Mapping[str, list[tuple[str, bytes]]]) -> dict[str, list[str]]:
    """Return a name for every file, unique among different contents: the file's own, or ROLE-NAME where two would clash."""
    taken: dict[str, bytes] = {}
    by_content: dict[bytes, str] = {}
    names: dict[str, list[str]] = {}
    for role, pairs in files.items():
        names[role] = []
        for index, (wanted, content) in enumerate(pairs):
            shown = "".join(c if (c.isascii() and c.isalnum()) or c in "_.+@=,-" else "_" for c in wanted)[:200] or "_"
            name = by_content.get(content, shown)
            if taken.get(name, content) != content:
                name = f"{role}-{name}" if f"{role}-{name}" not in taken else f"{role}-{index}-{name}"
            taken[name] = content
            by_content[content] = name
            names[role].append(name)
    return names


def _placed(trouble: CertifyError, roles: Mapping[str, Any], files: Mapping[str, Any], order: str) -> CertifyError:
    """Return the error with the file it speaks of, told by the code's prefix, and what that file looks like instead."""
    owner = {"onnx": "model", "vnnlib": "property", "arrays": "points", "table": "points"}.get(trouble.code.split("-", 1)[0])
    first, _, rest = trouble.where.partition(" ")
    if first in roles and (first == "labels" or owner is None):
        trouble.where = f"{roles[first]}: {rest}" if rest else str(roles[first])
        return trouble
    if owner is None or owner not in roles:
        return trouble
    trouble.where = f"{roles[owner]}: {trouble.where}" if trouble.where else str(roles[owner])
    seen = _looks_like(files[owner]) if isinstance(files[owner], bytes) else ""
    if seen and not seen.startswith(owner):
        trouble.what = f"{roles[owner]} looks like {seen.split(': ')[1]}, not like {_WANTED[owner]}: {trouble.what}"
        trouble.fix = order
    if trouble.code == "onnx-operator":
        trouble.fix = next((advice for name, advice in _ADVICE.items() if f"'{name}'" in trouble.what), trouble.fix)
    return trouble


def _looks_like(data: bytes) -> str:
    """Return "ROLE: words" for a file whose first bytes tell what it is, or nothing."""
    if data.startswith(b"\x93NUMPY"):
        return "points: a .npy array"
    if data.startswith(b"PK"):
        return "other: a ZIP archive (a certificate, a torch file, or .npz; arrays are read from .npy)"
    start = data[:4096]
    if start.lstrip()[:1] in (b"(", b";"):
        return "property: a VNN-LIB property"
    if start and all(byte in b"\t\r\n" or 32 <= byte < 127 for byte in start):
        return "points: a text or CSV file"
    return "model: an ONNX model" if start[:1] == b"\x08" else ""


def _line(stage: str, facts: Mapping[str, Any]) -> str:
    """Return one line of progress: with a bar where the facts say how much of how much is done."""
    rest = {name: value for name, value in facts.items() if name not in ("done", "of")}
    words = [f"{name} {value:g}" for name, value in rest.items() if value] if "at" in rest else [f"{value} {name}" for name, value in rest.items()]
    if "done" not in facts:
        return " · ".join([stage, *words])
    share = facts["done"] / max(1, facts["of"])
    bar = "█" * round(20 * share) + "░" * (20 - round(20 * share))
    return " · ".join([f"{stage} {bar} {facts['done']} of {facts['of']}", *words])


@contextlib.contextmanager
def _reporter(progress: str) -> Iterator[Progress]:
    started = time.monotonic()
    if progress == "json":
        yield lambda stage, facts: as_json({"stage": stage, "seconds": round(time.monotonic() - started, 3), **facts}, err=True)
    elif progress == "auto" and sys.stderr.isatty():
        from rich.console import Console
        with Console(stderr=True).status("starting") as status:
            yield lambda stage, facts: status.update(_line(stage, facts))
    else:
        yield lambda stage, facts: None
