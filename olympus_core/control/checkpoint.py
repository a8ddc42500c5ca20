"""`checkpoint` (`remat`): the derivative of a function recomputes values instead of saving them.

A policy selects values to save nevertheless: a function of a primitive, its operands' types and
its parameters that returns True if the result is to be saved.
"""

from __future__ import annotations

import functools
import heapq
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, ParamSpec, TypeVar, overload

from olympus_core.arrays.device_array import as_device_array
from olympus_core.base import tree
from olympus_core.base.avals import ShapedArray, get_aval
from olympus_core.base.errors import (
    ArgumentError,
    ConcretizationTypeError,
    TransformError,
    UnsupportedError,
    UsageError,
)
from olympus_core.base.source import current_location, function_name, wraps
from olympus_core.control.bodies import stage_body
from olympus_core.control.call import InlineCall
from olympus_core.control.custom_jvp import custom_jvp
from olympus_core.control.custom_rules import fix_static_args, positions
from olympus_core.ir import trace
from olympus_core.ir.dce_cse import simplify
from olympus_core.ir.effects import without_effects
from olympus_core.ir.olympuspr import Atom, Eqn, Olympuspr, Var
from olympus_core.ir.primitive import Primitive, TangentSplit, op
from olympus_core.mlir import bindings as mlir
from olympus_core.primitives.elementwise.base import Elementwise
from olympus_core.transforms import data, references
from olympus_core.transforms.evaluate import evaluate
from olympus_core.transforms.programs import closed, split_program
from olympus_core.transforms.staging import StagingTrace

Policy = Callable[..., Any]
_WHAT = "a checkpointed function"
_P = ParamSpec("_P")
_R = TypeVar("_R")
_T = TypeVar("_T")


class Offloadable(NamedTuple):
    """The result of a policy that saves a value in the memory `dst`.

    The value stays in the memory in which it was computed: OLYMPUS does not move it.
    """

    src: str
    dst: str


class Decision:
    """The result of a policy that saves a value (`Saveable`) or recomputes it (`Recompute`)."""

    def __init__(self, saves: bool) -> None:
        self._saves = saves

    def __bool__(self) -> bool:
        return self._saves

    def __repr__(self) -> str:
        return "Saveable" if self._saves else "Recompute"


Saveable = Decision(True)
Recompute = Decision(False)


#: The most equations of a known part that is inlined in a derivative, as JAX does. A larger one is
#: a call, which equal layers share: a step of 12 such layers is lowered in 0.86 of the time.
_INLINED = 8


class Checkpoint(InlineCall):
    """A call of `olympuspr` whose derivative gets the operands and saved values, and recomputes.

    `differentiated` marks the recomputation: its operands pass an optimization barrier, because
    otherwise the compiler would find the first computation, and save its values instead.
    """

    def lower(self, ctx: Any, *operands: Any, **params: Any) -> list[Any]:
        if params["differentiated"] and params["prevent_cse"] and operands:
            types = [x.type for x in operands]
            operands = mlir.op("stablehlo.optimization_barrier", types, operands).results
        return super().lower(ctx, *operands, **params)

    def split(self, unknown: tuple[bool, ...], **params: Any) -> TangentSplit | None:
        known_program, recomputing_program, used_inputs, unknown_outs = _split_by_policy(
            params["olympuspr"], unknown, params["policy"]
        )
        count = sum(not u for u in unknown_outs)

        def run(args: Sequence[Any]) -> list[Any]:
            if len(known_program.eqns) <= _INLINED:
                outs = evaluate(known_program, args, current_location())
            else:
                outs = self.bind(*args, **(params | {"olympuspr": known_program}))
            return [*outs, *(x for x, k in zip(args, used_inputs, strict=True) if k)]

        unknown_params = params | {"olympuspr": recomputing_program, "differentiated": True}
        return TangentSplit(run, count, self, unknown_params, unknown_outs)


