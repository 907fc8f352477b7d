# SPDX-License-Identifier: Apache-2.0
"""Test vectors of the container: bytes that are no certificate of this format, on top of one valid certificate."""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Iterator
from typing import Any

from certify import signature
from certify.certificate import MIMETYPE
from kinds.attacks import Vector, own
from kinds.region_vectors import bases
from toolkit import canonical, pack, zipped


def vectors() -> Iterator[Vector]:
    """Yield all vectors of the container."""
    leaf = bases().leaf
    good, content = leaf.seal(), leaf.content()
    text = canonical(content)
    tree = leaf.arrays["tree"].tobytes()
    files = own(leaf)

    def case(name: str, code: str, data: bytes, bug: str, verdict: str = "rejected", **more: Any) -> Vector:
        return Vector(name, verdict, code, data, files, bug, **more)

    def parts(statement: bytes, *more: tuple[str, bytes], mimetype: bytes = MIMETYPE.encode()) -> bytes:
        return zipped([("mimetype", mimetype), ("certificate.json", statement), ("evidence/tree.bin", tree), *more])

    def edited(change: Any) -> bytes:
        made = json.loads(text)
        change(made)
        return parts(canonical(made))

    yield Vector("plain", "verified", "", good, files, "none")
    yield case("empty-file", "malformed", b"", "an empty file is an empty list of claims")
    yield case("not-an-archive", "malformed", text, "any JSON is a certificate")
    yield case("junk-before", "malformed", b"junk" + good, "the archive is searched from its end")
    yield case("junk-behind", "malformed", good + b"junk", "the archive is read from its start")
    yield case("archive-comment", "malformed", good[:-2] + b"\4\0junk", "comments are ignored")
    yield case("cut-off", "malformed", good[:-9], "the directory is not needed")
    yield case("crc-wrong", "malformed", good.replace(struct.pack("<I", zlib.crc32(tree)), b"\0\0\0\0"), "checksums are not compared")
    yield case("deflated", "malformed", _deflated(good), "compressed members are unpacked", effect="a bomb of any size")
    yield case("deflated-bomb", "malformed", _bomb(good), "compressed members are unpacked", effect="a bomb of any size")
    yield case("members-overlap", "malformed", _overlapping(good), "the directory is believed, and members share bytes")
    yield case("member-is-a-symlink", "malformed", _symlink(good), "links are followed when unpacking", effect="another file is read")
    yield case("dated", "malformed", good.replace(b"\x21\0", b"\x22\0"), "dates are ignored: a second form of the same certificate")
    yield case("mimetype-other", "malformed", parts(text, mimetype=b"application/zip"), "the type is not read")
    yield case("mimetype-missing", "malformed", zipped([("certificate.json", text), ("evidence/tree.bin", tree)]), "the type is optional")
    yield case("statement-missing", "malformed", zipped([("mimetype", MIMETYPE.encode())]), "no statement, nothing to fail")
    yield case("order-of-members", "malformed", zipped([("mimetype", MIMETYPE.encode()), ("evidence/tree.bin", tree), ("certificate.json", text)]),
               "members in any order")
    yield case("two-members-of-one-name", "malformed", parts(text, ("evidence/tree.bin", b"\0\0\0\0")),
               "the last, or the first, of two members counts")
    yield case("member-not-named", "unused-evidence", parts(text, ("evidence/zz.bin", b"")), "members that the statement doesn't name are ignored")
    yield case("member-outside", "unused-evidence", parts(text, ("../../etc/passwd", b"x")), "paths are followed when unpacking")
    yield case("member-absolute", "unused-evidence", parts(text, ("/tmp/x", b"x")), "paths are followed when unpacking")
    yield case("input-of-no-subject", "unused-evidence", pack(content, leaf.arrays, {"0" * 64: b"x"}), "inputs are matched by name")
    yield case("input-with-other-bytes", "digest-mismatch", pack(content, leaf.arrays, {content["subject"][0]["digest"]["sha256"]: b"x"}),
               "inputs are not hashed",
               effect="an easier subject is checked")
    yield case("array-with-other-bytes", "digest-mismatch",
               zipped([("mimetype", MIMETYPE.encode()), ("certificate.json", text), ("evidence/tree.bin", b"\xfe\xff\xff\xff")]),
               "arrays are not hashed")
    yield case("array-missing", "malformed", zipped([("mimetype", MIMETYPE.encode()), ("certificate.json", text)]), "a missing array is empty")
    yield case("array-under-another-name", "malformed",
               edited(lambda c: c["predicate"]["evidence"]["arrays"]["tree"].update(name="certificate.json")), "an array may be any member")
    yield case("array-short-for-its-shape", "array-shape", edited(lambda c: c["predicate"]["evidence"]["arrays"]["tree"].update(shape=[2])),
               "a short array is padded")
    yield case("array-of-2-to-the-40", "array-shape", edited(lambda c: c["predicate"]["evidence"]["arrays"]["tree"].update(shape=[1 << 40])),
               "the shape is allocated before it is compared")
    yield case("array-shape-overflows", "array-shape",
               edited(lambda c: c["predicate"]["evidence"]["arrays"]["tree"].update(shape=[1 << 32, 1 << 32, 0])), "sizes overflow")
    yield case("array-of-objects", "malformed", edited(lambda c: c["predicate"]["evidence"]["arrays"]["tree"].update(dtype="|O")),
               "objects are unpickled", effect="code runs")
    yield case("array-big-endian", "malformed", edited(lambda c: c["predicate"]["evidence"]["arrays"]["tree"].update(dtype=">i4")),
               "a second form of the same array")
    yield case("white-space", "malformed", parts(text.replace(b",", b", ", 1)), "a second form of the same statement")
    yield case("keys-unsorted", "malformed", parts(json.dumps(content, separators=(",", ":")).encode()), "a second form of the same statement")
    yield case("escape-not-shortest", "malformed", parts(text.replace(b"region", rb"regio\u006e", 1)), "a second form of the same string")
    yield case("byte-order-mark", "malformed", parts(b"\xef\xbb\xbf" + text), "a mark before the statement")
    yield case("not-utf-8", "malformed", parts(text.replace(b"ramp.onnx", b"ramp\xff.onn")), "bad bytes are replaced")
    yield case("duplicate-key", "malformed", parts(text.replace(b'"says":{"holds":true}', b'"says":{"holds":false,"holds":true}')),
               "the last of two keys counts")
    yield case("float", "malformed", parts(text.replace(b'"version":1', b'"version":1.0', 1)), "1.0 is 1")
    for name, number in (("nan", b"NaN"), ("infinity", b"Infinity"), ("huge-exponent", b"1e400"), ("two-to-the-53", b"9007199254740992"),
                         ("five-thousand-digits", b"9" * 5000), ("minus-zero", b"-0")):
        yield case(f"number-{name}", "malformed", parts(text.replace(b'"seed":0', b'"seed":' + number)), f"{name} is read as a number")
    yield case("nested-200000-deep", "limit-reached", parts(b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}"), "recursion without a limit",
               "declined", effect="the stack overflows")
    yield case("unclosed-200000-deep", "limit-reached", parts(b"[" * 200_000), "recursion without a limit", "declined")
    yield case("unclosed-quotes", "malformed", parts(b'"' + rb"\"" * 200_000), "scanning strings takes quadratic time")
    for name, size, verdict, code in (("at", len(text), "verified", ""), ("above", len(text) - 1, "declined", "limit-reached")):
        yield Vector(f"statement-{name}-the-limit", verdict, code, good, files, "a statement of any size", limits={"json_bytes": size})
        yield Vector(f"segment-{name}-the-limit", verdict, code, pack(content, leaf.arrays, {}), files, "a segment of any size",
                     limits={"segment_bytes": len(tree) if verdict == "verified" else len(tree) - 1})
        yield Vector(f"members-{name}-the-limit", verdict, code, good, files, "members without a limit",
                     limits={"members": 3 if verdict == "verified" else 2})
        yield Vector(f"depth-{name}-the-limit", verdict, code, good, files, "nesting without a limit",
                     limits={"depth": 6 if verdict == "verified" else 5})
    for name, length, verdict, code in (("255", 255, "verified", ""), ("256", 256, "rejected", "malformed")):
        yield Vector(f"name-of-{name}", verdict, code, edited(lambda c, length=length: _rename(c, "n" * length)), files, "a name of any length")
    for name, number, verdict, code in (("at", 2**53 - 1, "verified", ""), ("above", 2**53, "rejected", "malformed")):
        yield Vector(f"integer-{name}-the-limit", verdict, code, parts(text.replace(b'"seed":0', b'"seed":%d' % number)), files,
                     "integers beyond those that every reader of JSON keeps")
    for count, code in ((8, "array-shape"), (9, "malformed")):
        yield case(f"array-of-rank-{count}", code,
                   edited(lambda c, count=count: c["predicate"]["evidence"]["arrays"]["tree"].update(shape=[1] * count)), "arrays of any rank")
    for count, code in ((64, "claim-mismatch"), (65, "malformed")):
        yield case(f"assumptions-{count}", code, edited(lambda c, count=count: c["predicate"].update(
            assumptions=sorted([*(f"a{k}" for k in range(count - 1)), "real-arithmetic"]))), "assumptions without a limit")
    yield case("statement-is-a-list", "malformed", parts(b"[]"), "a list has no fields")
    yield case("type-other", "malformed", edited(lambda c: c.update(_type="https://in-toto.io/Statement/v0.1")),
               "the type of the statement is not read")
    yield case("predicate-type-other", "malformed", edited(lambda c: c.update(predicateType="https://example.com/other")),
               "the type of the predicate is not read")
    yield case("field-unknown", "malformed", edited(lambda c: c["predicate"].update(verified=True)), "unknown fields are ignored")
    yield case("field-missing", "malformed", edited(lambda c: c["predicate"].pop("producer")), "a missing field has a default")
    yield case("producer-with-time", "malformed", edited(lambda c: c["predicate"]["producer"].update(time="now")),
               "same input and seed, another identity")
    yield case("no-subject", "malformed", edited(lambda c: c.update(subject=[])), "no subject to compare")
    yield case("subjects-unsorted", "malformed", edited(lambda c: c["subject"].reverse()), "a second form of the same statement")
    yield case("subject-twice", "malformed", edited(lambda c: c["subject"].insert(0, c["subject"][0])), "the second digest of a name counts")
    yield case("subject-unused", "malformed", edited(lambda c: c["subject"].append({"name": "z", "digest": {"sha256": "0" * 64}})),
               "a subject without a role")
    yield case("role-unknown", "malformed", edited(lambda c: c["predicate"]["claim"]["roles"].update(solver="ramp.onnx")),
               "unknown roles are ignored")
    yield case("role-missing", "malformed", edited(lambda c: c["predicate"]["claim"]["roles"].pop("property")), "a missing role is empty")
    yield case("role-is-a-list", "malformed", edited(lambda c: c["predicate"]["claim"]["roles"].update(model=["ramp.onnx"])),
               "a list counts as its first entry")
    yield case("digest-upper-case", "malformed",
               edited(lambda c: c["subject"][0]["digest"].update(sha256=c["subject"][0]["digest"]["sha256"].upper())), "a second form of a digest")
    yield case("name-with-slash", "malformed", edited(lambda c: _rename(c, "../ramp.onnx")), "names are followed as paths")
    for label, letter in (("hangul-filler", "\u3164"), ("halfwidth-filler", "\uffa0"), ("accent", "\xe9"), ("of-a-later-unicode", "\U00011f04")):
        yield case(f"name-with-{label}", "malformed", edited(lambda c, letter=letter: _rename(c, f"ramp{letter}is.onnx")),
                   "a name that reads like a sentence, or that only some versions of Python take for letters")
    yield case("name-that-turns-the-line", "malformed", edited(lambda c: _rename(c, "ramp\u202exnno.onnx")), "a name that shows as another")
    for name, text_ in (("space", "a b"), ("line-feed", "a\nb"), ("escape", "a\x1b[1m"), ("digest", "a(sha256_770e607624d6)")):
        yield case(f"name-with-{name}", "malformed", edited(lambda c, text_=text_: _rename(c, text_)), "names read like sentences or digests")
    yield case("assumptions-twice", "malformed", edited(lambda c: c["predicate"]["assumptions"].append("real-arithmetic")),
               "a second form of the same list")
    keyid = "5e" * 32
    envelope = signature.envelope(signature.start(text), keyid, bytes(64))
    yield case("signed", "", parts(text, (f"signatures/{keyid}", envelope)), "none: without keys, nobody's signature is asked for", "verified")
    other = signature.envelope(signature.start(text.replace(b"ramp", b"lamp")), keyid, bytes(64))
    yield case("signature-of-another-certificate", "signature-invalid", parts(text, (f"signatures/{keyid}", other)), "the payload is not compared")
    yield case("signature-empty", "signature-invalid", parts(text, (f"signatures/{keyid}", b"{}")), "an envelope without a signature counts as one")
    yield case("signature-in-another-form", "signature-invalid", parts(text, (f"signatures/{keyid}", envelope + b"\n")), "bytes behind an envelope")
    yield case("signature-under-another-key", "malformed", parts(text, (f"signatures/{'5f' * 32}", envelope)), "the name of a key is not compared")
    yield case("signature-before-inputs", "malformed", parts(text, (f"signatures/{keyid}", envelope), (
        f"inputs/{hashlib.sha256(files[0][2]).hexdigest()}", files[0][2])), "members in any order")
    rational = json.loads(text)
    for name, number in (("1e9999999", "1e9999999"), ("2-over-6", "2/6"), ("plus", "+1/3"), ("underscore", "1_0/3"), ("minus-zero", "-0"),
                         ("over-one", "3/1"), ("over-zero", "1/0"),
                         ("leading-zero", "01/3"), ("space", " 1/3"), ("arabic-digit", "\u0661/3"), ("1001-digits", "9" * 1001),
                         ("1001-digits-below", f"1/1{'0' * 1000}")):
        made = json.loads(canonical(rational))
        made["predicate"]["claim"]["kind"] = "robust"
        made["predicate"]["claim"]["roles"] = {"model": "ramp.onnx", "points": "ramp.vnnlib"}
        made["predicate"]["claim"]["given"] = {"row": 0, "label": 0, "norm": "linf", "radius": number, "radius_unit": "raw", "clip": None,
                                               "scale": "1", "subtract": "0", "divide": "1",
                                               "semantics": "real"}
        yield case(f"rational-{name}", "malformed", parts(canonical(made)), f"the number {number[:12]!r} is read")
    split = bases().split
    named = [("mimetype", MIMETYPE.encode()), ("certificate.json", canonical(split.content()))]
    arrays = [(f"evidence/{key}.bin", split.arrays[key].tobytes()) for key in sorted(split.arrays)]
    yield Vector("arrays-in-order", "verified", "", zipped([*named, *arrays]), own(split), "none")
    yield Vector("arrays-out-of-order", "rejected", "malformed", zipped([*named, *arrays[::-1]]), own(split), "a second form of the same certificate")
    members = [(f"evidence/a{k}.bin", b"") for k in range(4095)]
    yield case("too-many-members", "limit-reached", parts(text, *members), "members without a limit", "declined")


