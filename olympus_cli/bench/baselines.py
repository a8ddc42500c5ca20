"""Baselines: saved measurements for comparison, in `baselines/NAME.json` beside olympus.toml.

A baseline has several rounds of each target, each measured by a separate process: one process does
not show how processes differ.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from olympus.artifact import write_whole
from olympus.errors import ArtifactError, UsageError
from olympus.files import check_keys
from olympus_cli.bench.measure.conditions import host
from olympus_cli.bench.measurement import Measured
from olympus_cli.reports.versioned_json import read_json
from olympus_cli.text.nearest import did_you_mean
from olympus_cli.text.paths import display_path, unwritable

BASELINES = "baselines"  # the folder's name, beside olympus.toml

_VERSION = 2  # increased with each change that an old reader would misread
_EARLIER = (1,)  # in version 1, metrics have their old names: `OLD_NAMES`
_NAME = re.compile(r"[A-Za-z0-9_+-][\w.+-]{0,99}", re.ASCII)
_SUFFIX = ".json"
_SAVING = "olympus bench --save-baseline NAME saves one"


@dataclass(frozen=True)
class Baseline:
    """The measurements of each target, by name: a `Measured` for each process."""

    label: str
    targets: Mapping[str, tuple[Measured, ...]]

    def of(self, target: str) -> tuple[Measured, ...]:
        """Return the rounds of a target.

        Raises:
            UsageError: the baseline does not have the target; the hint lists its targets.
        """
        if target in self.targets:
            return self.targets[target]
        raise UsageError(
            f"the baseline {self.label} does not have target {target!r}",
            hint=did_you_mean(target, self.targets, "it has")
            or f"olympus bench {target} --save-baseline NAME adds it",
        )


def baseline_path(root: Path, name: str) -> Path:
    """Return the path of the baseline `name` of the project in `root`.

    Raises:
        UsageError: the name cannot be that of a file everywhere.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be the name of a baseline",
            hint="it names a file: up to 100 letters, digits and . _ + - with no . at its "
            "beginning",
        )
    return root / BASELINES / (name + _SUFFIX)


def stored_path(root: Path, text: str) -> Path:
    """Return the file that `--baseline TEXT` names: FILE.json, or NAME of the project in `root`.

    Raises:
        UsageError: FILE.json does not exist, or NAME is not portable as a file name; the hint lists
            the project's baselines.
    """
    if not text.endswith(_SUFFIX):
        return baseline_path(root, text).absolute()
    path = Path(text).absolute()
    if os.path.exists(path):
        return path
    names = sorted(file.stem for file in (root / BASELINES).glob(f"*{_SUFFIX}"))
    hint = did_you_mean(path.stem, names, "there are")
    if path.stem in names:
        hint = f"--baseline {path.stem} is {display_path(root / BASELINES / path.name)}"
    raise UsageError(f"baseline {display_path(path)} does not exist", hint=hint or _SAVING)


def read_baseline(path: Path) -> Baseline:
    """Return the baseline in a file.

    Raises:
        UsageError: the file does not exist; the hint lists the baselines in its folder.
        ArtifactError: the file cannot be read, or does not contain a baseline.
    """
    if not os.path.exists(path):
        names = sorted(file.stem for file in path.parent.glob(f"*{_SUFFIX}"))
        raise UsageError(
            f"baseline {display_path(path)} does not exist",
            hint=did_you_mean(path.stem, names, "there are") or _SAVING,
        )
    data = read_json(path, _VERSION, _EARLIER)
    try:
        check_keys(data, ("targets",), "")
        return Baseline(display_path(path), _rounds(data["targets"]))
    except ValueError as error:
        raise ArtifactError(f"{display_path(path)} does not hold a baseline: {error}") from error


def _rounds(data: object) -> dict[str, tuple[Measured, ...]]:
    if not isinstance(data, dict):
        raise ValueError("targets is not an object")
    rounds_of = {}
    for name, rounds in data.items():
        if not isinstance(rounds, list) or not rounds:
            raise ValueError(f"targets.{name} is not an array of rounds")
        rounds_of[name] = tuple(_round(name, number, item) for number, item in enumerate(rounds))
    return rounds_of


