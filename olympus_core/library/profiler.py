"""`olympus.profiler`: recordings of a process by XLA's profiler, and names in them.

A recording is a folder for TensorBoard, with a trace that https://ui.perfetto.dev shows.
`olympus profile` measures one program, and needs no folder.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Self

from olympus_core.base.errors import ArgumentError, BackendError, UnsupportedError
from olympus_core.base.source import wraps
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

    @wraps(func)
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
    _check_link("start_trace", create_perfetto_link)
    _start(Path(log_dir), create_perfetto_trace, profiler_options)


def _check_link(function: str, create_perfetto_link: bool) -> None:
    if create_perfetto_link:
        raise UnsupportedError(
            f"{function} does not support create_perfetto_link: it serves no files",
            hint="pass create_perfetto_trace=True, and open the file at https://ui.perfetto.dev",
        )


def _start(folder: Path, with_perfetto: bool, profiler_options: Any) -> Any:
    """Start a recording, and return its session; raise BackendError if one is running."""
    with _lock:
        if _running:
            raise BackendError(
                "Profile has already been started. Only one profile may be run at a time."
            )
        options = _native.ProfileOptions() if profiler_options is None else profiler_options
        session = _native.ProfilerSession(options)
        _running.append(_Running(session, folder, with_perfetto))
        return session


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


class ProfileSession:
    """A recording of this process that is read in it: `start` begins it, and `stop` ends it.

    As a context manager it records a block.  With `log_dir`, `stop` also writes the recording to
    that folder.  The other arguments are those of `start_trace`.  Raises UnsupportedError for
    `create_perfetto_link`, and ArgumentError for `create_perfetto_trace` without a folder.

    >>> with ProfileSession() as session:
    ...     x = numpy.ones(3) + 1
    >>> session.profile_data is None, session.is_running
    (False, False)
    """

    def __init__(
        self,
        log_dir: os.PathLike[str] | str | None = None,
        create_perfetto_link: bool = False,
        create_perfetto_trace: bool = False,
        profiler_options: Any = None,
    ) -> None:
        if create_perfetto_trace and log_dir is None:
            raise ArgumentError("a ProfileSession with create_perfetto_trace needs a log_dir")
        _check_link("ProfileSession", create_perfetto_link)
        self.log_dir = None if log_dir is None else os.fspath(log_dir)
        self.create_perfetto_trace = create_perfetto_trace
        self.profiler_options = profiler_options
        self._session: Any = None
        self._serialized = b""
        self._data: Any = None

    @property
    def is_running(self) -> bool:
        """True from `start` to `stop`."""
        return any(x.session is self._session for x in _running)

    @property
    def profile_data(self) -> Any:
        """The ProfileData of the recording; None before `stop`."""
        return self._data

    def start(self) -> Self:
        """Start the recording; raise BackendError if one is running in this process."""
        self._session = _start(Path(self.log_dir or "."), False, self.profiler_options)
        return self

    def stop(self) -> Any:
        """Stop the recording and return its ProfileData; raise BackendError without one."""
        with _lock:
            if not self.is_running:
                raise BackendError("No profile started")
            _running.clear()
            self._serialized = self._session.stop()
        self._data = ProfileData.from_serialized_xspace(self._serialized)
        if self.log_dir is not None:
            self.export_profile_data(self.log_dir, create_perfetto_trace=self.create_perfetto_trace)
        return self._data

    def export_profile_data(
        self,
        log_dir: os.PathLike[str] | str,
        create_perfetto_link: bool = False,
        create_perfetto_trace: bool = False,
    ) -> None:
        """Write the recording to a folder, as `export_profile_data`."""
        export_profile_data(self, log_dir, create_perfetto_link, create_perfetto_trace)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *exc: object) -> None:
        if self.is_running:
            self.stop()


def export_profile_data(
    profile_data: ProfileSession,
    log_dir: os.PathLike[str] | str,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
) -> None:
    """Write the recording of a `ProfileSession` that has stopped to the folder `log_dir`.

    Raises BackendError for a session that is running or was not started, UnsupportedError for
    `create_perfetto_link`, and ArgumentError for a ProfileData, which the runtime cannot write.

    >>> with ProfileSession() as session:
    ...     x = numpy.ones(3) + 1
    >>> export_profile_data(session, "recording")
    """
    _check_link("export_profile_data", create_perfetto_link)
    if not isinstance(profile_data, ProfileSession):
        raise ArgumentError(
            f"export_profile_data needs a ProfileSession, and got {type(profile_data).__name__}"
        )
    if profile_data.is_running:
        raise BackendError("Cannot export a ProfileSession while it is running. Call stop() first.")
    if profile_data.profile_data is None:
        raise BackendError("No profile data to export. Ensure the session has completed.")
    profile_data._session.export(profile_data._serialized, os.fspath(log_dir))
    if create_perfetto_trace:
        _write_perfetto(Path(log_dir))


def register_subprocess(pid: int, port: int) -> Callable[[], None]:
    """Record a process with this one, by the profiler's server on a port of this machine.

    The other process must have called `start_server`.  A recording of this process then contains
    that of the other one.  Returns a function that ends this.  Raises BackendError if the server
    does not answer, or if the process is registered.

    >>> end = register_subprocess(12345, 9999)
    >>> end()
    """
    try:
        end: Callable[[], None] = _native.register_subprocess(pid, port)
    except RuntimeError as error:
        raise BackendError(f"register_subprocess({pid}, {port}): {error}") from None
    return end


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