@functools.lru_cache(maxsize=512)
def _split_by_policy(
    program: Olympuspr, unknown: tuple[bool, ...], policy: Policy | None
) -> tuple[Olympuspr, Olympuspr, tuple[bool, ...], tuple[bool, ...]]:
    """Return the known program, which also returns saved values, and the recomputing program.

    The inputs of the recomputing program are the saved values, the known inputs that it uses, which
    the third result marks, and the unknown inputs.  The last result marks the unknown results.
    """
    if policy is not None:
        program = _with_policy_inside(program, policy)
    parts = split_program(program, unknown)
    known = parts.known
    count = len(known.outvars) - parts.num_residuals
    residuals = known.outvars[count:]
    saved: dict[Var, None] = {}
    if policy is not None:
        for eqn in known.eqns:
            if policy(eqn.primitive, *[x.aval for x in eqn.inputs], **eqn.params):
                saved.update(dict.fromkeys(eqn.outputs))
    # the known program has the effects
    rest = _pure(e for e in known.eqns if not all(v in saved for v in e.outputs))
    recomputed = _needed(rest, residuals)
    used = {x for eqn in recomputed for x in eqn.inputs} | set(residuals)
    needed = tuple(v for v in saved if v in used)  # no derivative uses the others
    known_program = simplify(known.replace(outvars=(*known.outvars[:count], *needed)))
    used_inputs = tuple(v in used for v in known.invars)
    unknown_ins = parts.unknown.invars[parts.num_residuals :]
    inputs = (*needed, *(v for v in known.invars if v in used), *unknown_ins)
    known_values: dict[Atom, Atom] = dict(zip(parts.unknown.invars, residuals, strict=False))
    eqns = [
        eqn.reading(tuple([known_values.get(x, x) for x in eqn.inputs]))
        for eqn in parts.unknown.eqns
    ]
    outs = tuple([known_values.get(x, x) for x in parts.unknown.outvars])
    both = [_placed(recomputed, parts.order), _placed(eqns, parts.order)]
    every = tuple([eqn for _, eqn in heapq.merge(*both, key=operator.itemgetter(0))])
    recomputing_program = Olympuspr(inputs, every, outs)
    return known_program, recomputing_program, used_inputs, parts.unknown_outs


def _placed(eqns: Iterable[Eqn], order: Mapping[Var, int]) -> Iterator[tuple[int, Eqn]]:
    """Yield the equations with their places in the order of the whole program.

    A constant is in no order, and an equation without results stays after the one before it.
    """
    place = -1
    for eqn in eqns:
        if eqn.outputs:
            place = order.get(eqn.outputs[0], place)
        yield place, eqn


class _PolicyTrace(StagingTrace):
    """Stages a program with the programs of the calls in which a policy saves a value inline."""

    def __init__(self, policy: Policy) -> None:
        super().__init__(_WHAT)
        self.policy = policy

    def process(self, primitive: Any, args: Sequence[Any], params: dict[str, Any]) -> Any:
        if _saves_inside(primitive, params, self.policy):
            return evaluate(params["olympuspr"], args, current_location())
        return super().process(primitive, args, params)


def _saves_inside(primitive: Primitive, params: dict[str, Any], policy: Policy) -> bool:
    """Return True if a policy saves a value in the program of a call."""
    return (primitive.is_call or primitive is checkpoint_p) and any(
        policy(eqn.primitive, *[x.aval for x in eqn.inputs], **eqn.params)
        or _saves_inside(eqn.primitive, eqn.params, policy)
        for eqn in params["olympuspr"].eqns
    )


def _with_policy_inside(program: Olympuspr, policy: Policy) -> Olympuspr:
    """Return the program with the calls in which `policy` saves a value inline."""
    if not any(_saves_inside(eqn.primitive, eqn.params, policy) for eqn in program.eqns):
        return program
    inlining = _PolicyTrace(policy)
    inputs = [inlining.new_input(a) for a in program.in_avals]
    with trace.using_trace(inlining):
        outs = evaluate(program, inputs)
    inlined = closed(inlining.program(outs))
    inlining.alive = False
    return inlined


