"""Imports of a command without garbage collection, which is of no use there.

Modules make many objects that stay.  The garbage collector counts them and looks through all there
are, again and again, and so takes a tenth of the time that the imports of a command take.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from olympus_cli.process import own_process

__all__ = ["unhindered"]


@contextmanager
def unhindered() -> Iterator[None]:
    """A context for imports, without garbage collection.

    What there is at its end the collector does not look through again.  In a process that is not
    the command's own, where others have made objects, nothing is changed.

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
