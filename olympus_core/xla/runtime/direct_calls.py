"""Calls of compiled programs that jaxlib makes without Python, after the first of each kind.

jaxlib finds the program of a call by the types of its arguments, and by the values of its
`Config` objects.  One of these represents the context of the thread: its switches, its mesh, and
whether a transformation runs.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_core.base import context, tree
from olympus_core.base.context import Context, followers, state
from olympus_core.base.errors import InternalError
from olympus_core.xla.bindings import Buffer, Device, _jax
from olympus_core.xla.runtime.arrays import put, sharding_on
from olympus_runtime import buffers
from olympus_runtime.buffers import is_wide

#: the result of a call, the data of the next ones of its kind (None: Python makes them), and True
#: if jaxlib may read their NumPy arrays in place (None: they have none)
Missed = tuple[Any, Any, bool | None]

_SMALL = 32_768  # bytes of an array whose copy takes less time than a step in Python
_ABSENT = object()  # in place of an argument that a call lacks
_EQUAL = object()  # the options of all functions, which are not shared between functions


class _Part(np.ndarray[Any, Any]):
    """The only part of a NumPy array in a call: its class differs from that of an argument."""

    __slots__ = ()


def _copied(x: np.ndarray[Any, Any]) -> tuple[tuple[Any], Any]:
    """Return a copy as the part of an array, because jaxlib may use its memory.

    The caller may change the array while the program runs.
    """
    if x.nbytes > _SMALL and state.trace is Context.trace and _is_ordinary(x.dtype):
        return (put(x),), x.dtype
    return (x.copy().view(_Part),), x.dtype


def _is_ordinary(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "fiub" and dtype.isnative and not is_wide(dtype)


def _never(data: Any, children: Any) -> Any:
    raise InternalError("arguments are not rebuilt")


class _Returned:
    """An array in the structure of a result, which creates it from its buffer."""

    __slots__ = ("aval",)

    def __init__(self, aval: Any) -> None:
        self.aval = aval


def register_array(cls: type) -> None:
    """Make a class of arrays, with the attributes `aval` and `buffer`, one of direct calls."""
    for registry in (tree.call_registry, tree.in_place_registry):
        registry.register_dataclass_node(cls, ["buffer"], ["aval"])
    new: Callable[[type], Any] = object.__new__

    def create(x: Any, parts: tuple[Buffer]) -> Any:
        array = new(cls)  # one frame, where the constructor is a second one
        array.aval, array.buffer = x, parts[0]
        return array

    tree.register_node(_Returned, lambda x: ((0,), x.aval), create)


def result_structure(treedef: tree.PyTreeDef, avals: Sequence[Any]) -> Any:
    """Return the structure that rebuilds a result, with arrays of types `avals`, from buffers."""
    return tree.structure(treedef.unflatten(map(_Returned, avals)))


@functools.lru_cache(maxsize=1024)
def _mark(conditions: tuple[Any, ...]) -> object:
    return object()  # compared by identity, in each call


_BUSY = object()  # a transformation runs, and no call is direct


class _Context:
    """The jaxlib `Config` that represents the context of each thread."""

    def __init__(self) -> None:
        mark = _mark(context.process_conditions())
        self._config = _jax.config.Config("olympus_context", mark, include_in_jit_key=True)
        self._unset = _jax.config.unset

    def follow(self) -> None:
        """Follow a change of the thread's context."""
        if state.trace is not Context.trace:
            self._config.set_local(_BUSY)
            return
        here, process = context.call_conditions(), context.process_conditions()
        self._config.set_local(self._unset if here == process else _mark(here))

    def enter_trace(self) -> Any:
        """Follow a trace that becomes current; the result is for `leave_trace`."""
        return self._config.swap_local(_BUSY)

    def leave_trace(self, before: Any) -> None:
        """Follow the end of a trace."""
        self._config.set_local(before)

    def follow_process(self) -> None:
        """Follow a change of the process's defaults."""
        self._config.set_global(_mark(context.process_conditions()))
        self.follow()


def _install() -> bool:
    """Prepare direct calls; return False if this jaxlib cannot make them."""
    try:
        followed = _Context()
        tree.call_registry.register_node(np.ndarray, _copied, _never)
        buffers.set_states()
    except (AttributeError, TypeError):
        return False
    followers.thread, followers.process = followed.follow, followed.follow_process
    followers.enter_trace, followers.leave_trace = followed.enter_trace, followed.leave_trace
    return True


_is_installed = _install()


