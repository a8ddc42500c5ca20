"""XLA's own profiler: the activity of the runtime's threads while a program runs.

A process has one profiler, which takes one recording at a time.
"""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from olympus_core.base.errors import BackendError, UsageError
from olympus_core.xla import bindings  # noqa: F401  (the runtime's log is silent before it is loaded)
from olympus_runtime.messages import clean

_ALL = 2  # the level of the host's events at which the CPU runtime reports every kernel
_CALL = "olympus call"  # the event that a recorded call is
_recording_lock = threading.Lock()
# The key that joins an event with the event of another thread that ends it.
_PRODUCED, _CONSUMED = "_p", "_c"
_KINDS = "_pt", "_ct"
_ENDS = "end: "
_stats_iterators: list[Any] = []


class Event(NamedTuple):
    """An activity of a thread, in seconds since the recording began.

    `end` is the time when the thread finished it, and `until` when all threads finished it: others
    may have continued it. `operation` and `module` are the HLO instruction that ran and its
    program, "" for anything else. `run` distinguishes the runs of a program on a `device`.
    """

    thread: int
    name: str
    start: float
    end: float
    until: float
    operation: str = ""
    module: str = ""
    run: int = 0
    device: int = 0


class Recording(NamedTuple):
    """The recording of one call: its `start` and `end`, the threads by name, the events."""

    start: float
    end: float
    threads: tuple[str, ...]
    events: tuple[Event, ...]

    @property
    def seconds(self) -> float:
        """The duration of the call."""
        return self.end - self.start


def record(call: Callable[[], object]) -> Recording:
    """Call a function, and record the activity of the runtime during the call.

    The call must wait for the work that it starts.

    Raises:
      UsageError: another recording is running in this process.
      BackendError: the profiler failed.
    """
    profiler = profiler_module()
    if not _recording_lock.acquire(blocking=False):
        raise _busy()
    try:
        session = profiler.ProfilerSession(_options(profiler))
        try:
            with profiler.TraceMe(_CALL):
                call()
        except BaseException:
            _discard(session)
            raise
        try:
            data: bytes = session.stop()
        except RuntimeError as exc:
            if "ALREADY_EXISTS" in str(exc):
                raise _busy() from None
            raise BackendError(f"the profiler failed: {clean(exc)}") from None
    finally:
        _recording_lock.release()
    return read_recording(data)


def _busy() -> UsageError:
    return UsageError(
        "a profile is already being recorded in this process",
        hint="the runtime has one profiler: record one profile after the other",
    )


def _discard(session: Any) -> None:
    """End a session whose call failed; the error of the call takes precedence."""
    try:
        session.stop()
    except RuntimeError:
        return


@functools.cache
def profiler_module() -> Any:
    """Return the module of the profiler, which few processes need."""
    import jaxlib._profiler

    return jaxlib._profiler


@functools.cache
def profile_data_module() -> Any:
    """Return the module with the classes that read recordings."""
    import jaxlib._profile_data

    return jaxlib._profile_data


def _options(profiler: Any) -> Any:
    options = profiler.ProfileOptions()
    options.host_tracer_level = _ALL
    options.python_tracer_level = 0
    options.enable_hlo_proto = False
    return options


@functools.cache
def _reader() -> Any:
    """Return the class that reads the data of a session.

    The iterator class for an event's stats is created at its use if none exists. That warns on
    Python 3.12, and ends the process if warnings are errors: it is created here, and a reference is
    stored.
    """
    from jaxlib._profile_data import ProfileData

    text = (
        'planes { lines { events { metadata_id: 1 stats { metadata_id: 1 str_value: "" } } } '
        'event_metadata { key: 1 value { id: 1 } } stat_metadata { key: 1 value { name: "a" } } }'
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        sample = ProfileData.text_proto_to_serialized_xspace(text)
        for plane in ProfileData.from_serialized_xspace(sample).planes:
            for line in plane.lines:
                for event in line.events:
                    _stats_iterators.append(event.stats)
    return ProfileData


def read_recording(data: bytes) -> Recording:
    """Read the recording in the bytes of an XSpace (`tsl/profiler/protobuf/xplane.proto`).

    Raises:
      BackendError: the bytes are not an XSpace, or have no recorded call.
    """
    reader = _reader()
    try:
        planes = reader.from_serialized_xspace(data).planes
    except RuntimeError as exc:
        raise BackendError(f"the profiler's data cannot be read: {clean(exc)}") from None
    threads: list[str] = []
    events: list[Event] = []
    consumed: dict[tuple[int, int], float] = {}
    produced: dict[int, tuple[int, int]] = {}
    for plane in planes:
        for line in plane.lines:
            _read_line(len(threads), line, events, produced, consumed)
            threads.append(_thread(line.name))
    for i, context in produced.items():
        if context in consumed:
            events[i] = events[i]._replace(until=consumed[context])
    calls = [event for event in events if event.name == _CALL]
    if len(calls) != 1:
        raise BackendError(f"the profiler recorded {len(calls)} calls, and must have one")
    (call,) = calls
    return Recording(call.start, call.end, tuple(threads), tuple(events))


def _read_line(
    thread: int,
    line: Any,
    events: list[Event],
    produced: dict[int, tuple[int, int]],
    consumed: dict[tuple[int, int], float],
) -> None:
    """Add the events of one thread, and which of them others end."""
    for raw in line.events:
        name: str = raw.name
        if name.startswith("ThreadpoolListener"):  # it reports work that is handed on, not done
            continue
        start = raw.start_ns / 1e9
        stats = dict(raw.stats)
        if name.startswith(_ENDS):
            consumed[stats.get(_KINDS[1], 0), stats.get(_CONSUMED, 0)] = start
            continue
        if _PRODUCED in stats:
            produced[len(events)] = stats.get(_KINDS[0], 0), stats[_PRODUCED]
        end = start + raw.duration_ns / 1e9
        operation, module = str(stats.get("hlo_op", "")), str(stats.get("hlo_module", ""))
        run, device = stats.get("run_id", 0), stats.get("device_ordinal", 0)
        events.append(Event(thread, name, start, end, end, operation, module, run, device))


def _thread(name: str) -> str:
    """Return the name of a thread without the number that the system gave it.

    >>> _thread("tf_XLAEigen/3724380137316549949")
    'tf_XLAEigen'
    """
    return name.partition("/")[0] or "thread"
