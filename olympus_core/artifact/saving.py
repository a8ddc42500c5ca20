"""Writing a bundle from the stages of one function, lowered for one or several targets."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from olympus_bundle.bundle_file import OLYMPUSPR
from olympus_bundle.host import COMPILERS, Host
from olympus_bundle.manifest import MANIFEST
from olympus_core import xla
from olympus_core.analysis.sources.sources import SourceMap
from olympus_core.artifact import container
from olympus_core.artifact.callbacks import callbacks_of
from olympus_core.artifact.constants import constant_infos, constants_members, member_records
from olympus_core.artifact.manifest import Manifest, Signature, StoredExecutable
from olympus_core.artifact.shardings import (
    StoredPlacement,
    StoredSharding,
    StoredShardings,
    meshes_of,
    without_devices,
)
from olympus_core.artifact.stored_tree import Node
from olympus_core.base.avals import ShapedArray
from olympus_core.base.errors import UnsupportedError, UsageError
from olympus_core.base.regular_files import path_text
from olympus_core.execution.hidden_arguments import HiddenArguments
from olympus_core.placement.sharding import Sharding
from olympus_core.stages import stages
from olympus_runtime.version import __version__

_T = TypeVar("_T")


def save(
    path: str | os.PathLike[str],
    compiled: stages.Compiled | Sequence[stages.Compiled],
    *,
    lowered: stages.Lowered | Sequence[stages.Lowered],
    olympuspr_text: str,
    name: str,
    entry: str,
    static: Mapping[str, object] | None = None,
    compiler_options: xla.Options | None = None,
    serialized: Mapping[xla.Target, bytes] | None = None,
    root: str | os.PathLike[str] | None = None,
    sources: Mapping[str, SourceMap] | None = None,
) -> None:
    """Write a bundle of one function, compiled for one target or several.

    `lowered` is the lowered program: one stage for all targets, or one for each backend if they
    differ. `name` is the user's name of the program, and `entry` its origin (`module:function`).
    `static` has the values of the static arguments by name: the program already contains them, and
    they are stored for readers. `compiler_options` are those of `Lowered.compile`. `serialized` has
    the result of an earlier `Compiled.serialize` by target, because it takes long for a large
    program. With `root`, the project's folder, the bundle has the source line of each operation,
    relative to `root`, but not the text of the lines. `sources` has the maps of the lines by
    backend, if they exist.

    Equal content gives equal bytes; the file is written atomically.

    Raises:
      UsageError: the stages have different functions or numbers of devices; two are for one
        target; no stage is given; a dict among the arguments has a key that is neither text nor an
        integer, nor is an axis of a mesh; a compiler option is not allowed; a name has characters
        that cannot be shown; or the file cannot be written.

    Example:
      >>> traced = jit(lambda x: 2 * x).trace(1.0)
      >>> lowered = traced.lower()
      >>> save("f.olympus", lowered.compile(), lowered=lowered, name="f", entry="m:f",
      ...      olympuspr_text=str(traced.olympuspr))
    """
    programs, executables = _sequence(lowered), _sequence(compiled)
    signature = _common_signature([*executables, *programs])
    _check_names([name, signature.name, *signature.arg_names])
    where, program_members = _programs(programs, root, sources or {})
    placement = _placement(programs, executables)
    stored = [_stored(e, has_shardings=placement is not None) for e in executables]
    constants = _constants(programs, executables)
    members = {
        **program_members,
        **_executable_members(stored, executables, serialized or {}),
        OLYMPUSPR: f"{olympuspr_text.rstrip()}\n".encode(),
    }
    pairs = [zip(x.digests, x.arrays, strict=True) for x in constants.values()]
    members |= constants_members(dict(chain.from_iterable(pairs)))
    manifest = Manifest(
        name=name,
        entry=path_text(entry),
        function=signature.name,
        signature=_signature(executables[0], static or {}),
        versions={"olympus": __version__, **_compiler_versions(stored)},
        compiler_options=xla.checked_options(compiler_options),
        programs=where,
        executables=tuple(stored),
        members=member_records(members),
        placement=placement,
        callbacks=callbacks_of(programs),
        constants={backend: constant_infos(x) for backend, x in constants.items()},
    )
    container.write(Path(path), {**members, MANIFEST: manifest.to_bytes()})


def _compiler_versions(stored: Sequence[StoredExecutable]) -> dict[str, str]:
    """Return the versions of the packages that compiled, not of all that are installed."""
    used = {package for record in stored for package in COMPILERS[record.backend]}
    return {package: v for package, v in xla.versions().items() if package in used}


def _check_names(names: Sequence[str]) -> None:
    """Raise UsageError unless the names of a program and its arguments can be shown."""
    for name in names:
        if not name.isprintable():
            raise UsageError(
                f"the name {name!r} has unprintable characters, which a bundle cannot store"
            )


def _executable_members(
    stored: Sequence[StoredExecutable],
    executables: Sequence[stages.Compiled],
    serialized: Mapping[xla.Target, bytes],
) -> dict[str, bytes]:
    """Return the bytes of each executable by the name of its member, `serialized` where it has it.

    Raises:
      UsageError: two executables are for one target.
    """
    members: dict[str, bytes] = {}
    for record, executable in zip(stored, executables, strict=True):
        if record.member in members:
            raise UsageError(f"two of the executables are for {_label(executable.target)}")
        content = serialized.get(executable.target)
        members[record.member] = executable.serialize() if content is None else content
    return members


def _constants(
    programs: Sequence[stages.Lowered], executables: Sequence[stages.Compiled]
) -> dict[str, HiddenArguments]:
    """Return the constants of each backend's program; raise UsageError if its executable differs.

    Nothing is returned if no program has constants that are stored apart.
    """
    first = programs[0].constants
    constants: dict[str, HiddenArguments] = {}
    for stage in programs:
        constants.setdefault(stage.target.backend, stage.constants)
    for executable in executables:
        own, lowered = executable.constants, constants.get(executable.target.backend, first)
        if own.digests != lowered.digests:
            raise UsageError(
                f"the stages in a bundle must have the same constants, and '{executable.fun_name}' "
                f"was compiled with {len(own)} and lowered with {len(lowered)} that are stored "
                "apart, or with other values",
                hint='lower it once, with constants="store" or with "embed"',
            )
    return constants if any(x.arrays for x in constants.values()) else {}


def _sequence(stage: _T | Sequence[_T]) -> list[_T]:
    return list(stage) if isinstance(stage, Sequence) else [stage]


def _label(target: xla.Target) -> str:
    if target.device is None:
        return target.backend
    return f"{target.backend}-{target.name}".replace(":", "-")


def _common_signature(stage_list: list[Any]) -> stages.Interface:
    if not any(isinstance(stage, stages.Compiled) for stage in stage_list):
        raise UsageError("a bundle needs a compiled program, and got none")
    if not any(isinstance(stage, stages.Lowered) for stage in stage_list):
        raise UsageError("a bundle needs a lowered program, and got none")
    first: stages.Interface = stage_list[0].signature
    for stage in stage_list[1:]:
        if stage.num_devices != stage_list[0].num_devices:
            raise UsageError(
                f"the stages in a bundle must be for one number of devices, and '{first.name}' is "
                f"for {stage_list[0].num_devices} and for {stage.num_devices}"
            )
        if _anywhere(stage.signature) != _anywhere(first):
            raise UsageError(
                "the stages in a bundle must have one function and one kind of arguments, and "
                f"have '{first.name}' {_types(first)} and '{stage.fun_name}' "
                f"{_types(stage.signature)}"
            )
    return first


def _anywhere(signature: stages.Interface) -> stages.Interface:
    """Return the interface without the shardings of its arrays."""
    return signature._replace(in_shardings=(), out_shardings=(), own_shardings=())


def _types(signature: stages.Interface) -> str:
    return f"({', '.join(aval.long_name() for aval in signature.in_avals)})"


def sources_member(program: str) -> str:
    """Return the name of the member with a program's source map, from the program's member.

    >>> sources_member("program.gpu.stablehlo.bc")
    'program.gpu.sources.json'
    """
    return program.removesuffix(".stablehlo.bc") + ".sources.json"


def _programs(
    lowered: list[stages.Lowered],
    root: str | os.PathLike[str] | None,
    maps: Mapping[str, SourceMap],
) -> tuple[dict[str, str], dict[str, bytes]]:
    """Return the member of each backend's StableHLO, and the members; equal programs are one."""
    where: dict[str, str] = {}
    names: dict[bytes, str] = {}
    sources: dict[str, bytes] = {}
    for stage in lowered:
        content, backend = stage.bytecode(), stage.target.backend
        name = f"program.{backend}.stablehlo.bc" if names else "program.stablehlo.bc"
        if root is not None and content not in names:
            source_map = maps.get(backend) or SourceMap.of(stage.module, root, texts=False)
            sources[sources_member(name)] = replace(source_map, texts={}).to_bytes()
        where.setdefault(backend, names.setdefault(content, name))
    return where, {name: content for content, name in names.items()} | sources


