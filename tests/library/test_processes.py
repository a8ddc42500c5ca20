"""One process: its number, its listeners, its devices in a mesh."""

from __future__ import annotations

import importlib
import types
from typing import Any

import jax
import jax.dlpack
import numpy as np
import pytest

import olympus as ox
from olympus.errors import ArgumentError, BackendError, ShardingError
from olympus.experimental import mesh_utils


def test_there_is_one_process() -> None:
    assert (ox.process_count(), ox.process_index(), ox.process_indices()) == (1, 0, [0])
    assert not ox.distributed.is_initialized()
    ox.distributed.shutdown()
    with pytest.raises(BackendError, match="programs of several processes"):
        ox.distributed.initialize("localhost:1234", 2, 0)
    assert ox.version.__version__ == ox.__version__


def test_listeners() -> None:
    m, seen = ox.monitoring, []
    kinds = (
        (m.register_event_listener, m.unregister_event_listener, m.record_event, ("a",)),
        (
            m.register_event_duration_secs_listener,
            m.unregister_event_duration_listener,
            m.record_event_duration_secs,
            ("b", 0.5),
        ),
        (
            m.register_event_time_span_listener,
            m.unregister_event_time_span_listener,
            m.record_event_time_span,
            ("c", 1.0, 2.0),
        ),
        (m.register_scalar_listener, m.unregister_scalar_listener, m.record_scalar, ("d", 3)),
    )

    def listener(*args: object, **kwargs: object) -> None:
        seen.append((args, kwargs))

    for register, unregister, record, args in kinds:
        register(listener)
        record(*args, key="value")
        unregister(listener)
        record(*args)
        with pytest.raises(ArgumentError, match="no registered listener"):
            unregister(listener)
    assert seen == [(args, {"key": "value"}) for *_, args in kinds]
    m.register_scalar_listener(listener)
    m.clear_event_listeners()
    m.record_scalar("d", 3)
    assert len(seen) == 4


def test_exchange_of_arrays() -> None:
    for name in ("bool", "int8", "uint64", "bfloat16", "float16", "float64", "complex64", "int4"):
        with ox.enable_x64(True), jax.enable_x64(True):
            dtype = jax.numpy.dtype(name)
            assert ox.dlpack.is_supported_dtype(name) == jax.dlpack.is_supported_dtype(dtype), name
    np.testing.assert_array_equal(ox.dlpack.from_dlpack(np.arange(3.0)), np.arange(3.0))


def test_meshes() -> None:
    devices = [f"d{i}" for i in range(8)]
    assert mesh_utils.create_device_mesh((2, 4), devices).tolist() == [devices[:4], devices[4:]]
    assert list(mesh_utils.create_device_mesh((ox.device_count(),))) == ox.devices()
    with pytest.raises(ShardingError, match="product of mesh_shape"):
        mesh_utils.create_device_mesh((3,), devices)

    class Device:
        def __init__(self, number: int) -> None:
            self.number, self.slice_index, self.process_index = number, number % 2, number // 4

    several = [Device(i) for i in range(8)]
    mesh = mesh_utils.create_hybrid_device_mesh((2, 2), (1, 2), several)
    assert np.vectorize(lambda d: d.number)(mesh).tolist() == [[0, 2, 1, 3], [4, 6, 5, 7]]
    mesh = mesh_utils.create_hybrid_device_mesh((4,), (2,), several, process_is_granule=True)
    assert [d.number for d in mesh] == list(range(8))
    with pytest.raises(ShardingError, match="Number of slices"):
        mesh_utils.create_hybrid_device_mesh((4,), (1,), several)


def test_primitives_of_arrays_of_processes() -> None:
    x, outs = np.arange(8, dtype=np.float32).reshape(8, 1), []
    for package in (ox, jax):
        m = importlib.import_module(f"{package.__name__}.experimental.multihost_utils")
        mesh = package.make_mesh((8,), ("x",), (package.sharding.AxisType.Auto,))
        params = {"global_mesh": mesh, "pspec": m.P("x")}
        p = m.host_local_array_to_global_array_p
        back = m.global_array_to_host_local_array_p.bind
        impls = (m.host_local_array_to_global_array_impl, m.global_array_to_host_local_array_impl)
        for there, here in (impls, (p.bind, back)):
            y = there(x, **params)
            assert y.sharding.shard_shape(y.shape) == (1, 1)
            np.testing.assert_array_equal(here(y, **params), x)
        assert m.ltg_abstract_eval(y, **params).shape == (8, 1)
        assert m.gtl_abstract_eval(y, **params).shape == (8, 1)

        def bound(v: Any, p: Any = p, params: Any = params) -> Any:
            return p.bind(v, **params)

        rows = package.vmap(bound, in_axes=1, out_axes=1)
        assert rows(np.ones((8, 3), np.float32)).shape == (8, 3)
        grad = package.grad(lambda v, f=bound: f(v).sum())
        np.testing.assert_array_equal(grad(x), np.ones_like(x))
        axis = types.SimpleNamespace(spmd_name=None)
        z, d = m.ltg_batcher(False, axis, [x], [1], mesh, m.P("x"))
        assert (z.shape, d) == ((8, 1), 1)
        outs.append(str(m.ProcessFailureError({3})))
    assert outs[0] == outs[1] == "Devices failed: {3}"
