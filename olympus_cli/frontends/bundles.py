"""Targets with an `.olympus` bundle as entry: its StableHLO is compiled, no executable is used."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path

import olympus
from olympus.artifact import Bundle, load
from olympus.errors import EntryError, UsageError
from olympus.interop import bundles
from olympus.stages import ArgInfo
from olympus.stages import array_trees as tree
from olympus.tree_util import keystr
from olympus_cli.frontends.program_files import ProgramOfFile, check_file, with_donated
from olympus_cli.spec.entries import ProgramFile
from olympus_cli.spec.model import ArgSpec, ShapeSpec, TargetSpec
from olympus_cli.spec.settings import read_settings
from olympus_cli.spec.target_table import at_key, with_line
from olympus_cli.text.paths import display_path
from olympus_cli.text.units import array_type


@dataclasses.dataclass(frozen=True)
class BundleSource(ProgramOfFile):
    """The program of a bundle; its signature is that of the bundle."""

    bundle: Bundle

    def trace(self) -> olympus.stages.Traced:
        """Return the program, with the bundle's donations and those of the target.

        Raises:
            ArtifactError: the program in the bundle does not match its manifest.
            UsageError: a shape or a donation does not fit the program.
        """
        with at_key(self.spec, "entry"):
            backend = self.spec.backends[0].backend
            traced = bundles.trace_bundle(self.bundle, backend, as_is=self.spec.as_is)
        self._check_shapes()
        return with_donated(traced, self.spec)

    def _check_shapes(self) -> None:
        """Raise UsageError if a shape of the target is not that of the bundle's argument."""
        arguments = {x.name: x for x in self.bundle.manifest.signature.arguments}
        for name, shape in self._given():
            argument = arguments.get(name)
            if argument is None:
                problem = f"{self.name} has no argument {name!r}"
                raise self._wrong(problem, f"its arguments are {', '.join([*arguments][:20])}")
            own = array_type(argument.dtype_name, argument.shape)
            if (shape.dtype, shape.shape) != (argument.dtype_name, argument.shape):
                raise self._wrong(
                    f"argument {name!r} of {self.name} has the type {own}, and got {shape}",
                    "a bundle has the types that it was built for; leave its shapes out, or build "
                    f"its source ({self.bundle.manifest.entry}) for others",
                )

    def _given(self) -> Iterator[tuple[str, ShapeSpec]]:
        """Yield the shapes that the target gives, by the names of the bundle's arguments."""
        roots = positional_roots(self.bundle)
        if len(self.spec.args) > len(roots):
            raise self._wrong(
                f"{self.name} takes {len(roots)} positional arguments, and "
                f"{len(self.spec.args)} shapes are given",
                "leave its shapes out: a bundle has the types of its arguments",
            )
        yield from self._leaves(dict(zip(roots, self.spec.args, strict=False)))
        yield from self._leaves(self.spec.kwargs)

    def _leaves(self, arguments: Mapping[str, ArgSpec]) -> Iterator[tuple[str, ShapeSpec]]:
        for root, arg in arguments.items():
            for path, leaf in tree.flatten_with_path(arg)[0]:
                name = f"{root}{keystr(path)}"
                if not isinstance(leaf, ShapeSpec) or leaf.sharding is not None:
                    raise self._wrong(
                        f"argument {name!r} of {self.name} needs a shape, because the arguments of "
                        "a bundle are arrays on one device",
                        "leave its shapes out: a bundle has the types of its arguments",
                    )
                yield name, leaf

    def _wrong(self, message: str, hint: str) -> UsageError:
        return with_line(UsageError(message, hint=hint), self.spec, "args")


def positional_roots(bundle: Bundle) -> list[str]:
    """Return the names of the positional arguments; that of an argument without arrays is empty."""
    signature = bundle.manifest.signature
    names = iter(signature.arguments)
    roots = []
    for node in signature.argument_tree.items[0].items:
        leaves = [next(names) for _ in range(node.leaves())]
        paths = tree.flatten_with_path(node.structure().unflatten(leaves))[0]
        roots.append(_root(leaves[0], keystr(paths[0][0])) if leaves else "")
    return roots


def _root(leaf: ArgInfo, path: str) -> str:
    return leaf.name.removesuffix(path)


def load_bundle_file(spec: TargetSpec, file: ProgramFile) -> BundleSource:
    """Return the program of a target whose entry is a bundle, which is read and verified.

    A bundle must be signed with a key of `spec.trust`, or, if that is empty, with one of the
    user's settings, if they have any.

    Raises:
        ArtifactError: the bundle is damaged or foreign, or lacks a required signature.
        EntryError: the file does not exist, or the entry names a function of it.
        UsageError: the target has statics or a mesh, which only functions have.
    """
    if spec.static:
        error = UsageError(f"static is for a Python function, and {spec.entry} is a file")
        raise with_line(error, spec, "static")
    path = check_file(spec, file)
    with at_key(spec, "entry"):
        if file.part is not None:
            raise EntryError(
                f"{spec.entry} names a function, and a bundle is one program",
                hint=f"write {file.path}",
            )
        keys = spec.trust or read_settings().trust
        bundle = load(Path(display_path(path)), native=False, trust=keys or None, sizes=spec.at)
    static = bundle.manifest.signature.static
    return BundleSource(dataclasses.replace(spec, static=static), bundle)
