"""Leaks: tracers of a transformation that are still referenced after it has ended.

The garbage collector finds the references to the tracers of a trace, so that tracing itself
needs no record of them.
"""

from __future__ import annotations

import gc

from olympus_core.base.context import state
from olympus_core.base.errors import LeakedTracerError
from olympus_core.ir.trace import Trace
from olympus_core.ir.tracer import Tracer


def check_leaks(ended: Trace, what: str) -> None:
    """Raise LeakedTracerError, if `check_tracer_leaks` is on, for a tracer of an ended trace."""
    if not state.check_tracer_leaks:
        return
    gc.collect()
    for x in gc.get_referrers(ended):
        if isinstance(x, Tracer):
            raise LeakedTracerError(
                f"a traced array {x.aval.long_name()} is still held after {what} has ended: "
                f"it is {x.origin()}",
                hint="return values from the function instead of storing them",
            )
