"""`olympus.scipy`: functions of SciPy, one namespace for each subject."""

import typing as _typing

from olympus.scipy import linalg as linalg
from olympus.scipy import special as special
from olympus_core.base.lazy_modules import on_demand as _on_demand

if _typing.TYPE_CHECKING:
    from olympus.scipy import cluster as cluster
    from olympus.scipy import fft as fft
    from olympus.scipy import integrate as integrate
    from olympus.scipy import interpolate as interpolate
    from olympus.scipy import ndimage as ndimage
    from olympus.scipy import optimize as optimize
    from olympus.scipy import signal as signal
    from olympus.scipy import sparse as sparse
    from olympus.scipy import spatial as spatial
    from olympus.scipy import stats as stats
else:
    __getattr__, __dir__ = _on_demand(
        __name__,
        "cluster",
        "fft",
        "integrate",
        "interpolate",
        "ndimage",
        "optimize",
        "signal",
        "sparse",
        "spatial",
        "stats",
    )
