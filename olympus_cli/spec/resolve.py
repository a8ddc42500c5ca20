"""The target of a command: named by the argument, modified by the options."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import olympus
from olympus.errors import UsageError
from olympus_cli.spec.backends import backend_text, parse_backend
from olympus_cli.spec.devices import Devices, read_devices
from olympus_cli.spec.entries import FORMS, entry_name, is_entry
from olympus_cli.spec.fixed_sizes import checked_constraints
from olympus_cli.spec.model import Project, TargetSpec
from olympus_cli.spec.project import FILE, beside_targets, find_project, load_project
from olympus_cli.spec.project_file import is_named, project_at, project_in
from olympus_cli.spec.shapes import parse_shapes
from olympus_cli.spec.statics import parse_statics
from olympus_cli.spec.target_names import is_pattern
from olympus_cli.spec.trips import parse_trips
from olympus_cli.text.option_values import WEIGHTS
from olympus_cli.text.paths import display_path, resolved

_MAX = 6  # targets of a matrix in a hint


@dataclass(frozen=True)
class Request:
    """A program on a command line: its name, and the options that override its target."""

    text: str
    shapes: str | None = None
    statics: tuple[str, ...] = ()
    project: str | None = None
    backend: str | None = None
    device: str | None = None
    stages: Mapping[str, Any] = field(default_factory=dict)  # those of `stage_settings`
    trips: tuple[str, ...] = ()
    device_config: Path | None = None
    topology: str | None = None
    weights: str | None = None
    constraints: tuple[str, ...] = ()
    at: Mapping[str, int] = field(default_factory=dict)

    @property
    def weights_file(self) -> Path | None:
        """The .safetensors file of `weights`; None for the form of an ONNX model's weights."""
        is_form = self.weights is None or self.weights in WEIGHTS
        return None if is_form else Path(str(self.weights))

    @cached_property
    def devices(self) -> Devices:
        """The devices of the file that `--device-config` names.

        Raises:
            SpecError: the file is wrong.
        """
        return read_devices(self.device_config)

    def spec(self) -> TargetSpec:
        """Return the target of the request, with the options applied.

        A text with ":", or the name of a program's file, is an entry.  It is resolved in the
        project's folder if `project` is given, and in the working directory otherwise.  Any other
        text is the name of a target.  Named shapes and statics replace those of the same name in
        the target; positional shapes replace all its arguments.

        Raises:
            UsageError: a name, a shape, a static or a backend is wrong.

        Example: `Request("model:forward", shapes="x=f32[8,3]", statics=("train=false",)).spec()`.
        """
        find = _entry if is_entry(self.text) else _target
        return self._applied(*find(self.text, self.project, self.devices))

    def _applied(self, original: TargetSpec, devices: Devices) -> TargetSpec:
        """Return a target with the options; its outputs are unknown if they change them."""
        target = self._with_options(original, devices)
        is_own = set(target.backends) <= set(original.backends) and original == replace(
            target, backends=original.backends
        )
        return target if is_own else replace(target, outputs=None)

    def _constraints(self, target: TargetSpec) -> tuple[str, ...]:
        """Return the constraints of a target on its sizes, with those of the request."""
        if not self.constraints:
            return target.constraints
        try:
            return checked_constraints((*target.constraints, *self.constraints))
        except UsageError as error:
            shown = " ".join(f"--constraint {text}" for text in self.constraints)
            raise UsageError(f"{shown}: it {error}", hint=error.hint) from error

    def sizes(self) -> dict[str, TargetSpec]:
        """Return the targets of a bundle for several sizes by name, with the options applied.

        It is empty if the text is not the name of a target with `buckets`. Raises as `spec`.
        """
        found = find_project(Path.cwd()) if self.project is None else self.project
        if is_entry(self.text) or found is None:
            return {}
        opened = open_project(self.project, self.devices)
        targets = opened.select([self.text]) if opened.has(self.text) else []
        bundles = [target.buckets and target.buckets.name for target in targets]
        if not targets or bundles[0] is None or targets[0].name == self.text:
            return {}
        if set(bundles) != {bundles[0]}:  # a matrix of bundles
            return {}
        return {x.name: self._applied(x, opened.devices) for x in targets}

    def _with_options(self, target: TargetSpec, devices: Devices) -> TargetSpec:
        overridden: list[tuple[str, ...]] = []
        if self.shapes is not None:
            args, kwargs = parse_shapes(self.shapes)
            overridden += [("args",)] if args else [("args", name) for name in kwargs]
            unchanged = {} if args else {k: v for k, v in target.kwargs.items() if k not in kwargs}
            target = replace(
                target,
                args=tuple(args) or target.args,
                kwargs={**unchanged, **kwargs},
                toml_args=None,
            )
        if self.weights_file is not None:
            target = replace(target, weights_file=self.weights_file)
        elif self.weights is not None:
            overridden.append(("weights",))
            target = replace(target, weights=self.weights)
        statics = parse_statics(self.statics)
        overridden += [("static", name) for name in statics]
        if self.constraints:
            overridden.append(("constraints",))
        overridden += [("at", name) for name in self.at]
        trips = parse_trips(self.trips)
        overridden += [("trips", line) for line in trips]
        target = replace(
            target,
            static={**target.static, **statics},
            constraints=self._constraints(target),
            at={**target.at, **self.at},
            table=target.table and target.table.without(*overridden),
        )
        if (self.backend, self.device, self.topology) != (None, None, None):
            # the name of a model implies the backend
            implied = olympus.backend_of(self.device or "", devices)
            chosen = parse_backend(self.backend or implied, self.device, devices, self.topology)
            most = chosen.most_devices
            if most is not None and most < target.num_devices:
                raise UsageError(
                    f"the mesh of {target.name} needs {target.num_devices} devices, and "
                    f"{backend_text(chosen)} has {most}"
                )
            target = replace(target, backends=(chosen,))
        return replace(target, trips={**target.trips, **trips}, **self.stages)


