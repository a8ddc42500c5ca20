"""Shardings of GSPMD in files: the same tiles on one mesh, and the values of JAX."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import olympus
from olympus.errors import UsageError
from olympus.interop import stablehlo
from olympus_core.interop.gspmd_shardings import Tiles, tiles_of
from tests.devices.meshes import Drawn, both, drawn, parts_by_device, theirs
from tests.drawn import examples

JP = jax.sharding.PartitionSpec
MESH = both()[1].mesh
RNG = np.random.default_rng(0)
X, W = (RNG.standard_normal((8, 8)).astype(np.float32) for _ in range(2))


def named(*spec: Any) -> Any:
    return jax.sharding.NamedSharding(MESH, JP(*spec))


@pytest.fixture
def gspmd() -> Iterator[None]:
    """JAX partitions with GSPMD."""
    jax.config.update("jax_use_shardy_partitioner", False)
    yield
    jax.config.update("jax_use_shardy_partitioner", True)


@pytest.mark.parametrize(
    ("text", "tiles"),
    [
        ("{replicated}", None),
        ("{devices=[2,4]<=[8]}", Tiles((2, 4), (8,), (0,), False)),
        (
            "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}",
            Tiles((1, 4, 2), (2, 4), (1, 0), True),
        ),
        ("{devices=[2,2]0,1,2,3}", Tiles((2, 2), (4,), (0,), False)),
    ],
)
def test_tiles_are_read(text: str, tiles: Tiles | None) -> None:
    assert tiles_of(text) == tiles


@pytest.mark.parametrize(
    "text",
    [
        "{maximal device=0}",
        "{manual}",
        "{devices=[2,2]0,1,3,2}",
        "{devices=[2,2]<=[4]T(1)}",
        "{devices=[4]<=[8]}",
        "{devices=[,8]<=[8]}",
        "{devices=[0,8]<=[0]}",
        "{devices=[99999999999999999999]<=[99999999999999999999]}",
        "{devices=[2,4]<=[8] last_tile_dims={manual}}",
    ],
)
def test_other_shardings_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"has the sharding \{"):
        tiles_of(text)


def module(*shardings: str, shape: str = "8x8") -> bytes:
    """Return a program whose arguments have these shardings."""
    kind = f"tensor<{shape}xf32>"
    arguments = [f'%a{i}: {kind} {{mhlo.sharding = "{s}"}}' for i, s in enumerate(shardings)]
    return f"""
    func.func @main({", ".join(arguments)}) -> {kind} {{
      return %a0 : {kind}
    }}
    """.encode()


@given(st.lists(drawn(2), min_size=1, max_size=3))
@examples(25)
def test_the_parts_of_arguments_are_those_of_jax(rows: list[Drawn]) -> None:
    """The shardings of one program have the same devices, in order."""
    size = int(np.prod(rows[0].sizes))
    rows = [r for r in rows if int(np.prod(r.sizes)) == size]
    oracles = [theirs(r.sizes, r.names, r.spec) for r in rows]
    shape = (48, 48)
    texts = [str(s._to_xla_hlo_sharding(2)) for s in oracles]
    traced = stablehlo.read(module(*texts, shape="48x48"))
    compiled = traced.lower().compile()
    if compiled.num_devices == 1:  # no array is split
        assert not any("devices=" in text for text in texts)
        return
    for mine, oracle in zip(olympus.tree.leaves(compiled.input_shardings), oracles, strict=True):
        assert parts_by_device(mine, shape) == parts_by_device(oracle, shape)


def layer(x: Any, w: Any) -> Any:
    h = jax.lax.with_sharding_constraint(jnp.tanh(x @ w), named("x", "y"))
    open_ = jax.lax.with_sharding_constraint(h * 2, named(JP.UNCONSTRAINED, "x"))
    return h.sum(), open_, jax.lax.with_sharding_constraint(h, named(("y", "x")))


@pytest.mark.parametrize("as_is", [False, True])
@pytest.mark.parametrize("dialect", ["stablehlo", "hlo"])
def test_a_program_of_jax_has_the_same_values_and_parts(
    dialect: str, as_is: bool, gspmd: None
) -> None:
    options = {
        "in_shardings": (named("x"), named(None, "y")),
        "out_shardings": (None, named("y"), None),
    }
    lowered = jax.jit(layer, **options).lower(X, W)
    traced = stablehlo.read(lowered.as_text(dialect=dialect).encode(), as_is=as_is)
    for mine, oracle in zip(traced.lower().compile()(X, W), lowered.compile()(X, W), strict=True):
        np.testing.assert_allclose(mine, oracle, rtol=1e-5, atol=1e-5)
        assert parts_by_device(mine.sharding, mine.shape) == parts_by_device(
            oracle.sharding, oracle.shape
        )


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (module("{devices=[8,1]<=[8]}", "{devices=[4,1]<=[4]}"), "different numbers of devices"),
        (
            module("{devices=[2,3]<=[2,3]}", "{devices=[3,2]<=[3,2]}", shape="6x6"),
            "not those of one mesh",
        ),
        (module("{devices=[8]<=[8]}"), "a sharding of 1 dimensions"),
    ],
)
def test_programs_without_one_mesh_are_refused(content: bytes, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        stablehlo.read(content)


def test_a_manual_part_is_refused(gspmd: None) -> None:
    text = module("{devices=[8,1]<=[8]}").decode()
    call = "stablehlo.custom_call @SPMDFullToShardShape(%a0) : (tensor<8x8xf32>) -> tensor<1x8xf32>"
    text = text.replace("return", f"%0 = {call}\n return")
    with pytest.raises(UsageError, match="has SPMDFullToShardShape, a manual part of GSPMD"):
        stablehlo.read(text.encode())
