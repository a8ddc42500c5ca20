"""JAX's own stages of a function that OLYMPUS has traced."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import olympus as ox
from olympus.errors import BackendError
from olympus.interop import jax as ox_jax

X = np.linspace(-1, 1, 6, dtype=np.float32)


def scaled(params: dict[str, Any], x: Any, n: int) -> dict[str, Any]:
    return {"y": jax.numpy.sin(x * params["w"]) * n}


def test_they_compute_the_function_with_its_statics() -> None:
    traced = ox_jax.trace(scaled, [{"w": X}, X, 3], static_argnums=2)
    stages = ox_jax.own_stages(traced)
    assert stages is not None
    for _ in range(2):  # each stage can be repeated
        stages.trace()
        stages.lower()
        stages.compile()
    args, kwargs = stages.bind([stages.put(X), stages.put(X + 1)])
    assert [*args[0]] == ["w"] and not kwargs
    result = stages.wait(stages(*args, **kwargs))
    np.testing.assert_allclose(result["y"], np.sin(X * (X + 1)) * 3, rtol=1e-6)


def test_bits_become_typed_keys() -> None:
    def noise(key: Any) -> Any:
        return jax.random.normal(key, (3,))

    key = jax.random.key(7)
    stages = ox_jax.own_stages(ox_jax.trace(noise, [key]))
    assert stages is not None
    stages.trace()
    stages.lower()
    stages.compile()
    args, _ = stages.bind([stages.put(np.asarray(jax.random.key_data(key)))])
    np.testing.assert_array_equal(stages(*args), noise(key))


def test_the_persistent_cache_is_not_used_and_its_setting_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[bool] = []

    class Stage:
        def compile(self) -> None:
            seen.append(jax.config.jax_enable_compilation_cache)

    stages = ox_jax.own_stages(ox_jax.trace(jax.numpy.sin, [X]))
    monkeypatch.setattr(stages, "_stage", Stage())
    before = jax.config.jax_enable_compilation_cache
    assert stages is not None
    stages.compile()
    assert seen == [False]
    assert jax.config.jax_enable_compilation_cache is before


def test_a_function_of_olympus_has_none() -> None:
    assert ox_jax.own_stages(ox.jit(ox.numpy.sin).trace(X)) is None


def test_an_absent_backend_is_an_error() -> None:
    traced = ox_jax.trace(jax.numpy.sin, [X])
    with pytest.raises(BackendError, match="JAX has no device of the backend nowhere"):
        ox_jax.own_stages(traced, "nowhere")


def sharded(mesh: Any, x: Any) -> Any:
    rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
    return ox_jax.trace(jax.jit(jax.numpy.tanh, in_shardings=rows), [x])


@pytest.mark.parametrize("is_abstract", [True, False])
@pytest.mark.parametrize("is_reversed", [True, False])
def test_a_program_of_several_devices_runs_on_those_of_jax(
    is_abstract: bool, is_reversed: bool
) -> None:
    devices = jax.devices()[:4][:: -1 if is_reversed else 1]
    mesh: Any = jax.sharding.Mesh(np.array(devices), ("x",))
    x = np.linspace(-1, 1, 8, dtype=np.float32)
    stages = ox_jax.own_stages(sharded(mesh.abstract_mesh if is_abstract else mesh, x))
    assert stages is not None
    stages.trace()
    stages.lower()
    stages.compile()
    (place,) = stages.places()
    array = stages.put(x, place)
    assert len(array.addressable_shards) == 4
    expected = devices if not is_abstract else jax.devices()[:4]
    assert [*array.sharding.mesh.devices.flat] == [*expected]
    args, kwargs = stages.bind([array])
    np.testing.assert_allclose(stages.wait(stages(*args, **kwargs)), np.tanh(x), rtol=1e-6)


def test_more_devices_than_jax_has_are_an_error() -> None:
    mesh = jax.sharding.AbstractMesh((16,), ("x",))
    with pytest.raises(BackendError, match="JAX has 8 of the 16 devices") as caught:
        ox_jax.own_stages(sharded(mesh, np.ones(16, np.float32)))
    assert "JAX_NUM_CPU_DEVICES=16" in str(caught.value.hint)


def test_an_abstract_mesh_in_the_body_alone_is_an_error_of_jax() -> None:
    mesh = jax.sharding.AbstractMesh((4,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    spec = jax.sharding.PartitionSpec("x")
    body = jax.shard_map(
        lambda x: jax.lax.psum_scatter(jax.lax.all_gather(x, "x", tiled=True), "x", tiled=True),
        mesh=mesh, in_specs=spec, out_specs=spec,
    )  # fmt: skip
    stages = ox_jax.own_stages(ox_jax.trace(body, [np.ones(8, np.float32)]))
    assert stages is not None
    stages.trace()
    stages.lower()
    with pytest.raises(BackendError, match="for the devices of its mesh"):
        stages.compile()
