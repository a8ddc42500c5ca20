"""A program of any mesh and sharding is, out of its bundle, the one that was put in."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import olympus
import olympus.numpy as jnp
from olympus import artifact
from tests.artifact.bundles import save
from tests.devices.meshes import Drawn, drawn, ours, parts_by_device
from tests.drawn import examples


@given(drawn(), st.booleans(), st.booleans())
@examples(12)
def test_a_loaded_program_gives_the_results_and_parts_of_the_saved_one(
    case: Drawn, shards_argument: bool, native: bool
) -> None:
    """The argument is sharded if `shards_argument`, otherwise the result."""
    sharding = ours(case.sizes, case.names, case.spec, case.is_reversed)
    shardings = {"in_shardings": sharding} if shards_argument else {"out_shardings": sharding}
    struct = olympus.ShapeDtypeStruct(case.shape, "float32")
    traced = olympus.jit(lambda x: jnp.tanh(x) + jnp.sum(x), **shardings).trace(struct)
    compiled = traced.lower().compile()
    with tempfile.TemporaryDirectory() as folder:
        bundle = artifact.load(save(Path(folder) / "f.olympus", traced), native=native)
        loaded = bundle.compiled()
    assert bundle.num_devices == loaded.num_devices == compiled.num_devices
    value = np.linspace(-1, 1, int(np.prod(case.shape)), dtype=np.float32).reshape(case.shape)
    result, expected = loaded(value), compiled(value)
    np.testing.assert_array_equal(result, expected)
    # the bundle is loaded on the first devices; the parts are the same
    parts, expected_parts = (
        parts_by_device(result.sharding, case.shape),
        parts_by_device(expected.sharding, case.shape),
    )
    assert [*parts.values()] == [*expected_parts.values()]
    from_placed = loaded(olympus.device_put(value, loaded.input_shardings[0][0]))
    np.testing.assert_array_equal(from_placed, expected)
