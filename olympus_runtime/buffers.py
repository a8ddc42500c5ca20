"""The classes that jaxlib needs to copy an array to a device and to return results of a program."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from olympus_runtime.bindings import _hlo, _jax

_REPLICATED = _hlo.HloSharding.replicate()


class ArrayType:
    """The shape and dtype that the runtime reads from an abstract value."""

    __slots__ = ("dtype", "shape")
    weak_type = False

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.shape = shape
        self.dtype = dtype


class OneDevice(_jax.SingleDeviceSharding):  # type: ignore[misc]
    """The whole of an array on one device; jaxlib below 0.12 reads these two from a sharding."""

    memory_kind = None

    def _to_xla_hlo_sharding(self, rank: int) -> Any:
        return _REPLICATED


def result_handler(place: OneDevice) -> Any:
    """Return a function that turns one output of an execution on a device into a buffer.

    Its own shape and dtype are never read: the runtime's array has its own.
    """
    aval = ArrayType((), np.dtype(np.float32))
    try:
        return _jax.array_result_handler(aval, place, True, _skip_checks=True)
    except TypeError:  # jaxlib 0.12 removed the argument, and the checks
        return _jax.array_result_handler(aval, place, True)


class Dispatch(NamedTuple):
    """The data of a call that jaxlib makes without Python; it reads these fields by name.

    The buffers `const_args` precede the arguments of the call.
    """

    xla_executable: Any
    out_pytree_def: Any
    in_shardings: tuple[Any, ...]
    out_shardings: tuple[Any, ...]
    out_avals: tuple[Any, ...]
    out_committed: tuple[bool, ...]
    kept_var_bitvec: tuple[bool, ...]
    in_device_local_layouts: tuple[None, ...]
    const_args: tuple[Any, ...] = ()


_registry = _jax.pytree.default_registry()
_states: list[Any] = []


def dispatch(
    raw: Any,
    place: OneDevice,
    num_arguments: int,
    structure: Any,
    results: Sequence[Any],
    constants: tuple[Any, ...] = (),
) -> Dispatch:
    """Return the data of calls with this number of arguments on the device of `place`.

    `structure` rebuilds the result of a call from the buffers of `results`.
    """
    count = len(constants) + num_arguments
    return Dispatch(
        raw,
        structure,
        (place,) * count,
        (place,) * len(results),
        tuple(results),
        (True,) * len(results),
        (True,) * count,
        (None,) * count,
        constants,
    )


def widens() -> bool:
    """Return True if jaxlib keeps the 64 bits of NumPy values and Python scalars in a call."""
    config = sys.modules.get("jax._src.config")
    return bool(_states[1].value if config is None else config.enable_x64.value)


def set_states() -> None:
    """Set the switches that jaxlib reads in a call, as they are by default; JAX sets them too."""
    if _states or "jax._src.config" in sys.modules:
        return
    states = [_jax.config.Config(name, False) for name in ("disable_jit", "enable_x64")]
    states.append(_jax.config.Config("post_hook", None))
    _jax.jax_jit.set_disable_jit_state(states[0])
    _jax.jax_jit.set_enable_x64_state(states[1])
    _jax.jax_jit.set_post_hook_state(states[2])
    _states.extend(states)


def is_wide(dtype: np.dtype[Any]) -> bool:
    """Return True for a dtype that a call in jaxlib may narrow: one of 64 bits."""
    return dtype.kind in "iufc" and dtype.itemsize == (16 if dtype.kind == "c" else 8)


def dispatched(
    raw: Any,
    place: OneDevice,
    num_arguments: int,
    results: Sequence[Any],
    run: Callable[..., tuple[Any, ...]],
    is_known: Callable[[Sequence[Any]], bool],
    constants: tuple[Any, ...] = (),
) -> Callable[..., tuple[Any, ...]]:
    """Return `run`, which runs an executable, as a function that jaxlib calls without Python.

    `run` makes the first call with arguments of one kind: their Python types, dtypes and shapes.
    If `is_known` is True for these, they are buffers on the device of `place`, or NumPy arrays that
    jaxlib does not narrow, in the order of the executable; it makes later calls itself. Both return
    a buffer for each of `results`. The executable may not write over its arguments, which the
    buffers `constants` precede.
    """
    set_states()
    _, structure = _registry.flatten((0,) * len(results))
    data = dispatch(raw, place, num_arguments, structure, results, constants)

    def first(*arrays: Any) -> tuple[Any, ...]:
        return run(*arrays), data if is_known(arrays) else None, False

    def refused(*_: Any) -> Any:
        raise TypeError("jaxlib cannot put these arguments on the device")

    function: Callable[..., tuple[Any, ...]] = _jax.pjit(
        "call", run, first, [], [], object(), _registry, refused
    )
    return function
