"""Python functions that running programs call, with their arrays' types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from olympus_core import xla
from olympus_core.arrays.device_array import DeviceArray, array_to_numpy
from olympus_core.base import dtypes
from olympus_core.base.avals import ShapedArray, shaped
from olympus_core.base.context import switched
from olympus_core.base.errors import CallbackError
from olympus_core.base.tree import structure

if TYPE_CHECKING:
    from olympus_core.base.tree import PyTreeDef


class HostFunction:
    """A function of the user, with the tree of its arguments; `fixed` are those without arrays.

    It returns a flat list of arrays.  Functions of one object and tree are equal.  `path` is its
    name with its module, for bundles.
    """

    __slots__ = ("fixed", "function", "in_tree", "name", "path")

    def __init__(
        self,
        function: Callable[..., Any],
        in_tree: PyTreeDef,
        name: str,
        path: str,
        fixed: tuple[tuple[int, Any], ...] = (),
    ) -> None:
        self.function = function
        self.in_tree = in_tree
        self.name, self.path = name, path
        self.fixed = fixed

    def _key(self) -> Any:
        return self.function, self.in_tree, tuple([(i, id(x)) for i, x in self.fixed])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HostFunction) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((self.in_tree, len(self.fixed), self.name))

    def __repr__(self) -> str:
        return self.name

    def call(self, arrays: Sequence[Any]) -> Any:
        """Return the result of the function for arrays, which are its leaves in order."""
        leaves = list(arrays)
        for i, value in self.fixed:
            leaves.insert(i, value)
        args, kwargs = self.in_tree.unflatten(leaves)
        return self.function(*args, **kwargs)


class FlatFunction(NamedTuple):
    """A Python function that a module of another tool calls by its index, with NumPy arrays.

    It returns a sequence of arrays. An ordered one takes the value of the order first, and returns
    it first. `path` is its name with its module.
    """

    function: Callable[..., Sequence[Any]]
    name: str
    path: str

    def host_function(self, count: int, is_ordered: bool) -> HostFunction:
        """Return the function of `count` arrays, without the order."""
        called = FlatCall(self.function, is_ordered)
        return HostFunction(called, structure((tuple(range(count)), {})), self.name, self.path)


@dataclass(frozen=True, slots=True)
class FlatCall:
    """The call of such a function with the arrays of a `HostFunction`."""

    function: Callable[..., Sequence[Any]]
    is_ordered: bool

    def __call__(self, *arrays: Any) -> Sequence[Any]:
        values = [array_to_numpy(x) if isinstance(x, DeviceArray) else x for x in arrays]
        if not self.is_ordered:
            return self.function(*values)
        return self.function(None, *values)[1:]


class HostCallee(NamedTuple):
    """A function that a lowered program calls, with the types of its arrays.

    An `is_ordered` one takes the value of the order first, and returns it first.
    """

    function: HostFunction
    has_effects: bool
    ins: tuple[ShapedArray, ...]
    outs: tuple[ShapedArray, ...]
    is_ordered: bool

    def run(self, *values: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], ...]:
        """Call the function with NumPy arrays of a running program, and return its results.

        The arrays of a partitioned call are parts, with shapes that the compiler chose.
        """
        order = values[: self.is_ordered]
        arrays = [
            DeviceArray(aval if x.shape == aval.shape else shaped(x.shape, aval.dtype), xla.put(x))
            for aval, x in zip(self.ins, values[self.is_ordered :], strict=True)
        ]
        with switched("in_host_call", True):
            return (*order, *checked_results(self.function.call(arrays), self.outs))


class BufferCallee(NamedTuple):
    """A function that a lowered program calls with the buffers of arguments and results.

    Its results have the tree `out_tree`: the function writes them, and returns None.
    """

    function: HostFunction
    has_effects: bool
    ins: tuple[ShapedArray, ...]
    outs: tuple[ShapedArray, ...]
    out_tree: PyTreeDef
    is_ordered: bool = False

    def run(self, context: Any, *buffers: Any) -> tuple[()]:
        """Call the function in a running program."""
        count = len(self.ins)
        args, kwargs = self.function.in_tree.unflatten(buffers[:count])
        with switched("in_host_call", True):
            returned: Any = self.function.function(
                context, self.out_tree.unflatten(buffers[count:]), *args, **kwargs
            )
        if returned is not None:
            raise CallbackError("buffer_callback callback must not return any values.")
        return ()


AnyCallee = HostCallee | BufferCallee


def checked_results(
    results: Sequence[Any], avals: Sequence[ShapedArray]
) -> list[np.ndarray[Any, Any]]:
    """Return the results of a function as NumPy arrays of the given types.

    Raises CallbackError for another number, shape or dtype; XLA adds it to the program.s error.
    """
    if len(results) != len(avals):
        raise CallbackError(
            "Mismatched number of outputs from callback. "
            f"Expected: {len(avals)}, Actual: {len(results)}"
        )
    arrays = []
    for i, (x, aval) in enumerate(zip(results, avals, strict=True)):
        array = array_to_numpy(x) if isinstance(x, DeviceArray) else np.asarray(x)
        dtype = dtypes.canonicalize(array.dtype)
        if not (dtype == aval.dtype or array.dtype == aval.dtype):
            raise CallbackError(
                f"Incorrect output dtype for return value #{i}: "
                f"Expected: {aval.dtype}, Actual: {dtype}"
            )
        if array.shape != aval.shape:
            raise CallbackError(
                f"Incorrect output shape for return value #{i}: "
                f"Expected: {aval.shape}, Actual: {array.shape}"
            )
        arrays.append(np.ascontiguousarray(array, aval.dtype).reshape(aval.shape))
    return arrays


def host_calls(callees: Sequence[AnyCallee]) -> xla.HostCalls:
    """Return the functions in the form that the runtime calls."""
    return xla.HostCalls(
        tuple([callee.run for callee in callees]),
        any(callee.has_effects for callee in callees),
        any(callee.is_ordered for callee in callees),
    )
