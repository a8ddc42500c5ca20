"""Refusals of exports and of exported programs: the bundle, the processor and the plugin."""

from __future__ import annotations

import dataclasses
import zipfile
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import artifact
from olympus.errors import ArtifactError, UsageError
from olympus_cli.export.c_program import c_program, identifier
from olympus_cli.export.plugins import fitting_plugins
from tests.cli.export.c_programs import SANITIZERS, build, export, run, save_bundle, saved_arguments

PLUGINS = Path(__file__).parent / "fake_plugin.c"


def struct(*shape: int, dtype: str = "float32") -> olympus.ShapeDtypeStruct:
    return olympus.ShapeDtypeStruct(shape, dtype)


def twice(path: Path) -> Path:
    return save_bundle(path, lambda x: x + x, struct(2))


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The executable of a program, with sanitizers, in its folder with one argument."""
    folder = tmp_path_factory.mktemp("twice")
    executable = build(export(twice(folder / "twice.olympus"), folder / "c"), *SANITIZERS)
    saved_arguments(executable.parent, [np.ones(2, np.float32)])
    return executable


def refused(program: Path, *options: str | Path, code: int, plugin: str | Path = "none.so") -> str:
    """Run the program, and return its message without the start."""
    argument = program.parent / "argument0.npy"
    output = run(program, "--plugin", plugin, *options, argument, code=code)
    assert output.startswith("error: ")
    return output.removeprefix("error: ").strip()


def test_a_missing_bundle(program: Path, tmp_path: Path) -> None:
    missing = tmp_path / "missing.olympus"
    message = refused(program, "--bundle", missing, code=2)
    assert message == f"{missing} cannot be read: No such file or directory"
    assert "is not a regular file" in refused(program, "--bundle", tmp_path, code=2)


def test_a_damaged_bundle(program: Path, tmp_path: Path) -> None:
    bundle = artifact.load(program.parent / "twice.olympus")
    content = bytearray(bundle.path.read_bytes())
    damaged = tmp_path / "damaged.olympus"
    at = content.index(bundle.members["executables/cpu.bin"])
    content[at + 200] ^= 1
    damaged.write_bytes(content)
    assert refused(program, "--bundle", damaged, code=5) == (
        f"{damaged} is damaged, or is not the bundle that was exported: the SHA-256 of its "
        "executables/cpu.bin is another one"
    )
    damaged.write_bytes(content[:-1])
    assert refused(program, "--bundle", damaged, code=5) == (
        f"{damaged} is damaged: it is not a zip file, or its end is missing"
    )
    other = save_bundle(tmp_path / "other.olympus", lambda x: x * x, struct(2))
    assert "is not the bundle that was exported" in refused(program, "--bundle", other, code=5)


def test_another_form_of_zip_file(program: Path, tmp_path: Path) -> None:
    bundle = artifact.load(program.parent / "twice.olympus")
    members = {**bundle.members, "manifest.json": bundle.manifest_bytes}
    path = tmp_path / "packed.olympus"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    assert "a member of it is compressed" in refused(program, "--bundle", path, code=5)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        archive.writestr("../a", b"")
    assert "the list of its members was changed" in refused(program, "--bundle", path, code=5)
    with zipfile.ZipFile(path, "w") as archive, pytest.warns(UserWarning, match="Duplicate"):
        for name, content in [*members.items(), *members.items()]:
            archive.writestr(name, content)
    assert "does not have manifest.json once" in refused(program, "--bundle", path, code=5)


def test_large_records_of_zip_files(program: Path, tmp_path: Path) -> None:
    """A file of 4 GiB or more has them; a smaller one may."""
    content = (program.parent / "twice.olympus").read_bytes()
    end = content[-22:]
    size, at = int.from_bytes(end[12:16], "little"), int.from_bytes(end[16:20], "little")
    count, where = int.from_bytes(end[8:10], "little"), len(content) - 22
    large = b"PK\6\6" + (44).to_bytes(8, "little") + b"\x2d\0\x2d\0" + bytes(8)
    large += b"".join(x.to_bytes(8, "little") for x in (count, count, size, at))
    locator = b"PK\6\7" + bytes(4) + where.to_bytes(8, "little") + b"\1\0\0\0"
    full = end[:8] + b"\xff" * 12 + end[20:]
    path = tmp_path / "large.olympus"
    path.write_bytes(content[:-22] + large + locator + full)
    assert "the plugin none.so cannot be read" in refused(program, "--bundle", path, code=2)
    path.write_bytes(content[:-22] + large.replace(b"\x2d\0", b"\x2e\0") + locator[:-1] + full)
    assert "is damaged" in refused(program, "--bundle", path, code=5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"machine": "sparc64"}, "f was built on Linux sparc64, and this is Linux "),
        ({"system": "Plan 9"}, "f was built on Plan 9 "),
        ({"cpu_features": ("avx2048", "no_sse")}, "a processor with avx2048, no_sse, which this"),
        ({"cpu_features": None}, "the instruction sets of the processor that built the program"),
    ],
)
def test_another_processor(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, object],
    message: str,
) -> None:
    host = dataclasses.replace(artifact.Host.here(), **changes)  # type: ignore[arg-type]
    monkeypatch.setattr(artifact.Host, "here", staticmethod(lambda: host))
    executable = build(export(twice(tmp_path / "f.olympus"), tmp_path / "c"))
    saved_arguments(executable.parent, [np.ones(2, np.float32)])
    assert message in refused(executable, code=5)


def fake(folder: Path, *flags: str) -> Path:
    """Compile a plugin that refuses everything after its initialization."""
    path = folder / f"plugin{len([*folder.iterdir()])}.so"
    run("gcc", "-shared", "-fPIC", *flags, PLUGINS, "-o", path)
    return path


def test_other_plugins(program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = tmp_path / "missing.so"
    assert refused(program, plugin=missing, code=2).startswith(f"the plugin {missing} cannot be")
    text = tmp_path / "text.so"
    text.write_text("text")
    assert refused(program, plugin=text, code=5).startswith("the plugin cannot be loaded: ")
    empty = tmp_path / "empty.so"
    run("gcc", "-shared", "-xc", "/dev/null", "-o", empty)
    assert refused(program, plugin=empty, code=5) == (
        f"{empty} is not a PJRT plugin: it has no GetPjrtApi"
    )
    old = fake(tmp_path, "-DMINOR=81")
    message = refused(program, plugin=old, code=5)
    assert f"the plugin {old} has version 0.81 of PJRT's API" in message
    assert message.endswith("set OLYMPUS_ANY_PLUGIN=1 to try this one")
    for flags in (["-DMINOR=80"], ["-DMINOR=0", "-DMAJOR=1"]):
        message = refused(program, plugin=fake(tmp_path, *flags), code=5)
        assert message.endswith("and 0.81 or a later 0.x is needed")
    monkeypatch.setenv("OLYMPUS_ANY_PLUGIN", "1")
    assert refused(program, plugin=old, code=6) == (
        "the plugin has no device to run on: no device is attached"
    )


def test_functions_that_only_python_has(tmp_path: Path) -> None:
    solve = save_bundle(tmp_path / "qr.olympus", lambda x: jnp.linalg.qr(x), struct(3, 3))
    with pytest.raises(ArtifactError, match=r"calls lapack_\w+, .*which only Python") as caught:
        export(solve, tmp_path / "c")
    assert caught.value.hint is not None
    assert "--linalg portable" in caught.value.hint
    assert str(caught.value).startswith("the program qr calls lapack_sgeqrf_ffi, lapack_sorgqr_ffi")
    assert not (tmp_path / "c").exists()


def test_dtypes_that_c_does_not_have(tmp_path: Path) -> None:
    bundle = save_bundle(tmp_path / "f.olympus", lambda x: x, struct(2, dtype="int4"))
    with pytest.raises(ArtifactError, match="C has no type for int4, the dtype of x"):
        export(bundle, tmp_path / "c")
    assert np.dtype(ml_dtypes.int4).itemsize == 1


def test_a_bundle_without_an_executable_for_c(tmp_path: Path) -> None:
    bundle = artifact.load(twice(tmp_path / "f.olympus"))
    other = dataclasses.replace(bundle.executables[0], backend="tpu")
    manifest = dataclasses.replace(bundle.manifest, executables=(other,))
    with pytest.raises(ArtifactError, match="the executables of f are for tpu"):
        c_program(bundle.path, [(None, dataclasses.replace(bundle, manifest=manifest))])
    with pytest.raises(UsageError, match="cannot be"):
        (tmp_path / "file").touch()
        export(bundle.path, tmp_path / "file" / "c")


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("params['w']", "params_w"),
        ("double", "double_"),
        ("3d", "n3d"),
        ("Ä", "value"),
        ("x" * 100, "x" * 60),
    ],
)
def test_identifiers(name: str, word: str) -> None:
    assert identifier(name) == word


@pytest.mark.parametrize(
    ("backend", "version", "apis"),
    [
        ("cpu", "0.10.2", (112, 115)),
        ("cpu", "0.11.0", (115, 115)),
        ("cpu", "0.12.0.1", (116, 115)),
        ("cpu", "0.13.0", (1, 0)),
        ("cpu", "unknown", (1, 0)),
        ("gpu", "0.10.2", (112, 112)),
        ("gpu", "0.10.3", (1, 0)),
    ],
)
def test_plugins_by_version(backend: str, version: str, apis: tuple[int, int]) -> None:
    versions = {"jaxlib": version, "jax-cuda13-pjrt": version}
    assert fitting_plugins(backend, versions)[:2] == apis
