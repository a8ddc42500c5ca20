"""`scan`: a fold of a program over the leading axes of arrays.

It is lowered to a StableHLO `while` that slices the xs and fills the ys.  Its derivative, batch,
split and transpose come from those of its body.  Operands are (consts, carry, xs), results
(carry, ys); a carry is active, mapped or unknown if its start is or if the body makes it so: each
rule first computes this fixed point.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from olympus_core.arrays.device_array import array_to_numpy
from olympus_core.base.avals import ShapedArray, shaped
from olympus_core.base.context import state
from olympus_core.base.dimensions.expression import is_symbolic_dim
from olympus_core.ir.dce_cse import restrict
from olympus_core.ir.olympuspr import Atom, Eqn, Olympuspr, Var
from olympus_core.ir.primitive import Batched, Linear, MultipleResults, TangentSplit, op
from olympus_core.mlir import bindings as mlir
from olympus_core.primitives.elementwise.base import move_axis
from olympus_core.transforms.batching import place_axis
from olympus_core.transforms.evaluate import evaluate
from olympus_core.transforms.flat import instantiate, zeros_of
from olympus_core.transforms.linearize import cotangent_aval, tangent_aval, transpose_program
from olympus_core.transforms.programs import (
    SplitProgram,
    batch_program,
    jvp_program,
    permute,
    split_program,
    staged,
)

if TYPE_CHECKING:
    from olympus_core.lowering.divergence import Agreement, Differing
    from olympus_core.lowering.module import LoweringContext

Params = dict[str, Any]
_INDEX = shaped((), np.dtype("int32"))


class Scan(MultipleResults):
    """A fold of `olympuspr`: (consts, carry, x) -> (carry, y) over the leading axes of the xs.

    Operands are consts, initial carry and xs, `num_consts` and `num_carry` of the first two;
    results are the final carry and the stacked ys.  Each iteration of the loop runs `unroll` steps.
    """

    higher_order: ClassVar[bool] = True
    has_programs: ClassVar[bool] = True
    is_loop: ClassVar[bool] = True

    def abstract(self, *avals: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        body: Olympuspr = params["olympuspr"]
        n = params["num_carry"]
        carry, ys = body.out_avals[:n], body.out_avals[n:]
        return (*carry, *(y.with_axis(0, params["length"]) for y in ys))

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        return _Loop(ctx, params).lower(list(operands))

    def run_inside(self, args: Sequence[Any], **params: Any) -> None:
        a, n = params["num_consts"], params["num_carry"]
        consts, carry, xs = (
            args[:a],
            list(args[a : a + n]),
            [array_to_numpy(x) for x in args[a + n :]],
        )
        places = range(params["length"])
        for i in reversed(places) if params["reverse"] else places:
            carry = evaluate(params["olympuspr"], [*consts, *carry, *(x[i] for x in xs)])[:n]

    def differing(
        self, agreement: Agreement, eqn: Eqn, operands: Sequence[Differing]
    ) -> Sequence[Differing]:
        body, (a, b, n) = eqn.params["olympuspr"], _counts(eqn.params)
        carry, before = tuple(operands[a:b]), None
        while carry != before:
            before = carry
            outs = agreement.follow(body, [*operands[:a], *carry, *operands[b:]])
            carry = tuple([x | y for x, y in zip(carry, outs[:n], strict=True)])
        return [*carry, *outs[n:]]

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[Any], list[Any]]:
        """Return a scan over values and tangents."""
        body: Olympuspr = params["olympuspr"]
        a, b, n = _counts(params)
        nonzero, dual_program, has_tangent = _dual_body(
            body, [t is not None for t in tangents], a, b
        )
        n_ys = len(body.outvars) - n
        filled = list(tangents)
        filled[a:b] = [
            instantiate(t, tangent_aval(v)) if z else None
            for t, z, v in zip(tangents[a:b], nonzero[a:b], body.in_avals[a:b], strict=True)
        ]
        ins = _interleave([range(a), range(a, b), range(b, len(nonzero))], nonzero)
        outs = _interleave([range(n), range(n, n + n_ys)], has_tangent)
        operands = [
            x
            for section in (slice(0, a), slice(a, b), slice(b, None))
            for x in (*primals[section], *(t for t in filled[section] if t is not None))
        ]
        results = self.bind(
            *operands,
            **params
            | {
                "olympuspr": permute(dual_program, ins, outs),
                "num_consts": a + sum(nonzero[:a]),
                "num_carry": n + sum(has_tangent[:n]),
            },
        )
        k = sum(has_tangent[:n])
        carry, carry_t = results[:n], iter(results[n : n + k])
        ys, ys_t = results[n + k : n + k + n_ys], iter(results[n + k + n_ys :])
        out_tangents = [next(carry_t) if m else None for m in has_tangent[:n]]
        out_tangents += [next(ys_t) if m else None for m in has_tangent[n:]]
        return [*carry, *ys], out_tangents

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[list[Any], Sequence[int | None]]:
        """Return a scan whose body is mapped; a row of the xs has its mapped axis in front."""
        body: Olympuspr = params["olympuspr"]
        a, b, n = _counts(params)
        carry = [d is not None for d in dims[a:b]]
        rows = [None if d is None else 0 for d in dims[b:]]
        unset = [False] * (len(body.outvars) - n)
        while True:
            places = [0 if c else None for c in carry]
            batched_body = batch_program(
                body, batched, (*dims[:a], *places, *rows), (*carry, *unset)
            )
            mapped = [d is not None for d in batched_body.out_dims[:n]]
            if mapped == carry:
                break
            carry = mapped
        start = [
            place_axis(x, d, p, batched.size)
            for x, d, p in zip(args[a:b], dims[a:b], places, strict=True)
        ]
        xs = [
            x if d is None else move_axis(x, d, 1) for x, d in zip(args[b:], dims[b:], strict=True)
        ]
        outs = self.bind(*args[:a], *start, *xs, **params | {"olympuspr": batched_body.program})
        return outs, [*places, *(None if d is None else 1 for d in batched_body.out_dims[n:])]

    def threaded(
        self, eqn: Eqn, thread: Callable[[Olympuspr], Olympuspr], order: Atom, after: Var
    ) -> Eqn:
        a, params = eqn.params["num_consts"], eqn.params
        body = thread(params["olympuspr"])
        consts, rest = body.invars[1 : a + 1], body.invars[a + 1 :]
        body = body.replace(invars=(*consts, body.invars[0], *rest))
        return eqn.replace(
            inputs=(*eqn.inputs[:a], order, *eqn.inputs[a:]),
            outputs=(after, *eqn.outputs),
            params=params | {"olympuspr": body, "num_carry": params["num_carry"] + 1},
        )

    def prune(self, eqn: Eqn, used: tuple[bool, ...]) -> Eqn:
        """Return a scan without the unused ys, and without the values that only these needed."""
        params = eqn.params
        body: Olympuspr = params["olympuspr"]
        a, b, n = _counts(params)
        used_outs = (*[True] * n, *used[n:])
        program, read = restrict(body, used_outs)
        used_inputs = [i for i in range(len(eqn.inputs)) if i in read or a <= i < b]
        invars = tuple(body.invars[i] for i in used_inputs)
        changed = {
            "olympuspr": Olympuspr(invars, program.eqns, program.outvars),
            "num_consts": sum(i < a for i in used_inputs),
        }
        return eqn.replace(
            inputs=tuple(eqn.inputs[i] for i in used_inputs),
            outputs=tuple(v for v, w in zip(eqn.outputs, used_outs, strict=True) if w),
            params=params | changed,
        )

    def split(self, unknown: tuple[bool, ...], **params: Any) -> TangentSplit:
        """Return a scan of the known part, which stacks the residuals, and a scan over them.

        A residual that is a constant of the scan, an x or a y is not stacked again; a carry that
        starts known and becomes unknown passes its start as a residual.
        """
        body: Olympuspr = params["olympuspr"]
        a, b, _ = _counts(params)
        flags, parts = _fixed_point(body, unknown, a, b)
        known_positions = [i for i, f in enumerate(flags) if not f]
        known_inputs = [i for i, u in enumerate(unknown) if not u]
        late = [i for i in known_inputs if flags[i]]
        count = len(parts.known.outvars) - parts.num_residuals
        counts = {
            "num_consts": sum(i < a for i in known_positions),
            "num_carry": sum(a <= i < b for i in known_positions),
        }
        fixed, stacked = _residuals(parts, counts["num_consts"], count)
        shared = _shared_rows(parts, sum(counts.values()), counts["num_carry"], count)
        outs = [*range(count), *(count + i for i in stacked if i not in shared)]
        known_params = (
            params | counts | {"olympuspr": permute(parts.known, range(len(known_positions)), outs)}
        )

        def run(args: Sequence[Any]) -> list[Any]:
            values = dict(zip(known_inputs, args, strict=True))
            operands = [values[i] for i in known_positions]
            results = self.bind(*operands, **known_params)
            constants = [operands[j] for j in fixed.values()]
            arrays, rest = [*operands, *results[:count]], iter(results[count:])
            rows = [arrays[shared[i]] if i in shared else next(rest) for i in stacked]
            return [*results[:count], *constants, *(values[i] for i in late), *rows]

        unknown_params, order = _unknown_scan(parts, flags, late, (list(fixed), stacked), params)
        return TangentSplit(run, count, self, unknown_params, parts.unknown_outs, order)

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> list[Any]:
        """Return a reversed scan over cotangents; those of constants are summed in its carry."""
        body: Olympuspr = params["olympuspr"]
        a, b, n = _counts(params)
        is_linear_operand = tuple(isinstance(x, Linear) for x in operands)
        linear = tuple(
            _fixed_point(body, is_linear_operand, a, b)[0]
        )  # a linear carry may start at 0, a value
        if not all(linear[a:b]):
            return self._transpose_part(cotangent, operands, is_linear_operand, params)
        nonzero = tuple(c is not None for c in cotangent[n:])
        program = _transposed_body(body, linear, nonzero, a, n, state.parted)
        sums = [zeros_of(cotangent_aval(x.aval)) for x in operands[:a] if isinstance(x, Linear)]
        carry = [
            instantiate(c, cotangent_aval(v))
            for c, v in zip(cotangent[:n], body.out_avals, strict=False)
        ]
        consts = [x for x in operands[:a] if not isinstance(x, Linear)]
        xs = [x for x in operands[b:] if not isinstance(x, Linear)]
        changed = {
            "olympuspr": program,
            "reverse": not params["reverse"],
            "num_consts": len(consts),
            "num_carry": len(sums) + n,
        }
        cotangents = [c for c in cotangent[n:] if c is not None]
        outs = iter(self.bind(*consts, *sums, *carry, *cotangents, *xs, **params | changed))
        input_cotangents = [next(outs) if u else None for u in linear]
        return [c if u else None for c, u in zip(input_cotangents, is_linear_operand, strict=True)]

    def _transpose_part(
        self,
        cotangent: Sequence[Any],
        operands: Sequence[Any],
        linear: tuple[bool, ...],
        params: Params,
    ) -> list[Any]:
        """Run the nonlinear part of the carry first, and transpose the rest."""
        parts = self.split(linear, **params)
        outs = parts.known([x for x, u in zip(operands, linear, strict=True) if not u])
        residuals = outs[parts.num_known_outs :]
        every = [*residuals, *(x for x in operands if isinstance(x, Linear))]
        order = parts.order or tuple(range(len(every)))
        linear_operands = [every[i] for i in order]
        unknown_cotangents = [c for c, u in zip(cotangent, parts.unknown_outs, strict=True) if u]
        operand_cotangents = dict(
            zip(
                order,
                self.transpose(unknown_cotangents, *linear_operands, **parts.linear_params),
                strict=True,
            )
        )
        linear_cotangents = iter(operand_cotangents[i] for i in range(len(residuals), len(every)))
        return [next(linear_cotangents) if u else None for u in linear]


def _counts(params: Params) -> tuple[int, int, int]:
    """Return the numbers of consts, of consts and carry, and of carry."""
    n_consts, n_carry = params["num_consts"], params["num_carry"]
    return n_consts, n_consts + n_carry, n_carry


def _dual_body(
    body: Olympuspr, active: Sequence[bool], a: int, b: int
) -> tuple[list[bool], Olympuspr, tuple[bool, ...]]:
    """Return the mask of active inputs, the body on values and tangents, and that of results."""
    nonzero = list(active)
    unset = [False] * (len(body.outvars) - (b - a))
    while True:
        dual_program, has_tangent = jvp_program(body, tuple(nonzero), (*nonzero[a:b], *unset))
        if list(has_tangent[: b - a]) == nonzero[a:b]:
            return nonzero, dual_program, has_tangent
        nonzero[a:b] = has_tangent[: b - a]


def _interleave(sections: Sequence[range], nonzero: Sequence[bool]) -> list[int]:
    """Return the order of (all values, all tangents) that puts tangents behind each part."""
    total, position, place = len(nonzero), 0, {}
    for i, z in enumerate(nonzero):
        if z:
            place[i] = total + position
            position += 1
    return [
        j for section in sections for j in (*section, *(place[i] for i in section if nonzero[i]))
    ]


def _fixed_point(
    body: Olympuspr, unknown: Sequence[bool], a: int, b: int
) -> tuple[list[bool], SplitProgram]:
    """Return the unknown inputs at the fixed point of the carry, and the body split by them."""
    flags = list(unknown)
    unset = [False] * (len(body.outvars) - (b - a))
    while True:
        parts = split_program(body, tuple(flags), (*flags[a:b], *unset))
        if list(parts.unknown_outs[: b - a]) == flags[a:b]:
            return flags, parts
        flags[a:b] = parts.unknown_outs[: b - a]


def _residuals(
    parts: SplitProgram, num_consts: int, count: int
) -> tuple[dict[int, int], list[int]]:
    """Return the residuals that are constants of the known scan, with their index, and the rest."""
    places = {v: i for i, v in enumerate(parts.known.invars[:num_consts])}
    atoms = parts.known.outvars[count:]
    fixed = {i: places[x] for i, x in enumerate(atoms) if isinstance(x, Var) and x in places}
    return fixed, [i for i in range(len(atoms)) if i not in fixed]


def _shared_rows(parts: SplitProgram, first_x: int, first_y: int, count: int) -> dict[int, int]:
    """Return the residuals that are xs or ys of the known scan.

    A residual's value is its position among the scan's operands, followed by its results.
    """
    invars, outvars = parts.known.invars, parts.known.outvars
    places: dict[Atom, int] = {v: i for i, v in enumerate(invars) if i >= first_x}
    for i, v in enumerate(outvars[first_y:count]):
        places.setdefault(v, len(invars) + first_y + i)
    return {i: places[x] for i, x in enumerate(outvars[count:]) if x in places}


def _unknown_scan(
    parts: SplitProgram,
    flags: Sequence[bool],
    late: Sequence[int],
    residuals: tuple[list[int], list[int]],
    params: Params,
) -> tuple[Params, tuple[int, ...]]:
    """Return the parameters of the scan of the unknown part, and the order of its operands."""
    a, b, _ = _counts(params)
    fixed, stacked = residuals
    late_start, stacked_start = len(fixed), len(fixed) + len(late)
    unknown = [i for i, f in enumerate(flags) if f and i not in late]
    place = {i: late_start + k for k, i in enumerate(late)}
    place |= {i: stacked_start + len(stacked) + k for k, i in enumerate(unknown)}
    inputs = [i for i, f in enumerate(flags) if f]
    entry = {i: parts.num_residuals + k for k, i in enumerate(inputs)}
    consts, carry = [i for i in inputs if i < a], [i for i in inputs if a <= i < b]
    xs = [i for i in inputs if i >= b]
    ins = [*fixed, *(entry[i] for i in (*consts, *carry, *xs)), *stacked]
    order = [
        *range(len(fixed)),
        *(place[i] for i in (*consts, *carry, *xs)),
        *range(stacked_start, stacked_start + len(stacked)),
    ]
    program = permute(parts.unknown, ins, range(len(parts.unknown.outvars)))
    changed = {
        "olympuspr": program,
        "num_consts": len(fixed) + len(consts),
        "num_carry": len(carry),
    }
    return params | changed, tuple(order)


@functools.lru_cache(maxsize=512)
def _transposed_body(
    body: Olympuspr,
    linear: tuple[bool, ...],
    nonzero: tuple[bool, ...],
    a: int,
    n: int,
    _: frozenset[Any],
) -> Olympuspr:
    """(consts, sums and cotangents of the carry, cotangents of ys, xs) -> (sums, carry, xs)."""
    b = a + n
    pull_back = transpose_program(body, linear, (*[True] * n, *nonzero))
    avals = [cotangent_aval(v) if u else v for v, u in zip(body.in_avals, linear, strict=True)]
    consts = [v for v, u in zip(avals[:a], linear, strict=False) if not u]
    sums = [v for v, u in zip(avals[:a], linear, strict=False) if u]
    xs = [v for v, u in zip(avals[b:], linear[b:], strict=True) if not u]
    ys = [cotangent_aval(v) for v, g in zip(body.out_avals[n:], nonzero, strict=True) if g]
    carry = [cotangent_aval(v) for v in body.out_avals[:n]]

    def step(*args: Any) -> list[Any]:
        fixed, rest = args[: len(consts)], args[len(consts) :]
        totals, rest = rest[: len(sums)], rest[len(sums) :]
        cotangents, rows = rest[: n + len(ys)], rest[n + len(ys) :]
        outs = pull_back(*fixed, *rows, *cotangents)
        for i, total in enumerate(totals):
            outs[i] = total if outs[i] is None else op.add_any(total, outs[i])
        kinds = [v for v, u in zip(avals, linear, strict=True) if u]
        return [instantiate(x, v) for x, v in zip(outs, kinds, strict=True)]

    return staged(step, [*consts, *sums, *carry, *ys, *xs])


class _Loop:
    """The lowering of one scan: a `while` over (i, carry, ys), the xs captured."""

    def __init__(self, ctx: LoweringContext, params: dict[str, Any]) -> None:
        self.ctx = ctx
        self.body: Olympuspr = params["olympuspr"]
        self.length: int = params["length"]
        self.reverse: bool = params["reverse"]
        is_symbolic = is_symbolic_dim(self.length)  # the last steps would not be known
        self.unroll = 1 if is_symbolic else max(1, min(params["unroll"], self.length))
        self.n_consts: int = params["num_consts"]
        self.n_carry: int = params["num_carry"]
        self.y_avals = ctx.avals_out[self.n_carry :]
        self.x_avals = ctx.avals_in[self.n_consts + self.n_carry :]
        self.row_avals = self.body.in_avals[self.n_consts + self.n_carry :]

    def lower(self, operands: list[Any]) -> list[Any]:
        consts = operands[: self.n_consts]
        carry = operands[self.n_consts : self.n_consts + self.n_carry]
        xs = operands[self.n_consts + self.n_carry :]
        ys = [self.ctx.unreduced(mlir.full(a, 0), a) for a in self.y_avals]
        if not self.length:  # the body has no row to get types from
            return [*carry, *ys]
        rolled = self.length - self.length % self.unroll
        start = mlir.full(_INDEX, 0)
        if rolled == self.unroll:  # the loop would have one iteration
            state = [start, *carry, *ys]
            iterations = 0
        else:
            state = self._while(rolled, [start, *carry, *ys], consts, xs)
            iterations = rolled
        for _ in range(self.length - iterations):
            state = self._step(self.ctx, state, consts, xs)
        return state[1:]

    def _while(self, stop: int, state: list[Any], consts: list[Any], xs: list[Any]) -> list[Any]:
        types = [v.type for v in state]
        loop = mlir.op("stablehlo.while", types, state, regions=2)
        unknown = [mlir.ir.Location.unknown()] * len(types)
        test = loop.regions[0].blocks.append(*types, arg_locs=unknown)
        with mlir.ir.InsertionPoint(test):
            less = mlir.parsed_attr("#stablehlo<comparison_direction LT>")
            signed = mlir.parsed_attr("#stablehlo<comparison_type SIGNED>")
            continues = mlir.op1(
                "stablehlo.compare",
                shaped((), np.dtype("bool")),
                (test.arguments[0], mlir.full(_INDEX, stop)),
                {"comparison_direction": less, "compare_type": signed},
            )
            mlir.op("stablehlo.return", (), (continues,))
        block = loop.regions[1].blocks.append(*types, arg_locs=unknown)
        with mlir.ir.InsertionPoint(block):
            inner = self.ctx.nested()
            values = list(block.arguments)
            for _ in range(self.unroll):
                values = self._step(inner, values, consts, xs)
            mlir.op("stablehlo.return", (), values)
        return list(loop.results)

    def _step(
        self, ctx: LoweringContext, state: list[Any], consts: list[Any], xs: list[Any]
    ) -> list[Any]:
        i, carry = state[0], state[1 : 1 + self.n_carry]
        ys = state[1 + self.n_carry :]
        index = i
        if self.reverse:
            last = mlir.full(_INDEX, self.length - 1)
            index = mlir.op1("stablehlo.subtract", _INDEX, (last, i))
        zero = (
            mlir.full(_INDEX, 0) if any(a.ndim > 1 for a in (*self.x_avals, *self.y_avals)) else i
        )
        kinds = zip(xs, self.x_avals, self.row_avals, strict=True)
        slices = [_read(ctx, x, a, row, index, zero) for x, a, row in kinds]
        outs = ctx.inline(self.body, [*consts, *carry, *slices])
        carry, rows = outs[: self.n_carry], outs[self.n_carry :]
        stacked = zip(ys, rows, self.y_avals, strict=True)
        ys = [_write(ctx, y, row, a, index, zero) for y, row, a in stacked]
        return [mlir.op1("stablehlo.add", _INDEX, (i, mlir.full(_INDEX, 1))), *carry, *ys]


def _read(
    ctx: LoweringContext, x: Any, aval: ShapedArray, row_aval: ShapedArray, i: Any, zero: Any
) -> Any:
    one = aval.update(shape=(1, *aval.shape[1:]), sharding=aval.explicit)
    starts = [i] + [zero] * (aval.ndim - 1)
    x = ctx.unreduced(x, aval)  # the loop captures it
    sizes = {"slice_sizes": mlir.i64_array(one.shape)}
    row = ctx.unreduced(mlir.op1("stablehlo.dynamic_slice", one, (x, *starts), sizes), one)
    return ctx.unreduced(mlir.op1("stablehlo.reshape", row_aval, (row,)), row_aval)


def _write(ctx: LoweringContext, y: Any, value: Any, aval: ShapedArray, i: Any, zero: Any) -> Any:
    one = aval.update(shape=(1, *aval.shape[1:]), sharding=aval.explicit)
    row = ctx.unreduced(mlir.op1("stablehlo.reshape", one, (value,)), one)
    starts = [i] + [zero] * (aval.ndim - 1)
    stacked = mlir.op1("stablehlo.dynamic_update_slice", aval, (y, row, *starts))
    return ctx.unreduced(stacked, aval)


scan_p = Scan("scan")
