"""Calls of a bundle's program with the containers and the arrays of OLYMPUS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from olympus_bundle.arguments import ArgumentMatcher
from olympus_core import xla
from olympus_core.artifact.manifest import Signature
from olympus_core.base import tree
from olympus_core.execution.hidden_arguments import HiddenArguments
from olympus_core.stages import stages
from olympus_core.stages.direct_compiled import DirectCompiled, calls_directly
from olympus_core.stages.interface import Interface

_LEAF = tree.structure(0)


class _TreeMatcher(ArgumentMatcher):
    """The arguments of a program, which may also be instances of registered classes."""

    def parts(self, value: Any) -> Sequence[Any] | None:
        """Return the children of a sequence or of a registered class; None for other values."""
        if isinstance(value, tuple | list):
            return value
        structure = tree.structure(value)
        if isinstance(value, Mapping) or value is None or structure == _LEAF:
            return None
        return tree.flatten(value, is_leaf=lambda part: part is not value)[0]

    def is_leaf(self, value: Any) -> bool:
        """Return True unless the value is a container."""
        return tree.structure(value) == _LEAF


class _Bundled(stages.Compiled):
    """A program from a bundle: it is called like the function that it was built from.

    A namedtuple, a registered class and a list may be passed as a tuple of their parts; a
    positional argument may be passed by its name.
    """

    def __init__(self, signature: Signature, *compiled: Any) -> None:
        super().__init__(*compiled)
        self._matcher = _TreeMatcher(self.fun_name, signature)

    def _rearranged(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        return self._matcher.leaves(args, kwargs)


class BundledProgram(_Bundled):
    """A program for one device from a bundle."""


class DirectBundledProgram(_Bundled, DirectCompiled):
    """A program from a bundle that jaxlib calls without Python, after the first call of a kind."""


class BundledShardedProgram(_Bundled, stages.ShardedCompiled):
    """A program of several devices from a bundle."""


def program_here(
    signature: Signature,
    interface: Interface,
    executable: xla.Executable | xla.CompileOnlyExecutable,
    target: xla.Target,
    constants: HiddenArguments,
) -> stages.Compiled:
    """Return the program of an executable for one device.

    `signature` is that of the bundle, `interface` that of the calls, and the arrays of `constants`
    precede the arguments of a call.
    """
    kind = DirectBundledProgram if calls_directly(executable, interface) else BundledProgram
    return kind(signature, interface, executable, target, None, constants)
