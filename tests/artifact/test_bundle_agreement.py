"""A bundle whose manifest does not match its program is refused before any call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import olympus
from olympus import artifact, lax
from olympus.errors import ArtifactError
from tests.artifact.bundles import change_manifest, members_of, replace_member, save, struct

PROGRAM = "program.stablehlo.bc"
EXECUTABLE = "executables/cpu.bin"


def saved(path: Path, function: Any, *shapes: Any, **options: Any) -> Path:
    return save(path, olympus.jit(function, **options).trace(*shapes))


def negated_and_doubled(x: Any, y: Any) -> Any:
    return lax.neg(x), lax.add(y, y)


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return saved(
        tmp_path / "f.olympus", negated_and_doubled, struct(8, 16), struct(3, dtype="int32")
    )


def put(kind: str, index: int, field: str, value: object) -> Any:
    return lambda data: data["signature"][kind][index].update({field: value})


def add_an_argument(data: dict[str, Any]) -> None:
    signature = data["signature"]
    signature["arguments"] += [{**signature["arguments"][0], "name": "z"}]
    signature["argument_tree"]["items"][0]["items"] += [{"kind": "leaf"}]


def remove_a_result(data: dict[str, Any]) -> None:
    data["signature"]["results"].pop()
    data["signature"]["result_tree"]["items"].pop()


MISMATCHES = {
    "shape": (
        put("arguments", 0, "shape", [16, 8]),
        r"its StableHLO has the argument 'x' as tensor<8x16xf32>, .* has tensor<16x8xf32>",
    ),
    "rank": (put("arguments", 0, "shape", [128]), "'x' as tensor<8x16xf32>"),
    "dtype": (put("arguments", 1, "dtype", "float32"), "'y' as tensor<3xi32>"),
    "signedness": (put("arguments", 1, "dtype", "uint32"), "has tensor<3xui32>"),
    "result dtype": (
        put("results", 0, "dtype", "int32"),
        r"has the result 'result\[0\]' as tensor<8x16xf32>",
    ),
    "result shape": (put("results", 1, "shape", [1, 3]), r"'result\[1\]' as tensor<3xi32>"),
    "donation": (
        put("arguments", 0, "donated", True),
        "'x' is not donated, and in its manifest it is",
    ),
    "more arguments": (add_an_argument, "its StableHLO has 2 arguments, .* has 3"),
    "fewer results": (remove_a_result, "its StableHLO has 2 results, and its manifest has 1"),
}


@pytest.mark.parametrize("name", MISMATCHES)
def test_a_manifest_that_differs_from_the_program_is_refused(bundle: Path, name: str) -> None:
    change, message = MISMATCHES[name]
    loaded = artifact.load(change_manifest(bundle, change))
    for recompile in (True, False):
        with pytest.raises(ArtifactError, match=f"cannot be used: .*{message}"):
            loaded.compiled(recompile=recompile)


def test_a_donation_that_the_manifest_lacks_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path / "f.olympus", lax.neg, struct(4), donate_argnums=0)
    change_manifest(path, put("arguments", 0, "donated", False))
    with pytest.raises(ArtifactError, match="is donated, and in its manifest it is not"):
        artifact.load(path).compiled()


OTHER_PROGRAMS = {
    "dtype": (lax.neg, struct(8, dtype="int32"), {}, r"'x' as int32\[8\], .* has float32\[8\]"),
    "shape": (lax.neg, struct(2, 4), {}, r"'x' as float32\[2,4\]"),
    "result": (lambda x: lax.lt(x, x), struct(8), {}, r"'result' as bool\[8\]"),
    "results": (lambda x: (x, x), struct(8), {}, "its executable has 2 results"),
    "donation": (lax.neg, struct(8), {"donate_argnums": 0}, "writes results over its arguments"),
}


@pytest.mark.parametrize("name", OTHER_PROGRAMS)
def test_an_executable_of_another_program_is_refused(tmp_path: Path, name: str) -> None:
    function, shape, options, message = OTHER_PROGRAMS[name]
    members = members_of(saved(tmp_path / "g.olympus", function, shape, **options))
    path = saved(tmp_path / "f.olympus", lax.neg, struct(8))
    loaded = artifact.load(replace_member(path, EXECUTABLE, members[EXECUTABLE]))
    for recompile in (True, False):
        with pytest.raises(ArtifactError, match=f"cannot be used: .*{message}"):
            loaded.compiled(recompile=recompile)


@pytest.mark.parametrize("content", [b"", b"module {}", b"garbage", b"ML\xefRgarbage"], ids=repr)
def test_a_program_that_is_not_portable_stablehlo_is_refused(
    bundle: Path, content: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    loaded = artifact.load(replace_member(bundle, PROGRAM, content))
    with pytest.raises(ArtifactError, match="the program is not StableHLO") as caught:
        loaded.compiled()
    assert "\n" not in str(caught.value)
    assert capfd.readouterr().err == ""  # the message of the parser is in the error


def test_a_program_without_a_main_function_is_refused(bundle: Path) -> None:
    from olympus_core.mlir import bindings as mlir

    empty = mlir.portable(mlir.ir.Module.parse("module {}", mlir.context()))
    with pytest.raises(ArtifactError, match="the program has no function 'main'"):
        artifact.load(replace_member(bundle, PROGRAM, empty)).compiled()
