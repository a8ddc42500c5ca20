"""`olympus.experimental.compilation_cache`: executables that processes share."""

import typing as _typing

from olympus_core.base.lazy_modules import on_demand as _on_demand

if _typing.TYPE_CHECKING:
    from olympus.experimental.compilation_cache import compilation_cache as compilation_cache
else:
    __getattr__, __dir__ = _on_demand(__name__, "compilation_cache")
