"""What `jit` makes of a function with `in_shardings` or `out_shardings`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, ParamSpec, TypeVar

from olympus_core import trace, tree
from olympus_core.avals import ShapedArray, ShapeDtypeStruct
from olympus_core.calling import Arguments, JitOptions, StagedFunction
from olympus_core.context import state
from olympus_core.control.call import jit_p
from olympus_core.errors import ArgumentError, ShardingError, SignatureError
from olympus_core.mesh_context import named
from olympus_core.primitives.sharding import sharding_constraint_p
from olympus_core.sharding import PartitionSpec, Sharding
from olympus_core.spmd import committed_sharding

__all__ = ["ShardedFunction", "Shardings", "Told", "argument_shardings"]

_P = ParamSpec("_P")
_R = TypeVar("_R")
#: a sharding for each array of which one was told
Told = tuple[Sharding | None, ...]


class Shardings(NamedTuple):
    """What `jit` was told: tree prefixes of the arguments and the result, None for nothing."""

    ins: Any = None
    outs: Any = None

    @staticmethod
    def of(ins: Any, outs: Any) -> Shardings:
        """The two, checked; raises ArgumentError for a leaf that is not a sharding or None."""
        for what, told in (("in_shardings", ins), ("out_shardings", outs)):
            for leaf in tree.leaves(told, is_leaf=lambda x: x is None):
                if leaf is not None and not isinstance(leaf, Sharding | PartitionSpec):
                    raise ArgumentError(
                        f"{what} of jit needs shardings and None, and has {leaf!r:.80}",
                        hint="write NamedSharding(mesh, spec)",
                    )
        return Shardings(tuple(ins) if isinstance(ins, list) else ins, outs)


def argument_shardings(leaves: Sequence[Any]) -> Told:
    """The shardings of arguments that have one: arrays put by name, and ShapeDtypeStructs."""
    found = tuple([committed_sharding(x) or _declared(x) for x in leaves])
    return found if any(s is not None for s in found) else ()


def _declared(x: Any) -> Sharding | None:
    return x.sharding if isinstance(x, ShapeDtypeStruct) else None


class ShardedFunction(StagedFunction[_P, _R]):
    """A staged function whose arguments and results have shardings."""

    def __init__(self, fun: Callable[_P, _R], options: JitOptions, shardings: Shardings) -> None:
        super().__init__(fun, options)
        self.shardings = shardings

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        if state.disable_jit:
            return self.fun(*args, **kwargs)
        arguments = self.arguments(args, kwargs)
        call = self._call_for(arguments)
        program = call.params["olympuspr"]
        ins = self.argument_shardings(arguments)
        outs = self.result_shardings(call.out_tree, program.out_avals)
        leaves, consts = arguments.leaves, call.consts
        if trace.at_base():
            looks = state.debug_nans or state.debug_infs
            told = {"in_shardings": (None,) * len(consts) + ins, "out_shardings": outs}
            params = (call.params if looks else call.at_once) | told
            results = trace.current().process(jit_p, [*consts, *leaves], params)
        else:
            given = [*consts, *map(_constrained, leaves, ins)]
            found = trace.current().process(jit_p, given, call.params)
            results = [*map(_constrained, found, outs)]
        result: _R = call.out_tree.unflatten(results)
        return result

    def argument_shardings(self, arguments: Arguments) -> Told:
        """What was told of each argument; raises ShardingError where one cannot be cut so.

        Raises SignatureError for arguments by keyword, where something was told of arguments.
        """
        if self.shardings.ins is None:
            return (None,) * len(arguments.avals)
        places = arguments.in_tree.unflatten(range(len(arguments.avals)))
        if places[1]:
            raise SignatureError(
                f"'{self.name}' has in_shardings, and takes its arguments by position: got "
                f"{', '.join(map(repr, places[1]))} by keyword"
            )
        told = _named("in_shardings", self.shardings.ins, places[0])
        names = self.argument_names(arguments)
        for x, aval, name, want in zip(arguments.leaves, arguments.avals, names, told, strict=True):
            if want is None:
                continue
            want.check_shape(aval.shape, f"the argument {name!r} of '{self.name}'")
            have = committed_sharding(x)
            if have is not None and not have.is_equivalent_to(want, aval.ndim):
                raise ShardingError(
                    f"the argument {name!r} of '{self.name}', {aval.long_name()}, has "
                    f"{have.spoken()}, and in_shardings has {want.spoken()} for it",
                    hint="put it there with device_put",
                )
        return tuple(told)

    def result_shardings(self, out_tree: Any, avals: Sequence[ShapedArray]) -> Told:
        """What was told of each result; raises ShardingError where one cannot be cut so."""
        if self.shardings.outs is None:
            return (None,) * len(avals)
        full = out_tree.unflatten(range(len(avals)))
        told = _named("out_shardings", self.shardings.outs, full)
        paths = [tree.keystr(path) for path, _ in tree.flatten_with_path(full)[0]]
        for aval, path, want in zip(avals, paths, told, strict=True):
            if want is not None:
                want.check_shape(aval.shape, f"result{path} of '{self.name}'")
        return tuple(told)


def _named(what: str, prefix: Any, full: Any) -> list[Sharding | None]:
    """One sharding, or None, for each leaf of `full`; specs are of the mesh of the context."""
    return [named(f"{what} of jit", s) for s in tree.prefix_leaves("jit", what, prefix, full)]


def _constrained(x: Any, sharding: Sharding | None) -> Any:
    return x if sharding is None else sharding_constraint_p.bind(x, sharding=sharding)