def open_project(project: str | Path | None, own: Devices | None = None) -> Project:
    """Return the project at `project`; for None, search upward from the working directory.

    `own` are the user's own devices, in addition to the project's.

    Raises:
        UsageError: there is no project.
        SpecError: its olympus.toml is wrong.
    """
    if project is not None:
        return load_project(Path(project), own)
    path = find_project(Path.cwd())
    if path is None:
        raise UsageError(
            f"{FILE} is missing in {Path.cwd()} and in every folder above it",
            hint="olympus init writes one; --project PATH names one in another folder",
        )
    return load_project(path, own)


def expanded(names: Sequence[str], request: Request) -> list[str]:
    """Return the names of programs: `names`, with the name of a matrix replaced by its targets.

    Entries are returned as they are, before the targets.  If `names` is empty, the
    names of the default targets are returned, or of all targets if there are none.

    Raises:
        UsageError: there is no project, or no such target in it.
    """
    entries = [name for name in names if is_entry(name)]
    targets = [name for name in names if name not in entries]
    if targets or not names:
        targets = [
            target.name for target in open_project(request.project, request.devices).select(targets)
        ]
    return entries + targets


def build_dir(project: str | Path | None, root: Path, own: Devices | None = None) -> Path:
    """Return the build folder of the project; without a project, the folder "build" in `root`.

    `own` are the devices for `open_project`.

    Raises:
        SpecError: its olympus.toml is wrong.
    """
    opened = project_of(project, root, own)
    return opened.build_dir if opened else root / "build"


def project_of(
    project: str | Path | None, root: Path, own: Devices | None = None
) -> Project | None:
    """Return the project at `project`, or, for None, upward from `root`; None if there is none.

    `own` are the devices for `open_project`.

    Raises:
        SpecError: its olympus.toml is wrong.
    """
    path = find_project(root) if project is None else project_at(Path(project))
    return load_project(path, own) if path and is_named(path) else None


def _entry(text: str, project: str | None, own: Devices) -> tuple[TargetSpec, Devices]:
    path = Path(project) if project is not None else Path.cwd()
    root = resolved(path.parent if is_named(path) else path)
    if not os.path.isdir(root):
        raise UsageError(f"--project {project}: the folder does not exist")
    name = entry_name(text)
    file = path if is_named(path) else find_project(root) if project is None else project_in(root)
    folders, devices = beside_targets(file) if file is not None and is_named(file) else ((), {})
    spec = TargetSpec(
        name, text, (), {}, {}, (), (parse_backend("cpu"),), root, python_path=folders
    )
    return spec, {**devices, **own}


def _meant(text: str, folder: Path) -> str | None:
    """Return the hint for an entry with "." in place of ":"; None if there is no such file."""
    place, _, name = text.rpartition(".")
    file = place if place.endswith(".py") else place.replace(".", "/") + ".py"
    return f"did you mean {place}:{name}?" if place and os.path.isfile(folder / file) else None


def _target(text: str, project: str | None, own: Devices) -> tuple[TargetSpec, Devices]:
    if text.endswith(".py"):
        raise UsageError(f"{text!r} names no function", hint=f"write {text}:forward, for example")
    entry = _meant(text, Path(project or ""))
    if project is None and find_project(Path.cwd()) is None:
        raise UsageError(
            f"{text!r} has no ':', so that it is not an entry but a target, and {FILE} is missing "
            f"in {Path.cwd()} and in every folder above it",
            hint=entry or FORMS,
        )
    opened = open_project(project, own)
    if entry and not opened.has(text):
        raise UsageError(f"no target is named {text!r} in {display_path(opened.file)}", hint=entry)
    targets = opened.select([text])
    if len(targets) > 1:
        names = ", ".join(target.name for target in targets[:_MAX])
        more = f" and {len(targets) - _MAX} more" if len(targets) > _MAX else ""
        several = "is a pattern" if is_pattern(text) else "has several combinations"
        if "@" not in text and not is_pattern(text):
            has_matrix = any(target.buckets is None for target in targets)
            several = "has a matrix" if has_matrix else "has several sizes"
        raise UsageError(
            f"target {text!r} {several}, and this command takes one program",
            hint=f"name one of {names}{more}",
        )
    return targets[0], opened.devices
