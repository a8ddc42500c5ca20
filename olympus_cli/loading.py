"""Imports of a command without garbage collection, which takes time there and finds nothing.

Modules make many objects that stay.  The collector counts them and looks through all there are,
again and again, and so takes a tenth of the time that the imports of a command take.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from olympus_cli import own_process

__all__ = ["uncollected"]


@contextmanager
def uncollected() -> Iterator[None]:
    """A context for imports; what there is at its end is not looked through again.

    In a process that is not the command's own, the collector is left as it is.

    Example: `with uncollected(): module = importlib.import_module(name)`.
    """
    if not (own_process.is_own() and gc.isenabled()):
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
