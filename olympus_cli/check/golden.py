"""The comparison of a program with the saved one, operation by operation."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from olympus.analysis import Difference, compare, graph_of, read_module
from olympus.errors import ArtifactError
from olympus_cli.builder.retracing import Instability
from olympus_cli.check.budget import Part, Verdict
from olympus_cli.check.golden_files import program_path
from olympus_cli.reports.changes import counted_changes
from olympus_cli.text.paths import display_path
from olympus_cli.text.units import counted
from olympus_cli.workers.call import OnStage

_MAX = 3  # lines of changes in a verdict
_DIGITS = 12  # of a fingerprint


def judge_golden(
    target: str, backend: str, module: Any, saved: bytes | None, root: Path
) -> Verdict:
    """Compare the StableHLO `module` with the `saved` text, and return the verdict.

    Names of values, locations and the order of independent operations are ignored.

    Raises:
        ArtifactError: the text is not a program.
    """
    graph, path = graph_of(module), display_path(program_path(root, target, backend))
    if saved is None:
        why = "it has no saved golden program: save one with `olympus check --update`"
        base = partial(Verdict, target, backend, "golden", "not saved", "the saved program")
        return base(why, is_judged=False)
    try:
        golden = graph_of(read_module(saved, "it"), file=path)
    except ArtifactError as error:
        raise ArtifactError(
            f"the golden program {path} of {target} is not StableHLO: {error}",
            hint=f"olympus check {target} --update saves it again, or git restore {path}",
        ) from error
    difference = compare(golden, graph)
    before, after = (fingerprint[:_DIGITS] for fingerprint in difference.fingerprints)
    if not difference:
        return Verdict(target, backend, "golden", after, before)
    project = [] if Path.cwd().is_relative_to(root) else ["--project", display_path(root)]
    device = backend.replace("-", ":", 1)
    show = shlex.join(["olympus", "diff", path, target, "--backend", device, *project])
    save = shlex.join(["olympus", "check", "--update", target, *project])
    why = f"the program is not the golden one: {counted(len(difference.changes), 'change')}"
    parts = (
        *_listed(difference, root),
        Part("", f"{show} shows the difference"),
        Part("", f"{save} saves it if the change is meant"),
    )
    return Verdict(target, backend, "golden", after, before, why, parts)


def check_golden(on_stage: OnStage, saved: bytes) -> None:
    """Read a saved golden program, as `judge_golden` does.

    Raises:
        ArtifactError: the text is not a program.
    """
    on_stage("read")
    graph_of(read_module(saved, "the golden program"))


def unstable(verdict: Verdict, instability: Instability) -> Verdict:
    """Return a broken verdict on a program that differs from another trace of it.

    Saving such a program again does not help.
    """
    return replace(
        verdict,
        why=instability.statement(golden=True),
        lines=(Part(instability.place, instability.words), Part("", instability.remedy)),
    )


def _listed(difference: Difference, root: Path) -> Iterator[Part]:
    """Yield the first changes, equal ones in one line, and the number of the others."""
    lines = counted_changes(difference.changes, root)
    for place, words, _ in lines[:_MAX]:
        yield Part(place, words)
    if rest := sum(times for _, _, times in lines[_MAX:]):
        yield Part("", f"... and {counted(rest, 'more change')}")
