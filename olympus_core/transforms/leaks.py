"""Leaks: values of a transformation that are still held when it has ended.

The garbage collector knows who holds the tracers of a trace, so that tracing itself keeps no
record of them.
"""

from __future__ import annotations

import gc

from olympus_core.context import state
from olympus_core.errors import LeakedTracerError
from olympus_core.trace import Trace
from olympus_core.tracer import Tracer

__all__ = ["check_leaks"]


def check_leaks(ended: Trace, what: str) -> None:
    """Raise LeakedTracerError, where `check_tracer_leaks` is on, if a tracer outlives its trace."""
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
