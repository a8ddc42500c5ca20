"""The reasons why a target has to be built or traced, one class for each.

A class has the old and the new value in the user's terms, and its text is one line. This module
imports nothing of the compiler: a build with nothing to do needs it too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

_MAX = 3  # reasons that a text lists


@dataclass(frozen=True)
class NeverBuilt:
    """A target, or one of its backends, the `label`, that was not built before."""

    label: str | None = None

    def __str__(self) -> str:
        return f"it has not been built{f' for {self.label}' if self.label else ''} before"


@dataclass(frozen=True)
class OfBackend:
    """A reason that concerns one of several backends, the `label`."""

    label: str
    reason: Reason

    def __str__(self) -> str:
        return f"{self.label}: {self.reason}"


@dataclass(frozen=True)
class NoLongerBuilt:
    """A backend of the outputs that the target does not have now."""

    label: str

    def __str__(self) -> str:
        return f"it is no longer built for {self.label}"


@dataclass(frozen=True)
class RecordUnreadable:
    """A report or a list of outputs that cannot be read; `why` has its name."""

    why: str

    def __str__(self) -> str:
        return self.why


@dataclass(frozen=True)
class OutputChanged:
    """An output that is missing or is not the one that was built."""

    path: str

    def __str__(self) -> str:
        return f"{self.path} is missing or has been changed"


@dataclass(frozen=True)
class OutputMissing:
    """An output that was requested now and is not part of the last build."""

    path: str

    def __str__(self) -> str:
        return f"it has no {self.path}"


@dataclass(frozen=True)
class PartsChanged:
    """A bundle joined from others, or from weights, that have changed."""

    def __str__(self) -> str:
        return "a file that it is joined from has changed"


@dataclass(frozen=True)
class PartsStale:
    """A bundle joined from others, `parts`, that have to be built first."""

    parts: tuple[str, ...]

    def __str__(self) -> str:
        return f"{' and '.join(self.parts)}, which it is joined from, must be built"


@dataclass(frozen=True)
class Forced:
    """A build that the user requested."""

    def __str__(self) -> str:
        return "requested by --force"


@dataclass(frozen=True)
class Skipped:
    """A target that was not built because another one, `failed`, ended the build."""

    failed: str

    def __str__(self) -> str:
        return f"not built, because {self.failed!r} failed"


@dataclass(frozen=True)
class Renewed:
    """Outputs of an unchanged program whose lines, estimates or measurements were renewed."""

    why: str

    def __str__(self) -> str:
        return self.why


@dataclass(frozen=True)
class StaticChanged:
    """A static argument with another value; None if the program does not have it."""

    name: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        return f"static {self.name}: {_arrow(self.before, self.after)}"


@dataclass(frozen=True)
class InterfaceChanged:
    """An argument or a result, the `role`, with another type; None if the program lacks it."""

    role: str
    name: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        name = self.name if self.name.startswith(self.role) else f"{self.role} {self.name}"
        return f"{name}: {_arrow(self.before, self.after)}"


@dataclass(frozen=True)
class VersionChanged:
    """A package with another version that a program is built with; None if not installed."""

    package: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        return f"{self.package} {_arrow(self.before, self.after)}"


@dataclass(frozen=True)
class PartChanged:
    """A changed option, environment variable, processor or device."""

    name: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        return f"{self.name}: {_arrow(self.before, self.after)}"


@dataclass(frozen=True)
class DigestChanged:
    """A changed part of the key of which a build stores only the digest."""

    name: str

    def __str__(self) -> str:
        return f"the {self.name} changed"


@dataclass(frozen=True)
class OperationChanged:
    """An operation of the program that differs, with its "file:line" if known."""

    place: str
    words: str

    def __str__(self) -> str:
        return f"{self.place}: {self.words}" if self.place else self.words


@dataclass(frozen=True)
class ProgramChanged:
    """A change of the StableHLO whose operations cannot be compared or are equal."""

    def __str__(self) -> str:
        return "the program has changed"


@dataclass(frozen=True)
class Unexplained:
    """A change of the key after an earlier build that did not store its parts."""

    def __str__(self) -> str:
        return "the program, or what compiles it, has changed"


@dataclass(frozen=True)
class FileChanged:
    """A file that the last trace read, or looked for, and that differs now."""

    path: str
    change: Literal["changed", "removed", "new"] = "changed"

    def __str__(self) -> str:
        verb = {"changed": "changed", "removed": "was removed", "new": "is new"}[self.change]
        return f"{self.path} {verb}"


@dataclass(frozen=True)
class FolderChanged:
    """A folder of modules with other names in it; a name of one side only is listed."""

    path: str
    added: tuple[str, ...]
    removed: tuple[str, ...]

    def __str__(self) -> str:
        names = [f"+{name}" for name in self.added] + [f"-{name}" for name in self.removed]
        more = f" and {len(names) - _MAX} more" if len(names) > _MAX else ""
        return f"modules in {self.path}: {', '.join(names[:_MAX])}{more}"


@dataclass(frozen=True)
class VariableChanged:
    """An environment variable that the last trace read, with another value; None if not set."""

    name: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        return f"{self.name}: {_arrow(self.before, self.after)}"


@dataclass(frozen=True)
class SettingsChanged:
    """A target with other settings than at its last build, in olympus.toml or in the options."""

    def __str__(self) -> str:
        return "its settings changed"


@dataclass(frozen=True)
class TracedAlways:
    """A program that reads something that has no state to compare, such as the clock.

    `place` is the "file:line" that reads it, empty if it is not known.
    """

    source: str
    place: str

    def __str__(self) -> str:
        place = f"{self.place}: " if self.place else ""
        return f"{place}reads {self.source}, so that it is traced at every build"


@dataclass(frozen=True)
class NotRecorded:
    """A build whose inputs are not known: of an earlier version, or `changed` meanwhile.

    `changed` is the path of a file that changed after the trace began.
    """

    changed: str = ""

    def __str__(self) -> str:
        why = f": {self.changed} changed while it was traced" if self.changed else ""
        return f"the inputs of its last trace are not recorded{why}"


Reason = (
    NeverBuilt
    | OfBackend
    | NoLongerBuilt
    | RecordUnreadable
    | OutputChanged
    | OutputMissing
    | PartsChanged
    | PartsStale
    | Forced
    | Skipped
    | Renewed
    | StaticChanged
    | InterfaceChanged
    | VersionChanged
    | PartChanged
    | DigestChanged
    | OperationChanged
    | ProgramChanged
    | Unexplained
    | FileChanged
    | FolderChanged
    | VariableChanged
    | SettingsChanged
    | TracedAlways
    | NotRecorded
)


def reasons_text(reasons: Sequence[Reason | Stated]) -> str:
    """Return the first reasons, and the number of the others.

    >>> reasons_text([StaticChanged("layers", "12", "24"), PartChanged("XLA_FLAGS", None, "--a")])
    'static layers: 12 -> 24; XLA_FLAGS: none -> --a'
    """
    more = len(reasons) - _MAX
    return "; ".join(map(str, reasons[:_MAX])) + (f"; and {more} more" if more > 0 else "")


@dataclass(frozen=True)
class Stated:
    """A reason as data for JSON documents and other processes: its class and its text."""

    kind: str
    text: str

    @staticmethod
    def of(reason: Reason) -> Stated:
        """Return the data of a reason; the kind of one about a backend is that of its own reason.

        >>> Stated.of(VersionChanged("jaxlib", "0.10.2", "0.12.0"))
        Stated(kind='VersionChanged', text='jaxlib 0.10.2 -> 0.12.0')
        """
        inner = reason.reason if isinstance(reason, OfBackend) else reason
        return Stated(type(inner).__name__, str(reason))

    def __str__(self) -> str:
        return self.text


def _arrow(before: str | None, after: str | None) -> str:
    return f"{'none' if before is None else before} -> {'none' if after is None else after}"
