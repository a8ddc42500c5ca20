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
from tests.devices.meshes import Drawn, drawn, ours, places
from tests.drawn import examples


@given(drawn(), st.booleans(), st.booleans())
@examples(12)
def test_the_program_is_the_one_that_was_stored(made: Drawn, told: bool, native: bool) -> None:
    """`told` says where the argument lies, else where the result does."""
    where = ours(made.sizes, made.names, made.spec, made.turned)
    shardings = {"in_shardings": where} if told else {"out_shardings": where}
    struct = olympus.ShapeDtypeStruct(made.shape, "float32")
    traced = olympus.jit(lambda x: jnp.tanh(x) + jnp.sum(x), **shardings).trace(struct)
    compiled = traced.lower().compile()
    with tempfile.TemporaryDirectory() as folder:
        bundle = artifact.load(save(Path(folder) / "f.olympus", traced), native=native)
        loaded = bundle.compiled()
    assert bundle.num_devices == loaded.num_devices == compiled.num_devices
    value = np.linspace(-1, 1, int(np.prod(made.shape)), dtype=np.float32).reshape(made.shape)
    found, wanted = loaded(value), compiled(value)
    np.testing.assert_array_equal(found, wanted)
    # the devices of the bundle are the first ones; the parts are the same
    mine, theirs = places(found.sharding, made.shape), places(wanted.sharding, made.shape)
    assert [*mine.values()] == [*theirs.values()]
    again = loaded(olympus.device_put(value, loaded.input_shardings[0][0]))
    np.testing.assert_array_equal(again, wanted)
