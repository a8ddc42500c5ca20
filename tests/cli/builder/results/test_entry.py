"""The bytes of stored results: complete, unchanged, signed, or refused."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from olympus.artifact import new_key
from olympus.errors import ArtifactError
from olympus_cli.builder.results.entry import (
    DamagedEntry,
    decoded,
    decoded_header,
    encoded,
    signed_entry,
)
from tests.cli.builder.results.sample_results import entry, key_of, sample


def with_header(content: bytes, change: object) -> bytes:
    """An entry with another header, and the digest of that."""
    first, rest = content.split(b"\n", 1)
    header = json.loads(rest[: int(first.split()[2])])
    text = json.dumps(change(header)).encode() if callable(change) else change
    assert isinstance(text, bytes)
    digest = hashlib.sha256(text).hexdigest()
    members = rest[int(first.split()[2]) :]
    return f"olympus-result 1 {len(text)} 0 {digest}\n".encode() + text + members


def test_an_entry_is_read_back() -> None:
    assert decoded(entry(), key_of(0)) == sample()
    header = decoded_header(entry(), key_of(0))
    assert (header.program, header.backend) == ("forward", "cpu")
    assert encoded(key_of(0), "forward", "cpu", sample()) == encoded(
        key_of(0), "forward", "cpu", sample()
    )


def test_every_flipped_bit_and_every_shorter_entry_is_detected() -> None:
    content = entry()
    for at in range(len(content)):
        changed = bytearray(content)
        changed[at] ^= 1 << at % 8
        with pytest.raises(DamagedEntry):
            decoded(bytes(changed), key_of(0))
        with pytest.raises(DamagedEntry):
            decoded(content[:at], key_of(0))
    with pytest.raises(DamagedEntry, match="after its end"):
        decoded(content + b"x", key_of(0))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h: {**h, "key": key_of(1)}, "another key"),
        (lambda h: {**h, "more": 1}, "unknown key"),
        (lambda h: {**h, "members": h["members"][::-1]}, "other members"),
        (lambda h: {**h, "members": h["members"][:2]}, "other members"),
        (
            lambda h: {
                **h,
                "members": [{**m, "name": f"../{m['name']}"} for m in h["members"]],
            },
            "other members",
        ),
        (lambda h: {**h, "members": [{**m, "bytes": 10**18} for m in h["members"]]}, "cut off"),
        (lambda h: {**h, "members": [{**m, "bytes": -1} for m in h["members"]]}, "out of range"),
        (lambda h: [h], "not an object"),
        (b"[" * 200_000, "nested too deeply"),
        (b"\xff", "not Unicode"),
    ],
)
def test_a_crafted_header_is_refused(change: object, message: str) -> None:
    with pytest.raises(DamagedEntry, match=message):
        decoded(with_header(entry(), change), key_of(0))


@pytest.mark.parametrize(
    "first",
    [
        b"olympus-result 2 9 0 " + b"0" * 64,
        b"olympus-result 1 9999999 0 " + b"0" * 64,
        b"olympus-result 1 -1 0 " + b"0" * 64,
        b"\x7fELF",
        b"",
    ],
)
def test_another_beginning_is_refused(first: bytes) -> None:
    with pytest.raises(DamagedEntry):
        decoded(first + b"\n" + entry(), key_of(0))


def test_the_shardings_of_several_devices_are_read_back() -> None:
    result = replace(sample(), shardings=((b"\x01", b""), (b"",)))
    content = b"".join(encoded(key_of(0), "forward", "cpu", result))
    assert decoded(content, key_of(0)) == result
    for wrong in (b'[["01",""]]', b'[["01",1],[""]]', b'{"a": 1}', b'[["0"],[]]', b"[", b"7"):
        other = replace(sample(), shardings=((b"\x01" * len(wrong),), ()))
        content = b"".join(encoded(key_of(0), "forward", "cpu", other))
        text = json.dumps([["01" * len(wrong)], []], separators=(",", ":")).encode()
        assert content.endswith(text)
        damaged = wrong.ljust(len(text))
        digests = [hashlib.sha256(part).hexdigest() for part in (text, damaged)]

        def change(header: object, digests: list[str] = digests) -> object:
            return json.loads(json.dumps(header).replace(*digests))

        content = with_header(content[: -len(text)] + damaged, change)
        with pytest.raises(DamagedEntry, match=r"shardings\.json cannot be read"):
            decoded(content, key_of(0))


def test_the_lines_have_their_form() -> None:
    content = entry()
    for lines in (b'[["a","b"]]', b'[["a",-1]]', b"{}", b'[["a"]]', b'"'):
        result = content[: -len(b'[["model.py",41]]')] + lines
        digest, size = hashlib.sha256(lines).hexdigest(), len(lines)

        def change(
            header: dict[str, list[dict[str, object]]], digest: str = digest, size: int = size
        ) -> object:
            *others, last = header["members"]
            return {**header, "members": [*others, {**last, "bytes": size, "sha256": digest}]}

        with pytest.raises(DamagedEntry, match=r"lines\.json"):
            decoded(with_header(result, change), key_of(0))


def test_a_required_signature_is_of_a_trusted_key(tmp_path: Path) -> None:
    own, other = new_key(), new_key()
    private = tmp_path / "own.key"
    private.write_bytes(own.private)
    signed = signed_entry(entry(), private)
    assert decoded(signed, key_of(0), [own.public]) == sample()
    assert decoded(signed, key_of(0)) == sample()
    assert signed_entry(signed, private) == signed
    with pytest.raises(ArtifactError, match="not trusted"):
        decoded(signed, key_of(0), [other.public])
    with pytest.raises(ArtifactError, match="not signed"):
        decoded(entry(), key_of(0), [own.public])


def test_a_poisoned_entry_is_refused_if_it_must_be_signed(tmp_path: Path) -> None:
    """The result of another program under a valid key has valid digests, and no signature."""
    own = new_key()
    (tmp_path / "own.key").write_bytes(own.private)
    poisoned = b"".join(encoded(key_of(0), "forward", "cpu", sample(1)))
    assert decoded(poisoned, key_of(0)) == sample(1)  # without keys it is not recognized
    first, _, rest = signed_entry(entry(), tmp_path / "own.key").partition(b"\n")
    begin, end = int(first.split()[2]), int(first.split()[3])
    signature = rest[begin : begin + end]
    head, _, members = poisoned.partition(b"\n")
    header = members[: int(head.split()[2])]
    digest = hashlib.sha256(header + signature).hexdigest()
    forged = f"olympus-result 1 {len(header)} {len(signature)} {digest}\n".encode()
    forged += header + signature + members[len(header) :]
    assert decoded(forged, key_of(0)) == sample(1)
    for content in (poisoned, forged):
        with pytest.raises(ArtifactError, match=r"not signed|does not match"):
            decoded(content, key_of(0), [own.public])
