"""The executor that `--executor` names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from olympus_cli.spec.model import Project, TargetSpec
from olympus_cli.workers.executor import Executor
from olympus_cli.workers.pool import LocalPool

if TYPE_CHECKING:
    from olympus_cli.builder.build_request import BuildRequest


def executor_of(
    request: BuildRequest,
    project: Project,
    specs: Iterable[TargetSpec],
    on_note: Callable[[str], None],
) -> Executor:
    """Return the executor of a request, for these targets; `on_note` gets messages for the user."""
    if request.executor == "local":
        return LocalPool(request.jobs)
    from olympus_cli.builder.farm.executor import DaskExecutor  # it needs more modules

    chosen = list(specs)
    kinds = sorted({backend.backend for spec in chosen for backend in spec.backends})
    sources = sorted({project.root, *(path for spec in chosen for path in spec.python_path)})
    return DaskExecutor(request.executor, request.jobs, kinds, project.build_dir, sources, on_note)
