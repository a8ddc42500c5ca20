"""A loaded bundle computes the same results as the saved program, and describes itself alike."""

from __future__ import annotations

import collections
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import olympus
from olympus import artifact, lax, tree
from olympus.errors import ArtifactError, SignatureError, UsageError
from tests.artifact.bundles import change_manifest, mlp, replace_member, save, struct, traced_mlp

X = np.arange(6, dtype="float32").reshape(2, 3)
ARGS = ({"w": X / 10, "b": X - 2}, X + 1)


def require_another_processor(data: dict[str, Any]) -> None:
    data["executables"][0]["host"]["cpu_features"].append("avx8192")


def check(compiled: Any) -> None:
    result, expected = compiled(*ARGS, scale=3.0), mlp(*ARGS, scale=3.0)
    assert tree.structure(result) == tree.structure(expected)
    for leaf, expected_leaf in zip(tree.leaves(result), tree.leaves(expected), strict=True):
        np.testing.assert_allclose(leaf, expected_leaf, rtol=1e-6)


def test_a_bundle_is_loaded_and_called(bundle: Path) -> None:
    check(artifact.load(bundle).compiled(recompile=False))


def test_a_bundle_of_another_processor_is_recompiled(bundle: Path) -> None:
    change_manifest(bundle, require_another_processor)
    check(artifact.load(bundle).compiled())


def test_a_bundle_is_recompiled_if_the_runtime_refuses_the_executable(bundle: Path) -> None:
    loaded = artifact.load(replace_member(bundle, "executables/cpu.bin", b"not a program"))
    with pytest.raises(ArtifactError, match="cannot be loaded"):
        loaded.compiled(recompile=False)
    check(loaded.compiled())


def test_a_loaded_program_has_the_attributes_of_the_stages(bundle: Path) -> None:
    traced, compiled = traced_mlp(), artifact.load(bundle).compiled()
    for attribute in ("fun_name", "arg_names", "in_tree", "out_tree", "in_avals", "out_avals"):
        assert getattr(compiled, attribute) == getattr(traced, attribute)
    assert str(compiled.args_info) == str(traced.args_info)
    assert str(compiled.out_info) == str(traced.out_info)
    assert "weak_type=True" not in str(compiled.out_info["out"])


def test_weak_types_are_saved(tmp_path: Path) -> None:
    path = save(tmp_path / "f.olympus", olympus.jit(lambda x, y: (lax.mul(x, 2), y)).trace(1, 2.0))
    compiled = artifact.load(path).compiled()
    avals = olympus.tree.leaves((compiled.in_avals, compiled.out_avals))
    assert [aval.weak_type for aval in avals] == [True] * 4
    assert [repr(x) for x in compiled(3, 4.0)] == [
        "Array(6, dtype=int32, weak_type=True)",
        "Array(4., dtype=float32, weak_type=True)",
    ]


def test_wrong_arguments_are_refused_by_name(bundle: Path) -> None:
    with pytest.raises(SignatureError, match=r"Argument 'x' compiled with float32\[2,3\]"):
        artifact.load(bundle).compiled()(ARGS[0], np.ones((5, 3), "float32"), scale=1.0)


@pytest.mark.parametrize(
    "change", [lambda data: None, require_another_processor], ids=["loaded", "compiled"]
)
def test_donated_arguments_are_donated(tmp_path: Path, change: Any) -> None:
    traced = olympus.jit(lax.add, donate_argnums=0).trace(struct(64), struct(64))
    path = change_manifest(save(tmp_path / "f.olympus", traced), change)
    bundle = artifact.load(path)
    assert [a.donated for a in bundle.manifest.signature.arguments] == [True, False]
    compiled = bundle.compiled()
    assert compiled.donate_argnums == (0,)
    x, y = (olympus.device_put(np.ones(64, "float32")) for _ in range(2))
    np.testing.assert_array_equal(compiled(x, y), np.full(64, 2.0))
    assert x.is_deleted() and not y.is_deleted()


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "int4", "bool", "complex64"])
def test_arrays_of_a_dtype_are_passed_and_returned(tmp_path: Path, dtype: str) -> None:
    traced = olympus.jit(lambda x: [x]).trace(struct(4, dtype=dtype))
    compiled = artifact.load(save(tmp_path / "f.olympus", traced)).compiled()
    value = np.array([0, 1, 1, 0]).astype(struct(dtype=dtype).dtype)
    (same,) = compiled(value)
    assert same.dtype == value.dtype
    np.testing.assert_array_equal(np.asarray(same), value)