def _round(name: str, number: int, data: object) -> Measured:
    try:
        measured = Measured.of_document(data)
    except ValueError as error:
        raise ValueError(f"targets.{name}[{number}]: {error}") from error
    if measured.target != name:
        raise ValueError(f"targets.{name}[{number}] has target {measured.target!r}")
    return measured


def check_saving(path: Path) -> None:
    """Check that a baseline can be saved in a file, before a long measurement.

    Raises:
        ArtifactError: the file exists, and does not contain a baseline.
        UsageError: the file cannot be written.
    """
    folder = path.parent if os.path.lexists(path.parent) else path.parent.parent
    if not os.path.lexists(folder):
        raise UsageError(
            f"{display_path(path)} cannot be written: {display_path(folder)} does not exist"
        )
    if why := unwritable(folder):
        raise UsageError(f"{display_path(path)} cannot be written: {why}")
    if os.path.exists(path):
        read_baseline(path)


def write_baseline(path: Path, targets: Mapping[str, Sequence[Measured]]) -> None:
    """Save the rounds of targets in a file; the file's other targets remain.

    The folder is locked during the update, so that concurrent processes lose no data.

    Raises:
        ArtifactError: the file exists, and does not contain a baseline.
        UsageError: the file cannot be written.
    """
    with _locked(path.parent):
        earlier = read_baseline(path).targets if os.path.exists(path) else {}
        data: dict[str, Any] = {
            name: [measured.document() for measured in rounds]
            for name, rounds in sorted({**earlier, **targets}.items())
        }
        text = json.dumps({"schema_version": _VERSION, "targets": data}, indent=1, allow_nan=False)
        write_whole(path, text + "\n")


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Create a folder and lock it for one writer at a time, without a lock file."""
    try:
        folder.mkdir(exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise UsageError(f"{display_path(folder)} cannot be used: {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def check_host(
    target: str, theirs: Sequence[Measured], label: str, backends: Collection[str]
) -> None:
    """Check, before a measurement, that the stored figures can be compared with figures from here.

    `backends` are the backends that the target may be measured on. The device is known only after
    the measurement: see `check_comparable`.

    Raises:
        UsageError: the figures are from another machine or another backend.
    """
    here = host()
    for measured in theirs:
        if measured.backend not in backends:
            raise _other_backend(label, target, measured.backend, " or ".join(sorted(backends)))
        _check_machine({**measured.machine, "device": ""}, {**here, "device": ""}, label)


def check_comparable(ours: Measured, theirs: Sequence[Measured], label: str) -> None:
    """Check that the stored figures and ours are from one machine and one backend.

    Raises:
        UsageError: they are not; the hint shows a comparison that is possible.
    """
    for measured in theirs:
        if measured.backend != ours.backend:
            raise _other_backend(label, ours.target, measured.backend, ours.backend)
        _check_machine(measured.machine, ours.machine, label)


def _other_backend(label: str, target: str, theirs: str, ours: str) -> UsageError:
    return UsageError(
        f"the baseline {label} has target {target!r} on {theirs}, and it is measured on {ours}",
        hint=f"--backend {theirs.partition(':')[0]} measures it there",
    )


def _check_machine(theirs: Mapping[str, str], ours: Mapping[str, str], label: str) -> None:
    if differing := _differing(theirs, ours):
        raise UsageError(
            f"the baseline {label} was measured on another machine and cannot be compared: "
            f"{differing}",
            hint="measure both on one: --baseline git:REV or FILE.olympus runs both sides here",
        )


def differences(ours: Measured, theirs: Measured) -> list[str]:
    """Return sentences on the differences between two sides of a target, for a reader."""
    sentences = []
    if differing := _differing(theirs.versions, ours.versions):
        sentences.append(f"the two sides have different versions: {differing}")
    if not theirs.fingerprint:
        sentences.append(
            "the other side has no fingerprint of its program: it may be another program than ours"
        )
    elif ours.fingerprint != theirs.fingerprint:
        sentences.append("the program is not the same: olympus diff shows how it changed")
    return sentences


def _differing(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """Return the differences between two dicts: "cpu was A and is B"; "" if they are equal."""
    names = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
    return ", ".join(
        f"{name} was {before.get(name, 'unknown')} and is {now.get(name, 'unknown')}"
        for name in names
    )
