"""Where programs written for JAX look for what has its place in `olympus` by now."""

import typing as _typing

from olympus_core.context import disable_x64 as disable_x64
from olympus_core.context import enable_x64 as enable_x64
from olympus_core.submodules import on_demand as _on_demand

if _typing.TYPE_CHECKING:
    from olympus.experimental import pjit as pjit
    from olympus.experimental import shard_map as shard_map
else:
    __getattr__, __dir__ = _on_demand(__name__, "pjit", "shard_map")
