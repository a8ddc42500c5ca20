"""The program of a bundle as a traced function: its signature, lines, blocks and targets."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import olympus as ox
from olympus import artifact
from olympus.errors import ArtifactError, UsageError
from olympus.interop import bundles
from tests.artifact.bundles import mlp, replace_member, save, traced_mlp
from tests.blocks import networks

jnp = ox.numpy
GPU = ox.Target("gpu")


class Pair(NamedTuple):
    first: Any
    second: Any


def saved(path: Path, traced: Any, **options: Any) -> artifact.Bundle:
    return artifact.load(save(path / "f.olympus", traced, **options), native=False)


def test_the_signature_is_that_of_the_manifest(tmp_path: Path) -> None:
    before = traced_mlp().with_donations([1])
    options = {"xla_cpu_enable_fast_math": False}
    after = bundles.trace_bundle(saved(tmp_path, before, compiler_options=options))
    assert after.signature == before.signature._replace(
        compiler_options=tuple(options.items()), result_names=before.result_names, keep_unused=True
    )
    assert after.arg_names == ("params['b']", "params['w']", "x", "scale")
    assert [x.weak_type for x in after.arguments] == [False, False, False, True]
    assert after.donate_argnums == (1,)
    assert after.fun_name == "mlp"


def test_it_computes_the_same_and_results_keep_their_trees(tmp_path: Path) -> None:
    compiled = bundles.trace_bundle(saved(tmp_path, traced_mlp())).lower().compile()
    rng = np.random.default_rng(0)
    w, b, x = (rng.standard_normal((2, 3)).astype(np.float32) for _ in range(3))
    got, want = compiled({"w": w, "b": b}, x, scale=2.0), mlp({"w": w, "b": b}, x, scale=2.0)
    assert got.keys() == want.keys()
    assert type(got["parts"]) is tuple and type(got["parts"][1]) is list
    for mine, other in zip(ox.tree.leaves(got), ox.tree.leaves(want), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-6)


def test_a_namedtuple_and_none_come_back(tmp_path: Path) -> None:
    def swap(pair: Pair, nothing: None) -> Pair:
        return Pair(pair.second, (nothing, pair.first + 1))

    one = np.ones(2, np.float32)
    traced = ox.jit(swap).trace(Pair(one, one * 2), None)
    compiled = bundles.trace_bundle(saved(tmp_path, traced)).lower().compile()
    result = compiled(Pair(one, one * 2), None)
    assert type(result) is Pair and result.second[0] is None
    np.testing.assert_array_equal(result.first, [2, 2])


def test_the_module_is_that_of_the_function(tmp_path: Path) -> None:
    before = traced_mlp()
    after = bundles.trace_bundle(saved(tmp_path, before))
    assert after.lower().as_text() == before.lower().as_text()
    assert after.lower(GPU).as_text() == before.lower(GPU).as_text()


def test_operations_have_the_lines_and_scopes_of_the_bundle(tmp_path: Path) -> None:
    def f(x: Any) -> Any:
        with ox.named_scope("outer"):
            return jnp.sin(x)

    traced = ox.jit(f).trace(np.ones(3, np.float32))
    folder = Path(__file__).parent
    after = bundles.trace_bundle(saved(tmp_path, traced, root=folder))
    line = f.__code__.co_firstlineno + 2
    (row,) = after.cost().by("line")
    assert row.key == f"{Path(__file__).name}:{line}"
    (row,) = after.cost().by("scope")
    assert row.key == "outer"
    without = saved(tmp_path, traced)
    assert [row.key for row in bundles.trace_bundle(without).cost().by("line")] != [row.key]


def test_repeated_blocks_are_blocks_again(tmp_path: Path) -> None:
    before = ox.jit(networks.forward).trace(networks.params(8), networks.X)
    assert before.lower().blocks
    bundle = saved(tmp_path, before)
    after = bundles.trace_bundle(bundle)
    found = [(x.equations, x.occurrences) for x in after.lower().blocks]
    assert [occurrences for _, occurrences in found] == [8]
    assert "inlineable" in after.lower().as_text()
    for lowered in (after.lower(repeats="off"), after.lower(GPU)):
        assert not lowered.blocks
        assert "inlineable" not in lowered.as_text()
    products = [x.lower(GPU).as_text().count("dot_general") for x in (after, before)]
    assert products[0] == products[1] > 8
    as_is = bundles.trace_bundle(bundle, as_is=True)
    assert "inlineable" in as_is.lower().as_text()
    with pytest.raises(UsageError, match="compiled unchanged, because it is read with as_is"):
        _ = as_is.olympuspr


def test_lapack_stays_on_the_cpu(tmp_path: Path) -> None:
    traced = ox.jit(jnp.linalg.solve).trace(*(np.eye(3, dtype=np.float32),) * 2)
    bundle = saved(tmp_path, traced, entry="net:solve")
    after = bundles.trace_bundle(bundle)
    assert "lapack_sgetrf_ffi" in after.lower().as_text()
    assert "lapack" not in after.lower(GPU).as_text()  # it has our own decomposition
    unchanged = bundles.trace_bundle(bundle, as_is=True)
    assert "lapack_sgetrf_ffi" in unchanged.lower().as_text()
    with pytest.raises(ArtifactError) as caught:
        unchanged.lower(GPU)
    assert "for gpu: it calls lapack_sgetrf_ffi, which only cpu has" in str(caught.value)
    assert caught.value.hint is not None and "net:solve" in caught.value.hint


def test_a_backend_has_the_program_that_was_lowered_for_it(tmp_path: Path) -> None:
    traced = ox.jit(jnp.linalg.solve).trace(*(np.eye(3, dtype=np.float32),) * 2)
    cpu, gpu = traced.lower(), traced.lower(GPU)
    path = tmp_path / "f.olympus"
    text = str(traced.olympuspr)
    artifact.save(
        path, cpu.compile(), lowered=[cpu, gpu], olympuspr_text=text, name="f", entry="m:f"
    )
    bundle = artifact.load(path)
    for backend in ("cpu", "gpu"):
        after = bundles.trace_bundle(bundle, backend)
        assert "lapack" in after.lower(ox.Target("cpu")).as_text()
        assert "lapack" not in after.lower(GPU).as_text()
        assert ("lapack" in str(after.olympuspr)) == (backend == "cpu")
    assert "lapack" not in bundles.trace_bundle(bundle).lower(lowering_platforms="cuda").as_text()


def test_a_manifest_of_another_program_is_refused(tmp_path: Path) -> None:
    bundle = saved(tmp_path, traced_mlp())
    other = ox.jit(jnp.sin).trace(np.ones(3, np.float32)).lower().bytecode()
    replace_member(bundle.path, "program.stablehlo.bc", other)
    with pytest.raises(ArtifactError, match=r"f\.olympus cannot be used: its StableHLO has"):
        bundles.trace_bundle(artifact.load(bundle.path))
