"""The state of everything that a trace read, compared with the present: status first, then digest.

A file whose size, times and inode are those of the record is not read. A file with another status
is read, and only another digest is a change: so a fresh checkout and a restored cache of a CI
system are unchanged.

A build with nothing to do imports this module, and nothing of the compiler. That is why reasons are
imported where one is made, and why these classes are not dataclasses, which take long to create.
"""

from __future__ import annotations

import os
import re
import stat
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from olympus_cli.process.file_clock import TICK

if TYPE_CHECKING:
    from olympus_cli.builder.reasons import Reason

#: The size in bytes, the times of the last change of content and of status in nanoseconds, and the
#: inode.
Status = list[int]

_PREFIX = "{prefix}/"  # begins the path of a file in the Python environment
_BLOCK = 1 << 20  # bytes
# Functions that a recording replaces, as they are before it.
_stat, _readlink, _getcwd, _scandir = os.stat, os.readlink, os.getcwd, os.scandir
_SECRET = re.compile(r"TOKEN|SECRET|PASSW|CREDENTIAL|PRIVATE|APIKEY|_KEY\b|AUTH", re.IGNORECASE)
# Variables that change the compiler, a package or Python itself.
_COMMON = re.compile(
    r"(?:XLA|JAX|TF_XLA|OLYMPUS|LIBTPU|TPU|CUDA|OMP|OPENBLAS|MKL)_\w+"
    r"|TZ|LANG|LC_ALL|PYTHON(?:PATH|HASHSEED|HOME|OPTIMIZE|SAFEPATH|UTF8)"
)
# Variables of the store of results, which change no result.
_OF_STORE = re.compile(r"OLYMPUS_(?:\w*CACHE\w*|COMPLETE)")
# Variables that a shell changes by itself.
_OF_SHELL = frozenset(["_", "SHLVL", "OLDPWD", "PWD", "COLUMNS", "LINES"])


class Here:
    """The places that the paths of a record are relative to: the project and the environment.

    `renewed` is True after a status was replaced: the record should be stored again.
    """

    def __init__(self, root: str) -> None:
        self.root = root
        self.renewed = False

    def text(self, path: str) -> str:
        """Return a path in the form of a record, which is valid after both places have moved."""
        if path == self.root or path.startswith(self.root + os.sep):
            return path[len(self.root) + 1 :] or "."
        if path.startswith(sys.prefix + os.sep):
            return _PREFIX + path[len(sys.prefix) + 1 :]
        return path

    def path(self, text: str) -> str:
        """Return the path of a text in a record."""
        if text.startswith(_PREFIX):
            return os.path.join(sys.prefix, text[len(_PREFIX) :])
        return os.path.join(self.root, text)

    def settled(self, status: Status) -> Status | None:
        """Return a status; None if a later change could have the same."""
        if max(status[1:3]) > time.time_ns() - TICK:
            return None
        self.renewed = True
        return status


def status_of(path: str, *, follow: bool = True) -> Status | None:
    """Return the status of a file or a folder; None if it is missing."""
    try:
        found = _stat(path, follow_symlinks=follow)
    except (OSError, ValueError):
        return None
    return [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]


def file_digest(path: str, *, follow: bool = True) -> str | None:
    """Return the SHA-256 of a regular file; None for anything else, or if it cannot be read."""
    from hashlib import sha256  # a library, which is not needed if no status differs

    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            digest = sha256()
            while block := os.read(descriptor, _BLOCK):
                digest.update(block)
            return digest.hexdigest()
        finally:
            os.close(descriptor)
    except (OSError, ValueError):
        return None


class Input:
    """Something that a trace read, as it was then. `kind` is its name in the index."""

    kind: ClassVar[str]

    def row(self) -> list[Any]:
        """Return the fields as JSON-like data; `type(self)(*row)` makes the input again."""
        return list(vars(self).values())

    def is_same(self, here: Here) -> bool:
        """Return True if it is now as it was. A status that differs is replaced by the present."""
        raise NotImplementedError

    def reason(self, here: Here) -> Reason:
        """Return the change, after `is_same` returned False."""
        raise NotImplementedError


