"""The operations that an Olympuspr may hold, by name: `sin_p`."""

import typing as _typing
from collections.abc import Callable as _Callable

from olympus_core.control.checkpoint import checkpoint_p as _checkpoint_p
from olympus_core.primitive import Primitive as _Primitive
from olympus_core.primitive import op as _op
from olympus_core.submodules import on_demand as _on_demand

remat_p = _checkpoint_p

__all__ = ["remat_p"]

if _typing.TYPE_CHECKING:
    __getattr__: _Callable[[str], _Primitive]
else:
    __getattr__, __dir__ = _on_demand(__name__, others=_op.by_public_name)
