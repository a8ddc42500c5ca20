"""The recorder of what a program reads: audit events, and the calls of replaced functions.

A source that has no state to compare, such as the clock, is recorded with the line of the program
that reads it. What a library reads for itself, such as the clock for its log, is not recorded.
Reads by native code have no event: `NATIVE_READERS` are packages that read files in this way.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
import time
import urllib.parse
from collections.abc import Callable, Iterator
from importlib.util import source_from_cache
from types import FrameType
from typing import Any

from olympus_cli.builder.freshness.callers import calls_with_seed, python_callers, reading_line
from olympus_cli.builder.freshness.generators import Generators
from olympus_cli.builder.freshness.inputs import (
    kind_of,
    link_text,
    names_text,
    status_text,
    working_directory,
)
from olympus_cli.builder.freshness.reads import (
    HASH_SEED,
    LISTING,
    NATIVE,
    NETWORK,
    PROGRAM,
    RANDOM,
    SYSTEM,
    Reads,
)
from olympus_cli.faults.blame import is_python, is_users
from olympus_cli.faults.user_modules import package_path, user_modules

#: Packages whose native code opens files, which Python cannot observe.
NATIVE_READERS = frozenset(
    (
        *("av", "cv2", "decord", "duckdb", "fiona", "h5py", "lmdb", "netCDF4", "osgeo", "polars"),
        *("pyarrow", "pyogrio", "pyvips", "rasterio", "sentencepiece", "soundfile", "tables"),
        *("tensorflow", "tensorstore", "tokenizers", "torch", "zarr"),
    )
)

_EVENTS = {
    **dict.fromkeys(("os.listdir", "os.scandir", "glob.glob"), LISTING),
    **dict.fromkeys(("socket.connect", "socket.getaddrinfo", "socket.gethostbyname"), NETWORK),
    **dict.fromkeys(("socket.sendto", "socket.bind"), NETWORK),
    "socket.gethostname": SYSTEM,
    **dict.fromkeys(("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn"), PROGRAM),
    **dict.fromkeys(("os.fork", "os.forkpty", "os.spawn"), PROGRAM),
}
_SAFETENSORS = "safetensors"  # its native code opens the file that its function gets
_SYSTEM = ("/proc/", "/sys/")
_DEVICES, _FILES_IN_MEMORY = "/dev/", "/dev/shm/"
# Functions of Python that use the status of a path only to see whether it exists, and what it is.
_ONLY_KIND = frozenset(
    {"exists", "lexists", "isfile", "isdir", "islink", "ismount", "samefile", "realpath"}
    | {"is_file", "is_dir", "is_symlink", "is_mount", "resolve", "_joinrealpath"}
)
# Modules that start a process without an event; they are imported at the first one.
_STARTING = ("multiprocessing.popen_spawn_posix", "multiprocessing.popen_forkserver")
# Classes of NumPy that read the random source of the system also if they get a seed.
_SEEDED = ("RandomState",)
# Modules whose own reads are not the program's: OLYMPUS, and what shows its output.
_OWN = frozenset({"olympus", "olympus_core", "olympus_cli", "rich", "click", "subprocess"})
# Packages that search all variables for their own, which are inputs of every target anyway.
_SEARCHING = frozenset({"jax", "jaxlib"})


class Recorder:
    """The recording in this process; outputs in the folder `ignored` are not recorded."""

    def __init__(self, ignored: str) -> None:
        parent = os.path.dirname(ignored)
        self._ignored = os.path.join(ignored, ""), os.path.join(parent, ".olympus-")
        self._started = time.time_ns()
        self._files: dict[str, bool] = {}  # in the order of the first read; False if missing
        self._kinds: dict[str, str] = {}
        self._statuses: dict[str, str] = {}
        self._links: dict[str, str] = {}
        self._variables: dict[str, None] = {}
        self._written: set[str] = set()
        self._set_variables: set[str] = set()
        self._whole_environment = self._working_directory = False
        self._always: dict[str, str] = {}
        self._is_importing = False
        self.generators = Generators(functools.partial(self.always, RANDOM, direct=False))

    def audit(self, event: str, args: tuple[Any, ...]) -> None:
        """Record an audit event."""
        if event == "open":
            self._open(args[0], args[2])
        elif event == "import":
            self._before_import(args[0])
        elif event == "sqlite3.connect":
            self.read(_database_file(args[0]))
        elif event == "ctypes.dlopen" and isinstance(args[0], str):
            self.read(args[0])
            self.always(f"{NATIVE} (ctypes)", direct=True)
        elif event in ("os.listdir", "os.scandir", "glob.glob") and _is_system(args[0]):
            self.always(SYSTEM, direct=True)
        elif (source := _EVENTS.get(event)) is not None:
            self.always(source, direct=False)

    def _before_import(self, module: str) -> None:
        """Observe the functions of a package that read without an event, from its import on."""
        self.generators.before_import(module)
        if module in _STARTING:
            self.always(PROGRAM, direct=False)
        if module == _SAFETENSORS and module not in sys.modules and not self._is_importing:
            self._is_importing = True
            package: Any = importlib.import_module(module)
            package.safe_open = self._opening(package.safe_open)

    def _opening(self, real: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(real)
        def function(filename: Any, *args: Any, **options: Any) -> Any:
            self.read(filename)
            return real(filename, *args, **options)

        return function

    def working_directory(self) -> None:
        """Record that the program reads the working directory, or a path relative to it."""
        self._working_directory |= reading_line(direct=False) is not None

    def _open(self, path: object, flags: int) -> None:
        name = _absolute(path)
        if name is None:
            return
        is_there = kind_of(name) != "missing"
        if flags & (os.O_WRONLY | os.O_RDWR):
            if flags & (os.O_TRUNC | os.O_EXCL) or not is_there:
                self._written.add(name)
            if not flags & os.O_RDWR:
                return
        if name.startswith(_DEVICES) and name.endswith("random"):
            self.always(RANDOM, direct=False)
        elif name.startswith(_SYSTEM):
            self.always(SYSTEM, direct=True)
        else:
            self.read(path)

    def read(self, path: object) -> None:
        """Record that a file is opened for reading."""
        if (name := self._input(path)) is not None:
            name = _source(name) if name.endswith(".pyc") else name
            if (kind := kind_of(name)) != "folder":  # it is opened to change what is in it
                self._files.setdefault(name, kind == "file")

    def _input(self, path: object) -> str | None:
        """Return the absolute path of an input; None for what is not one."""
        name = _absolute(path)
        if name is None or name in self._written or name.startswith((*_SYSTEM, *self._ignored)):
            return None
        if name.startswith(_DEVICES) and not name.startswith(_FILES_IN_MEMORY):
            return None
        if not os.path.isabs(os.fsdecode(path)):  # type: ignore[arg-type]
            self.working_directory()
        return name

    def status(self, path: object) -> None:
        """Record that the status of a path is read, or only whether it exists."""
        *inner, caller = python_callers()
        if _is_own(caller) or (name := self._input(path)) is None:
            return
        only_kind = any(frame.f_code.co_name in _ONLY_KIND for frame in inner)
        if only_kind or not is_users(caller.f_code.co_filename):
            self._kinds.setdefault(name, kind_of(name))
        else:
            self._statuses.setdefault(name, status_text(name))

    def read_in_folder(self, path: object, folder: int) -> None:
        """Record that a file is opened relative to an opened folder."""
        if isinstance(path, str | bytes | os.PathLike):
            self.read(os.path.join(link_text(f"/proc/self/fd/{folder}"), os.fsdecode(path)))

    def status_of_opened(self, descriptor: object) -> None:
        """Record that the program reads the status of an opened file."""
        *_, caller = python_callers()
        name = link_text(f"/proc/self/fd/{descriptor}")
        if name.startswith("/") and is_users(caller.f_code.co_filename):
            self._statuses.setdefault(name, status_text(name))

    def hash_seed(self, value: object) -> None:
        """Record that the program hashes a text, which depends on the seed of this process."""
        if isinstance(value, str | bytes) and not os.environ.get("PYTHONHASHSEED"):
            self.always(HASH_SEED, direct=True)

    def link(self, path: object) -> None:
        """Record that the text of a link is read."""
        *_, caller = python_callers()
        if not _is_own(caller) and (name := self._input(path)) is not None:
            self._links.setdefault(name, link_text(name))

    def variable(self, name: object) -> None:
        """Record that an environment variable is read; None for all variables."""
        *_, caller = python_callers()
        if _is_own(caller):
            return
        if name is None:
            self._whole_environment |= _package_of(caller) not in _SEARCHING
        elif isinstance(name, str | bytes) and os.fsdecode(name) not in self._set_variables:
            self._variables[os.fsdecode(name)] = None

    def set_variable(self, name: object) -> None:
        """Record that the program sets a variable: its later reads get its own value."""
        if isinstance(name, str | bytes) and os.fsdecode(name) not in self._variables:
            self._set_variables.add(os.fsdecode(name))

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
        files = {**self._files, **dict.fromkeys(_native_modules(), True)}
        folders = {path: names_text(path) for path in _searched_folders()}
        return Reads(
            self._started,
            tuple(name for name, is_there in files.items() if is_there),
            tuple(name for name, is_there in files.items() if not is_there),
            folders,
            *(self._kinds, self._statuses, self._links),
            tuple(self._variables),
            self._whole_environment,
            self._working_directory,
            always,
        )


def _package_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__")).partition(".")[0]


def _is_own(frame: FrameType) -> bool:
    return _package_of(frame) in _OWN


def _is_system(path: object) -> bool:
    """Return True for a folder of the kernel's, whose files change by themselves."""
    name = _absolute(path)
    return name is not None and os.path.join(name, "").startswith((*_SYSTEM, _DEVICES))


