"""Bodies of control flow: Python functions staged as programs with equal types and constants.

A body may close over arrays and tracers; these become the leading operands of its program.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from olympus_core.arrays.mesh_context import concrete_like
from olympus_core.base import dtypes, tree
from olympus_core.base.avals import ShapedArray, get_aval
from olympus_core.base.errors import DTypeError, TransformError
from olympus_core.base.source import Source, function_name
from olympus_core.base.tree_differences import lines, listed
from olympus_core.ir.olympuspr import Eqn, Olympuspr, Var
from olympus_core.ir.tracer import Array
from olympus_core.placement.sharding import in_auto_axes
from olympus_core.primitives.elementwise.conversion import convert_element_type_p
from olympus_core.primitives.sharding import reshard_p
from olympus_core.transforms import data
from olympus_core.transforms.staging import hoist_consts, stage, stage_once

_RANK = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}


class Body(NamedTuple):
    """A staged body: its closed program (consts first), its consts, and its result's tree."""

    program: Olympuspr
    consts: tuple[Any, ...]
    out_tree: tree.PyTreeDef

    @property
    def out_avals(self) -> tuple[ShapedArray, ...]:
        """The types of the results."""
        return self.program.out_avals


def stage_body(
    fun: Callable[..., Any],
    in_tree: tree.PyTreeDef,
    avals: Sequence[ShapedArray],
    what: str,
    of: Callable[..., Any] | None = None,
) -> Body:
    """Stage `fun` for flat inputs, which `in_tree` (of a tuple) makes into its arguments.

    `of` is the user's function, if `fun` only passes calls on to it.
    """
    user, types = of or fun, tuple(avals)
    return stage_once(user, (what, in_tree, types), lambda: _stage(fun, in_tree, types, what, user))


def stage_call(
    f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], what: str
) -> tuple[Body, list[Any]]:
    """Stage a call of the user's function `f`; return its body, and its arrays and scalars."""

    def spread(args: Any, kwargs: Any) -> Any:
        return f(*args, **kwargs)

    leaves, in_tree = data.flatten_data((args, kwargs))
    return stage_body(spread, in_tree, [get_aval(x) for x in leaves], what, f), leaves


def _stage(
    fun: Callable[..., Any],
    in_tree: tree.PyTreeDef,
    avals: tuple[ShapedArray, ...],
    what: str,
    user: Callable[..., Any],
) -> Body:
    out_tree: tree.PyTreeDef | None = None

    def flat(*leaves: Any) -> list[Any]:
        nonlocal out_tree
        outs, out_tree = data.flatten_data(fun(*in_tree.unflatten(leaves)))
        _check_results(outs, out_tree, user, what)
        return outs

    program = stage(flat, avals, what=f"'{function_name(user)}', {what}")
    assert out_tree is not None
    closed, consts = hoist_consts(program)
    return Body(closed, consts, out_tree)


def _check_results(
    outs: Sequence[Any], out_tree: tree.PyTreeDef, user: Callable[..., Any], what: str
) -> None:
    """Raise TransformError for a result of a body that is neither array nor scalar."""
    for i, x in enumerate(outs):
        if isinstance(x, Array):
            continue
        try:
            get_aval(x)
        except DTypeError:
            path = tree.keystr(data.paths(out_tree)[i])
            where = f" at output component {path}" if path else ""
            raise TransformError(
                f"function '{function_name(user)}', {what}, returned a value of type "
                f"{type(x)}{where}, which is not a valid JAX type"
            ) from None


def share_consts(bodies: Sequence[Body]) -> tuple[list[Olympuspr], list[Any]]:
    """Return the programs with one common list of leading constants, and that list."""
    shared: dict[int, Any] = {}
    for body in bodies:
        shared.update((id(c), c) for c in body.consts)
    consts = list(shared.values())
    places = {key: i for i, key in enumerate(shared)}
    avals = tuple(get_aval(c) for c in consts)
    const_places = [tuple(places[id(c)] for c in body.consts) for body in bodies]
    return [
        _with_leading(b.program, p, avals) for b, p in zip(bodies, const_places, strict=True)
    ], consts


@functools.lru_cache(maxsize=1024)
def _with_leading(
    program: Olympuspr, places: tuple[int, ...], avals: tuple[ShapedArray, ...]
) -> Olympuspr:
    """Return the program with leading inputs of types `avals`; its own are those at `places`."""
    leading = [Var(a) for a in avals]
    for place, var in zip(places, program.invars, strict=False):
        leading[place] = var
    return Olympuspr((*leading, *program.invars[len(places) :]), program.eqns, program.outvars)


def carry_types(
    carry: Sequence[ShapedArray], out: Sequence[ShapedArray]
) -> tuple[ShapedArray, ...]:
    """Return the types of the carry that a body returns, which may be weak where it is not."""
    return tuple(a.update(weak_type=b.weak_type) for a, b in zip(carry, out, strict=True))


