"""The small runtime raises the errors of olympus, with its messages."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import olympus
import olympus_runtime
from olympus import artifact, errors, lax
from tests.artifact.bundles import (
    change_manifest,
    members_of,
    pack,
    python,
    replace_member,
    save,
    struct,
)
from tests.runtime.test_program import ARGS, X, check


def require_another_processor(data: dict[str, Any]) -> None:
    data["executables"][0]["host"]["cpu_features"].append("avx8192")


def test_the_classes_are_those_of_olympus() -> None:
    for name in ("ArtifactError", "BackendError", "CompileError", "SignatureError", "UsageError"):
        assert getattr(olympus_runtime, name) is getattr(errors, name)
    assert olympus_runtime.OlympusError is errors.OlympusError


def both(path: Path, *args: Any, **kwargs: Any) -> tuple[str, str]:
    """Return the class and the message of the error of both loaders."""
    messages = []
    for load in (olympus_runtime.load, lambda path: artifact.load(path).compiled()):
        with pytest.raises(errors.OlympusError) as caught:
            load(path)(*args, **kwargs)
        messages.append(f"{type(caught.value).__name__}: {caught.value}")
    return messages[0], messages[1]


CALLS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "shape": ((ARGS[0], np.ones((5, 3), "float32")), {"scale": 1.0}),
    "dtype": ((ARGS[0], np.ones((2, 3), "int32")), {"scale": 1.0}),
    "two": (({"w": X, "b": X[0]}, X[0]), {"scale": np.int32(1)}),
    "missing": ((ARGS[0],), {"scale": 1.0}),
    "unknown": (ARGS, {"scale": 1.0, "size": 2}),
    "twice": (ARGS, {"scale": 1.0, "x": X}),
    "key": (({"w": X}, X), {"scale": 1.0}),
    "container": ((X, X), {"scale": 1.0}),
    "leaf": ((ARGS[0], [X]), {"scale": 1.0}),
    "many": ((*ARGS, X), {"scale": 1.0}),
}


@pytest.mark.parametrize("name", CALLS)
def test_wrong_arguments_are_refused_with_the_same_message(bundle: Path, name: str) -> None:
    args, kwargs = CALLS[name]
    own, expected = both(bundle, *args, **kwargs)
    assert own == expected
    assert own.startswith("SignatureError: ")


def test_a_value_that_is_not_an_array_is_refused(bundle: Path) -> None:
    with pytest.raises(errors.SignatureError, match="'x'"):
        olympus_runtime.load(bundle)(ARGS[0], object(), scale=1.0)


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def without_a_manifest(path: Path) -> None:
    members = members_of(path)
    del members["manifest.json"]
    pack(path, members)


def with_a_changed_type(path: Path) -> None:
    def change(data: dict[str, Any]) -> None:
        data["signature"]["arguments"][0]["shape"] = [3, 2]

    change_manifest(path, change)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "missing": Path.unlink,
    "empty": lambda path: path.write_bytes(b""),
    "truncated": truncated,
    "no manifest": without_a_manifest,
    "version": lambda path: change_manifest(path, lambda data: data.update(schema_version=99)),
    "digest": lambda path: pack(path, {**members_of(path), "program.olympuspr": b"other"}),
    "field": lambda path: change_manifest(path, lambda data: data.pop("entry")),
    "type": lambda path: change_manifest(path, lambda data: data.update(name=3)),
    "folder": lambda path: (path.unlink(), path.mkdir()),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_bundle_is_refused_with_the_same_message(bundle: Path, name: str) -> None:
    DAMAGE[name](bundle)
    own, expected = both(bundle)
    assert own == expected


def test_a_manifest_that_does_not_fit_the_executable_is_refused(bundle: Path) -> None:
    with_a_changed_type(bundle)
    with pytest.raises(
        errors.ArtifactError, match=r"executable has the argument .* float32\[2,3\]"
    ):
        olympus_runtime.load(bundle)


def test_an_executable_that_writes_over_its_arguments_is_refused(tmp_path: Path) -> None:
    traced = olympus.jit(lax.neg, donate_argnums=0).trace(struct(64))
    path = save(tmp_path / "f.olympus", traced)

    def change(data: dict[str, Any]) -> None:
        data["signature"]["arguments"][0]["donated"] = False

    with pytest.raises(errors.ArtifactError, match="writes results over its arguments"):
        olympus_runtime.load(change_manifest(path, change))


def test_an_executable_of_another_processor_is_refused_or_compiled_again(bundle: Path) -> None:
    change_manifest(bundle, require_another_processor)
    with pytest.raises(errors.ArtifactError, match=r"fits this machine \(cpu: .*avx8192") as caught:
        olympus_runtime.load(bundle, recompile=False)
    assert "allow recompiling" in str(caught.value.hint)
    program = olympus_runtime.load(bundle)
    check(program)
    assert program.executable is None


def test_damaged_native_code_is_compiled_again(bundle: Path) -> None:
    replace_member(bundle, "executables/cpu.bin", b"not a program")
    with pytest.raises(errors.ArtifactError, match="cannot be loaded"):
        olympus_runtime.load(bundle, recompile=False)
    check(olympus_runtime.load(bundle))


def test_native_code_is_not_loaded_if_it_is_not_trusted(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("native code was loaded")

    monkeypatch.setattr("olympus_runtime.loading.fixed_loader.load_executable", refuse)
    check(olympus_runtime.load(bundle, native=False))
    with pytest.raises(errors.ArtifactError, match="loaded with native=False"):
        olympus_runtime.load(bundle, native=False, recompile=False)


def test_a_bundle_with_compiler_options_is_not_compiled_again(tmp_path: Path) -> None:
    """Only olympus knows which options are safe."""
    options = {"xla_cpu_enable_fast_math": True}
    traced = olympus.jit(lax.exp).trace(struct(2))
    path = save(tmp_path / "f.olympus", traced, compiler_options=options)
    olympus_runtime.load(path)
    change_manifest(path, require_another_processor)
    with pytest.raises(errors.ArtifactError, match="cannot compile it: it sets options") as caught:
        olympus_runtime.load(path)
    assert "olympus.artifact.load" in str(caught.value.hint)


def test_the_contents_are_listed_if_no_executable_is_for_the_backend(bundle: Path) -> None:
    with pytest.raises(errors.ArtifactError, match=r"no executable for tpu \(it has: cpu\)"):
        olympus_runtime.load(bundle, backend="tpu")
    with pytest.raises(errors.UsageError, match="no backend is named 'rocm'"):
        olympus_runtime.load(bundle, backend="rocm")


def test_a_signature_is_required_by_trust(bundle: Path, tmp_path: Path) -> None:
    pair = artifact.new_key()
    (tmp_path / "key").write_bytes(pair.private)
    with pytest.raises(errors.ArtifactError, match="it is not signed"):
        olympus_runtime.load(bundle, trust=pair.public)
    artifact.sign(bundle, tmp_path / "key")
    check(olympus_runtime.load(bundle, trust=pair.public))
    with pytest.raises(errors.ArtifactError, match="which is not trusted"):
        olympus_runtime.load(bundle, trust=artifact.new_key().public)


def test_errors_have_their_own_module_without_olympus(tmp_path: Path) -> None:
    source = """
import olympus_runtime
try:
    olympus_runtime.load("missing")
except olympus_runtime.UsageError as error:
    print(type(error).__module__, error)
"""
    assert python(source, tmp_path) == (
        "olympus_bundle.errors missing cannot be read: No such file or directory\n"
    )


def test_a_program_of_several_devices_is_refused(bundle: Path) -> None:
    def change(data: dict[str, Any]) -> None:
        data["placement"] = {"num_devices": 8}
        for executable in data["executables"]:
            executable["shardings"] = {}

    change_manifest(bundle, change)
    with pytest.raises(errors.ArtifactError, match="for several devices") as caught:
        olympus_runtime.load(bundle)
    assert "olympus.artifact.load" in str(caught.value.hint)


def test_the_reader_knows_the_dtypes_of_olympus() -> None:
    from olympus_bundle.json_value import JsonValue
    from olympus_core.base import dtypes

    for dtype in dtypes.array_dtypes():
        assert JsonValue(dtypes.long_name(dtype)).dtype() == dtype
    for name in ("float128", "object", "f4", "float0", "finfo"):
        with pytest.raises(errors.ArtifactError, match="the name of a dtype"):
            JsonValue(json.loads(json.dumps(name))).dtype()