def _placement(
    lowered: list[stages.Lowered], compiled: list[stages.Compiled]
) -> StoredPlacement | None:
    """Return the placement of the stages; None for a program of one device."""
    for stage in (*lowered, *compiled):
        if any(s is not None and s.layout is not None for s in _all_shardings(stage.signature)):
            raise UnsupportedError(
                f"a bundle has arrays in row-major order alone, and '{stage.fun_name}' has others",
                hint="leave the layouts out of in_shardings and out_shardings",
            )
    first = lowered[0].placement()
    if first is None or first.num_devices == 1:
        return None
    shardings = [_shardings(stage.signature) for stage in lowered]
    if any(own != shardings[0] for own in shardings):
        raise UsageError(
            f"the stages in a bundle must have one sharding for each array, and those of "
            f"'{lowered[0].fun_name}' have several"
        )
    chosen = [s for stage in compiled for s in _all_shardings(stage.signature)]
    meshes = meshes_of(lowered[0].fun_name, [*first.shardings, *chosen])
    return StoredPlacement(first.num_devices, meshes, shardings[0])


def _all_shardings(signature: stages.Interface) -> tuple[Sharding | None, ...]:
    return signature.in_shardings + signature.out_shardings


def _shardings(signature: stages.Interface) -> StoredShardings:
    return StoredShardings(
        _without_devices(signature.in_shardings, signature.in_avals),
        _without_devices(signature.out_shardings, signature.out_avals),
    )


