# SPDX-License-Identifier: Apache-2.0
"""`certify commit`: a private network to its public commitment, the owner's secret file, and the network that is committed."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from pathlib import Path

import click

from certify.cli.output import as_json, fail, require_other, say
from certify.cli.settings import keyed
from certify.container import load_bytes
from certify.errors import CertifyError, Declined, UsageError
from certify.limits import Limits

_SETTINGS = {
    "policy": "a TOML file with what the owner chooses", "calibrate": "rows of inputs, .npy or CSV, like those that will be asked about",
    "secret": "where the secret file goes", "seed": "where the seed of the commitment goes, for a laboratory; with check, where it is",
    "check": "a commitment that is compared with the network, by who has the seed",
}


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--set", "pairs", multiple=True, metavar="KEY=VALUE", help=f"One of {', '.join(_SETTINGS)}.")
@click.option("-o", "--output", default=None, type=click.Path(path_type=Path), help="Where the commitment goes.  [default: named after MODEL]")
@click.option("--json", "json_output", is_flag=True, help="The outcome as one JSON object.")
def commit(model: Path, pairs: tuple[str, ...], output: Path | None, json_output: bool) -> None:
    """Commit to MODEL, an ONNX file that stays private, so that statements about it can be proved.

    \b
    certify commit credit.onnx --set policy=policy.toml --set calibrate=rows.csv -o credit.commit
    certify commit credit.quantised.onnx --set check=credit.commit --set seed=credit.seed

    Writes the commitment, which is public; NAME.secret, which only the owner may read and which counts its uses; and NAME.quantised.onnx, the
    network that is committed: deploy that one. None of them is ever replaced. With check, nothing is written: a laboratory that has the quantised
    network and the seed learns whether the commitment is of it.
    """
    from certify_zk.secret import require_numba

    try:
        asked = keyed(pairs)
        for key in asked:
            if key not in _SETTINGS:
                raise UsageError("setting-unknown", f"commit has no setting {key!r}",
                                 fix="; ".join(f"{name}: {meaning}" for name, meaning in _SETTINGS.items()))
        require_numba()
        told = _checked(model, asked) if "check" in asked else _committed(model, asked, output or Path(f"{model.stem}.commit"))
    except CertifyError as trouble:
        raise SystemExit(fail(trouble)) from None
    if json_output:
        as_json({key: value for key, value in told.items() if key != "lines"})
        return
    say(*told["lines"] if isinstance(told["lines"], list) else [])


def _committed(model: Path, asked: Mapping[str, str], output: Path) -> dict[str, object]:
    from certify.readers.commitment import Commitment, encode_commitment
    from certify_zk import owner, secret
    from certify_zk.deployment import quantised_onnx
    from certify_zk.preparation import prepare, read_rows
    from certify_zk.settings import Settings, read_settings

    limits, data = Limits(), _bytes(model)
    settings = read_settings(_bytes(Path(asked["policy"]))) if "policy" in asked else Settings()
    stem = output.with_suffix("") if output.suffix == ".commit" else output
    hidden, deployed = Path(asked.get("secret", f"{stem}.secret")), Path(f"{stem}.quantised.onnx")
    others = [deployed, *([Path(asked["seed"])] if "seed" in asked else [])]
    if len({path.absolute() for path in (output, hidden, *others)}) < 2 + len(others):
        raise UsageError("output-taken", "two of the files to write have one name", fix="name each of them differently")
    for path in (output, hidden, *others):
        require_other(path, (model, *(Path(asked[key]) for key in ("policy", "calibrate") if key in asked)))
        if path.exists():
            raise UsageError("output-taken", f"{path} exists: what is overwritten is lost", fix="choose another name with -o, or move it away")
    rows = read_rows(_bytes(Path(asked["calibrate"])), _inputs(data, settings), limits) if "calibrate" in asked else ()
    made = prepare(data, settings, rows, limits)
    commitment_seed, proof_seed = (secrets.token_bytes(secret.SEED_BYTES) for _ in range(2))
    found = owner.committed(made.policy, made.model, commitment_seed)
    public = encode_commitment(Commitment(made.policy, owner.model_rows(made.policy), found.root))
    private = secret.contents(commitment_seed, proof_seed, hashlib.sha256(public).digest(), made.model)
    hides = [(hidden, private), (deployed, quantised_onnx(made))]
    if "seed" in asked:
        hides.append((Path(asked["seed"]), commitment_seed.hex().encode() + b"\n"))
    secret.write((output, public), hides)
    policy = made.policy
    sizes, count = "-".join(str(policy.size(k)) for k in range(policy.depth + 1)), sum(layer.parameters for layer in policy.layers)
    lines = [
        f"committed   {sizes}, {count} parameters, {policy.uses} uses, {policy.level}-bit    root {found.root.hex()}",
        f"            largest rounding of a weight {made.rounding}; slopes of {policy.slope_bits} bits, biases of {policy.bias_bits}",
        f"wrote       {output} ({len(public)} bytes): public, give it to auditors, who compare its digest",
        f"            sha256 {hashlib.sha256(public).hexdigest()}",
        f"            {hidden} ({len(private)} bytes): keep it secret, and keep no old copy in use: it counts the uses",
        f"            {deployed}: the network that is committed, private too: deploy that one",
        *([f"            {asked['seed']}: the seed of the commitment, for a laboratory; as secret as the network, for with certificates it gives",
           "            weights away"] if "seed" in asked else []),
        "public      dimensions, policy, and how inputs are mapped: offset and scale, which are the network's own if it begins with Sub and Div",
        *([] if rows else ["note        no rows were given to calibrate on (--set calibrate=rows.csv): units fit the middle of the domain"]),
        *([] if "policy" in asked else ["note        no policy was given (--set policy=policy.toml): inputs are taken to be from 0 to 1"]),
    ]
    return {"verdict": "committed", "root": found.root.hex(), "commitment": str(output), "secret": str(hidden), "quantised": str(deployed),
            "parameters": count, "uses": policy.uses, "level": policy.level, "largest_rounding": str(made.rounding), "lines": lines}


def _checked(model: Path, asked: Mapping[str, str]) -> dict[str, object]:
    from certify.readers.commitment import read_commitment
    from certify_zk import owner
    from certify_zk.conversion import convert
    from certify_zk.settings import like

    if set(asked) != {"check", "seed"}:
        raise UsageError("setting-missing", "to compare a network with a commitment, check and seed are needed, and nothing else",
                         fix="certify commit NAME.quantised.onnx --set check=F.commit --set seed=F.seed")
    commitment = read_commitment(_bytes(Path(asked["check"])), Limits())
    text = _bytes(Path(asked["seed"])).strip()
    try:
        seed = bytes.fromhex(text.decode("ascii"))
    except ValueError:
        seed = b""
    if len(seed) != 32:
        raise UsageError("setting-value", f"{asked['seed']} holds no seed", fix="a seed is 64 hexadecimal digits")
    try:
        made = convert(_bytes(model), like(commitment.policy), Limits())
    except UsageError as trouble:  # of numbers of inputs or layers that differ
        raise Declined("commitment-root", f"the commitment is not of {model.name}: {trouble.what}", where=asked["check"],
                       fix="give the quantised network that `certify commit` wrote") from None
    same = made.policy.layers == commitment.policy.layers and made.rounding == 0
    if not same or owner.committed(commitment.policy, made.model, seed).root != commitment.root:
        raise Declined("commitment-root", f"the commitment is not of {model.name} with this seed", where=asked["check"],
                       fix="give the quantised network that `certify commit` wrote, and the seed that belongs to it")
    root = commitment.root.hex()
    return {"verdict": "same", "root": root, "lines": [f"same        the commitment is of this network    root {root}"]}


def _bytes(path: Path) -> bytes:
    return load_bytes(path, Limits())


def _inputs(data: bytes, settings: object) -> int:
    from certify_zk.conversion import convert
    from certify_zk.settings import Settings
    if not isinstance(settings, Settings):
        raise TypeError("settings of a policy file")
    return convert(data, settings, Limits()).policy.size(0)
