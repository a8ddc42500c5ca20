"""The recorder of what a program reads: audit events, and the calls of replaced functions.

A source that has no state to compare, such as the clock, is recorded with the line of the program
that reads it. What a library reads for itself, such as the clock for its log, is not recorded.
Reads by native code have no event: `NATIVE_READERS` are packages that read files in this way.
"""

from __future__ import annotations

import functools
import os
import sys
import time
from collections.abc import Iterator
from importlib.util import source_from_cache
from types import ModuleType
from typing import Any

from olympus_cli.builder.freshness.callers import calls_with_seed, python_callers, reading_line
from olympus_cli.builder.freshness.generators import Generators
from olympus_cli.builder.freshness.reads import (
    LISTING,
    NATIVE,
    NETWORK,
    PROGRAM,
    RANDOM,
    Reads,
)
from olympus_cli.faults.blame import is_python, is_users

#: Packages whose native code opens files, which Python cannot observe.
NATIVE_READERS = frozenset(
    {"h5py", "netCDF4", "pyarrow", "tables", "zarr", "lmdb", "cv2", "rasterio", "torch", "duckdb"}
)

_EVENTS = {
    **dict.fromkeys(("os.listdir", "os.scandir", "glob.glob"), LISTING),
    **dict.fromkeys(("socket.connect", "socket.getaddrinfo", "socket.gethostbyname"), NETWORK),
    **dict.fromkeys(("socket.gethostname", "socket.sendto", "socket.bind"), NETWORK),
    **dict.fromkeys(("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn"), PROGRAM),
    **dict.fromkeys(("os.fork", "os.forkpty", "os.spawn"), PROGRAM),
}
_NOT_READ = ("/proc/", "/sys/", "/dev/")
# Functions of Python that use the status of a path only to see whether it exists, and what it is.
_ONLY_KIND = frozenset(
    {"exists", "lexists", "isfile", "isdir", "islink", "ismount", "samefile", "realpath"}
    | {"is_file", "is_dir", "is_symlink", "is_mount", "resolve", "_joinrealpath"}
)
# Classes of NumPy that read the random source of the system also if they get a seed.
_SEEDED = ("RandomState",)
# Modules that read variables for themselves: the command line, and what shows its output.
_OWN = frozenset({"olympus_cli", "rich", "click", "subprocess"})


class Recorder:
    """The recording in this process; files below the folder `ignored` are not recorded."""

    def __init__(self, ignored: str) -> None:
        self._ignored = os.path.join(ignored, "")
        self._started = time.time_ns()
        self._files: dict[str, None] = {}  # in the order of the first read
        self._kinds: dict[str, None] = {}
        self._statuses: dict[str, None] = {}
        self._variables: dict[str, None] = {}
        self._written: set[str] = set()
        self._set_variables: set[str] = set()
        self._whole_environment = self._working_directory = False
        self._always: dict[str, str] = {}
        self.generators = Generators(functools.partial(self.always, RANDOM, direct=False))

    def audit(self, event: str, args: tuple[Any, ...]) -> None:
        """Record an audit event."""
        if event == "open":
            self._open(args[0], args[2])
        elif event == "import":
            self.generators.before_import(args[0])
        elif event == "sqlite3.connect":
            self._add(self._files, args[0])
        elif (source := _EVENTS.get(event)) is not None:
            self.always(source, direct=False)

    def working_directory(self) -> None:
        """Record that the program reads the working directory, or a path relative to it."""
        self._working_directory |= reading_line(direct=False) is not None

    def _open(self, path: object, flags: int) -> None:
        name = _absolute(path)
        if name is None:
            return
        if flags & (os.O_WRONLY | os.O_CREAT | os.O_TRUNC):
            self._written.add(name)
        elif name.startswith("/dev/") and name.endswith("random"):
            self.always(RANDOM, direct=False)
        else:
            self._add(self._files, name)

    def _add(self, paths: dict[str, None], path: object) -> None:
        name = _absolute(path)
        if name is None or name in self._written or name.startswith((*_NOT_READ, self._ignored)):
            return
        if name.endswith(".pyc"):
            name = _source(name)
        if not os.path.isabs(os.fsdecode(path)):  # type: ignore[arg-type]
            self.working_directory()
        paths[name] = None

    def status(self, path: object) -> None:
        """Record that the status of a path is read, or only whether it exists."""
        *inner, caller = python_callers()
        if is_users(caller.f_code.co_filename):
            only_kind = any(frame.f_code.co_name in _ONLY_KIND for frame in inner)
            self._add(self._kinds if only_kind else self._statuses, path)

    def variable(self, name: object) -> None:
        """Record that an environment variable is read; None for all variables."""
        *_, caller = python_callers()
        if str(caller.f_globals.get("__name__")).partition(".")[0] in _OWN:
            return
        if name is None:
            self._whole_environment |= is_users(caller.f_code.co_filename)
        elif isinstance(name, str) and name not in self._set_variables:
            self._variables[name] = None

    def set_variable(self, name: object) -> None:
        """Record that the program sets a variable: its later reads get its own value."""
        if isinstance(name, str) and name not in self._variables:
            self._set_variables.add(name)

    def always(self, source: str, *, direct: bool) -> None:
        """Record a source without a state if the program reads it: see `reading_line`."""
        if source not in self._always and (place := reading_line(direct=direct)) is not None:
            self._always[source] = place

    def entropy(self) -> None:
        """Record that the program reads the random source of the system."""
        if RANDOM not in self._always and not calls_with_seed(_SEEDED):
            self.always(RANDOM, direct=False)

    def reads(self) -> Reads:
        """Return what was read until now."""
        always = dict(self._always)
        for name in sorted(NATIVE_READERS & sys.modules.keys()):
            always.setdefault(f"{NATIVE} ({name})", "")
        return Reads(
            self._started,
            tuple(dict.fromkeys((*self._files, *_native_modules()))),
            tuple(dict.fromkeys(_searched_folders())),
            tuple(self._kinds),
            tuple(self._statuses),
            tuple(self._variables),
            self._whole_environment,
            self._working_directory,
            always,
        )


def _absolute(path: object) -> str | None:
    """Return the absolute path of an opened file; None for a descriptor."""
    if isinstance(path, str | bytes | os.PathLike):
        return os.path.abspath(os.fsdecode(path))
    return None


def _source(name: str) -> str:
    """Return the source file of a file with bytecode."""
    try:
        return source_from_cache(name)
    except ValueError:
        return name


def _native_modules() -> Iterator[str]:
    """Yield the files of the user's compiled modules, which Python loads without an event."""
    for module in list(sys.modules.values()):
        file = getattr(module, "__dict__", {}).get("__file__")
        if isinstance(file, str) and not file.endswith((".py", ".pyc")) and is_users(file):
            yield os.path.abspath(file)


def _searched_folders() -> Iterator[str]:
    """Yield the folders in which an import looks for modules, except Python's own."""
    for place in sys.path:
        path = os.path.abspath(place)
        if not is_python(os.path.join(path, "")):
            yield path
    for module in list(sys.modules.values()):
        for place in _package_path(module):
            if is_users(os.path.join(place, "")):
                yield os.path.abspath(place)


def _package_path(module: ModuleType) -> list[str]:
    try:
        return [place for place in module.__dict__.get("__path__", ()) if isinstance(place, str)]
    except (AttributeError, TypeError):  # an object in the place of a module
        return []
