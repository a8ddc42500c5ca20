"""`olympus.scipy`: functions of SciPy, one namespace for each subject."""

import typing as _typing

from olympus.scipy import linalg as linalg
from olympus.scipy import special as special
from olympus_core.base.lazy_modules import on_demand as _on_demand

if _typing.TYPE_CHECKING:
    from olympus.scipy import stats as stats
else:
    __getattr__, __dir__ = _on_demand(__name__, "stats")
