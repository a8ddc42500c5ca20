"""The two programs that are compared, as the command line names them, before they are read.

forward             a target, or an entry, as it is now
build/forward       a build's folder
forward.olympus     a bundle
forward.mlir        StableHLO: text, MLIR bytecode or a portable artifact
git:HEAD~1          the target of the other side at a revision
git:HEAD~1:forward  this target at a revision
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from olympus.errors import UsageError
from olympus_cli.comparison.revision import (
    PREFIX,
    Checkout,
    blaming_revision,
    checkout,
    split_revision,
)
from olympus_cli.places import shown
from olympus_cli.program.bundle import SUFFIX
from olympus_cli.spec.model import TargetSpec
from olympus_cli.spec.resolve import Request, build_dir, open_project

__all__ = [
    "STABLEHLO",
    "BuildSide",
    "BundleSide",
    "FileSide",
    "Side",
    "TargetSide",
    "both_sides",
]

STABLEHLO = "program.stablehlo.mlir"  # the program in a build's folder
_SUFFIXES = (".mlir", ".mlirbc", ".bc", ".stablehlo")  # of what is a file, there or not


@dataclass(frozen=True)
class TargetSide:
    """A program that is lowered now, or from the files of a revision."""

    label: str
    spec: TargetSpec
    revision: Checkout | None = None


@dataclass(frozen=True)
class BuildSide:
    """A target's folder of a build; `backend` is the one that is asked for."""

    label: str
    folder: Path
    backend: str | None = None


@dataclass(frozen=True)
class BundleSide:
    """A FILE.olympus."""

    label: str
    path: Path
    backend: str | None = None


@dataclass(frozen=True)
class FileSide:
    """A file with StableHLO."""

    label: str
    path: Path


Side: TypeAlias = TargetSide | BuildSide | BundleSide | FileSide


@contextmanager
def both_sides(first: str, second: str | None, request: Request) -> Iterator[tuple[Side, Side]]:
    """The sides that two texts name; the options of `request` are for those that are lowered.

    One text alone is compared with the last build of the target, and a revision's target with what
    it is now.  The worktrees of revisions are there as long as the context lasts.

    Raises:
        UsageError: a text names nothing, a revision is not there, or the target has no build.
    """
    with ExitStack() as stack:
        if second is None:
            if first.startswith(PREFIX):
                _, target = split_revision(first)
                if target is None:
                    raise UsageError(
                        f"{first} names no target, and there is no other side",
                        hint=f"such as {first}:TARGET, or olympus diff {first} TARGET",
                    )
                second = target
            else:
                now = _side(first, None, request, stack)
                if not isinstance(now, TargetSide):
                    raise UsageError(f"{first} is one program, and two are compared")
                yield _last_build(now, request), now
                return
        one, other = _side(first, second, request, stack), _side(second, first, request, stack)
        yield _with_shapes(one, other), _with_shapes(other, one)


def _with_shapes(side: Side, other: Side) -> Side:
    """An entry without shapes gets those of the other side, with its statics and donations."""
    if not isinstance(side, TargetSide) or not isinstance(other, TargetSide):
        return side
    if side.spec.args or side.spec.kwargs:
        return side
    given = other.spec
    spec = replace(
        side.spec,
        args=given.args,
        kwargs=given.kwargs,
        static={**given.static, **side.spec.static},
        donate=given.donate,
        backends=given.backends,
    )
    return replace(side, spec=spec)


def _last_build(now: TargetSide, request: Request) -> BuildSide:
    folder = build_dir(request.project, now.spec.root) / now.spec.name
    if not (folder / STABLEHLO).is_file():
        raise UsageError(
            f"{now.label} has not been built: there is no {shown(folder / STABLEHLO)}",
            hint=f"olympus build {now.label} builds it; olympus diff takes two programs too",
        )
    return BuildSide(shown(folder), folder, request.backend)


def _side(text: str, other: str | None, request: Request, stack: ExitStack) -> Side:
    if text.startswith(PREFIX):
        return _at_revision(text, other, request, stack)
    path = Path(text).absolute()
    if text.endswith(SUFFIX):
        return BundleSide(text, path, request.backend)
    if os.sep not in text and _is_target(text, request):
        return TargetSide(text, replace(request, text=text).spec())
    if path.is_dir() and ((path / STABLEHLO).exists() or os.sep in text):
        if not (path / STABLEHLO).is_file():
            raise UsageError(f"{text} is not a build's folder: it has no {STABLEHLO}")
        return BuildSide(text, path, request.backend)
    if text.endswith(_SUFFIXES) or (path.exists() and not path.is_dir() and path.suffix != ".py"):
        return FileSide(text, path)
    return TargetSide(text, replace(request, text=text).spec())


def _is_target(text: str, request: Request) -> bool:
    try:
        return open_project(request.project).has(text)
    except UsageError:  # there is no project, or it is wrong, which is told where it is needed
        return False


def _at_revision(text: str, other: str | None, request: Request, stack: ExitStack) -> TargetSide:
    revision, target = split_revision(text)
    if not revision:
        raise UsageError(f"{text!r} names no revision", hint=f"such as {PREFIX}HEAD~1")
    if target is None and other is not None:
        target = split_revision(other)[1] if other.startswith(PREFIX) else other
    if target is None or Path(target).exists() or target.endswith((SUFFIX, *_SUFFIXES)):
        raise UsageError(
            f"{text} does not say which target, and the other side is not one",
            hint=f"such as {text}:TARGET",
        )
    if ":" in target:
        here = Path(request.project) if request.project else Path.cwd()
        here = here if here.is_dir() else here.parent
    else:
        here = open_project(request.project).root
    found = stack.enter_context(checkout(revision, here))
    with blaming_revision(found):
        project = str(found.counterpart(here))
        spec = replace(request, text=target, project=project).spec()
    return TargetSide(f"{PREFIX}{revision}:{target}", spec, found)