def _without_devices(
    shardings: Sequence[Sharding | None], avals: Sequence[ShapedArray]
) -> tuple[StoredSharding | None, ...]:
    known = shardings or (None,) * len(avals)
    return tuple(without_devices(s, a.ndim) for s, a in zip(known, avals, strict=True))


def _stored(compiled: stages.Compiled, *, has_shardings: bool) -> StoredExecutable:
    target = compiled.target
    return StoredExecutable(
        f"executables/{_label(target)}.bin",
        target.backend,
        target.device,
        Host.here(),
        None if target.topology is None else str(target.topology),
        _shardings(compiled.signature) if has_shardings else None,
    )


def _signature(stage: stages.Compiled, static: Mapping[str, object]) -> Signature:
    return Signature(
        arguments=stage.arguments,
        argument_tree=Node.of(stage.in_tree),
        results=stage.results,
        result_tree=Node.of(stage.out_tree),
        static={name: _static(value) for name, value in static.items()},
    )


def _static(value: object) -> Any:
    """Return a value as JSON; other values become `{"python": ...}`, their text in Python."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, list | tuple):
        return [_static(part) for part in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _static(part) for key, part in value.items()}
    return {"python": _python(value)}


def _python(value: object) -> str:
    """Return the text of a value in Python, the same in every process."""
    if isinstance(value, set | frozenset) and value:  # the order of a set is not
        parts = ", ".join(sorted(map(_python, value)))
        return f"{{{parts}}}" if type(value) is set else f"{type(value).__name__}({{{parts}}})"
    if hasattr(value, "__qualname__"):
        return f"{getattr(value, '__module__', '?')}.{value.__qualname__}"
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))