def test_programs_without_arguments_or_results_are_called(tmp_path: Path) -> None:
    nothing = artifact.load(save(tmp_path / "f.olympus", olympus.jit(lambda: ()).trace()))
    assert nothing.compiled()() == ()
    constant = artifact.load(save(tmp_path / "g.olympus", olympus.jit(lambda: 7).trace()))
    assert int(constant.compiled()()) == 7


def test_compiler_options_are_saved_and_used_to_recompile(tmp_path: Path) -> None:
    options = {"xla_cpu_enable_fast_math": True}
    traced = olympus.jit(lax.exp).trace(struct(2))
    path = save(tmp_path / "f.olympus", traced, compiler_options=options)
    assert artifact.load(path).manifest.compiler_options == options
    change_manifest(path, require_another_processor)
    assert artifact.load(path).compiled()(np.zeros(2, "float32")).tolist() == [1, 1]


def test_forbidden_compiler_options_are_refused(tmp_path: Path) -> None:
    path = save(tmp_path / "f.olympus", olympus.jit(lax.exp).trace(struct(2)))
    change_manifest(path, require_another_processor)
    written = tmp_path / "written"
    bad = {"xla_dump_to": str(written)}, {"xla_cpu_parallel_codegen_split_count": -1}
    for options in bad:
        change_manifest(path, lambda data, new=options: data.update(compiler_options=new))
        with pytest.raises(ArtifactError, match="compiler_options cannot be used: ") as caught:
            artifact.load(path)
        assert next(iter(options)) in str(caught.value) and caught.value.exit_code == 5
    assert not written.exists()
    with pytest.raises(UsageError, match="'xla_dump_to' is not a compiler option"):
        save(path, olympus.jit(lax.exp).trace(struct(2)), compiler_options=bad[0])


Point = collections.namedtuple("Point", "x y")


def test_a_namedtuple_whose_class_is_imported_is_returned(tmp_path: Path) -> None:
    traced = olympus.jit(lambda p: Point(p.y, p.x)).trace(Point(struct(1), struct(2)))
    compiled = artifact.load(save(tmp_path / "f.olympus", traced)).compiled()
    result = compiled(Point(np.zeros(1, "f4"), np.ones(2, "f4")))
    assert isinstance(result, Point) and result.x.shape == (2,)


def test_a_program_in_float64_is_saved(tmp_path: Path) -> None:
    with olympus.enable_x64():
        traced = olympus.jit(lambda x: lax.mul(x, 2.0)).trace(struct(2, dtype="float64"))
        path = save(tmp_path / "f.olympus", traced)
        result = artifact.load(path).compiled()(np.array([1e-300, 1.0]))
    np.testing.assert_array_equal(result, [2e-300, 2.0])


def test_random_keys_are_arguments_and_results(tmp_path: Path) -> None:
    def draw(key: Any) -> Any:
        return olympus.random.split(key)[0], olympus.random.normal(key, (3,))

    key = olympus.random.key(7)
    path = save(tmp_path / "f.olympus", olympus.jit(draw).trace(key))
    next_key, drawn = artifact.load(path).compiled()(key)
    assert str(next_key) == str(draw(key)[0])
    np.testing.assert_allclose(drawn, draw(key)[1], rtol=1e-6)