def _absolute(path: object) -> str | None:
    """Return the absolute path of an opened file; None for a descriptor.

    Parts ".." stay: after a symbolic link they lead elsewhere than in the text.
    """
    if not isinstance(path, str | bytes | os.PathLike):
        return None
    name = os.fsdecode(path)
    if ".." in name.split(os.sep):
        return name if os.path.isabs(name) else os.path.join(working_directory(), name)
    return os.path.abspath(name)


def _database_file(database: object) -> object:
    """Return the path of an SQLite database, which may be a URI."""
    text = os.fsdecode(database) if isinstance(database, str | bytes) else ""
    if not text.startswith("file:"):
        return database
    return urllib.parse.unquote(urllib.parse.urlsplit(text).path)


def _source(name: str) -> str:
    """Return the source file of a file with bytecode."""
    try:
        return source_from_cache(name)
    except ValueError:
        return name


def _native_modules() -> Iterator[str]:
    """Yield the files of the user's compiled modules, which Python loads without an event."""
    for _, module in user_modules():
        file = getattr(module, "__dict__", {}).get("__file__")
        if isinstance(file, str) and not file.endswith((".py", ".pyc")) and is_users(file):
            yield os.path.abspath(file)


def _searched_folders() -> Iterator[str]:
    """Yield the folders in which an import looks for modules, except Python's own."""
    for place in sys.path:
        path = os.path.abspath(place)
        if not is_python(os.path.join(path, "")):
            yield path
    for _, module in user_modules():
        for place in package_path(module):
            if is_users(os.path.join(place, "")):
                yield os.path.abspath(place)
