"""Staged functions whose calls jaxlib makes without Python, after the first of each kind."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from olympus_core import xla
from olympus_core.base.context import state
from olympus_core.control.call import jit_p
from olympus_core.execution.direct_programs import is_undisturbed, program_data, set_direct_call
from olympus_core.execution.eager import plain_program
from olympus_core.jit.calling import StagedFunction
from olympus_core.jit.options import JitOptions
from olympus_core.placement.mesh import Mesh
from olympus_core.transforms import references

_P = ParamSpec("_P")
_R = TypeVar("_R")


def may_be_direct(options: JitOptions) -> bool:
    """Return True if calls of a function with these options may be direct.

    Static arguments are compared with their types, and donated ones are named in errors.
    """
    statics = options.static_argnums or options.static_argnames
    return not (statics or options.donate_argnums or options.donate_argnames)


class DirectFunction(StagedFunction[_P, _R]):
    """A staged function with neither static nor donated arguments.

    `__call__` is an attribute of the object: a function of jaxlib, which calls `_missed` for the
    first arguments of each kind, in each context.
    """

    __slots__ = ("__call__",)

    def __init__(self, fun: Callable[_P, _R], options: JitOptions) -> None:
        super().__init__(fun, options)
        self._forget_direct_calls()

    def _forget_direct_calls(self) -> None:
        # not a cycle: programs of an unused function are freed without a garbage collection
        own, cls, fun, options = weakref.ref(self), type(self), self.fun, self.options
        set_direct_call(self, self.name, lambda: own() or cls(fun, options))

    if TYPE_CHECKING:

        def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...

    def _missed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> xla.Missed:
        """Return the result of a call, and the data of later calls of its kind if there are any."""
        elsewhere = state.mesh.__class__ is Mesh or state.default_device is not None
        disturbed = not is_undisturbed() or elsewhere
        if state.disable_jit or disturbed or references.exist():
            return StagedFunction.__call__(self, *args, **kwargs), None, False
        arguments = self.arguments(args, kwargs)
        call = self._call_for(arguments)
        result = self._run(arguments, call)
        leaves = arguments.leaves
        found = plain_program(jit_p, [*call.consts, *leaves], call.eager_params)
        if found is None:
            return result, None, False
        return result, *program_data(found[0], call.consts, leaves, call.out_tree, found[1])

    def clear_cache(self) -> None:
        """Forget the programs traced so far."""
        super().clear_cache()
        self._forget_direct_calls()

    _clear_cache = clear_cache
