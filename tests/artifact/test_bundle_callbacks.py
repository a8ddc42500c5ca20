"""Bundles whose programs call Python functions: their names, and loading with the functions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import olympus as ox
import olympus_runtime
from olympus import artifact, debug
from olympus.errors import ArtifactError, BackendError, UnsupportedError, UsageError
from olympus.experimental import io_callback
from tests.artifact.bundles import change_manifest, save, struct

X = np.arange(3, dtype=np.float32)
SINC, PRINT = "tests.artifact.test_bundle_callbacks:sinc", "debug.print('x is {x}')"
RECORD = "tests.artifact.test_bundle_callbacks:record"


def sinc(tree: dict[str, Any], *, scale: Any) -> tuple[Any, Any]:
    return np.sinc(np.asarray(tree["x"])) * float(scale), np.int32(len(tree["x"]))


def record(x: Any) -> None:
    raise AssertionError("a bundle does not have this function")


def ignore(*args: Any, **kwargs: Any) -> None:
    """Take any arguments."""


def calling(x: Any) -> Any:
    debug.print("x is {x}", x=x, ordered=True)
    io_callback(record, None, x, ordered=True)
    kinds = (struct(3), struct(dtype="int32"))
    return ox.pure_callback(sinc, kinds, {"x": x}, scale=x[0] + 2)


def saved(folder: Path) -> Path:
    return save(folder / "f.olympus", ox.jit(calling).trace(struct(3)))


@pytest.mark.parametrize("loader", ["core", "runtime", "runtime without native code"])
def test_a_bundle_calls_the_given_functions(loader: str, tmp_path: Path) -> None:
    path, seen = saved(tmp_path), list[Any]()
    functions = {
        PRINT: lambda x: seen.append(("print", np.asarray(x).tolist())),
        RECORD: lambda x: seen.append(("record", np.asarray(x).tolist())),
        SINC: sinc,
    }
    if loader == "core":
        bundle = artifact.load(path)
        assert [f.name for f in bundle.manifest.callbacks] == [PRINT, RECORD, SINC]
        assert "callbacks" in bundle.manifest.to_data()
        program: Any = bundle.compiled(callbacks=functions)
    else:
        program = olympus_runtime.load(path, native=loader == "runtime", callbacks=functions)
    values, count = program(X)
    ox.effects_barrier()
    np.testing.assert_allclose(values, np.sinc(X) * 2, atol=1e-6)
    assert int(count) == 3
    assert seen == [("print", [0, 1, 2]), ("record", [0, 1, 2])]


def test_a_program_without_its_functions_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path)
    with pytest.raises(ArtifactError, match="was loaded without them") as caught:
        artifact.load(path).compiled()
    assert SINC in str(caught.value) and "debug.print('x is {x}')" in str(caught.value)
    for native in (True, False):
        with pytest.raises(ArtifactError, match="and was loaded without them"):
            olympus_runtime.load(path, native=native)
    with pytest.raises(ArtifactError, match=f"without '{SINC}'"):
        olympus_runtime.load(path, callbacks={PRINT: print, RECORD: print})
    functions = {PRINT: print, RECORD: print, SINC: sinc}
    with pytest.raises(UsageError, match="calls no such function"):
        olympus_runtime.load(path, callbacks={**functions, "other": print})
    with pytest.raises(UsageError, match="must be a function, and is 3"):
        olympus_runtime.load(path, callbacks={**functions, SINC: 3})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ((X, np.int32(0), X), "must return 2 arrays, and returned 3"),
        ((X[:1], np.int32(0)), r"must be float32\[3\], and is float32\[1\]"),
        ((X, np.float32(0)), r"must be int32\[\], and is float32\[\]"),
    ],
    ids=["count", "shape", "dtype"],
)
def test_a_function_with_other_results_is_an_error(result: Any, text: str, tmp_path: Path) -> None:
    functions = {PRINT: ignore, RECORD: ignore, SINC: lambda tree, scale: result}
    program = olympus_runtime.load(saved(tmp_path), callbacks=functions)
    with pytest.raises(olympus_runtime.OlympusError, match=text):
        program(X)


def test_a_manifest_that_hides_functions_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path)
    change_manifest(path, lambda data: data.pop("callbacks"))
    for native in (True, False):
        with pytest.raises(ArtifactError, match="its manifest does not have"):
            olympus_runtime.load(path, native=native, recompile=not native)
    with pytest.raises(UsageError, match="was loaded without them"):
        artifact.load(path).compiled()(X)


def test_a_manifest_with_other_functions_is_refused(tmp_path: Path) -> None:
    def other_shape(data: dict[str, Any]) -> None:
        data["callbacks"][2]["results"][0]["shape"] = [4]

    path = saved(tmp_path)
    change_manifest(path, other_shape)
    functions = {PRINT: ignore, RECORD: ignore, SINC: sinc}
    with pytest.raises(ArtifactError, match="results of other shapes"):
        olympus_runtime.load(path, native=False, callbacks=functions)
    with pytest.raises(ArtifactError, match="results of other shapes"):
        artifact.load(path).compiled(callbacks=functions)
    change_manifest(path, lambda data: data["callbacks"][0].pop("has_effects"))
    with pytest.raises(ArtifactError, match="has no 'has_effects'"):
        artifact.load(path)


def test_functions_of_one_name_are_numbered(tmp_path: Path) -> None:
    def f(x: Any) -> Any:
        for n in (1, 2):
            x = ox.pure_callback(lambda a, n=n: np.asarray(a) + n, struct(3), x)
        return x

    path = save(tmp_path / "f.olympus", ox.jit(f).trace(struct(3)))
    names = [f.name for f in artifact.load(path).manifest.callbacks]
    assert names[1] == f"{names[0]}#2"
    program = olympus_runtime.load(path, callbacks={names[0]: np.negative, names[1]: np.square})
    assert program(X).tolist() == [0, 1, 4]


def test_a_saved_executable_is_loaded_with_the_functions_of_its_program() -> None:
    lowered = ox.jit(lambda x: ox.pure_callback(lambda a: np.asarray(a) * 2, struct(3), x)).lower(X)
    assert lowered.callbacks == (
        "tests.artifact.test_bundle_callbacks:test_a_saved_executable_is_loaded_with_the_functions_"
        "of_its_program.<locals>.<lambda>.<locals>.<lambda>",
    )
    assert lowered.load(lowered.compile().serialize())(X).tolist() == [0, 2, 4]


def test_exports_without_functions_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="serialization of host_callbacks"):
        ox.export.export(ox.jit(calling))(struct(3))
    with pytest.raises(BackendError, match="KeyError"):
        ox.jit(lambda x: ox.pure_callback(lambda a: {}["absent"], struct(3), x))(X)
