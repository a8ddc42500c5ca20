"""`olympus.profiler`: recordings of a process by XLA's profiler, and names in them.

A recording is a folder for TensorBoard, with a trace that https://ui.perfetto.dev shows.
`olympus profile` measures one program, and needs no folder.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from olympus_core.base.errors import ArgumentError, BackendError, UnsupportedError
from olympus_core.xla import devices
from olympus_core.xla.runtime.profiler import profile_data_module, profiler_module

_native = profiler_module()

ProfileOptions = _native.ProfileOptions
_data = profile_data_module()
ProfileData, ProfileEvent = _data.ProfileData, _data.ProfileEvent
ProfileLine, ProfilePlane = _data.ProfileLine, _data.ProfilePlane


class _Running(NamedTuple):
    """A recording that has started."""

    session: Any
    folder: Path
    with_perfetto: bool


_running: list[_Running] = []
_lock = threading.Lock()


class TraceAnnotation(_native.TraceMe):  # type: ignore[misc,name-defined]
    """A context manager that names the part of a recording in which its block runs.

    >>> with TraceAnnotation("load", step=3):
    ...     total = 1 + 1
    """


class StepTraceAnnotation(TraceAnnotation):
    """A context manager that marks one step of a loop in a recording.

    >>> with StepTraceAnnotation("train", step_num=3):
    ...     total = 1 + 1
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        super().__init__(name, _r=1, **kwargs)


def annotate_function(
    func: Callable[..., Any], name: str | None = None, **decorator_kwargs: Any
) -> Callable[..., Any]:
    """Return a function whose calls have a name in a recording, by default its own.

    >>> annotate_function(lambda x: x + 1, name="add one")(2)
    3
    """
    label = name or getattr(func, "__qualname__", None) or func.__name__

    @functools.wraps(func)
    def annotated(*args: Any, **kwargs: Any) -> Any:
        with TraceAnnotation(label, **decorator_kwargs):
            return func(*args, **kwargs)

    return annotated


def start_trace(
    log_dir: os.PathLike[str] | str,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: Any = None,
) -> None:
    """Start a recording of this process, which `stop_trace` writes to the folder `log_dir`.

    create_perfetto_trace: True to write `perfetto_trace.json.gz` too. profiler_options: a
    `ProfileOptions`.

    Raises UnsupportedError for `create_perfetto_link`, which needs a server in this process, and
    BackendError if a recording is running.

    >>> start_trace("recording")
    >>> stop_trace()
    """
    if create_perfetto_link:
        raise UnsupportedError(
            "start_trace does not support create_perfetto_link: it serves no files",
            hint="pass create_perfetto_trace=True, and open the file at https://ui.perfetto.dev",
        )
    with _lock:
        if _running:
            raise BackendError(
                "Profile has already been started. Only one profile may be run at a time."
            )
        options = _native.ProfileOptions() if profiler_options is None else profiler_options
        session = _native.ProfilerSession(options)
        _running.append(_Running(session, Path(log_dir), create_perfetto_trace))


def stop_trace() -> None:
    """Stop the recording, and write it to its folder.

    Raises BackendError if no recording is running.

    >>> start_trace("recording")
    >>> stop_trace()
    """
    with _lock:
        if not _running:
            raise BackendError("No profile started")
        running = _running.pop()
        running.session.stop_and_export(str(running.folder))
        if running.with_perfetto:
            _write_perfetto(running.folder)


def _write_perfetto(folder: Path) -> None:
    """Write the trace of the last recording of a folder without its metadata."""
    runs = (folder / "plugins" / "profile").iterdir()
    latest = max(runs, key=lambda path: path.stat().st_mtime)
    (source,) = latest.glob("*.trace.json.gz")
    with gzip.open(source, "rb") as stream:
        data = json.load(stream)
    data.pop("metadata", None)
    with gzip.open(latest / "perfetto_trace.json.gz", "wb") as stream:
        stream.write(json.dumps(data).encode())


@contextlib.contextmanager
def trace(
    log_dir: os.PathLike[str] | str,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: Any = None,
) -> Iterator[None]:
    """Record a block of code; the arguments and errors are those of `start_trace`.

    >>> with trace("recording"):
    ...     total = 1 + 1
    """
    start_trace(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    try:
        yield
    finally:
        stop_trace()


_servers: list[Any] = []


def start_server(port: int, requires_backend: bool = True) -> Any:
    """Start a server on a port, from which TensorBoard records this process, and return it.

    requires_backend: start the runtime of the CPU first.  Raises ArgumentError if a server of the
    process is running.

    >>> server = start_server(9012)
    """
    if _servers:
        raise ArgumentError("only one profiler server can be active at a time: call stop_server")
    if requires_backend:
        devices(None)
    _servers.append(_native.start_server(port))
    return _servers[0]


def stop_server() -> None:
    """Stop the server of this process; raise ArgumentError if none is running.

    >>> stop_server()
    """
    if not _servers:
        raise ArgumentError("no active profiler server: call start_server")
    _servers.clear()


def device_memory_profile(backend: str | None = None) -> bytes:
    """Return the live arrays and programs of a platform as a compressed profile of `pprof`.

    >>> device_memory_profile()[:2]
    b'\x1f\x8b'
    """
    return gzip.compress(devices(backend)[0].client.heap_profile())


def save_device_memory_profile(
    filename: str | os.PathLike[str], backend: str | None = None
) -> None:
    """Write `device_memory_profile` to a file.

    >>> save_device_memory_profile("memory.prof")
    """
    Path(filename).write_bytes(device_memory_profile(backend))