class FileInput(Input):
    """A file that was read; without a digest, one that was looked for and was missing."""

    kind = "file"

    def __init__(self, path: str, status: Status | None, digest: str | None) -> None:
        self.path, self.status, self.digest = path, status, digest

    def is_same(self, here: Here) -> bool:
        path = here.path(self.path)
        now = status_of(path)
        if now is None or self.digest is None:
            return now is None and self.digest is None
        if now == self.status:
            return True
        if self.status is not None and now[0] != self.status[0]:
            return False
        if file_digest(path) != self.digest:
            return False
        self.status = here.settled(now)
        return True

    def reason(self, here: Here) -> Reason:
        from olympus_cli.builder.reasons import FileChanged

        if self.digest is None:
            return FileChanged(self.path, "new")
        is_missing = status_of(here.path(self.path)) is None
        return FileChanged(self.path, "removed" if is_missing else "changed")


class PackageInput(Input):
    """An installed package: its version, and the list of its files, which has their digests."""

    kind = "package"

    def __init__(
        self, name: str, version: str, path: str, status: Status | None, digest: str
    ) -> None:
        self.name, self.version = name, version
        self.path, self.status, self.digest = path, status, digest

    def is_same(self, here: Here) -> bool:
        record = FileInput(self.path, self.status, self.digest)
        is_same = record.is_same(here)
        self.status = record.status
        return is_same

    def reason(self, here: Here) -> Reason:
        from olympus_cli.builder.reasons import FileChanged, VersionChanged

        record = here.path(self.path)
        if status_of(record) is not None:
            return FileChanged(self.path)
        folder = os.path.dirname(os.path.dirname(record))
        return VersionChanged(self.name, self.version, installed_versions(folder).get(self.name))


class FolderInput(Input):
    """A folder that was searched for modules, with the names in it that can be imported."""

    kind = "folder"

    def __init__(self, path: str, status: Status | None, names: Sequence[str] | None) -> None:
        self.path, self.status = path, status
        self.names = None if names is None else list(names)

    def is_same(self, here: Here) -> bool:
        path = here.path(self.path)
        now = status_of(path)
        if now is not None and now == self.status:
            return True
        if importable_names(path) != self.names:
            return False
        self.status = None if now is None else here.settled(now)
        return True

    def reason(self, here: Here) -> Reason:
        from olympus_cli.builder.reasons import FolderChanged

        before = set(self.names or ())
        after = set(importable_names(here.path(self.path)) or ())
        added, removed = sorted(after - before), sorted(before - after)
        return FolderChanged(self.path, tuple(added), tuple(removed))


class KindInput(Input):
    """A path that was looked for: "file", "folder" or "missing"."""

    kind = "kind"

    def __init__(self, path: str, what: str) -> None:
        self.path, self.what = path, what

    def is_same(self, here: Here) -> bool:
        return kind_of(here.path(self.path)) == self.what

    def reason(self, here: Here) -> Reason:
        from olympus_cli.builder.reasons import FileChanged

        if self.what == "missing":
            return FileChanged(self.path, "new")
        is_missing = kind_of(here.path(self.path)) == "missing"
        return FileChanged(self.path, "removed" if is_missing else "changed")


class StatusInput(Input):
    """A path whose size or time of change was read: `text` is that of `status_text`."""

    kind = "status"

    def __init__(self, path: str, text: str) -> None:
        self.path, self.text = path, text

    def is_same(self, here: Here) -> bool:
        return status_text(here.path(self.path)) == self.text

    def reason(self, here: Here) -> Reason:
        return KindInput(self.path, "file" if self.text else "missing").reason(here)


class LinkInput(Input):
    """A symbolic link whose text was read; empty for a path that is none."""

    kind = "link"

    def __init__(self, path: str, text: str) -> None:
        self.path, self.text = path, text

    def is_same(self, here: Here) -> bool:
        return link_text(here.path(self.path)) == self.text

    def reason(self, here: Here) -> Reason:
        from olympus_cli.builder.reasons import FileChanged

        return FileChanged(self.path)


class VariableInput(Input):
    """An environment variable; None if it was not set."""

    kind = "variable"

    def __init__(self, name: str, value: str | None) -> None:
        self.name, self.value = name, value

    @classmethod
    def of(cls, name: str, value: str | None) -> VariableInput:
        """Return the input for a value, which is stored as a digest if it may be a secret."""
        return cls(name, _recorded_value(name, value))

    def is_same(self, here: Here) -> bool:
        return _recorded_value(self.name, os.environ.get(self.name)) == self.value

    def reason(self, here: Here) -> Reason:
        from olympus_cli.builder.reasons import VariableChanged

        now = _recorded_value(self.name, os.environ.get(self.name))
        return VariableChanged(self.name, _shown(self.value), _shown(now))


