"""`olympus.example_libraries`: small libraries, of layers (`stax`) and of optimizers."""

import typing as _typing

from olympus_core.base.lazy_modules import on_demand as _on_demand

if _typing.TYPE_CHECKING:
    from olympus.example_libraries import optimizers as optimizers
    from olympus.example_libraries import stax as stax
else:
    __getattr__, __dir__ = _on_demand(__name__, "optimizers", "stax")
