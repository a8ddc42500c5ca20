"""The bytes of a stored result, which anyone may have written.

    olympus-result 1 <bytes of the header> <bytes of the signature> <SHA-256 of both>\n
    the header, a JSON object with the key, the figures, and the size and SHA-256 of each member
    the signature of the header, or nothing
    the members one after the other: the executable, the optimized HLO, the source lines and,
    for a program of several devices, the shardings of the arguments and results

One file is one rename, and one object in a remote store. Digests cover all bytes after the first
line. A signature covers the header and therefore all members. Nothing of an entry is used before it
is verified.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

import olympus
from olympus.artifact import sign_result, verify_result
from olympus.errors import ArtifactError, OlympusError
from olympus.files import parse_json, to_data, typed
from olympus_cli.builder.results.compile_key import Line
from olympus_cli.builder.results.result import CompilationResult, CompilerFigures
from olympus_cli.reports.build_report import REPORT_FORMS

#: The most bytes of an entry; a larger result is not stored.
MAX_BYTES = 2**32

_MEMBERS = ("executable.bin", "optimized.hlo.txt", "lines.json")
_OF_SEVERAL_DEVICES = (*_MEMBERS, "shardings.json")
_VERSION = 1  # raised with every change that an old reader would misread
_FIRST = re.compile(rb"olympus-result ([0-9]{1,9}) ([0-9]{1,7}) ([0-9]{1,4}) ([0-9a-f]{64})\n")
_LONGEST_FIRST = 120  # bytes of the first line
_MAX_HEADER = 2**20
_KEY = re.compile("[0-9a-f]{64}")


class DamagedEntry(ArtifactError):
    """Raised for an entry that is not complete and unchanged, or has another version."""


@dataclass(frozen=True)
class Member:
    """A part of an entry, with its size in bytes."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Header:
    """The description of an entry; `program` is the name of the function, `backend` its target."""

    key: str
    program: str
    backend: str
    versions: Mapping[str, str]
    figures: CompilerFigures
    members: tuple[Member, ...]


def encoded(key: str, program: str, backend: str, result: CompilationResult) -> list[bytes]:
    """Return the bytes of an unsigned entry, in pieces.

    >>> b"".join(encoded(key, "forward", "cpu", result))[:17]
    b'olympus-result 1 '
    """
    lines = json.dumps(result.lines, separators=(",", ":")).encode()
    hlo = result.hlo.encode(errors="backslashreplace")
    contents = [result.executable, hlo, lines]
    names: tuple[str, ...] = _MEMBERS
    if result.shardings is not None:
        names = _OF_SEVERAL_DEVICES
        texts = [[sharding.hex() for sharding in group] for group in result.shardings]
        contents.append(json.dumps(texts, separators=(",", ":")).encode())
    members = tuple(
        Member(name, len(content), hashlib.sha256(content).hexdigest())
        for name, content in zip(names, contents, strict=True)
    )
    versions = {"olympus": olympus.__version__}
    header = Header(key, program, backend, versions, result.figures, members)
    text = json.dumps(to_data(header, REPORT_FORMS), separators=(",", ":")).encode()
    return [_first_line(text, b""), text, *contents]


def _first_line(header: bytes, signature: bytes) -> bytes:
    digest = hashlib.sha256(header + signature).hexdigest().encode()
    return b"olympus-result %d %d %d %s\n" % (_VERSION, len(header), len(signature), digest)


def signed_entry(content: bytes, key: str | Path) -> bytes:
    """Return an entry with a signature by the private key in a file, in place of any other.

    Raises:
        UsageError: the file cannot be read, or has no private key.
        BackendError: the package `cryptography` is not installed.
        DamagedEntry: `content` is not an entry.
    """
    begin, header, before = _split(content)
    signature = sign_result(header, key)
    members = content[begin + len(header) + len(before) :]
    return b"".join([_first_line(header, signature), header, signature, members])


