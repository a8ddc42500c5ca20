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
    these arguments.  If a program ends in its call, a function that reads them in place replaces
    it.  The first arguments that have to be copied bring back a function that copies, for good.
    """
    x.__call__ = _direct_call(name, own, False, False)


def _direct_call(
    name: str,
    own: Callable[[], DirectlyCalled],
    in_place: bool,
    is_last: bool,
    *first: xla.Missed,
) -> Callable[..., Any]:
    """Return a function of jaxlib; `first` is the outcome of its first call."""
    outcomes = list(first)

    def missed(*args: Any, **kwargs: Any) -> xla.Missed:
        if outcomes:
            return outcomes.pop()
        x: Any = own()
        result, data, may_read = x._missed(args, kwargs)
        if data is None or may_read is None or may_read == in_place:
            return result, data, False
        if not is_last:
            outcome = result, data, False
            call = _direct_call(name, own, not in_place, in_place, outcome)
            call(*args, **kwargs)
            x.__call__ = call
        return result, None if in_place else data, False

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
