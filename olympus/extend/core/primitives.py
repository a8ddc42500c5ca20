"""The primitives of an Olympuspr, by name: `sin_p`."""

import typing as _typing
from collections.abc import Callable as _Callable

from olympus_core.base.lazy_modules import on_demand as _on_demand
from olympus_core.control.checkpoint import checkpoint_p as _checkpoint_p
from olympus_core.ir.primitive import Primitive as _Primitive
from olympus_core.ir.primitive import op as _op

remat_p = _checkpoint_p

__all__ = ["remat_p"]

if _typing.TYPE_CHECKING:
    __getattr__: _Callable[[str], _Primitive]
else:
    __getattr__, __dir__ = _on_demand(__name__, others=_op.by_public_name)
