"""The two programs of a comparison, by their names on the command line, before they are read.

forward             a target, or an entry, as it is now
build/forward       a build's folder
forward.olympus     a bundle
forward.mlir        StableHLO: text, MLIR bytecode or a portable artifact
git:HEAD~1          the target of the other side at a revision
git:HEAD~1:forward  this target at a revision
git:HEAD~1          alone: each default target, at the revision and now
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from olympus.errors import UsageError
from olympus_cli.revisions.revision import PREFIX, Checkouts, blaming_revision, split_revision
from olympus_cli.spec.entries import BUNDLE_SUFFIX, is_entry, is_onnx, program_file
from olympus_cli.spec.model import Checkout, TargetSpec
from olympus_cli.spec.project_file import project_in
from olympus_cli.spec.resolve import Request, build_dir, open_project
from olympus_cli.text.paths import display_path

STABLEHLO = "program.stablehlo.mlir"  # the program in a build's folder
_SUFFIXES = (".mlir", ".mlirbc", ".bc", ".stablehlo")  # of files, even if they do not exist


@dataclass(frozen=True)
class TargetSide:
    """A program that is lowered now, or from the files of a revision."""

    label: str
    spec: TargetSpec
    revision: Checkout | None = None


@dataclass(frozen=True)
class BuildSide:
    """The folder of a target in a build; `backend` is the requested one."""

    label: str
    folder: Path
    backend: str | None = None


@dataclass(frozen=True)
class BundleSide:
    """A bundle, FILE.olympus."""

    label: str
    path: Path
    backend: str | None = None


@dataclass(frozen=True)
class FileSide:
    """A file with StableHLO."""

    label: str
    path: Path


Side: TypeAlias = TargetSide | BuildSide | BundleSide | FileSide


def both_sides(
    first: str, second: str | None, request: Request, checkouts: Checkouts
) -> tuple[Side, Side]:
    """Return the sides that two texts name; `request` has the options of sides that are lowered.

    If `second` is None, a target is compared with its last build, and the target of a revision with
    its current state.  The files of revisions exist until `checkouts` ends.

    Raises:
        UsageError: a text names nothing, a revision does not exist, or the target has no build.
    """
    if second is None and first.startswith(PREFIX):
        second = split_revision(first)[1]
    if second is None:
        now = _side(first, None, request, checkouts)
        if not isinstance(now, TargetSide):
            raise UsageError(f"{first} is one program, and two are compared")
        return _last_build(now, request), now
    one, other = (_side(a, b, request, checkouts) for a, b in ((first, second), (second, first)))
    return _with_shapes(one, other), _with_shapes(other, one)


def is_whole_revision(text: str) -> bool:
    """Return True if a text is "git:REV" without a target, for all targets of the project.

    >>> is_whole_revision("git:HEAD~1"), is_whole_revision("git:HEAD~1:forward")
    (True, False)
    """
    return text.startswith(PREFIX) and split_revision(text)[1] is None


def names_at(text: str, request: Request, checkouts: Checkouts) -> list[str]:
    """Return the names of the project's targets at the revision of "git:REV".

    The list is empty if the revision has no project there.

    Raises:
        UsageError: the revision does not exist, or its olympus.toml is wrong.
    """
    here = open_project(request.project, request.devices).root
    checkout = checkouts.of(_revision_of(text), here)
    place = checkout.tree / here.resolve().relative_to(checkout.top)
    if project_in(place) is None:
        return []
    with blaming_revision(checkout):
        return [*open_project(place, request.devices).targets]


def _with_shapes(side: Side, other: Side) -> Side:
    """Return the side; an entry without shapes gets the other side's shapes and options.

    The options are the statics, unless the entry has its own, the donated arguments and backends.
    A target without shapes needs none: its function has no arguments, or its file has the shapes.
    """
    if not isinstance(side, TargetSide) or not isinstance(other, TargetSide):
        return side
    if side.spec.table is not None or side.spec.args or side.spec.kwargs:
        return side
    source = other.spec
    spec = replace(
        side.spec,
        args=source.args,
        kwargs=source.kwargs,
        static={**source.static, **side.spec.static},
        weights=side.spec.weights or (source.weights if is_onnx(side.spec.entry) else None),
        donate=source.donate,
        backends=source.backends,
    )
    return replace(side, spec=spec)


def _last_build(now: TargetSide, request: Request) -> BuildSide:
    folder = build_dir(request.project, now.spec.root) / now.spec.name
    if not os.path.isfile(folder / STABLEHLO):
        raise UsageError(
            f"{now.label} has not been built: {display_path(folder / STABLEHLO)} does not exist",
            hint=f"olympus build {now.label} builds it; olympus diff takes two programs too",
        )
    return BuildSide(display_path(folder), folder, request.backend)


def _side(text: str, other: str | None, request: Request, checkouts: Checkouts) -> Side:
    if text.startswith(PREFIX):
        return _at_revision(text, other, request, checkouts)
    path = Path(text).absolute()
    if text.endswith(BUNDLE_SUFFIX):
        return BundleSide(text, path, request.backend)
    is_target = os.sep not in text and _is_target(text, request)
    if is_target or (program_file(text) and not text.endswith(_SUFFIXES)):
        return TargetSide(text, replace(request, text=text).spec())
    # the functions of `os.path` return False for a name that is too long
    if os.path.isdir(path) and (os.path.exists(path / STABLEHLO) or os.sep in text):
        if not os.path.isfile(path / STABLEHLO):
            raise UsageError(f"{text} is not a build's folder: it has no {STABLEHLO}")
        return BuildSide(text, path, request.backend)
    is_other = os.path.exists(path) and not os.path.isdir(path) and path.suffix != ".py"
    if text.endswith(_SUFFIXES) or is_other:
        return FileSide(text, path)
    return TargetSide(text, replace(request, text=text).spec())


def _is_target(text: str, request: Request) -> bool:
    try:
        return open_project(request.project).has(text)
    except UsageError:  # no project, or a wrong one: reported where it is needed
        return False


def _revision_of(text: str) -> str:
    revision, _ = split_revision(text)
    if not revision:
        raise UsageError(f"{text!r} names no revision", hint=f"such as {PREFIX}HEAD~1")
    return revision


def _at_revision(
    text: str, other: str | None, request: Request, checkouts: Checkouts
) -> TargetSide:
    revision, target = _revision_of(text), split_revision(text)[1]
    if target is None and other is not None:
        target = split_revision(other)[1] if other.startswith(PREFIX) else other
    is_file = target is not None and os.path.exists(target) and not is_entry(target)
    if target is None or is_file or target.endswith((BUNDLE_SUFFIX, *_SUFFIXES)):
        raise UsageError(
            f"{text} names no target, and the other side is not one",
            hint=f"such as {text}:TARGET",
        )
    if is_entry(target):
        here = Path(request.project) if request.project else Path.cwd()
        here = here if os.path.isdir(here) else here.parent
    else:
        here = open_project(request.project).root
    checkout = checkouts.of(revision, here)
    with blaming_revision(checkout):
        project = str(checkout.counterpart(here))
        spec = replace(replace(request, text=target, project=project).spec(), checkout=checkout)
    return TargetSide(f"{PREFIX}{revision}:{target}", spec, checkout)
