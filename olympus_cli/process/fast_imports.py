"""Imports of a command without garbage collection, which frees nothing there.

Modules create many objects that are never freed.  The garbage collector traverses them again and
again, which takes a tenth of the time of a command's imports.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from olympus_cli.process import own_process


@contextmanager
def unhindered() -> Iterator[None]:
    """A context for imports, without garbage collection.

    Afterwards the collector ignores the objects that exist at the end of the context.  In a process
    that is not the command's own, which has other objects, the context does nothing.

    Example: `with unhindered(): module = importlib.import_module(name)`.
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