class CommonVariablesInput(Input):
    """The variables that the compiler, packages or Python itself may read, with their values."""

    kind = "variables"

    def __init__(self, values: Mapping[str, str]) -> None:
        self.values = dict(values)

    def is_same(self, here: Here) -> bool:
        return common_variables() == self.values

    def reason(self, here: Here) -> Reason:
        from olympus_cli.builder.reasons import VariableChanged

        before, after = self.values, common_variables()
        name = next(n for n in {**before, **after} if before.get(n) != after.get(n))
        return VariableChanged(name, _shown(before.get(name)), _shown(after.get(name)))


class SearchPathInput(Input):
    """The folders in which Python looks for modules, in their order."""

    kind = "search path"

    def __init__(self, folders: Sequence[str]) -> None:
        self.folders = list(folders)

    def is_same(self, here: Here) -> bool:
        return search_path(here) == self.folders

    def reason(self, here: Here) -> Reason:
        from olympus_cli.builder.reasons import FolderChanged

        before, after = self.folders, search_path(here)
        added = tuple(folder for folder in after if folder not in before)
        removed = tuple(folder for folder in before if folder not in after)
        return FolderChanged("the search path", added, removed)


class EnvironmentInput(Input):
    """The digest of all environment variables, of a program that reads the whole environment."""

    kind = "environment"

    def __init__(self, digest: str) -> None:
        self.digest = digest

    def is_same(self, here: Here) -> bool:
        return environment_digest(os.environ) == self.digest

    def reason(self, here: Here) -> Reason:
        from olympus_cli.builder.reasons import DigestChanged

        return DigestChanged("environment, all of whose variables the program reads,")


class WorkingDirectoryInput(Input):
    """The working directory of a program that reads it, or a path that is relative to it."""

    kind = "working directory"

    def __init__(self, path: str) -> None:
        self.path = path

    def is_same(self, here: Here) -> bool:
        return here.text(working_directory()) == self.path

    def reason(self, here: Here) -> Reason:
        from olympus_cli.builder.reasons import PartChanged

        return PartChanged(self.kind, self.path, here.text(working_directory()))


class MachineInput(Input):
    """The Python version and the processor of this machine, as texts by name."""

    kind = "machine"

    def __init__(self, facts: Mapping[str, str]) -> None:
        self.facts = dict(facts)

    def is_same(self, here: Here) -> bool:
        return machine_facts() == self.facts

    def reason(self, here: Here) -> Reason:
        from olympus_cli.builder.reasons import PartChanged

        now = machine_facts()
        name = next(n for n in {**self.facts, **now} if self.facts.get(n) != now.get(n))
        return PartChanged(name, self.facts.get(name), now.get(name))


#: The classes of inputs by their names in the index.
KINDS: Mapping[str, Callable[..., Input]] = {
    kind.kind: kind
    for kind in (
        *(FileInput, PackageInput, FolderInput, KindInput, StatusInput, LinkInput),
        *(VariableInput, CommonVariablesInput, EnvironmentInput, WorkingDirectoryInput),
        *(SearchPathInput, MachineInput),
    )
}


def check_status(status: object) -> None:
    """Raise TypeError if a status of a file has another form than those of `status_of`."""
    if status is None:
        return
    if not isinstance(status, list) or list(map(type, status)) != [int] * 4:
        raise TypeError("a status is not four numbers")


def check_input(found: Input) -> None:
    """Raise TypeError if an attribute of an input has another type than its class declares."""
    for name, value in vars(found).items():
        if name == "status":
            check_status(value)
        elif name in ("names", "folders"):
            _check_texts(value or ())
        elif name in ("facts", "values"):
            _check_texts((*value, *value.values()))
        elif not (value is None and name in ("digest", "value")):
            _check_texts((value,))


def _check_texts(values: Iterable[object]) -> None:
    if not all(isinstance(value, str) for value in values):
        raise TypeError("a value is not a text")


def kind_of(path: str) -> str:
    """Return "file", "folder" or "missing" for a path; links are followed."""
    try:
        mode = _stat(path).st_mode
    except (OSError, ValueError):
        return "missing"
    return "folder" if stat.S_ISDIR(mode) else "file"


def working_directory() -> str:
    """Return the working directory, also while a recording observes `os.getcwd`."""
    return _getcwd()


def status_text(path: str) -> str:
    """Return the size and the time of a path, as text; empty for a missing path."""
    status = status_of(path)
    return "" if status is None else f"{status[0]} {status[1]}"


def link_text(path: str) -> str:
    """Return the text of a symbolic link; empty for a path that is none."""
    try:
        return _readlink(path)
    except (OSError, ValueError):
        return ""


