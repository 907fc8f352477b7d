# SPDX-License-Identifier: Apache-2.0
"""`certify claims` and `certify provers`: what can be claimed, and who can prove it."""

from __future__ import annotations

import difflib
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

import click

from certify import registry
from certify.errors import Declined, UsageError
from certify.fields import Boolean, Choice, Field, Integer, ListOf, Nullable, OneOrMany, Rational

if TYPE_CHECKING:
    from certify_solvers.common.prover import Prover


def all_provers() -> list[Prover]:
    """Return the registered provers; ours are found without installation too, in a checkout."""
    found: dict[str, Any] = {}
    for point in entry_points(group="certify.provers"):
        if point.value.startswith("certify_solvers."):
            found[point.name] = point.load()()
    if "crown" not in found:
        from certify_solvers.crown.prover import Crown
        found["crown"] = Crown()
    return [found[name] for name in sorted(found)]


def prover_for(kind: str) -> Prover:
    """Return the prover that emits a kind; raises Declined `backend-missing`."""
    for prover in all_provers():
        if kind in prover.emits:
            return prover
    raise Declined("backend-missing", f"no installed prover emits claims of kind {kind!r}", fix="`certify provers` lists the provers")


@click.command()
@click.argument("kind", required=False)
def claims(kind: str | None) -> None:
    """List the kinds of claims; with KIND, its roles, fields and defaults."""
    if kind is None:
        for name in registry.KINDS:
            known = registry.kind(name)
            roles = ", ".join(role.name + ("?" if role.optional else "") + ("+" if role.many else "") for role in known.roles)
            click.echo(f"{name:10s} {known.summary}\n{'':10s} roles: {roles}")
        click.echo("\nRoles are the files that a claim is about, in order (?: may be left out). `certify claims KIND` lists the settings of a kind.")
        return
    if kind not in registry.KINDS:
        near = difflib.get_close_matches(kind, registry.KINDS, n=1)
        raise UsageError("kind-unknown", f"no claim of kind {kind!r}", fix=f"did you mean {near[0]!r}?" if near else "`certify claims` lists them")
    known = registry.kind(kind)
    prover = prover_for(kind)
    click.echo(f"{known.name} v{known.version}: {known.summary}\n")
    click.echo("roles (files, in this order):")
    for role in known.roles:
        click.echo(f"  {role.name}{' (optional)' if role.optional else ''}{' (one or more)' if role.many else ''}")
    defaults, meanings = prover.defaults(kind), prover.help(kind)

    def line(name: str, form: str, default: str) -> None:
        click.echo(f"  {name:{width}s} {f'{form}  ' if form else ''}[{default}]")
        if name in meanings:
            click.echo(f"  {'':{width}s} {meanings[name]}")

    width = max(map(len, (*known.given.fields, *known.says.fields, *prover.options(kind))))
    click.echo("given (what is asked; --set KEY=VALUE):")
    for name, field in known.given.fields.items():
        line(name, _form(field), f"default: {defaults[name]}" if name in defaults else "required")
    click.echo("says (what is asserted):")
    for name, field in known.says.fields.items():
        line(name, _form(field), "default: whatever is found")
    options = prover.options(kind)
    click.echo(f"options of the prover {prover.name}{' (how it searches; --set KEY=VALUE):' if options else ': none'}")
    for name, text in options.items():
        line(name, "", f"default: {text}")


@click.command()
def provers() -> None:
    """List the provers and the kinds of claims that they emit."""
    for prover in all_provers():
        click.echo(f"{prover.name:10s} {', '.join(prover.emits)}: {prover.summary}")


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
