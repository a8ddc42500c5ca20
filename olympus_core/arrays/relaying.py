"""The elements of arrays in another order in memory."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from olympus_core import xla
from olympus_core.base.avals import ShapedArray, shaped
from olympus_core.mlir import bindings as mlir
from olympus_core.placement.layout import layout_mode
from olympus_core.placement.sharding import Sharding

#: the axes in the order of memory, the slowest first: of an array, and of the result
Orders = tuple[tuple[int, ...], tuple[int, ...]]


def relaid(
    aval: ShapedArray, sharding: Sharding, shards: Sequence[xla.Buffer], orders: Orders
) -> xla.Buffer:
    """Return a Buffer of the same elements in another order in memory.

    `shards` are the parts of the devices of `sharding`, in the first one of `orders`.
    """
    part = shaped(sharding.shard_shape(aval.shape), aval.dtype)
    devices = sharding.devices
    program = _program(part, orders, tuple(devices))
    whole = xla.assembled_on(part.shape, part.dtype, devices, shards)
    parts = program.run([whole]).disassemble_into_single_device_arrays()[0]
    return xla.assembled(aval.shape, aval.dtype, sharding, parts)


@functools.lru_cache(maxsize=1024)
def _program(part: ShapedArray, orders: Orders, devices: tuple[Any, ...]) -> xla.Executable:
    """Return the identity of an array on each device, with other layouts of operand and result."""
    kind = mlir.tensor_type(part)
    modes = [f'{kind} {{mhlo.layout_mode = "{layout_mode(order)}"}}' for order in orders]
    text = f"""
module @relaid {{
  func.func public @main(%x: {modes[0]}) -> ({modes[1]}) {{
    return %x : {kind}
  }}
}}
"""
    executable = xla.compile(text.encode(), xla.Target("cpu"), grid=devices)
    assert isinstance(executable, xla.Executable)
    return executable
