"""The formats of arrays and of the arguments and results of a compiled program."""

from __future__ import annotations

from typing import Any

import jax
import jax.experimental.layout
import numpy as np
import pytest

import olympus as ox
import olympus.experimental.layout
from olympus import artifact

X = np.ones((2, 3), np.float32)
BOTH = pytest.mark.parametrize("jx", [ox, jax], ids=["olympus", "jax"])


@BOTH
def test_arrays_are_row_major(jx: Any) -> None:
    layout = jx.experimental.layout
    compiled = jx.jit(lambda x, s: {"y": x * s}).lower(X, s=2.0).compile()
    args, kwargs = compiled.input_formats
    for each, rank in ((args[0], 2), (kwargs["s"], 0), (compiled.output_formats["y"], 2),
                       (compiled(X, s=2.0)["y"].format, 2)):  # fmt: skip
        assert isinstance(each, layout.Format)
        assert each.layout == layout.Layout(tuple(range(rank)), ())
        assert each.sharding.device_set == {jx.devices()[0]}


@BOTH
@pytest.mark.filterwarnings("ignore:backend and device argument on jit:DeprecationWarning")
def test_jit_for_a_device(jx: Any) -> None:
    device = jx.devices()[-1]
    for options in ({"device": device}, {"backend": "cpu"}):
        y = jx.jit(lambda x: x + 1, **options)(X)
        np.testing.assert_array_equal(y, X + 1)
    assert jx.jit(lambda x: x + 1, device=device)(X).devices() == {device}
    with pytest.raises(ValueError, match="backend or device is specified on jit"):
        jx.jit(lambda x: x, device=device, in_shardings=jx.sharding.SingleDeviceSharding(device))
    with pytest.raises(ValueError, match="can't specify both a device and a backend"):
        jx.jit(lambda x: x, device=device, backend="cpu")


def test_jit_for_a_device_is_deprecated() -> None:
    with pytest.warns(DeprecationWarning, match="put the arguments on the device"):
        ox.jit(lambda x: x, backend="cpu")


def test_arrays_have_the_strides_of_their_layout() -> None:
    """The elements are in this order in memory, and not only by name."""
    layout = olympus.experimental.layout
    columns = layout.Format(
        layout.Layout((1, 0)), ox.sharding.SingleDeviceSharding(ox.devices()[0])
    )
    x = ox.device_put(X, columns)
    result = ox.jit(lambda x: x + 1, out_shardings=columns)(X)
    for each, expected in ((x, X), (result, X + 1)):
        assert each.format.layout.major_to_minor == (1, 0)
        assert np.asarray(each).strides == (4, 8)
        np.testing.assert_array_equal(each, expected)
    assert np.asarray(x + 1).strides == (12, 4)


def test_layouts_that_are_refused(tmp_path: Any) -> None:
    layout = olympus.experimental.layout
    one = ox.sharding.SingleDeviceSharding(ox.devices()[0])
    tiled = layout.Format(layout.Layout((0, 1), ((8, 128),)), one)
    with pytest.raises(ox.errors.UnsupportedError, match="arrays have no tiles in memory"):
        ox.device_put(X, tiled)
    columns = layout.Format(layout.Layout((1, 0)), one)
    lowered = ox.jit(lambda x: x * 2, in_shardings=columns).lower(X)
    with pytest.raises(ox.errors.UnsupportedError, match="row-major order alone"):
        artifact.save(tmp_path / "columns.olympus", lowered.compile(), lowered=lowered,
                      olympuspr_text="", name="columns", entry="m:f")  # fmt: skip