def convert_outputs(program: Olympuspr, avals: Sequence[ShapedArray]) -> Olympuspr:
    """Return the program with results of the types `avals`, where they differ only in weak type,
    or in a sharding that splits nothing.
    """
    if all(a is b for a, b in zip(program.out_avals, avals, strict=True)):
        return program
    return _converted(program, tuple(avals))


@functools.lru_cache(maxsize=1024)
def _converted(program: Olympuspr, avals: tuple[ShapedArray, ...]) -> Olympuspr:
    eqns, outs = list(program.eqns), []
    for atom, aval in zip(program.outvars, avals, strict=True):
        if atom.aval is aval:
            outs.append(atom)
            continue
        if atom.aval.strip_weak() is not aval.strip_weak():
            sharding = in_auto_axes(atom.aval.explicit) if aval.explicit is None else aval.explicit
            typed = sharding.update(mesh=concrete_like(sharding.mesh))
            var = Var(atom.aval.with_sharding(aval.explicit))
            eqns.append(Eqn(reshard_p, (atom,), (var,), {"sharding": typed}, Source(None, 0, "")))
            atom = var
        if atom.aval is not aval:
            var = Var(aval)
            params = {"new_dtype": aval.dtype, "weak_type": aval.weak_type}
            eqns.append(Eqn(convert_element_type_p, (atom,), (var,), params, Source(None, 0, "")))
            atom = var
        outs.append(atom)
    return Olympuspr(program.invars, tuple(eqns), tuple(outs))


def widen_carry(
    carry: Sequence[ShapedArray], out: Sequence[ShapedArray]
) -> tuple[ShapedArray, ...]:
    """Return the carry's types, with weak types promoted to the dtype that the body returns.

    A type without a sharding becomes that of an array that no axis of the mesh splits.
    """
    return tuple(
        _on_mesh(a.update(dtype=b.dtype, weak_type=False) if _gives_way(a, b) else a, b)
        for a, b in zip(carry, out, strict=True)
    )


def _on_mesh(a: ShapedArray, b: ShapedArray) -> ShapedArray:
    is_same_whole = a.explicit is None and b.is_whole and a.shape == b.shape
    return a.with_sharding(b.explicit) if is_same_whole else a


def _gives_way(a: ShapedArray, b: ShapedArray) -> bool:
    """Return True if `a` is weak, and `b` of another dtype that promotes it."""
    rank_a, rank_b = (_RANK[dtypes.kind(x.dtype)] for x in (a, b))
    wider = rank_b > rank_a or (rank_b == rank_a and not b.weak_type)
    return a.weak_type and a.shape == b.shape and a.dtype != b.dtype and wider


def type_reason(a: ShapedArray, b: ShapedArray) -> str:
    """Return the reason for which two types do not match."""
    parts = [("dtypes", a.dtype == b.dtype), ("shapes", a.shape == b.shape)]
    reasons = [f"the {part} do not match" for part, is_same in parts if not is_same]
    if a.vma != b.vma:
        names = f"({', '.join(sorted(map(repr, a.vma ^ b.vma)))},)"
        reasons.append(
            "the manual axis types do not match.\nThis might be fixed by applying "
            f"`jax.lax.pcast(..., {names}, to='varying')` to the one that does not vary"
        )
    return ", and ".join(reasons) or "their devices or shardings do not match"


def carry_name(of: Callable[..., Any], name: str) -> str:
    """Return the name of the carry in the body of a loop: that of the function's parameter."""
    if name == "fori_loop":
        return "loop_carry"
    try:
        return next(iter(inspect.signature(of).parameters), "carry")
    except (TypeError, ValueError):
        return "carry"


def check_carry(
    loop: str,
    body: str,
    name: str,
    in_tree: tree.PyTreeDef,
    avals: Sequence[ShapedArray],
    out_tree: tree.PyTreeDef,
    outs: Sequence[ShapedArray],
) -> None:
    """Raise TransformError unless a body returns a carry like its input in structure and types.

    `loop` is the function of the loop, `body` the description of its body, and `name` the name of
    the carry there.
    """
    term = f"{loop} body function carry input and carry output must have"
    if in_tree != out_tree:
        form = "the input carry {path} is a {first} but the corresponding component of the carry "
        raise TransformError(
            f"{term} the same pytree structure, but they differ:\n\n"
            + lines(in_tree, out_tree, form + "output is a {second}", name)
            + f".\n\nThe function is {body}"
        )
    mismatches = [
        f"the input carry {'component ' * bool(path)}{name}{tree.keystr(path)} has type "
        f"{a.long_name()} but the corresponding output carry component has type {b.long_name()}, "
        f"so {type_reason(a, b)}"
        for path, a, b in zip(data.paths(in_tree), avals, outs, strict=True)
        if not a.strip_weak().is_same_as(b.strip_weak())
    ]
    if mismatches:
        raise TransformError(
            f"{term} equal types, but they differ:\n\n{listed(mismatches)}.\n\n"
            f"The function is {body}"
        )
