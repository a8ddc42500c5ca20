"""Writing a bundle from the stages of one function, lowered for one or several targets."""

from __future__ import annotations

import hashlib
import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from olympus_core import dtypes, stages, version, xla
from olympus_core.analysis.sources import SourceMap
from olympus_core.artifact import container
from olympus_core.artifact.host import Host
from olympus_core.artifact.manifest import (
    MANIFEST,
    Argument,
    Manifest,
    Member,
    Result,
    Signature,
    StoredExecutable,
)
from olympus_core.artifact.treespec import Node
from olympus_core.errors import UsageError

__all__ = ["OLYMPUSPR", "save", "sources_member"]

OLYMPUSPR = "program.olympuspr"

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
) -> None:
    """Write a bundle of one function, compiled for one target or several.

    `lowered` is what was compiled: one stage for all targets, or one for each backend where they
    differ.  `name` is what the user calls the program, and `entry` where it comes from
    (`module:function`).  `static` has the values of the static arguments by name: they are part
    of the program already, and are stored to be read by people.  `compiler_options` are those
    that `Lowered.compile` was given.  `serialized` has what `Compiled.serialize` gave for a target,
    where that was called before: it takes long for a large program.  With `root`, the project's
    folder, the bundle keeps which source line each operation comes from, told from there; the lines
    themselves it does not keep.

    Equal content makes equal bytes; the file appears whole or not at all.

    Raises:
      UsageError: when the stages are not of one function, two are for one target, there is none,
        one is a program of several devices,
        a dict among the arguments has a key that is neither text nor an integer, a compiler option
        is not allowed, a name has characters that cannot be shown, or the file cannot be
        written.

    Example:
      >>> save("f.olympus", lowered.compile(), lowered=lowered, name="f", entry="m:f",
      ...      olympuspr_text=str(traced.olympuspr))
    """
    programs, executables = _sequence(lowered), _sequence(compiled)
    signature = _common_signature([*executables, *programs])
    where, members = _programs(programs, root)
    stored = [_stored(each) for each in executables]
    for record, each in zip(stored, executables, strict=True):
        if record.member in members:
            raise UsageError(f"two of the executables are for {_label(each.target)}")
        made = (serialized or {}).get(each.target)
        members[record.member] = each.serialize() if made is None else made
    members[OLYMPUSPR] = f"{olympuspr_text.rstrip()}\n".encode()
    manifest = Manifest(
        name=name,
        entry=entry,
        function=signature.name,
        signature=_signature(executables[0], static or {}),
        versions={"olympus": version.__version__, **xla.versions()},
        compiler_options=xla.checked_options(compiler_options),
        programs=where,
        executables=tuple(sorted(stored, key=lambda record: record.member)),
        members={n: Member(hashlib.sha256(x).hexdigest(), len(x)) for n, x in members.items()},
    )
    for shown in (name, signature.name, *signature.arg_names):
        if not shown.isprintable():
            raise UsageError(
                f"the name {shown!r} has unprintable characters, which a bundle cannot store"
            )
    container.write(Path(path), {**members, MANIFEST: manifest.to_bytes()})


def _sequence(stage: _T | Sequence[_T]) -> list[_T]:
    return list(stage) if isinstance(stage, Sequence) else [stage]


def _label(target: xla.Target) -> str:
    return target.backend if target.device is None else f"{target.backend}-{target.device}"


def _common_signature(found: list[Any]) -> stages.Interface:
    if not any(isinstance(stage, stages.Compiled) for stage in found):
        raise UsageError("a bundle needs a compiled program, and got none")
    if not any(isinstance(stage, stages.Lowered) for stage in found):
        raise UsageError("a bundle needs a lowered program, and got none")
    first: stages.Interface = found[0].signature
    for stage in found:
        if stage.num_devices > 1:
            raise UsageError(
                f"'{first.name}' is a program of {stage.num_devices} devices, and a bundle holds "
                "programs of one"
            )
    for stage in found[1:]:
        if stage.signature != first:
            raise UsageError(
                "the stages in a bundle must be of one function and one kind of arguments, and "
                f"are of '{first.name}' {_types(first)} and '{stage.fun_name}' "
                f"{_types(stage.signature)}"
            )
    return first


def _types(signature: stages.Interface) -> str:
    return f"({', '.join(aval.long_name() for aval in signature.in_avals)})"


def sources_member(program: str) -> str:
    """The member that says where a program comes from, for the member with the program.

    >>> sources_member("program.gpu.stablehlo.bc")
    'program.gpu.sources.json'
    """
    return program.removesuffix(".stablehlo.bc") + ".sources.json"


def _programs(
    lowered: list[stages.Lowered], root: str | os.PathLike[str] | None
) -> tuple[dict[str, str], dict[str, bytes]]:
    """Which member has each backend's StableHLO, and the members; equal programs are one."""
    where: dict[str, str] = {}
    names: dict[bytes, str] = {}
    sources: dict[str, bytes] = {}
    for stage in lowered:
        content, backend = stage.bytecode(), stage.target.backend
        name = f"program.{backend}.stablehlo.bc" if names else "program.stablehlo.bc"
        if root is not None and content not in names:
            kept = SourceMap.of(stage.module, root, texts=False)
            sources[sources_member(name)] = kept.to_bytes()
        where.setdefault(backend, names.setdefault(content, name))
    return where, {name: content for content, name in names.items()} | sources


def _stored(compiled: stages.Compiled) -> StoredExecutable:
    target = compiled.target
    member = f"executables/{_label(target)}.bin"
    return StoredExecutable(member, target.backend, target.device, Host.here())


def _signature(stage: stages.Compiled, static: Mapping[str, object]) -> Signature:
    signature = stage.signature
    named = enumerate(zip(signature.arg_names, signature.in_avals, strict=True))
    return Signature(
        arguments=tuple(
            Argument(name, dtypes.long_name(a.dtype), a.shape, a.weak_type, i in signature.donated)
            for i, (name, a) in named
        ),
        argument_tree=Node.of(signature.in_tree),
        results=tuple(
            Result(name, dtypes.long_name(a.dtype), a.shape, a.weak_type)
            for name, a in zip(stage.result_names, signature.out_avals, strict=True)
        ),
        result_tree=Node.of(signature.out_tree),
        static={name: _static(value) for name, value in static.items()},
    )


def _static(value: object) -> Any:
    """A value as JSON; what JSON does not have becomes `{"python": ...}`, its text in Python."""
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
    """The text of a value in Python, the same in every process."""
    if isinstance(value, set | frozenset) and value:  # the order of a set is not
        parts = ", ".join(sorted(map(_python, value)))
        return f"{{{parts}}}" if type(value) is set else f"{type(value).__name__}({{{parts}}})"
    if hasattr(value, "__qualname__"):
        return f"{getattr(value, '__module__', '?')}.{value.__qualname__}"
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))
