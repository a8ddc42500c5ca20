"""A file that is not a valid bundle is refused in one line, and nothing in it runs."""

from __future__ import annotations

import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from olympus import artifact
from olympus.errors import ArtifactError, UsageError
from tests.artifact.bundles import change_manifest, members_of, pack, python, replace_member

Damage = Callable[[Path], object]


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-200])


def truncate_to_half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip_a_bit_of_a_member(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[content.index(b"StableHLO_v")] ^= 1
    path.write_bytes(content)


def without(name: str) -> Damage:
    return lambda path: pack(path, {n: c for n, c in members_of(path).items() if n != name})


def with_member(name: str, content: bytes) -> Damage:
    return lambda path: pack(path, {**members_of(path), name: content})


def lengthen_a_member(path: Path) -> None:
    members = members_of(path)
    pack(path, {**members, "executables/cpu.bin": members["executables/cpu.bin"] + b"\0"})


def change_a_member(path: Path) -> None:
    members = members_of(path)
    content = members["executables/cpu.bin"]
    pack(path, {**members, "executables/cpu.bin": content[:-1] + bytes([content[-1] ^ 1])})


def compress(path: Path) -> None:
    members = members_of(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def add_a_second_manifest(path: Path) -> None:
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("manifest.json", b"{}")


def set_the_encryption_flag(path: Path) -> None:
    content = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        content[content.index(signature) + offset] |= 1
    path.write_bytes(content)


def schema_version(version: Any) -> Damage:
    return lambda path: change_manifest(path, lambda data: data.update(schema_version=version))


DAMAGE: dict[str, tuple[Damage, str]] = {
    "empty": (lambda path: path.write_bytes(b""), "not a zip file"),
    "text": (lambda path: path.write_text("module @f {}"), "not a zip file"),
    "end missing": (truncate, "is damaged.*: the list of its members is missing"),
    "half missing": (truncate_to_half, "is damaged"),
    "bit flipped": (flip_a_bit_of_a_member, r"is damaged.*Bad CRC-32 for file 'program.stablehlo"),
    "encrypted": (set_the_encryption_flag, "is damaged.*encrypted"),
    "compressed": (compress, "is compressed"),
    "member twice": (add_a_second_manifest, "'manifest.json' twice"),
    "foreign zip": (lambda path: pack(path, {"a.txt": b"hello"}), "it has no manifest.json"),
    "empty zip": (lambda path: pack(path, {}), "not a zip file"),
    "no manifest": (without("manifest.json"), "it has no manifest.json"),
    "no executable": (without("executables/cpu.bin"), "'executables/cpu.bin' is missing"),
    "no stablehlo": (without("program.stablehlo.bc"), "'program.stablehlo.bc' is missing"),
    "no olympuspr": (without("program.olympuspr"), "'program.olympuspr' is missing"),
    "member too much": (with_member("x.py", b""), "'x.py' is not in its manifest"),
    "member longer": (
        lengthen_a_member,
        r"'executables/cpu.bin' has \d+ bytes, and should have \d+",
    ),
    "member altered": (change_a_member, "'executables/cpu.bin' was altered"),
    "manifest no JSON": (with_member("manifest.json", b"\x80\4K."), "manifest is not JSON"),
    "manifest with NaN": (with_member("manifest.json", b'{"a": NaN}'), "JSON has no NaN"),
    "manifest too deep": (with_member("manifest.json", b"[" * 100_000), "nested too deeply"),
    "manifest a list": (with_member("manifest.json", b"[]"), "must be an object, and is \\[\\]"),
    "no version": (with_member("manifest.json", b"{}"), "has no 'schema_version'"),
    "newer version": (schema_version(6), "has schema version 6, and .* reads 1 to 5"),
    "version as text": (schema_version("1"), "has schema version '1', and .* reads 1"),
    "version true": (schema_version(True), "has schema version True"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_bundle_is_refused(bundle: Path, name: str) -> None:
    damage, message = DAMAGE[name]
    damage(bundle)
    with pytest.raises(ArtifactError, match=message) as caught:
        artifact.load(bundle)
    assert caught.value.exit_code == 5
    assert str(caught.value).startswith(f"{bundle} ")
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        artifact.load(tmp_path / "f.olympus")
    with pytest.raises(UsageError, match="cannot be read: it is a folder"):
        artifact.load(tmp_path)


def test_a_flipped_bit_is_refused_or_has_no_effect(bundle: Path, bundle_bytes: bytes) -> None:
    original = artifact.load(bundle)
    draw = random.Random(0)
    ends = range(len(bundle_bytes) - 400, len(bundle_bytes))  # the whole directory of the zip file
    refused = 0
    for position in [*draw.sample(range(len(bundle_bytes)), 200), *ends]:
        content = bytearray(bundle_bytes)
        content[position] ^= 1 << draw.randrange(8)
        bundle.write_bytes(content)
        try:
            assert artifact.load(bundle).members == original.members
        except ArtifactError:
            refused += 1
    assert refused > 200


def test_an_olympuspr_that_is_not_text_is_refused(bundle: Path) -> None:
    loaded = artifact.load(replace_member(bundle, "program.olympuspr", b"\xff\xfe"))
    with pytest.raises(ArtifactError, match=r"program.olympuspr in it is not UTF-8"):
        assert loaded.olympuspr


def test_a_truncated_bundle_is_refused(bundle: Path, bundle_bytes: bytes) -> None:
    for length in range(0, len(bundle_bytes), 97):
        bundle.write_bytes(bundle_bytes[:length])
        with pytest.raises(ArtifactError):
            artifact.load(bundle)


def test_nothing_runs_before_the_bundle_is_verified(bundle: Path) -> None:
    source = """
from olympus import artifact, errors
try:
    bundle = artifact.load("mlp.olympus")
    print(bundle.manifest.name)
    bundle.compiled()
except errors.OlympusError as error:
    print(type(error).__name__, error)
"""
    no_runtime = {"OLYMPUS_NUM_CPU_DEVICES": "none"}  # a runtime that starts raises an error for it
    undamaged = python(source, bundle.parent, **no_runtime)
    assert undamaged.startswith("mlp\nUsageError OLYMPUS_NUM_CPU_DEVICES needs")
    change_a_member(bundle)
    refused = python(source, bundle.parent, **no_runtime)
    assert refused.startswith("ArtifactError mlp.olympus cannot be used")


def uses(bundle: artifact.Bundle) -> dict[str, Callable[[], object]]:
    """Return functions that read parts of a loaded bundle, by name."""
    return {
        "olympuspr": lambda: bundle.olympuspr,
        "stablehlo": lambda: bundle.stablehlo(),
        "sources": lambda: bundle.sources(),
        "compiled": lambda: bundle.compiled(),
        "not recompiled": lambda: bundle.compiled(recompile=False),
    }


#: Names in the program that its parser quotes or reads as text.
NAMES = (b"add_v1", b"builtin", b"func_v1", b"main", b"module", b"public", b"tanh_v2", b"vhlo")


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_a_program_with_text_that_is_not_utf8_is_refused(
    bundle: Path, name: bytes, native: bool
) -> None:
    member = "program.stablehlo.bc"
    content = members_of(bundle)[member]
    assert name in content
    replace_member(bundle, member, content.replace(name, b"\xff" + name[1:]))
    loaded = artifact.load(bundle, native=native)
    with pytest.raises(ArtifactError, match="cannot be used: the program "):
        loaded.compiled()


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"{}", b"[1, 2]", b"ML\xefR"])
@pytest.mark.parametrize("member", ["program.olympuspr", "program.stablehlo.bc"])
def test_a_member_with_wrong_content_raises_an_artifact_error(
    bundle: Path, member: str, content: bytes
) -> None:
    replace_member(bundle, member, content)
    for use in uses(artifact.load(bundle, native=False)).values():
        try:
            use()
        except ArtifactError as error:
            assert str(error)
