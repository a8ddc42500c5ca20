"""A compiled program that jaxlib calls without Python, after the first call of each kind."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, TypeGuard

from olympus_core import xla
from olympus_core.base import tree
from olympus_core.execution.direct_programs import is_undisturbed, program_data, set_direct_call
from olympus_core.execution.hidden_arguments import HiddenArguments
from olympus_core.stages.compiled import Compiled
from olympus_core.stages.interface import Interface

if TYPE_CHECKING:
    from olympus_core.stages.lowered import Lowered


def calls_directly(
    executable: xla.Executable | xla.CompileOnlyExecutable, signature: Interface
) -> TypeGuard[xla.Executable]:
    """Return True if a call only runs the program, on one device of this machine.

    It donates nothing.
    """
    here = isinstance(executable, xla.Executable) and executable.is_plain
    return here and not signature.donated


def compiled_here(
    signature: Interface,
    executable: xla.Executable | xla.CompileOnlyExecutable,
    target: xla.Target,
    lowered: Lowered,
) -> Compiled:
    """Return a program for one device, called directly if it only runs and donates nothing."""
    if calls_directly(executable, signature):
        return DirectCompiled(signature, executable, target, lowered)
    return Compiled(signature, executable, target, lowered)


class DirectCompiled(Compiled):
    """A compiled program without side effects and donated arguments.

    `__call__` is an attribute of the object: a function of jaxlib, which calls `_missed` for the
    first arguments of each kind.
    """

    __slots__ = ("__call__",)

    def __init__(
        self,
        signature: Interface,
        executable: xla.Executable,
        target: xla.Target,
        lowered: Lowered | None = None,
        constants: HiddenArguments | None = None,
    ) -> None:
        super().__init__(signature, executable, target, lowered, constants)
        # not a cycle: the memory of an unused program is freed without a garbage collection
        own, kind, attributes = weakref.ref(self), type(self), vars(self)

        def compiled() -> DirectCompiled:
            x = own()
            if x is None:  # only its `__call__` is left
                x = kind.__new__(kind)
                vars(x).update(attributes)
            return x

        set_direct_call(self, self.fun_name, compiled)

    if TYPE_CHECKING:

        def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

    def _missed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> xla.Missed:
        """Return the result of a call, and the data of later calls of its kind if there are any."""
        result = Compiled.__call__(self, *args, **kwargs)
        if not is_undisturbed():
            return result, None, False
        leaves, in_tree = tree.flatten((args, kwargs))
        signature = self.signature
        if in_tree != signature.in_tree:  # a subclass rearranges the arguments
            return result, None, False
        hidden, out_tree = self._constant_buffers(), signature.out_tree
        executable: Any = self.executable
        data = program_data(executable, (), leaves, out_tree, signature.out_avals, hidden)
        return result, *data
