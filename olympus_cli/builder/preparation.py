"""Preparation of the process that forks the workers of a build: work that each would repeat.

Every worker imports the same modules, and its first program of each kind loads dialects and tables.
This process does that once with a small program. It starts no thread: a forked worker would not
have it.
"""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Iterable
from functools import cache
from itertools import chain
from pathlib import Path

import olympus
from olympus.artifact import COMPILERS, Host, compiler_versions
from olympus.files import remember_types
from olympus.stages import driver_digest
from olympus_cli.builder.freshness.inputs import importable_names
from olympus_cli.builder.freshness.recording import prepare_recording
from olympus_cli.builder.manifest import Manifest
from olympus_cli.builder.outcome import Outcome
from olympus_cli.faults.user_modules import mark_modules
from olympus_cli.process import own_process
from olympus_cli.process.fast_imports import unhindered
from olympus_cli.process.huge_pages import use_huge_pages
from olympus_cli.process.import_listings import list_completely
from olympus_cli.program.versions import installed_version, tool_versions
from olympus_cli.reports.program_figures import CompiledFigures
from olympus_cli.spec.model import TargetSpec

_MANY_FORKS = 50  # which save more time than `use_huge_pages` takes
#: Names of `olympus.analysis` whose modules every build imports.
_ANALYSES = ("Cost", "Memory", "SourceMap", "fits")
_MODULES = (
    *(
        "olympus.export",
        "olympus.extend",
        "olympus_cli.frontends.binding",
        "olympus_cli.frontends.jax_functions",
    ),
    *("olympus_cli.frontends.placing", "olympus_cli.frontends.python"),
    *("olympus_cli.frontends.torch_modules", "olympus_cli.reports.text", "encodings.ascii"),
)


def prepare_for(specs: Iterable[TargetSpec]) -> None:
    """Prepare this process to fork workers for targets.

    In a process that does not fork its workers this does nothing.
    """
    prepare_workers()
    if own_process.is_own():
        of_targets = [(spec.root, *spec.python_path) for spec in specs]
        for folder in {*sys.path, *map(str, chain.from_iterable(of_targets))}:
            importable_names(folder)  # kept if it does not change
            list_completely(folder)
        if len(of_targets) >= _MANY_FORKS:
            use_huge_pages()


@cache
def prepare_workers() -> None:
    """Import what every worker needs, and trace, lower and inspect a small program, once.

    In a process that does not fork its workers this does nothing.
    """
    if not own_process.is_own():
        return
    with unhindered():
        for name in _ANALYSES:
            getattr(olympus.analysis, name)
        for module in _MODULES:
            importlib.import_module(module)
        tool_versions()
        compiler_versions()
        Host.here()
        driver_digest()
        olympus.analysis.this_cpu()
        for kind in (CompiledFigures, Outcome, Manifest):
            remember_types(kind)
        for package in chain(*COMPILERS.values()):
            installed_version(package)  # Python caches the lists of the import path's folders
        lowered = olympus.jit(_program).lower(olympus.ShapeDtypeStruct((2, 2), "float32"))
        lowered.as_text()
        lowered.as_text("hlo")
        lowered.bytecode()
        lowered.cost()
        lowered.olympuspr_text()
        olympus.analysis.SourceMap.of(lowered.module, Path()).to_bytes()
    prepare_recording()
    mark_modules()
    gc.freeze()  # a collection writes to all objects, whose pages a fork then copies


def _program(x: olympus.Array) -> olympus.Array:
    return olympus.numpy.tanh(x @ x + 1)
