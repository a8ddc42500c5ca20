"""The state of bundles that are joined from those of targets; nothing is traced."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from olympus_cli.builder.bucket_bundles import groups_of
from olympus_cli.builder.joining import JoinedBundle, explained, ready_targets
from olympus_cli.builder.outcome import Outcome
from olympus_cli.builder.selection.states import State, TargetState
from olympus_cli.builder.weight_bundles import joins_of
from olympus_cli.spec.backends import backend_text
from olympus_cli.spec.model import TargetSpec


def joined_states(specs: Sequence[TargetSpec], build_dir: Path) -> Iterator[TargetState]:
    """Yield the state of each bundle for several sizes all of whose targets are among `specs`, and
    of each bundle with weights.

    A bundle is stale if its parts or settings have changed, whether or not its targets are.
    """
    by_name: Mapping[str, TargetSpec] = {spec.name: spec for spec in specs}
    groups = groups_of(by_name, build_dir)
    for group in groups:
        yield _state(group, group.targets[min(group.targets)])
    programs = {*by_name, *(group.name for group in groups)}
    for join in joins_of(by_name, build_dir):
        if join.program in programs:
            owner = next(s for s in specs if join.program in (s.name, s.buckets and s.buckets.name))
            yield _state(join, owner)


def explain_joined(
    specs: Mapping[str, TargetSpec], outcomes: Iterable[Outcome], build_dir: Path
) -> list[Outcome]:
    """Return why each of these bundles is stale or fresh, after its targets are explained."""
    ready = ready_targets(outcomes)
    explanations = []
    for group in groups_of(specs, build_dir):
        parts = [target.name for target in group.targets.values()]
        explanations.append(explained(group, parts, ready))
    ready |= ready_targets(explanations)
    programs = {*specs, *(outcome.target for outcome in explanations)}
    joins = [join for join in joins_of(specs, build_dir) if join.program in programs]
    return [*explanations, *(explained(join, [join.program], ready) for join in joins)]


def _state(bundle: JoinedBundle, spec: TargetSpec) -> TargetState:
    names = tuple(backend_text(backend) for backend in spec.backends)
    folder = bundle.path.parent
    try:
        status = os.stat(bundle.path)
    except OSError:
        return TargetState(bundle.name, spec.entry, names, "never built", None, None, 0, folder)
    try:
        state: State = "fresh" if bundle.is_fresh() else "stale"
    except OSError:  # a part is missing
        state = "stale"
    built = datetime.fromtimestamp(status.st_mtime, UTC).isoformat(timespec="seconds")
    return TargetState(bundle.name, spec.entry, names, state, built, None, status.st_size, folder)