def direct_call(
    name: str,
    run: Callable[..., Any],
    missed: Callable[..., Missed],
    in_place: bool = False,
) -> Callable[..., Any]:
    """Return a function that calls `missed` for the first arguments of each kind.

    If `missed` returns the data of the call, from `direct_data`, later calls with such arguments
    in such a context are made without Python.  `run` has the same result; it is called instead if
    this jaxlib cannot make such calls.  NumPy arguments are copied, unless they are read
    `in_place`: see `may_read_in_place`.  Then the caller compares them: see `reading_in_place`.
    """
    if not _is_installed:
        return run
    registry = tree.in_place_registry if in_place else tree.call_registry
    call: Callable[..., Any] = _jax.pjit(name, run, missed, [], [], _EQUAL, registry, _refused)
    return call


def reading_in_place(
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    direct: Callable[..., Any],
    other: Callable[..., Any],
) -> Callable[..., Any]:
    """Return a function that calls `direct` for leaves of the kinds of these arguments, or `other`.

    `direct` is a function of `direct_call` that reads arrays in place.  jaxlib compares their
    shapes and dtypes, but neither the order of their bytes nor subclasses: it would ignore the
    mask of a masked array.  So a kind is whether the order is this machine's, or a class.  One
    comparison of all kinds takes less time than a function of Python for each array.
    """
    leaves, flatten, ndarray = tree.leaves((args, kwargs)), tree.flatten, np.ndarray
    kinds = [x.dtype.isnative if x.__class__ is ndarray else x.__class__ for x in leaves]

    def call_with_trees(*args: Any, **kwargs: Any) -> Any:
        found = flatten((args, kwargs))[0]
        if [x.dtype.isnative if x.__class__ is ndarray else x.__class__ for x in found] == kinds:
            return direct(*args, **kwargs)
        return other(*args, **kwargs)

    def call_with_leaves(*args: Any, **kwargs: Any) -> Any:
        found = [x.dtype.isnative if x.__class__ is ndarray else x.__class__ for x in args]
        if found == kinds and not kwargs:
            return direct(*args)
        return other(*args, **kwargs)

    def call_with_one(x: Any = _ABSENT, /, *rest: Any, **kwargs: Any) -> Any:
        if x.__class__ is ndarray and x.dtype.isnative and not rest and not kwargs:
            return direct(x)
        return other(*_present(x), *rest, **kwargs)

    def call_with_two(x: Any = _ABSENT, y: Any = _ABSENT, /, *rest: Any, **kwargs: Any) -> Any:
        if (
            (x.__class__ is ndarray is y.__class__)
            and (x.dtype.isnative and y.dtype.isnative)
            and not (rest or kwargs)
        ):
            return direct(x, y)
        return other(*_present(x, y), *rest, **kwargs)

    if not (len(args) == len(leaves) and all(map(operator.is_, args, leaves))):
        return call_with_trees
    # In these a list of kinds takes longer than the comparison.
    of_arrays = {(True,): call_with_one, (True, True): call_with_two}
    return of_arrays.get(tuple(kinds), call_with_leaves)


def _present(*args: Any) -> list[Any]:
    return [x for x in args if x is not _ABSENT]


def may_read_in_place(args: Sequence[Any], constants: Sequence[Buffer]) -> bool | None:
    """Return True if jaxlib can read the NumPy arrays without a copy; None if there are none.

    The program must be one that ends in its call (`Executable.ends_in_call`) if its inputs are
    ready.  Arrays on a device may not be, and jaxlib reads large NumPy arrays after the call.
    """
    arrays = [x for x in args if x.__class__ is np.ndarray]
    if not arrays:
        return None
    values = all(is_direct(x) for x in args) and all(x.nbytes <= _SMALL for x in arrays)
    return values and all(x.is_ready() for x in constants)


def _refused(*_: Any) -> Any:
    raise InternalError("jaxlib cannot put the arguments of a direct call on the device")


def is_direct(x: Any) -> bool:
    """Return True for a NumPy value or Python scalar that jaxlib puts on a device as we do."""
    kind = x.__class__
    if kind is np.ndarray or isinstance(x, np.generic):
        dtype: np.dtype[Any] = x.dtype
        return dtype.isnative and (_is_ordinary(dtype) or _is_wide_as_ours(dtype))
    return kind is bool or (kind in (int, float, complex) and _widens_as_we_do())


def _is_wide_as_ours(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "iufc" and _widens_as_we_do()


def _widens_as_we_do() -> bool:
    return buffers.widens() is state.enable_x64


def direct_data(
    raw: Any,
    device: Device,
    num_arguments: int,
    structure: Any,
    results: Sequence[Any],
    constants: tuple[Buffer, ...] = (),
) -> Any:
    """Return the data of direct calls of an executable on a device; see `direct_call`."""
    place = sharding_on(device)
    return buffers.dispatch(raw, place, num_arguments, structure, results, constants)