def _split(content: bytes) -> tuple[int, bytes, bytes]:
    """Return the position of the header, the header and the signature."""
    match = _FIRST.match(content[:_LONGEST_FIRST])
    if match is None:
        raise DamagedEntry("it does not begin as a stored result")
    version, header_bytes, signature_bytes = map(int, match.groups()[:3])
    if version != _VERSION:
        raise DamagedEntry(f"it has version {version}, and this olympus reads {_VERSION}")
    if header_bytes > _MAX_HEADER:
        raise DamagedEntry(f"its header has {header_bytes} bytes, and {_MAX_HEADER} is the most")
    begin, end = match.end(), match.end() + header_bytes
    header, signature = content[begin:end], content[end : end + signature_bytes]
    if content[:begin] != _first_line(header, signature):
        raise DamagedEntry("its header is cut off or has another SHA-256")
    return begin, header, signature


def decoded_header(content: bytes, key: str) -> Header:
    """Return the header at the beginning of an entry; `key` is the key that it must have.

    Raises:
        DamagedEntry: the bytes are cut off, are no entry, or are that of another key.
    """
    return _parsed(_split(content)[1], key)


def _parsed(content: bytes, key: str) -> Header:
    try:
        header: Header = typed(parse_json(content), Header, forms=REPORT_FORMS)
    except ValueError as error:
        raise DamagedEntry(f"its header cannot be read: {error}") from error
    if not _KEY.fullmatch(key) or header.key != key:
        raise DamagedEntry("it is the result for another key")
    if tuple(member.name for member in header.members) not in (_MEMBERS, _OF_SEVERAL_DEVICES):
        raise DamagedEntry("it has other members")
    return header


def read_header(file: BufferedReader, key: str) -> Header:
    """Return the header of an open entry without reading its members; raise DamagedEntry."""
    return decoded_header(file.read(_LONGEST_FIRST + _MAX_HEADER + 10_000), key)


def decoded(content: bytes, key: str, trust: Sequence[Path | bytes] = ()) -> CompilationResult:
    """Return the result in an entry, after its verification.

    `key` is the key that it must have. If `trust` has public keys, one must have signed it.

    Raises:
        DamagedEntry: the entry is damaged, or is the result for another key.
        ArtifactError: a required signature is missing, or of another key.
    """
    begin, text, signature = _split(content)
    if trust:
        verify_result(text, signature or None, trust)
    header = _parsed(text, key)
    parts, at = [], begin + len(text) + len(signature)
    for member in header.members:
        part = content[at : at + member.bytes]
        if len(part) != member.bytes:
            raise DamagedEntry("it is cut off")
        if hashlib.sha256(part).hexdigest() != member.sha256:
            raise DamagedEntry(f"its {member.name} has another SHA-256")
        parts.append(part)
        at += member.bytes
    if at != len(content):
        raise DamagedEntry("it has bytes after its end")
    executable, hlo, lines, *others = parts
    try:
        return CompilationResult(
            executable,
            hlo.decode(),
            _lines(lines),
            header.figures,
            _shardings(others[0]) if others else None,
        )
    except UnicodeDecodeError as error:
        raise DamagedEntry(f"its optimized.hlo.txt is not text: {error.reason}") from error


def _shardings(content: bytes) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    try:
        ins, outs = parse_json(content)
        return tuple(map(bytes.fromhex, ins)), tuple(map(bytes.fromhex, outs))
    except (OlympusError, TypeError, ValueError) as error:
        raise DamagedEntry(f"its shardings.json cannot be read: {error}") from error


def _lines(content: bytes) -> tuple[Line, ...]:
    try:
        data = parse_json(content)
    except OlympusError as error:
        raise DamagedEntry(f"its lines.json cannot be read: {error}") from error
    if not isinstance(data, list) or not all(map(_is_line, data)):
        raise DamagedEntry("its lines.json is not a list of files and lines")
    return tuple((file, line) for file, line in data)


def _is_line(pair: object) -> bool:
    return isinstance(pair, list) and [*map(type, pair)] == [str, int] and pair[1] >= 0
