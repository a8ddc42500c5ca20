"""The use of the index by a build: fresh targets before any work, and entries for traced ones."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields, replace
from pathlib import Path

from olympus.errors import ArtifactError
from olympus.stages import device_config
from olympus_cli.builder.freshness.collecting import ChangedMeanwhile, Collector
from olympus_cli.builder.freshness.index import Entry, Index, Output, Selection
from olympus_cli.builder.freshness.inputs import Status, file_digest, status_of
from olympus_cli.builder.manifest import MANIFEST, Manifest
from olympus_cli.builder.outcome import Outcome
from olympus_cli.builder.plan import Task
from olympus_cli.builder.reasons import Forced, Stated
from olympus_cli.reports.json import PAGE
from olympus_cli.spec.model import TargetSpec

# Fields of a target on which its outputs do not depend.
_NO_SETTINGS = frozenset(
    {"root", "budget", "bench", "golden", "inputs", "tolerance", "table", "toml_args", "outputs"}
    | {"setting_keys", "matrix", "checkout", "backends", "buckets", "weights_file", "data"}
)


class IndexUse:
    """The index of a build folder during one build of targets of the project in `root`."""

    def __init__(self, build_dir: Path, root: Path) -> None:
        self.index = Index.load(os.path.realpath(build_dir), os.path.realpath(root))
        self._collector = Collector(self.index.here)
        self._common: dict[frozenset[str], int] = {}
        self._settings: dict[str, str] = {}

    def fresh(self, tasks: Mapping[str, Task]) -> dict[str, Outcome]:
        """Return the outcomes of the targets with nothing to do, by name."""
        found = ((name, self._fresh(task)) for name, task in tasks.items())
        return {name: outcome for name, outcome in found if outcome is not None}

    def with_change(self, task: Task) -> Task:
        """Return a task that knows whether an input of its last trace has changed."""
        return replace(task, has_changed_input=self.index.has_changed_input(task.spec.name))

    def reasons(self, tasks: Mapping[str, Task]) -> dict[str, tuple[Stated, ...]]:
        """Return the reasons to trace each of these targets, by name."""
        return {name: self._reasons(task) for name, task in tasks.items()}

    def _reasons(self, task: Task) -> tuple[Stated, ...]:
        if task.force:
            return (Stated.of(Forced()),)
        reasons = self.index.reasons(task.spec.name, self._settings_of(task), task.labels)
        return tuple(map(Stated.of, reasons))

    def _fresh(self, task: Task) -> Outcome | None:
        if task.force or task.profile:
            return None
        entry = self.index.fresh(task.spec.name, self._settings_of(task), task.labels)
        if entry is None or entry.folder != self._folder(task):
            return None
        if task.page and all(output.path != PAGE for output in entry.outputs):
            return None
        unchanged = self.index.unchanged(entry)
        warnings = tuple(entry.warnings)
        return Outcome(task.spec.name, "fresh", warnings=warnings, unchanged=unchanged)

    def add(self, task: Task, outcome: Outcome) -> None:
        """Set the entry of a target that was traced; remove it if its inputs are not certain."""
        name = task.spec.name
        self.index.entries.pop(name, None)
        self.index.changed.pop(name, None)
        if not task.frozen:
            self._note_failure(name, has_failed=outcome.failure is not None)
        reads = outcome.reads
        if reads is None or outcome.report is None or outcome.failure is not None or task.frozen:
            return
        try:
            inputs = self._collector.of(reads, task.spec.env.keys())
            outputs = list(self._outputs(task.place.final))
        except ChangedMeanwhile as error:
            self.index.changed[name] = self.index.here.text(str(error))
            return
        except (ArtifactError, OSError):
            return
        labels = [backend.label for backend in outcome.report.backends]
        entry = Entry(
            self._settings_of(task),
            labels,
            self._folder(task),
            [self._common_list(task), self.index.list_of(inputs)],
            self._collector.always(reads),
            outputs,
            list(outcome.warnings),
        )
        self.index.entries[name] = entry

    def _note_failure(self, name: str, *, has_failed: bool) -> None:
        failed = set(self.index.failed) - {name}
        self.index.failed = sorted(failed | {name} if has_failed else failed)

    def add_request(self, key: str, files: Iterable[Path], tasks: Mapping[str, Task]) -> None:
        """Store the targets that a request selects, for the next build with the same request.

        The selection depends on `files`, such as olympus.toml.
        """
        paths = [os.path.abspath(file) for file in files]
        number = self.index.list_of(self._collector.files(paths))
        targets = {
            name: (self._settings_of(task), list(task.labels)) for name, task in tasks.items()
        }
        self.index.requests[key] = Selection(number, targets)

    def save(self, known: Collection[str]) -> None:
        """Write the index, with the targets in `known` alone."""
        for name in self.index.entries.keys() - set(known):
            del self.index.entries[name]
        self.index.failed = [name for name in self.index.failed if name in known]
        self.index.save()

    def _settings_of(self, task: Task) -> str:
        """Return the digest of everything in a target's specification that its outputs need."""
        name = task.spec.name
        if name not in self._settings:
            self._settings[name] = settings_digest(task.spec)
        return self._settings[name]

    def _common_list(self, task: Task) -> int:
        kinds = frozenset(task.spec.labels[label].backend for label in task.labels)
        if kinds not in self._common:
            self._common[kinds] = self.index.list_of(self._collector.common(kinds))
        return self._common[kinds]

    def _folder(self, task: Task) -> str:
        return os.path.relpath(task.place.final, self.index.build_dir)

    def _outputs(self, folder: Path) -> Iterable[Output]:
        """Yield the files of an output folder, with the digests of its list."""
        manifest = Manifest.read(folder)
        own = folder / MANIFEST
        digest = file_digest(str(own), follow=False)
        if digest is None:
            raise ArtifactError(f"{own} cannot be read")
        yield Output(MANIFEST, self._settled(own), digest)
        for file in manifest.files:
            yield Output(file.path, self._settled(folder / file.path), file.sha256)

    def _settled(self, path: Path) -> Status | None:
        status = status_of(str(path), follow=False)
        return None if status is None else self.index.here.settled(status)


def settings_digest(spec: TargetSpec) -> str:
    """Return the digest of a target's specification, equal for projects in different folders."""
    parts = [repr(getattr(spec, f.name)) for f in fields(spec) if f.name not in _NO_SETTINGS]
    parts += [repr((label, b, device_config(b))) for label, b in spec.labels.items()]
    text = "\n".join(parts).replace(str(spec.root), ".")
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()
