"""The index of a build folder: for each target, the inputs of its last trace and its outputs.

With the index, a build finds targets with nothing to do without importing, tracing or starting a
process. The index is only a cache: a build without it, or with a damaged one or one of another
version, traces its targets and compares their content keys.

Targets share most of their inputs. Each input is written once, and so is each list of inputs.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from olympus_cli.builder.freshness.inputs import (
    KINDS,
    FileInput,
    Here,
    Input,
    KindInput,
    LinkInput,
    PackageInput,
    Status,
    StatusInput,
    VariableInput,
    check_input,
    check_status,
    file_digest,
    status_of,
)

if TYPE_CHECKING:
    from olympus_cli.builder.reasons import Reason

#: The name of the index in a build folder.
INDEX = ".olympus-index.json"

#: The kinds of inputs that are counted for people, with their nouns.
_COUNTED = {"file": "file", "package": "package", "folder": "folder", "variable": "variable"}
# A build removes files whose name begins like this, if a killed process left them.
_NEW = ".olympus-new-index-"
# The kinds of inputs that are paths which a change of the project's files can name.
_OF_PATHS = frozenset(kind.kind for kind in (FileInput, KindInput, StatusInput, LinkInput))
_VERSION = 2  # raised with every change that an old reader would misread
_MAX_BYTES = 1 << 28
# The errors of data of a form that no index has.
_DAMAGE = (ValueError, KeyError, TypeError, IndexError, AttributeError)


class Output(NamedTuple):
    """A file of a target's outputs, relative to the target's folder."""

    path: str
    status: Status | None
    digest: str


class Entry(NamedTuple):
    """The inputs and the outputs of a target at its last trace.

    `settings` is the digest of its specification, `labels` are the backends it was built for, and
    `lists` the numbers of its lists of inputs. `always` has the sources that are read and have no
    state, with their places. `folder` is the path of its outputs from the build folder.
    """

    settings: str
    labels: list[str]
    folder: str
    lists: list[int]
    always: list[list[str]]
    outputs: list[Output]
    warnings: list[str]


class Selection(NamedTuple):
    """The targets that a request selects: by name, the digest of its settings and its backends.

    `inputs` is the number of the list of files that this depends on.
    """

    inputs: int
    targets: dict[str, tuple[str, list[str]]]


class Index:
    """The index of the build folder `build_dir`, for the project in the folder `root`."""

    def __init__(self, build_dir: str, root: str) -> None:
        self.build_dir, self.root = build_dir, root
        self.here = Here(root)
        self.entries: dict[str, Entry] = {}
        self.requests: dict[str, Selection] = {}
        self.changed: dict[str, str] = {}  # the targets without an entry, by the file that changed
        self.failed: list[str] = []  # the targets whose last build failed
        self._inputs: list[list[Any]] = []
        self._lists: list[list[int]] = []
        self._numbers: dict[str, int] = {}
        self._checked: dict[int, Input | None] = {}

    @classmethod
    def load(cls, build_dir: str, root: str) -> Index:
        """Return the index in a build folder; an empty one if there is none that can be used."""
        index = cls(build_dir, root)
        with suppress(OSError, RecursionError, *_DAMAGE):
            index._read()
            return index
        return cls(build_dir, root)

    def _read(self) -> None:
        path = os.path.join(self.build_dir, INDEX)
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            content = file.read(_MAX_BYTES)
        data = json.loads(content)
        if data["schema_version"] != _VERSION or data["project"] != self._project():
            raise ValueError("it belongs to another version or project")
        self._inputs = [list(row) for row in data["inputs"]]
        self._lists = [list(map(int, numbers)) for numbers in data["lists"]]
        self.requests = {key: Selection(*fields) for key, fields in data["requests"].items()}
        for name, fields in data["targets"].items():
            entry = Entry(**fields)
            self.entries[name] = entry._replace(outputs=[Output(*row) for row in entry.outputs])
        self.changed = {str(name): str(path) for name, path in data["changed"].items()}
        self.failed = [str(name) for name in data["failed"]]
        self._check_numbers()
        self._check_types()

    def _check_types(self) -> None:
        """Raise an error of `_DAMAGE` if a value has another type than an index has there."""
        for kind, *fields in self._inputs:
            check_input(KINDS[kind](*fields))
        for entry in self.entries.values():
            texts = [entry.settings, entry.folder, *entry.labels, *entry.warnings]
            for source, place in entry.always:
                texts += [source, place]
            for output in entry.outputs:
                texts += [output.path, output.digest]
                check_status(output.status)
            if not all(isinstance(text, str) for text in texts):
                raise TypeError("an entry has a value that is not a text")

    def _check_numbers(self) -> None:
        """Raise ValueError if a number in the document is not the place of a list or an input."""
        places = {place for numbers in self._lists for place in numbers}
        numbers = {number for entry in self.entries.values() for number in entry.lists}
        numbers |= {selection.inputs for selection in self.requests.values()}
        if not places <= set(range(len(self._inputs))):
            raise ValueError("a list names an input that is not there")
        if not numbers <= set(range(len(self._lists))):
            raise ValueError("a target names a list that is not there")

    @property
    def is_empty(self) -> bool:
        """True if it has no target."""
        return not (self.entries or self.changed or self.failed)

    def save(self) -> None:
        """Write the index, as a whole or not at all. A failure is ignored: it is only a cache.

        An index without targets is not written.
        """
        if self.is_empty:
            return
        self._remove_unused()
        document = {
            "schema_version": _VERSION,
            "project": self._project(),
            "inputs": self._inputs,
            "lists": self._lists,
            "requests": self.requests,
            "changed": self.changed,
            "failed": self.failed,
            "targets": {name: entry._asdict() for name, entry in self.entries.items()},
        }
        path = os.path.join(self.build_dir, INDEX)
        content = json.dumps(document, separators=(",", ":"), ensure_ascii=False)
        new = os.path.join(self.build_dir, f"{_NEW}{os.urandom(8).hex()}")
        with suppress(OSError, ValueError), open(new, "xb") as file:
            try:
                file.write(content.encode(errors="surrogateescape"))
                file.flush()
                os.replace(new, path)
            except BaseException:
                os.unlink(new)
                raise

    def save_if_free(self) -> None:
        """Write the index unless a build has the lock of the folder: that build writes its own."""
        with suppress(OSError):
            descriptor = os.open(self.build_dir, os.O_RDONLY | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self.save()
            finally:
                os.close(descriptor)

    def _project(self) -> str:
        return os.path.relpath(self.root, self.build_dir)

    def fresh(self, name: str, settings: str, labels: Sequence[str]) -> Entry | None:
        """Return the entry of a target that has nothing to do; None for any other."""
        try:
            return self._fresh(name, settings, labels)
        except _DAMAGE:
            self.entries, self.requests = {}, {}
            return None

    def _fresh(self, name: str, settings: str, labels: Sequence[str]) -> Entry | None:
        entry = self.entries.get(name)
        if entry is None or entry.always or not self._is_for(entry, settings, labels):
            return None
        unchanged = all(map(self.is_unchanged, entry.lists)) and self._has_outputs(entry)
        return entry if unchanged else None

    def reasons(self, name: str, settings: str, labels: Sequence[str]) -> list[Reason]:
        """Return the reasons to trace a target again; none if it is fresh."""
        from olympus_cli.builder.reasons import NotRecorded, SettingsChanged, TracedAlways

        entry = self.entries.get(name)
        if entry is None:
            return [NotRecorded(self.changed.get(name, ""))]
        reasons: list[Reason] = []
        if not self._is_for(entry, settings, labels):
            reasons.append(SettingsChanged())
        reasons += [changed.reason(self.here) for changed in self._changed(entry.lists)]
        reasons += [TracedAlways(source, place) for source, place in entry.always]
        return reasons + self._damages(entry)

    def is_unchanged(self, number: int) -> bool:
        """Return True if no input of a list has changed."""
        checked = self._checked
        return all(
            (checked[place] if place in checked else self._check(place)) is None
            for place in self._lists[number]
        )

    def _check(self, place: int) -> Input | None:
        """Return an input that has changed, or None."""
        kind, *fields = self._inputs[place]
        found = KINDS[kind](*fields)
        result = None if found.is_same(self.here) else found
        self._inputs[place] = [kind, *found.row()]
        self._numbers = {}
        self._checked[place] = result
        return result

    def has_changed_input(self, name: str) -> bool:
        """Return True if something that the program itself reads is known to have changed."""
        entry = self.entries.get(name)
        changed = self._changed(entry.lists) if entry is not None else []
        explaining = (*_OF_PATHS, PackageInput.kind, VariableInput.kind)
        return any(found.kind in explaining for found in changed)

    def _changed(self, numbers: Iterable[int]) -> list[Input]:
        """Return the inputs of some lists that have changed."""
        places = [place for number in numbers for place in self._lists[number]]
        checked = self._checked
        found = [checked[p] if p in checked else self._check(p) for p in places]
        return [changed for changed in found if changed is not None]

    @staticmethod
    def _is_for(entry: Entry, settings: str, labels: Sequence[str]) -> bool:
        return entry.settings == settings and set(labels) <= set(entry.labels)

    def _has_outputs(self, entry: Entry) -> bool:
        """Return True if no output has changed since the build. New statuses are stored."""
        folder = os.path.join(self.build_dir, entry.folder)
        outputs = entry.outputs
        differing = [
            number
            for number, output in enumerate(outputs)
            if output.status is None
            or status_of(f"{folder}/{output.path}", follow=False) != output.status
        ]
        for number in differing:
            path = f"{folder}/{outputs[number].path}"
            now = status_of(path, follow=False)
            if now is None or file_digest(path, follow=False) != outputs[number].digest:
                return False
            outputs[number] = outputs[number]._replace(status=self.here.settled(now))
        return True

    def _damages(self, entry: Entry) -> list[Reason]:
        from olympus_cli.builder.reasons import OutputChanged

        folder = os.path.join(self.build_dir, entry.folder)
        return [
            OutputChanged(output.path)
            for output in entry.outputs
            if file_digest(f"{folder}/{output.path}", follow=False) != output.digest
        ]

    def unchanged(self, entry: Entry) -> str:
        """Return the number of the inputs of an entry by kind, as text: "12 files, 3 variables"."""
        kinds = Counter(self._inputs[p][0] for number in entry.lists for p in self._lists[number])
        counted = ((kinds[kind], noun) for kind, noun in _COUNTED.items() if kinds[kind])
        return ", ".join(f"{count} {noun}{'' if count == 1 else 's'}" for count, noun in counted)

    def list_of(self, inputs: Iterable[Input]) -> int:
        """Return the number of the list of these inputs, which is added if it is new."""
        places = sorted({self._place([found.kind, *found.row()]) for found in inputs})
        if places in self._lists:
            return self._lists.index(places)
        self._lists.append(places)
        return len(self._lists) - 1

    def _place(self, row: list[Any]) -> int:
        if len(self._numbers) != len(self._inputs):
            self._numbers = {json.dumps(known): n for n, known in enumerate(self._inputs)}
        key = json.dumps(row)
        if (place := self._numbers.get(key)) is None:
            place = self._numbers[key] = len(self._inputs)
            self._inputs.append(row)
        return place

    def _remove_unused(self) -> None:
        """Remove the lists and the inputs that no target and no request needs."""
        used = {number for entry in self.entries.values() for number in entry.lists}
        used |= {selection.inputs for selection in self.requests.values()}
        lists = {old: new for new, old in enumerate(sorted(used))}
        places = sorted({place for number in used for place in self._lists[number]})
        inputs = {old: new for new, old in enumerate(places)}
        self._lists = [sorted(inputs[place] for place in self._lists[old]) for old in lists]
        self._inputs = [self._inputs[place] for place in places]
        self.requests = {
            key: selection._replace(inputs=lists[selection.inputs])
            for key, selection in self.requests.items()
        }
        for name, entry in self.entries.items():
            self.entries[name] = entry._replace(lists=[lists[number] for number in entry.lists])
        self._numbers, self._checked = {}, {}

    def inputs_of(self, name: str) -> set[str]:
        """Return the paths that the last trace of a target read or looked for; none if unknown."""
        entry = self.entries.get(name)
        if entry is None:
            return set()
        rows = [self._inputs[place] for number in entry.lists for place in self._lists[number]]
        return {self.here.path(row[1]) for row in rows if row[0] in _OF_PATHS}
