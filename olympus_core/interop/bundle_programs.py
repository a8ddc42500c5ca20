"""The program of an `.olympus` bundle as a traced function, which can be lowered for any target."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from olympus_core import xla
from olympus_core.analysis.cost.cost import Cost
from olympus_core.analysis.sources.places import nested_operations
from olympus_core.artifact.bundle import Bundle
from olympus_core.base.errors import ArtifactError
from olympus_core.execution.compilation import Linalg, Repeats
from olympus_core.execution.hidden_arguments import Constants, with_constants
from olympus_core.execution.spmd import Placement
from olympus_core.interop.module_devices import entry_shardings
from olympus_core.interop.stablehlo_files import UnchangedProgram
from olympus_core.ir.olympuspr import Olympuspr
from olympus_core.lowering.layout_constraints import LAYOUT_TARGET
from olympus_core.mlir import bindings as mlir
from olympus_core.placement.sharding import NamedSharding
from olympus_core.raising.raising import raise_module
from olympus_core.raising.unraisable import UnraisableError
from olympus_core.stages.interface import Interface
from olympus_core.stages.stages import Lowered, Traced, requested_target

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir

#: Prefixes of the custom calls that XLA replaces, for every backend.
_PORTABLE = ("mhlo.", "stablehlo.", "chlo.", LAYOUT_TARGET)


class BundledSource(Traced):
    """The program of a bundle, which has a form for each backend that it was lowered for.

    Each form is raised when it is needed. A target without a form of its own gets the first one,
    unless that has an operation of its backend alone.
    """

    def __init__(self, bundle: Bundle, backend: str, *, as_is: bool) -> None:
        self.signature = _placed(bundle)
        self._bundle = bundle
        self._backend = backend if backend in bundle.manifest.programs else _first(bundle)
        self._as_is = as_is
        self._forms: dict[str, tuple[Traced, frozenset[str]]] = {}

    @property
    def olympuspr(self) -> Olympuspr:  # type: ignore[override]
        """The program; raise UsageError if it is compiled unchanged."""
        return self._form(self._backend)[0].olympuspr

    @property
    def reference_program(self) -> Olympuspr:
        """The program whose operations `verify` runs one by one; it may not be the compiled one."""
        return self._form(self._backend)[0].reference_program

    def lower(
        self,
        target: xla.Target | None = None,
        *,
        lowering_platforms: str | Sequence[str] | None = None,
        repeats: Repeats = "auto",
        linalg: Linalg = "auto",
        constants: Constants = "embed",
    ) -> Lowered:
        """Lower the form of the target's backend; by default that of the bundle's first backend.

        Raises:
          ArtifactError: the bundle was not lowered for the backend, and its program has an
            operation that exists on another backend only; the message names it.
          LoweringError: the program has no form on the target.
        """
        target = requested_target(target, lowering_platforms) or xla.Target(self._backend)
        form, calls = self._form(target.backend)
        lowered = form.lower(target, repeats=repeats, linalg=linalg, constants=constants)
        if target.backend not in self._bundle.manifest.programs:
            self._check_moved(lowered.module, calls, target.backend)
        return lowered

    def cost(self, trips: Mapping[str, int] | None = None) -> Cost:
        """Return the cost of the program: see `Lowered.cost`."""
        return self.lower().cost(trips)

    def placement(self) -> Placement | None:
        """Return the number of devices of the program's meshes; None for a program of one."""
        return self._form(self._backend)[0].placement()

    def _form(self, backend: str) -> tuple[Traced, frozenset[str]]:
        """Return the program for a backend, and the custom calls that the bundle has in it."""
        backend = backend if backend in self._bundle.manifest.programs else self._backend
        member = self._bundle.manifest.programs[backend]
        form_and_calls = self._forms.get(member)
        if form_and_calls is None:
            module = _module(self._bundle, backend)
            form_and_calls = self._forms[member] = (
                self._raised(module, backend),
                frozenset(_custom_calls(module)),
            )
        form, calls = copy.copy(form_and_calls[0]), form_and_calls[1]
        form.signature = self.signature  # `with_donations` may have changed it
        return form, calls

    def _raised(self, module: ir.Module, backend: str) -> Traced:
        constants = self._bundle.constants(backend)
        if self._as_is:
            return UnchangedProgram(self.signature, module, "it is read with as_is", constants)
        try:
            entry_shardings(module)
            program = with_constants(raise_module(module), constants)
            return Traced(self.signature, program)
        except UnraisableError as exc:
            return UnchangedProgram(self.signature, module, str(exc), constants)

    def _check_moved(self, module: ir.Module, calls: frozenset[str], backend: str) -> None:
        """Raise ArtifactError if a lowered program has a custom call of the bundle's backend."""
        for name in _custom_calls(module):
            if name in calls and not name.startswith(_PORTABLE):
                raise ArtifactError(
                    f"{self._bundle.path} was lowered for {self._backend} and cannot be compiled "
                    f"for {backend}: it calls {name}, which only {self._backend} has",
                    hint=f"compile its source ({self._bundle.manifest.entry}) for {backend}; a "
                    f"build with several backends has a program for each in its bundle",
                )


def trace_bundle(bundle: Bundle, backend: str = "cpu", *, as_is: bool = False) -> Traced:
    """Return the program of a verified bundle as a traced function.

    Its trees, names, types, donations and compiler options are those of the manifest, and its
    operations have the source lines of the bundle. The StableHLO for `backend` is raised to an
    Olympuspr, so that it is simplified and its repeated blocks are compiled once; `lower` uses the
    StableHLO for the target's backend, if the bundle has it. With `as_is` the StableHLO is compiled
    unchanged. No executable of the bundle is used.

    Args:
      bundle: the result of `artifact.load`.
      backend: the backend whose program `olympuspr` is; the bundle's first one if it lacks it.
      as_is: True to compile the StableHLO unchanged.

    Raises:
      ArtifactError: the StableHLO cannot be read, or does not match the manifest.

    >>> traced = trace_bundle(artifact.load("f.olympus"))
    >>> traced.lower(olympus.target("gpu", "h200"))
    """
    traced = BundledSource(bundle, backend, as_is=as_is)
    traced._form(backend)
    return traced


def _placed(bundle: Bundle) -> Interface:
    """Return the interface of a bundle with the shardings that its program declares."""
    placement = bundle.manifest.placement
    if placement is None:
        return bundle.interface
    ins, outs = (
        tuple([x if isinstance(x, NamedSharding) else None for x in group])
        for group in (placement.shardings.arguments, placement.shardings.results)
    )
    return bundle.interface._replace(in_shardings=ins, out_shardings=outs)


def _first(bundle: Bundle) -> str:
    return next(iter(bundle.manifest.programs))


def _module(bundle: Bundle, backend: str) -> ir.Module:
    """Return the StableHLO for a backend with its source lines, after its types are checked."""
    bundle.check_program(backend)
    module = mlir.parsed(bundle.stablehlo(backend), str(bundle.path))
    sources = bundle.sources(backend)
    if sources is not None and sources.fits(module):
        sources.locate(module)
    return module


def _custom_calls(module: ir.Module) -> Iterator[str]:
    """Yield the names of the custom calls of a module, in its order."""
    for view in nested_operations(module.operation):
        operation = view.operation
        if operation.name == "stablehlo.custom_call":
            with mlir.readable("the program"):
                yield str(operation.attributes["call_target_name"].value)