def _deflated(good: bytes) -> bytes:
    """Return the archive with the method of its first member set to deflate."""
    made = bytearray(good)
    made[8:10] = b"\x08\0"
    return bytes(made)


def _bomb(good: bytes) -> bytes:
    """Return the archive with a megabyte of zeros, deflated, in place of the data of its first member, and the sizes to match."""
    bits = "110" + "00110000" + "1100010100000" * (1 << 12) + "0000000"  # one block of fixed codes: a zero, and copies of 258 bytes
    packed = bytes(int(bits[k : k + 8].ljust(8, "0")[::-1], 2) for k in range(0, len(bits), 8))
    if zlib.decompress(packed, -15) != bytes(1 + 258 * (1 << 12)):
        raise ValueError("the bomb is not well-formed")
    head, size = 30 + len("mimetype"), len(MIMETYPE)
    made = bytearray(good[:head] + packed + good[head + size :])
    made[8:10] = b"\x08\0"
    made[14:26] = struct.pack("<3I", zlib.crc32(bytes(1 + 258 * (1 << 12))), len(packed), 1 + 258 * (1 << 12))
    return bytes(made)


def _overlapping(good: bytes) -> bytes:
    """Return the archive with the directory's second entry pointing into the first member."""
    made, second = bytearray(good), good.index(b"PK\1\2", good.index(b"PK\1\2") + 4)
    made[second + 42 : second + 46] = struct.pack("<I", 10)
    return bytes(made)


def _symlink(good: bytes) -> bytes:
    """Return the archive with a first member that unpacks to a symbolic link."""
    made, first = bytearray(good), good.index(b"PK\1\2")
    made[first + 5] = 3  # made on Unix
    made[first + 38 : first + 42] = struct.pack("<I", 0o120777 << 16)
    return bytes(made)


def _rename(content: dict[str, Any], name: str) -> None:
    content["subject"][0]["name"] = name
    content["predicate"]["claim"]["roles"]["model"] = name
