"""The timeline of a profile as a trace file for Perfetto and chrome://tracing.

The format is Chrome's Trace Event Format, which Perfetto documents under "Other trace formats":
complete events ("X") with times in microseconds, and metadata ("M") that name process and threads.
"""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from olympus.analysis import KernelProfile, Profile, Span

_PROCESS = 1
_FIRST_THREAD = 1  # Perfetto treats thread 0 as the idle thread of a kernel
_DIGITS = 3  # of a microsecond: the profiler counts nanoseconds


def trace_bytes(profile: Profile, title: str, *, packed: bool) -> bytes:
    """Return the content of the file, compressed by gzip if `packed` is True.

    The same profile gives the same bytes.
    """
    document = {
        "displayTimeUnit": "ns",
        "otherData": {"producer": "olympus profile", "program": title},
        "traceEvents": trace_events(profile, title),
    }
    content = json.dumps(document, separators=(",", ":"), allow_nan=False).encode()
    return gzip.compress(content, mtime=0) if packed else content


def trace_events(profile: Profile, title: str) -> list[dict[str, Any]]:
    """Return the events; an event of a kernel has its operation, line, scope and pass."""
    places = {kernel.name: _args(kernel) for kernel in profile.kernels}
    events = [_metadata(0, "process_name", title)]
    for thread, name in enumerate(profile.threads):
        events.append(_metadata(thread, "thread_name", name))
    spans = [_span(span, places.get(span.kernel, {})) for span in profile.timeline]
    # in order of start; for an equal start, the enclosing span first
    spans.sort(key=lambda event: (event["ts"], -event["dur"]))
    return events + spans


def _span(span: Span, args: dict[str, Any]) -> dict[str, Any]:
    """Return a complete event.

    Its end is rounded in the same way as its start, so that nested events stay nested.
    """
    start = round(span.start * 1e6, _DIGITS)
    end = round((span.start + span.seconds) * 1e6, _DIGITS)
    return {
        "ph": "X",
        "pid": _PROCESS,
        "tid": _FIRST_THREAD + span.thread,
        "name": span.name,
        "cat": "kernel" if span.kernel else "runtime",
        "ts": start,
        "dur": round(end - start, _DIGITS),
        "args": args,
    }


def _metadata(thread: int, what: str, name: str) -> dict[str, Any]:
    number = _FIRST_THREAD + thread
    return {"ph": "M", "pid": _PROCESS, "tid": number, "name": what, "args": {"name": name}}


def _args(kernel: KernelProfile) -> dict[str, Any]:
    return {
        "operation": kernel.operation,
        "line": kernel.line or "",
        "scope": kernel.scope,
        "pass": "backward" if kernel.backward else "forward",
    }
