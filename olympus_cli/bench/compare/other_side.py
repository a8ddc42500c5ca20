"""The other side of a bench, named by `--baseline`: stored rounds, or a program to run.

NAME               baselines/NAME.json, which --save-baseline has written
FILE.json          a baseline elsewhere
FILE.olympus       a bundle, which runs in turns with the program
git:REV            the target at a revision, which runs in turns with what it is now
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

from olympus.errors import UsageError
from olympus_cli.bench.baselines import check_host, read_baseline, stored_path
from olympus_cli.bench.compare.rounds import Side
from olympus_cli.bench.measure.work import BundleWork, SamplerWork
from olympus_cli.bench.measurement import Measured
from olympus_cli.program.bundle import bundle_backend, bundle_loader
from olympus_cli.program.bundle_options import BundleOptions
from olympus_cli.revisions.revision import PREFIX, blaming_revision, checkout, split_revision
from olympus_cli.spec.entries import is_bundle, is_entry, program_file
from olympus_cli.spec.model import Checkout
from olympus_cli.spec.resolve import Request, project_of
from olympus_cli.text.paths import display_path

#: The side that a program is compared with: stored rounds, or a side that runs.
Other: TypeAlias = "tuple[Measured, ...] | Side"


@dataclass(frozen=True)
class RequestedProgram:
    """A program to measure: the user's request, and the work."""

    request: Request
    work: SamplerWork


def project_root(request: Request) -> Path:
    """Return the project's folder, which contains the baselines; by default the current folder.

    Raises:
        SpecError: the project's olympus.toml is wrong.
    """
    project = project_of(request.project, Path.cwd(), request.devices)
    return Path.cwd() if project is None else project.root


def jax_sides(programs: Sequence[RequestedProgram]) -> list[Side]:
    """Return the side of each program that JAX compiles and runs.

    Raises:
        UsageError: a program is not a Python function.
    """
    from olympus_cli.bench.measure.jax_subject import not_of_jax  # few measurements need it

    for program in programs:
        spec = program.work.program
        if isinstance(spec, BundleWork) or program_file(spec.entry) is not None:
            raise not_of_jax(program.work.name, program.work.entry, is_file=True)
    return [Side(replace(program.work, by_jax=True, beside_jax=True)) for program in programs]


@contextmanager
def other_sides(
    text: str, programs: Sequence[RequestedProgram], allowed: BundleOptions
) -> Iterator[Sequence[Other]]:
    """Yield the other side of each of `programs`, valid within the context.

    Raises:
        UsageError: the baseline, file, revision or target does not exist, is from another machine
            or backend, or a bundle is the other side of several programs.
        ArtifactError: a baseline is damaged.
    """
    if text.startswith(PREFIX):
        with _revision(text, programs) as sides:
            yield sides
    elif is_bundle(text):
        yield [_bundle(text, programs, allowed)]
    else:
        stored = read_baseline(stored_path(_root(programs), text))
        rounds = [stored.of(program.work.name) for program in programs]
        for program, measured in zip(programs, rounds, strict=True):
            check_host(program.work.name, measured, text, program.work.backends)
        yield rounds


def _root(programs: Sequence[RequestedProgram]) -> Path:
    return project_root(programs[0].request)


def _bundle(text: str, programs: Sequence[RequestedProgram], allowed: BundleOptions) -> Side:
    if len(programs) > 1:
        names = ", ".join(program.work.label for program in programs)
        raise UsageError(
            f"{text} is one program and cannot be the baseline of {len(programs)}: {names}",
            hint=f"such as olympus bench {programs[0].work.label} --baseline {text}",
        )
    (ours,) = programs
    path = Path(text).absolute()
    if not os.path.isfile(path):
        raise UsageError(f"bundle {display_path(path)} does not exist")
    request = replace(ours.request, text=text, shapes=None, statics=(), stages={})
    bundle_loader(request, allowed)  # reports the native code in it
    work = BundleWork(path, bundle_backend(request), allowed)
    return Side(SamplerWork.of_bundle(text, work, ours.work.inputs, ours.work.effort))


@contextmanager
def _revision(text: str, programs: Sequence[RequestedProgram]) -> Iterator[list[Other]]:
    revision, target = split_revision(text)
    if not revision:
        raise UsageError(f"{text!r} names no revision", hint=f"such as {PREFIX}HEAD~1")
    if target is not None and len(programs) > 1:
        raise UsageError(f"{text} is one target and cannot be the baseline of {len(programs)}")
    for requested in programs:
        if is_bundle(requested.request.text) and target is None:
            raise UsageError(
                f"{text} names no target to compare {requested.request.text} with",
                hint=f"such as {text}:TARGET",
            )
    with checkout(revision, _root(programs)) as tree:
        yield [_at(tree, program, target) for program in programs]


def _at(tree: Checkout, program: RequestedProgram, target: str | None) -> Side:
    """Return the side of a program at the revision."""
    add_revision = partial(blaming_revision, tree)
    text = target or program.request.text
    here = project_root(program.request)
    if is_entry(text) and program.request.project is None:
        here = Path.cwd()  # an entry is relative to the current folder, in a project or not
    with add_revision():
        project = str(tree.counterpart(here))
        request = replace(program.request, text=text, project=project)
        ours = program.work
        spec = replace(request.spec(), checkout=tree)
        return Side(SamplerWork.of_target(spec, ours.inputs, ours.effort), add_revision)
