"""`cond`: one of several programs runs, chosen by an index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import ShapedArray, get_aval
from olympus_core.base.context import state, switched
from olympus_core.base.errors import TransformError, UnsupportedError
from olympus_core.ir.effects import has_io_effects
from olympus_core.ir.olympuspr import Atom, Eqn, Olympuspr, Var, places_of_inputs
from olympus_core.ir.primitive import Batched, Linear, MultipleResults, TangentSplit, op
from olympus_core.mlir import bindings as mlir
from olympus_core.primitives.collective import split_along, summed
from olympus_core.primitives.elementwise.base import move_axis, to_dtype
from olympus_core.transforms.batching import place_axis
from olympus_core.transforms.evaluate import evaluate
from olympus_core.transforms.flat import zeros_of
from olympus_core.transforms.linearize import cotangent_aval
from olympus_core.transforms.programs import (
    SplitProgram,
    batch_program,
    jvp_program,
    split_program,
    staged,
    transposed_program,
)

if TYPE_CHECKING:
    from olympus_core.lowering.divergence import Agreement, Differing
    from olympus_core.lowering.module import LoweringContext
    from olympus_core.raising.stablehlo_operation import StableHloOperation

Branches = tuple[Olympuspr, ...]


class Cond(MultipleResults):
    """`branches[index](*operands)`; the first operand is the index, in range, as int32."""

    higher_order: ClassVar[bool] = True
    has_programs: ClassVar[bool] = True
    raised_from: tuple[str, ...] = (
        "stablehlo.case",
        "stablehlo.if",
    )

    def abstract(self, *avals: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        branches: Branches = params["branches"]
        return tuple(
            a.update(weak_type=all(b.out_avals[i].weak_type for b in branches))
            for i, a in enumerate(branches[0].out_avals)
        )

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        branches: Branches = params["branches"]
        index, *captured = operands
        types = [mlir.tensor_type(a) for a in ctx.avals_out]
        case = mlir.op("stablehlo.case", types, (index,), regions=len(branches))
        for region, branch in zip(case.regions, branches, strict=True):
            ctx.region(region, branch, captured)
        return list(case.results)

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        captured, branches = operation.branches()
        (index,) = operands
        if operation.name == "stablehlo.if":  # the branch for True comes first
            index, branches = to_dtype(index, np.dtype("int32")), branches[::-1]
        return self.bind(index, *captured, branches=branches)

    def run_inside(self, args: Sequence[Any], **params: Any) -> None:
        evaluate(params["branches"][int(args[0])], args[1:])

    def threaded(
        self, eqn: Eqn, thread: Callable[[Olympuspr], Olympuspr], order: Atom, after: Var
    ) -> Eqn:
        branches = tuple(map(thread, eqn.params["branches"]))
        index, *captured = eqn.inputs
        return eqn.replace(
            inputs=(index, order, *captured),
            outputs=(after, *eqn.outputs),
            params=eqn.params | {"branches": branches},
        )

    def unrecorded_axes(self, eqn: Eqn) -> frozenset[Any]:
        return frozenset[Any]().union(*[eqn.inputs[0].aval.vma - v.aval.vma for v in eqn.outputs])

    def differing(
        self, agreement: Agreement, eqn: Eqn, operands: Sequence[Differing]
    ) -> Sequence[Differing]:
        branches: Branches = eqn.params["branches"]
        index, *captured = operands
        agreement.need(eqn, "the predicate of cond, or the index of switch,", index, branches)
        branch_results = zip(*[agreement.follow(b, captured) for b in branches], strict=True)
        forwarded = [places_of_inputs(b) for b in branches]
        return [
            differences[0]
            if places[0] is not None and len(set(places)) == 1
            else index.union(*differences)
            for differences, places in zip(
                branch_results, zip(*forwarded, strict=True), strict=True
            )
        ]

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[Any], list[Any]]:
        branches: Branches = params["branches"]
        nonzero, count = tuple(t is not None for t in tangents[1:]), len(branches[0].outvars)
        branch_flags = [jvp_program(b, nonzero, (False,) * count)[1] for b in branches]
        has_tangent = tuple(
            any(flags) for flags in zip(*branch_flags, strict=True)
        )  # zeros if another branch has a tangent
        dual_branches = tuple(jvp_program(b, nonzero, has_tangent)[0] for b in branches)
        nonzero_tangents = [t for t in tangents if t is not None]
        outs = self.bind(*primals, *nonzero_tangents, **(params | {"branches": dual_branches}))
        out_tangents = iter(outs[count:])
        return outs[:count], [next(out_tangents) if w else None for w in has_tangent]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[list[Any], Sequence[int | None]]:
        branches: Branches = params["branches"]
        if dims[0] is not None:
            return self._select(batched, args, dims, branches)
        mapped_dims = [batch_program(b, batched, tuple(dims[1:])).out_dims for b in branches]
        is_mapped = tuple(
            any(d is not None for d in result_dims)
            for result_dims in zip(*mapped_dims, strict=True)
        )
        mapped_branches = tuple(
            batch_program(b, batched, tuple(dims[1:]), is_mapped).program for b in branches
        )
        return self.bind(*args, **(params | {"branches": mapped_branches})), [
            0 if w else None for w in is_mapped
        ]

    def _select(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], branches: Branches
    ) -> tuple[list[Any], Sequence[int | None]]:
        """Run every branch and select the results, for an index that is mapped."""
        if any(map(has_io_effects, branches)):
            raise UnsupportedError(
                "IO effect not supported in vmap-of-cond: all branches of a cond with a mapped "
                "predicate run",
                hint="leave the call out of the branches, or use scan in place of vmap",
            )
        index, everything = move_axis(args[0], dims[0] or 0, 0), (True,) * len(branches[0].outvars)
        operands = [
            place_axis(x, d, 0, batched.size) for x, d in zip(args[1:], dims[1:], strict=True)
        ]
        results = []
        for i, branch in enumerate(branches):
            chosen = op.eq(index, np.int32(i))
            inputs = [_without_other_tangents(chosen, x) for x in operands]
            program = batch_program(branch, batched, (0,) * len(inputs), everything).program
            results.append(evaluate(program, inputs))
        if len(branches) == 2:
            index = op.convert_element_type(index, new_dtype=np.dtype("bool"), weak_type=False)
        selected = [_selected(index, cases) for cases in zip(*results, strict=True)]
        return selected, [0] * len(selected)

    def split(self, unknown: tuple[bool, ...], **params: Any) -> TangentSplit | None:
        """Split each branch; the branches share residuals of one type."""
        branches: Branches = params["branches"]
        if unknown[0]:
            return None
        first = [split_program(b, unknown[1:]).unknown_outs for b in branches]
        flags = tuple(any(f) for f in zip(*first, strict=True))
        parts = [split_program(b, unknown[1:], flags) for b in branches]
        residuals = _shared_residuals(parts)
        numbers = range(len(parts))
        known_branches = tuple(_known_branch(parts[i], i, residuals) for i in numbers)
        unknown_branches = tuple(_unknown_branch(parts[i], i, residuals) for i in numbers)
        count = sum(not f for f in flags)

        def run(args: Sequence[Any]) -> list[Any]:
            outs = self.bind(*args, **(params | {"branches": known_branches}))
            return [
                *outs[:count],
                args[0],
                *[args[1 + i] for i in residuals.operands],
                *outs[count:],
            ]

        return TangentSplit(run, count, self, params | {"branches": unknown_branches}, flags)

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> list[Any]:
        index, *captured = operands
        if isinstance(index, Linear):
            raise TransformError("cond cannot be transposed in its index")
        linear = tuple(isinstance(x, Linear) for x in captured)
        nonzero = tuple(c is not None for c in cotangent)
        avals = [x.aval for x in captured if isinstance(x, Linear)]
        summed_axes = _summed_after(index, avals, cotangent)
        with switched("parted", state.parted | summed_axes):
            transposed = [transposed_program(b, linear, nonzero) for b in params["branches"]]
            has_cotangent = list(map(any, zip(*(mask for _, mask in transposed), strict=True)))
            cotangent_avals = [cotangent_aval(a) for a in avals]
            branches = tuple(
                _with_zeros(p, mask, has_cotangent, cotangent_avals) for p, mask in transposed
            )
        values = [x for x in captured if not isinstance(x, Linear)]
        given_cotangents = [split_along(c, summed_axes) for c in cotangent if c is not None]
        outs = iter(
            self.bind(index, *values, *given_cotangents, **(params | {"branches": branches}))
        )
        linear_cotangents = iter([
            summed(next(outs), summed_axes - a.vma) if w else None
            for w, a in zip(has_cotangent, avals, strict=True)
        ])  # fmt: skip
        return [None, *(next(linear_cotangents) if u else None for u in linear)]


def _selected(which: Any, cases: Sequence[Any]) -> Any:
    """Return the cases that `which`, a vector along their first axis, selects."""
    predicate = op.broadcast_in_dim(which, shape=cases[0].shape, broadcast_dimensions=(0,))
    return op.select_n(predicate, *cases)


def _without_other_tangents(chosen: Any, x: Any) -> Any:
    """Return an operand of a branch that has tangents only where the branch is chosen.

    The derivative of a branch may be infinite where it is not chosen.
    """
    if dtypes.kind(get_aval(x).dtype) not in "fc":
        return x
    return _selected(chosen, (op.stop_gradient(x), x))


def _summed_after(
    index: Any, linear: Sequence[ShapedArray], cotangents: Sequence[Any]
) -> frozenset[Any]:
    """Return the axes along which branches return partial cotangents, which are summed afterwards.

    In a checked `shard_map` the cotangent of a value that does not vary is a sum over the devices
    that use it.  If the index varies, devices in another branch would not take part in a sum.
    """
    used = frozenset[Any]().union(*[get_aval(c).vma for c in cotangents if c is not None])
    missing = [used - a.vma for a in linear]
    return (get_aval(index).vma - state.parted) & frozenset[Any]().union(*missing)


Avals = tuple[ShapedArray, ...]


class _Residuals(NamedTuple):
    """The residuals of a cond: some operands, and the values that the taken branch computes.

    `operands` are positions, and `computed` the types of the values.  `places` has the position of
    each residual of each branch, among the operands and then the values.
    """

    operands: tuple[int, ...]
    computed: Avals
    places: tuple[tuple[int, ...], ...]


def _shared_residuals(parts: Sequence[SplitProgram]) -> _Residuals:
    """Return the residuals of a cond, each for as many branches as have one of its type."""
    operands = sorted({i for p in parts for i in p.forwarded if i is not None})
    computed: list[ShapedArray] = []
    places = []
    for part in parts:
        free = list(range(len(computed)))
        own = []
        for aval, operand in zip(part.unknown.in_avals, part.forwarded, strict=False):
            if operand is not None:
                own.append(operands.index(operand))
                continue
            slot = next((i for i in free if computed[i] == aval), None)
            if slot is None:
                slot = len(computed)
                computed.append(aval)
            else:
                free.remove(slot)
            own.append(len(operands) + slot)
        places.append(tuple(own))
    return _Residuals(tuple(operands), tuple(computed), tuple(places))


def _known_branch(part: SplitProgram, number: int, residuals: _Residuals) -> Olympuspr:
    """Return the known part of a branch, whose residuals have zeros where it computes none."""
    count = len(part.known.outvars) - part.num_residuals
    start = len(residuals.operands)

    def branch(*args: Any) -> list[Any]:
        outs = evaluate(part.known, args)
        own = dict(zip(residuals.places[number], outs[count:], strict=True))
        slots = enumerate(residuals.computed, start)
        return [*outs[:count], *[own[i] if i in own else zeros_of(a) for i, a in slots]]

    return staged(branch, part.known.in_avals)


def _unknown_branch(part: SplitProgram, number: int, residuals: _Residuals) -> Olympuspr:
    """Return the unknown part of a branch, of all residuals and the unknown operands."""
    total = len(residuals.operands) + len(residuals.computed)

    def branch(*args: Any) -> list[Any]:
        own = [args[i] for i in residuals.places[number]]
        return evaluate(part.unknown, [*own, *args[total:]])

    operands = [part.known.in_avals[i] for i in residuals.operands]
    unknown = part.unknown.in_avals[part.num_residuals :]
    return staged(branch, [*operands, *residuals.computed, *unknown])


def _with_zeros(
    program: Olympuspr,
    has_cotangent: Sequence[bool],
    needs_cotangent: Sequence[bool],
    avals: Sequence[ShapedArray],
) -> Olympuspr:
    """Return a transposed branch with every wanted cotangent, zeros of `avals` for missing ones."""

    def branch(*args: Any) -> list[Any]:
        outs = iter(evaluate(program, args))
        cotangents = [next(outs) if m else None for m in has_cotangent]
        return [
            zeros_of(a) if x is None else x
            for x, a, w in zip(cotangents, avals, needs_cotangent, strict=True)
            if w
        ]

    return staged(branch, program.in_avals)


cond_p = Cond("cond")
