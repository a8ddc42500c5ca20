"""The conditions and the data of calls that jaxlib makes without Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_core import xla
from olympus_core.arrays.device_array import DeviceArray, put_array
from olympus_core.base import tree
from olympus_core.base.avals import ShapedArray
from olympus_core.base.context import state
from olympus_core.ir.trace import at_base


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
) -> Any:
    """Return the data of later calls with arguments of the same kind; None if Python makes these.

    `constants` precede the arguments, and `out_tree` is the structure of the results.  A constant
    that is an array of the user may be deleted, of which jaxlib would not name the cause.  `hidden`
    are buffers on the device that precede the constants.
    """
    device = executable.device
    if any(x.__class__ is DeviceArray for x in constants):
        return None
    for x in args:
        is_here = x.__class__ is DeviceArray and x.device is device
        if not is_here and not xla.is_direct(x):
            return None
    structure = xla.result_structure(out_tree, out_avals)
    buffers = (*hidden, *[put_array(x, device=device).buffer for x in constants])
    return executable.direct_data(len(args), structure, out_avals, buffers)