def _pure(eqns: Iterable[Eqn]) -> tuple[Eqn, ...]:
    """Return the equations without effects, and without effects in their programs."""
    return without_effects(Olympuspr((), tuple(eqns), ())).eqns


def _needed(eqns: Sequence[Eqn], outs: Sequence[Any]) -> tuple[Eqn, ...]:
    used, needed = set(outs), []
    for eqn in reversed(eqns):
        if any(v in used for v in eqn.outputs):
            used.update(eqn.inputs)
            needed.append(eqn)
    return tuple(reversed(needed))


class CheckpointName(Elementwise):
    """The operand, under a name that policies use."""

    def lower(self, ctx: Any, *operands: Any, **params: Any) -> Any:
        return ctx.full(operands[0], ctx.avals_in[0], ctx.aval_out.shape)


checkpoint_p = Checkpoint("checkpoint")
name_p = CheckpointName(
    "name",
    "",
    "buifc",
    lambda t, out, x, name: op.name(t, name=name),
    linear=[lambda c, x, name: c],
    is_cheap=True,
)


@overload
def checkpoint(
    fun: Callable[_P, _R],
    *,
    prevent_cse: bool = True,
    policy: Policy | None = None,
    static_argnums: int | Iterable[int] = (),
    static_argnames: str | Iterable[str] = (),
    concrete: None = None,
) -> Callable[_P, _R]: ...
@overload
def checkpoint(
    fun: None = None,
    *,
    prevent_cse: bool = True,
    policy: Policy | None = None,
    static_argnums: int | Iterable[int] = (),
    static_argnames: str | Iterable[str] = (),
    concrete: None = None,
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]: ...
def checkpoint(
    fun: Callable[..., Any] | None = None,
    *,
    prevent_cse: bool = True,
    policy: Policy | None = None,
    static_argnums: int | Iterable[int] = (),
    static_argnames: str | Iterable[str] = (),
    concrete: None = None,
) -> Callable[..., Any]:
    """Return `fun` with a derivative that recomputes values instead of saving them.

    The derivative saves only the arguments and the values that `policy` selects (see
    `CheckpointPolicies`; by default none), for about one more evaluation of `fun`.
    `prevent_cse=False` omits the barrier that keeps the compiler from undoing this; inside `scan`
    the barrier is not needed.  The arguments at the positions `static_argnums`, and the parameters
    `static_argnames`, are passed to `fun` unchanged: it may branch on their values.  It is traced
    for each combination of types, also if it is called with arrays that have values.

    Raises ConcretizationTypeError if `fun` branches on the value of another array, UnsupportedError
    for `concrete`, an option that JAX has removed.

    >>> grad(checkpoint(lambda x: sin(sin(x))))(1.0)
    Array(0.36003947, dtype=float32, weak_type=True)
    """
    if concrete is not None:
        raise UnsupportedError(
            "The `concrete` option to `jax.checkpoint` was deprecated and removed: pass the "
            "arguments on whose values the function branches in static_argnums"
        )
    if fun is None:
        return functools.partial(
            checkpoint,
            prevent_cse=prevent_cse,
            policy=policy,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
        )
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    static = positions("static_argnums of checkpoint", static_argnums, fun, names)
    wrapped: Callable[..., Any] = fun

    @wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        fixed = {name: kwargs.pop(name) for name in names if name in kwargs}
        function = functools.partial(wrapped, **fixed) if fixed else wrapped
        present = [i for i in static if i < len(args)] if names else static
        if any(not -len(args) <= i < len(args) for i in present):
            raise TransformError(
                "the `static_argnums` argument to `jax.checkpoint` / `jax.remat` can only take "
                "integer values greater than or equal to `-len(args)` and less than `len(args)`, "
                f"but got {tuple(present)}, while `len(args)` = {len(args)}"
            )
        partial, dynamic_args, _ = fix_static_args(
            "static_argnums of checkpoint", function, args, present
        )
        if references.exist():
            dynamic_args, kwargs = references.static_references((dynamic_args, kwargs))
            leaves, in_tree = tree.flatten((dynamic_args, kwargs))
            used = references.used_by([lambda a, k: partial(*a, **k)], leaves, in_tree)
            if used:
                return _with_references(used, partial, leaves, in_tree, prevent_cse, policy)
        leaves, in_tree = data.flatten_data((dynamic_args, kwargs))

        def traced(positional: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
            result = partial(*positional, **keywords)
            if references.exist():
                references.check_result(function_name(wrapped), result, "checkpoint / remat")
            return result

        wraps(wrapped)(traced)
        avals = [get_aval(x) for x in leaves]
        of = wrapped if function is wrapped and not present else traced
        try:
            body = stage_body(traced, in_tree, avals, _WHAT, of)
        except ConcretizationTypeError as e:
            if _WHAT in str(e):  # and not of a function that it calls
                e.args = (f"{e}; static_argnums of checkpoint passes arguments unchanged",)
            raise
        if trace.at_base():  # operation by operation, on arrays that are not those of the caller
            values = [*body.consts, *map(as_device_array, leaves)]
            return body.out_tree.unflatten(evaluate(body.program, values, current_location()))
        outs = checkpoint_p.bind(
            *body.consts,
            *leaves,
            differentiated=False,
            name=function_name(wrapped),
            olympuspr=body.program,
            policy=policy,
            prevent_cse=prevent_cse,
        )
        return body.out_tree.unflatten(outs)

    return call


def _with_references(
    used: Sequence[references.Reference],
    fun: Callable[..., Any],
    leaves: list[Any],
    in_tree: tree.PyTreeDef,
    prevent_cse: bool,
    policy: Policy | None,
) -> Any:
    """Return the result of a checkpointed function that uses references."""
    threaded = references.Threaded(lambda args, kwargs: fun(*args, **kwargs), used)

    def of_values(values: Any, arrays: Any) -> Any:
        return threaded(values, *in_tree.unflatten(arrays))

    wrapped: Callable[..., Any] = checkpoint(of_values, prevent_cse=prevent_cse, policy=policy)
    written, result = wrapped(threaded.values, leaves)
    threaded.write(written)
    return result


def checkpoint_name(x: _T, name: str) -> _T:
    """Return `x` (an array, or a tree of arrays), under a name for policies such as
    `save_only_these_names`.

    >>> checkpoint_name(array([1, 2]), "hidden")
    Array([1, 2], dtype=int32)
    """
    if not isinstance(name, str):
        raise UsageError(f"checkpoint_name needs a string, and got {name!r}")
    named: _T = tree.map(lambda v: name_p.bind(v, name=name), x)
    return named


def checkpoint_name_fwd(x: _T, name: str) -> _T:
    """Return `x` under a name as `checkpoint_name`; its tangent has no name.

    >>> checkpoint_name_fwd(array([1, 2]), "hidden")
    Array([1, 2], dtype=int32)
    """
    if not isinstance(name, str):
        raise UsageError(f"checkpoint_name_fwd needs a string, and got {name!r}")
    named: _T = tree.map(functools.partial(_named_value, name), x)
    return named


@functools.partial(custom_jvp, nondiff_argnums=(0,))
def _named_value(name: str, x: Any) -> Any:
    return name_p.bind(x, name=name)


_named_value.defjvp(lambda name, primals, tangents: (name_p.bind(*primals, name=name), tangents[0]))


class CheckpointPolicies:
    """The policies, which select the values that a checkpointed function saves."""

    @staticmethod
    def everything_saveable(primitive: Primitive, *avals: ShapedArray, **params: Any) -> bool:
        """Save every value, as without `checkpoint`."""
        return True

    @staticmethod
    def nothing_saveable(primitive: Primitive, *avals: ShapedArray, **params: Any) -> bool:
        """Save only the arguments; the default."""
        return False

    @staticmethod
    def dots_saveable(primitive: Primitive, *avals: ShapedArray, **params: Any) -> bool:
        """Save the results of matrix products and convolutions."""
        return primitive.is_product

    checkpoint_dots = dots_saveable

    @staticmethod
    def dots_with_no_batch_dims_saveable(
        primitive: Primitive, *avals: ShapedArray, **params: Any
    ) -> bool:
        """Save the results of matrix products that have no batch dimension."""
        return primitive.is_product and not primitive.has_batch_axes(**params)

    checkpoint_dots_with_no_batch_dims = dots_with_no_batch_dims_saveable

    @staticmethod
    def offload_dot_with_no_batch_dims(offload_src: str, offload_dst: str) -> Policy:
        """Save the results of matrix products that have no batch dimension, as `Offloadable`.

        They are from the memory `offload_src` to `offload_dst`, and stay where they are.
        """
        place = Offloadable(offload_src, offload_dst)

        def policy(primitive: Primitive, *avals: ShapedArray, **params: Any) -> Any:
            is_saved = primitive.is_product and not primitive.has_batch_axes(**params)
            return place if is_saved else False

        return policy

    @staticmethod
    def save_only_these_names(*names: str) -> Policy:
        """Save the values that `checkpoint_name` gave one of the names."""
        return _NamePolicy(names, keep=True, anything=False)

    @staticmethod
    def save_any_names_but_these(*names: str) -> Policy:
        """Save the values that `checkpoint_name` gave another name."""
        return _NamePolicy(names, keep=False, anything=False)

    @staticmethod
    def save_anything_except_these_names(*names: str) -> Policy:
        """Save every value except values that `checkpoint_name` gave one of the names."""
        return _NamePolicy(names, keep=False, anything=True)

    @staticmethod
    def save_and_offload_only_these_names(
        *,
        names_which_can_be_saved: Sequence[str],
        names_which_can_be_offloaded: Sequence[str],
        offload_src: str,
        offload_dst: str,
    ) -> Policy:
        """Save the values of `checkpoint_name` with the names of both lists, which are disjoint.

        The values of the second list are `Offloadable`, from the memory `offload_src` to
        `offload_dst`, and stay where they are. Raises ArgumentError for a name in both lists.
        """
        if common := set(names_which_can_be_saved) & set(names_which_can_be_offloaded):
            raise ArgumentError(
                "names_which_can_be_saved and names_which_can_be_offloaded should be exclusive and "
                f"should not intersect: {', '.join(map(repr, sorted(common)))} is in both"
            )
        offloaded = frozenset(names_which_can_be_offloaded)
        saves = _NamePolicy(names_which_can_be_saved, keep=True, anything=False)
        place = Offloadable(offload_src, offload_dst)

        def policy(primitive: Primitive, *avals: ShapedArray, **params: Any) -> Any:
            if primitive is name_p and params["name"] in offloaded:
                return place
            return saves(primitive, *avals, **params)

        return policy

    @staticmethod
    def save_from_both_policies(first: Policy, second: Policy) -> Policy:
        """Save the values that either policy saves."""

        def either(primitive: Primitive, *avals: ShapedArray, **params: Any) -> bool:
            return bool(first(primitive, *avals, **params) or second(primitive, *avals, **params))

        return either


class _NamePolicy:
    def __init__(self, names: Sequence[str], *, keep: bool, anything: bool) -> None:
        self.names, self.keep, self.anything = frozenset(names), keep, anything

    def __call__(self, primitive: Primitive, *avals: ShapedArray, **params: Any) -> bool:
        if primitive is name_p:
            return (params["name"] in self.names) == self.keep
        return self.anything

    def __repr__(self) -> str:
        names = f"frozenset({{{', '.join(map(repr, sorted(self.names)))}}})"
        if self.keep:
            return f"SaveOnlyTheseNames(saveable_names={names})"
        name = "SaveAnythingExceptTheseNames" if self.anything else "SaveAnyNamesButThese"
        return f"{name}(names={names})"
