"""The conditions and the data of calls that jaxlib makes without Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from olympus_core import xla
from olympus_core.arrays.device_array import DeviceArray, put_array
from olympus_core.base import tree
from olympus_core.base.avals import ShapedArray
from olympus_core.base.context import state
from olympus_core.ir.trace import at_base


class DirectlyCalled(Protocol):
    """An object whose attribute `__call__` is a function of jaxlib; see `set_direct_call`."""

    def _missed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> xla.Missed: ...


def set_direct_call(x: Any, name: str, own: Callable[[], DirectlyCalled]) -> None:
    """Make `x.__call__` a function of jaxlib that calls `_missed` for new kinds of arguments.

    `own` returns `x`, without a reference to it, or an equal object if only the function is left.

    The caller of a program may change a NumPy array while the program runs, so the function copies
    these arguments.  For the first kind of arguments whose program ends in its call, a function
    that reads them in place precedes it.
    """
    tries_in_place = True

    def missed(*args: Any, **kwargs: Any) -> xla.Missed:
        nonlocal tries_in_place
        called: Any = own()
        result, data, may_read = called._missed(args, kwargs)
        if tries_in_place and may_read and data is not None:
            tries_in_place = False
            if hasattr(called, "__call__"):  # noqa: B004  (an attribute, which may be unset)
                _read_in_place(called, name, own, args, kwargs, (result, data, False))
        return result, data, False

    x.__call__ = _direct_call(name, missed)


def _read_in_place(
    x: Any,
    name: str,
    own: Callable[[], DirectlyCalled],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    first: xla.Missed,
) -> None:
    """Make `x.__call__` read NumPy arrays in place in calls with arguments of these kinds.

    `first` is the outcome of the call with them.  Others call the present `x.__call__`, which
    copies.  The first arguments of these kinds that have to be copied bring it back, for good.
    """
    copying, outcomes = x.__call__, [first]

    def missed(*args: Any, **kwargs: Any) -> xla.Missed:
        if outcomes:
            return outcomes.pop()
        called: Any = own()
        result, data, may_read = called._missed(args, kwargs)
        if data is not None and not may_read:
            called.__call__, data = copying, None
        return result, data, False

    direct = _direct_call(name, missed, in_place=True)
    direct(*args, **kwargs)
    x.__call__ = xla.reading_in_place(args, kwargs, direct, copying)


def _direct_call(
    name: str, missed: Callable[..., xla.Missed], in_place: bool = False
) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        return missed(*args, **kwargs)[0]

    return xla.direct_call(name, run, missed, in_place)


def is_undisturbed() -> bool:
    """Return True if a call only runs its program: nothing checks its values and its copies."""
    return (
        at_base()
        and not (state.debug_nans or state.debug_infs or state.no_execution)
        and state.transfer_guard_host_to_device == "allow"
    )


def program_data(
    executable: xla.Executable,
    constants: Sequence[Any],
    args: Sequence[Any],
    out_tree: tree.PyTreeDef,
    out_avals: Sequence[ShapedArray],
    hidden: tuple[xla.Buffer, ...] = (),
) -> tuple[Any, bool | None]:
    """Return the data of later calls with arguments of the same kind; None if Python makes these.

    The second result is True if jaxlib may read their NumPy arrays in place, and None if there are
    none.  `constants` precede the arguments, and `out_tree` is the structure of the results.  A
    constant that is an array of the user may be deleted, of which jaxlib would not name the cause.
    `hidden` are buffers on the device that precede the constants.
    """
    device = executable.device
    if any(x.__class__ is DeviceArray for x in constants):
        return None, False
    for x in args:
        is_here = x.__class__ is DeviceArray and x.device is device
        if not is_here and not xla.is_direct(x):
            return None, False
    structure = xla.result_structure(out_tree, out_avals)
    buffers = (*hidden, *[put_array(x, device=device).buffer for x in constants])
    in_place = xla.may_read_in_place(args, buffers) and executable.ends_in_call
    return executable.direct_data(len(args), structure, out_avals, buffers), in_place
