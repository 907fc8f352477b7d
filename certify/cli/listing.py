# SPDX-License-Identifier: Apache-2.0
"""`certify claims` and `certify provers`: what can be claimed, and who can prove it."""

from __future__ import annotations

import difflib
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

import click

from certify import registry
from certify.cli.completion import kind_names
from certify.cli.output import say
from certify.cli.question import Question, leaves
from certify.errors import Declined, UsageError
from certify.fields import Boolean, Choice, Field, Integer, ListOf, Nullable, OneOrMany, Rational

if TYPE_CHECKING:
    from certify_solvers.common.prover import Prover


_OURS = {"crown": "certify_solvers.crown.prover:Crown",
         "grid": "certify_solvers.grid.prover:Grid", "private": "certify_solvers.private.prover:Private"}


def all_provers() -> list[Prover]:
    """Return the registered provers; ours are found without installation too, in a checkout."""
    found: dict[str, Any] = {}
    for point in entry_points(group="certify.provers"):
        if point.value.startswith("certify_solvers."):
            found[point.name] = point.load()()
    for name, place in _OURS.items():
        if name not in found:
            module, _, attribute = place.partition(":")
            found[name] = getattr(import_module(module), attribute)()
    return [found[name] for name in sorted(found)]


def tasks() -> dict[str, Question]:
    """Return what provers can be asked for that makes several certificates, by name."""
    return {name: task for prover in all_provers() for name, task in getattr(prover, "tasks", dict)().items()}


def prover_for(kind: str) -> Prover:
    """Return the prover that emits a kind; raises Declined `backend-missing`."""
    for prover in all_provers():
        if kind in prover.emits or kind in getattr(prover, "tasks", dict)():
            return prover
    raise Declined("backend-missing", f"no installed prover emits claims of kind {kind!r}", fix="`certify provers` lists the provers")


@click.command()
@click.argument("kind", required=False, shell_complete=kind_names)
def claims(kind: str | None) -> None:
    """List the kinds of claims; with KIND, its roles, fields and defaults."""
    if kind is None:
        listed: dict[str, Question] = {**{name: registry.kind(name) for name in registry.KINDS}, **tasks()}
        width = max(map(len, listed))
        for name, known in sorted(listed.items()):
            roles = ", ".join(role.name + ("?" if role.optional else "") + ("+" if role.many else "") for role in known.roles)
            say(f"{name:{width}s} {known.summary}", f"{'':{width}s} roles: {roles}")
        say("", "Roles are the files that a claim is about, in order (?: may be left out). `certify claims KIND` lists the settings of a kind.")
        return
    more = tasks()
    if kind not in registry.KINDS and kind not in more:
        near = difflib.get_close_matches(kind, [*registry.KINDS, *more], n=1)
        raise UsageError("kind-unknown", f"no claim of kind {kind!r}", fix=f"did you mean {near[0]!r}?" if near else "`certify claims` lists them")
    asked: Question = registry.kind(kind) if kind in registry.KINDS else more[kind]
    prover = prover_for(kind)
    say(f"{asked.name}{f' v{registry.kind(kind).version}' if kind in registry.KINDS else ''}: {asked.summary}", "")
    say("roles (files, in this order):")
    for role in asked.roles:
        say(f"  {role.name}{' (optional)' if role.optional else ''}{' (one or more)' if role.many else ''}")
    defaults, meanings = prover.defaults(kind), prover.help(kind)

    def line(name: str, form: str, default: str) -> None:
        say(f"  {name:{width}s} {f'{form}  ' if form else ''}[{default}]")
        if name in meanings:
            say(f"  {'':{width}s} {meanings[name]}")

    given = leaves(asked.given.fields)
    width = max(map(len, (*given, *asked.says.fields, *prover.options(kind))))
    say("given (what is asked; --set KEY=VALUE):")
    for name, field in given.items():
        line(name, _form(field), f"default: {defaults[name]}" if name in defaults else "required")
    if asked.says.fields:
        say("says (what is asserted):")
    for name, field in asked.says.fields.items():
        line(name, _form(field), "required" if name in getattr(prover, "required", lambda _: ())(kind) else "default: whatever is found")
    options = prover.options(kind)
    say(f"options of the prover {prover.name}{' (how it searches; --set KEY=VALUE):' if options else ': none'}")
    for name, text in options.items():
        line(name, "", f"default: {text}")


@click.command()
def provers() -> None:
    """List the provers and the kinds of claims that they emit."""
    for prover in all_provers():
        say(f"{prover.name:10s} {', '.join(prover.emits)}: {prover.summary}")


def _form(field: Field) -> str:
    if isinstance(field, Choice):
        return " | ".join(field.words)
    if isinstance(field, Rational):
        return "rational > 0" if field.positive else "rational"
    if isinstance(field, Integer):
        return f"integer >= {field.low}"
    if isinstance(field, Boolean):
        return "true | false"
    if isinstance(field, Nullable):
        return f"null | {_form(field.item)}"
    if isinstance(field, OneOrMany):
        return f"{_form(field.item)}, or a list of them"
    return f"list of {_form(field.item)}" if isinstance(field, ListOf) else "text"
