"""Imports of a command without what takes processor time there and is of no use.

Modules make many objects that stay.  The garbage collector counts them and looks through all there
are, again and again, and so takes a tenth of the time that the imports of a command take.

NumPy's OpenBLAS starts threads when it is loaded.  They look for work in a loop before they sleep,
2**26 cycles of the processor's clock each, which is some 25 ms.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager

from olympus_cli import own_process

__all__ = ["unhindered"]

# As a power of 2, the cycles of the clock; 4 is the least.  It is read when the library is loaded:
# https://github.com/OpenMathLib/OpenBLAS/blob/develop/driver/others/openblas_env.c
_TIMEOUT, _LEAST = "OPENBLAS_THREAD_TIMEOUT", "4"


@contextmanager
def unhindered() -> Iterator[None]:
    """A context for imports, without garbage collection and without threads that wait in a loop.

    What there is at its end the collector does not look through again.  The environment is as it
    was then; a timeout of the user's own stays.  In a process that is not the command's own, where
    others have made objects and threads, nothing is changed.

    Example: `with unhindered(): module = importlib.import_module(name)`.
    """
    if not (own_process.is_own() and gc.isenabled()):
        yield
        return
    is_ours = _TIMEOUT not in os.environ
    if is_ours:
        os.environ[_TIMEOUT] = _LEAST
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
        if is_ours:
            del os.environ[_TIMEOUT]
