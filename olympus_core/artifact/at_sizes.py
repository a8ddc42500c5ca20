"""The bundle of a program with symbolic sizes for some values of its variables."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from olympus_bundle.bundle_file import BundleFile, first_program, program_manifest, read_member
from olympus_bundle.container import Members
from olympus_bundle.manifest import Member
from olympus_bundle.symbolic.manifest import SymbolicManifest, part_name, sizes_text
from olympus_core.artifact.reading import StagesReader
from olympus_core.base.avals import shaped
from olympus_core.base.errors import ArtifactError, UsageError
from olympus_core.mlir import bindings as mlir
from olympus_core.stages.interface import ArgInfo
from olympus_core.xla.runtime.program_formats import refined


def at_sizes(file: BundleFile, sizes: Mapping[str, int]) -> BundleFile:
    """Return the bundle of one program, for values of the variables in symbolic sizes.

    Variables without a value have that of the first bundle in the file. A bundle in the file is
    returned if there is one for these sizes. Otherwise the StableHLO is given these sizes, and the
    bundle has no executable. A bundle without symbolic sizes is returned as it is.

    Raises:
      UsageError: there is no such variable, or the values break a constraint.
      ArtifactError: the bundle in the file, or the StableHLO, is damaged.
    """
    manifest = file.manifest
    if not isinstance(manifest, SymbolicManifest):
        if sizes:
            raise UsageError(f"{file.path} has no symbolic sizes, and got {sizes_text(sizes)}")
        return file
    for name in sizes:
        if name not in manifest.variables:
            known = ", ".join(manifest.variables)
            raise UsageError(f"{file.path} has the sizes {known}, and got {name}")
    values = {**manifest.sizes[0], **sizes}

    def refuse(fault: str) -> None:
        raise UsageError(f"{file.path} has no program for {sizes_text(values)}: {fault}")

    manifest.solver().check(values, refuse)
    if (name := part_name(values)) in file.members:
        return read_member(file, name, StagesReader())
    return _refined(file, manifest, values)


def _refined(file: BundleFile, symbolic: SymbolicManifest, sizes: Mapping[str, int]) -> BundleFile:
    part = first_program(file, StagesReader())
    first: Any = program_manifest(part)
    try:
        signature: Any = symbolic.signature_at(first.signature, sizes)
    except ValueError:
        raise ArtifactError(f"{file.path} cannot be used: its bundles have other arrays") from None
    pairs = zip(signature.arguments, symbolic.arguments, strict=True)
    types = {
        i: shaped(x.shape, x.dtype, x.weak_type)
        for i, (x, s) in enumerate(pairs)
        if any(not isinstance(n, int) for n in s.shape)
    }
    views = {n: v for n, v in part.members.views.items() if not n.startswith("executables/")}
    constants = {
        backend: tuple([ArgInfo(x.shape, x.dtype, name=x.name) for x in group])
        for backend, group in symbolic.constants.items()
    }
    for member, backend in {m: backend for backend, m in symbolic.programs.items()}.items():
        count, what = len(constants.get(backend, ())), f"the program of {file.path}"
        module = mlir.parsed(file.members[member], what)
        module = refined(module, {count + i: x for i, x in types.items()}, what)
        views[member] = memoryview(mlir.portable(module))
    manifest = replace(
        first,
        signature=signature,
        programs=symbolic.programs,
        executables=(),
        constants=constants,
        members={n: Member(hashlib.sha256(v).hexdigest(), len(v)) for n, v in views.items()},
    )
    return replace(part, manifest=manifest, members=Members(views))