def names_text(folder: str) -> str:
    """Return the importable names of a folder, one in a line; empty for a missing folder."""
    names = importable_names(folder)
    return "" if names is None else "\n".join((".", *names))


def search_path(here: Here) -> list[str]:
    """Return the folders in which Python looks for modules, except for the command's own folder.

    A process that was started with `-m` has the working directory in its place.
    """
    own = {"", working_directory(), os.path.dirname(os.path.realpath(sys.argv[0]))}
    return [here.text(folder) for folder in sys.path if folder not in own]


def common_variables() -> dict[str, str]:
    """Return the variables of `CommonVariablesInput`, secrets as digests."""
    names = [n for n in os.environ if _COMMON.fullmatch(n) and not _OF_STORE.fullmatch(n)]
    return {name: _recorded_value(name, os.environ[name]) or "" for name in sorted(names)}


def importable_names(folder: str) -> list[str] | None:
    """Return the names in a folder that an import could find, sorted; None if it is missing.

    Folders with the metadata of installed packages are included: their names have the versions.
    """
    status = status_of(folder)
    before, names = _listings.get(folder, (None, None))
    if status is not None and status == before:
        return names
    try:
        with _scandir(folder) as entries:
            found = [entry for entry in entries if _is_importable(entry)]
            has_links = any(entry.is_symlink() for entry in found)
    except (OSError, ValueError):
        return None
    names = sorted(entry.name for entry in found)
    is_settled = status is not None and max(status[1:3]) <= time.time_ns() - TICK
    # a link to a folder may lead to a file later, without a change of this folder
    if is_settled and not has_links and os.path.isabs(folder) and status_of(folder) == status:
        _listings[folder] = status, names
    return names


#: The status and the names of folders that did not change when they were listed, by path: each
#: target of a project lists the same folders.
_listings: dict[str, tuple[Status | None, list[str] | None]] = {}


def _is_importable(entry: os.DirEntry[str]) -> bool:
    name = entry.name
    if name.endswith((".py", ".so", ".pyd", ".pth", ".egg", ".zip", ".dist-info", ".egg-info")):
        return True
    return name.isidentifier() and name != "__pycache__" and entry.is_dir()


def installed_versions(folder: str) -> dict[str, str]:
    """Return the versions of the packages in a folder, by normalized name."""
    versions = {}
    for name in importable_names(folder) or ():
        package, _, rest = name.partition("-")
        if rest.endswith((".dist-info", ".egg-info")):
            versions[normalized(package)] = rest.rpartition(".")[0]
    return versions


def normalized(package: str) -> str:
    """Return the name of a package in the form that names are compared in."""
    return re.sub(r"[-_.]+", "-", package).lower()


def environment_digest(variables: Mapping[str, str]) -> str:
    """Return the digest of all variables, except for variables of the shell itself."""
    from hashlib import sha256

    items = sorted(item for item in variables.items() if item[0] not in _OF_SHELL)
    return sha256(repr(items).encode()).hexdigest()


def machine_facts() -> dict[str, str]:
    """Return the facts about this Python and this processor that a program depends on."""
    system, processor = os.uname(), _processor_list()
    features = processor.get("flags") or processor.get("Features") or ""
    return {
        "Python": f"{sys.implementation.name} {sys.version.partition(' ')[0]}",
        "machine": f"{system.sysname} {system.machine}",
        "processor": " ".join(processor.get(name, "") for name in _MODEL).strip(),  # for estimates
        "processor features": " ".join(sorted(set(features.split()))),
        "processors": str(_processors()),
    }


_MODEL = ("model name", "cpu family", "model", "stepping")


def _processors() -> int:
    """Return the number of processors of this process, among which the compiler divides loops."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _processor_list() -> Mapping[str, str]:
    """Return the facts about the first processor in Linux's list by name; none without a list."""
    facts: dict[str, str] = {}
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in iter(file.readline, "\n"):  # an empty line ends the first processor
                name, colon, value = line.partition(":")
                if not colon:
                    break
                facts[name.strip()] = value.strip()
    except OSError:
        pass
    return facts


def _recorded_value(name: str, value: str | None) -> str | None:
    if value is None or not _SECRET.search(name):
        return value
    from hashlib import sha256

    return f"sha256:{sha256(value.encode(errors='surrogateescape')).hexdigest()}"


def _shown(value: str | None) -> str | None:
    return value[:15] + "..." if value is not None and value.startswith("sha256:") else value
