"""`while`: a program that repeats while a condition program returns True."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from olympus_core.base.avals import ShapedArray
from olympus_core.base.errors import TransformError
from olympus_core.control.call import jit_p
from olympus_core.ir.effects import has_io_effects, has_ordered_effects, without_effects
from olympus_core.ir.olympuspr import (
    Atom,
    Eqn,
    Olympuspr,
    ProgramParams,
    Var,
    places_of_inputs,
)
from olympus_core.ir.primitive import Batched, MultipleResults, TangentSplit, op
from olympus_core.mlir import bindings as mlir
from olympus_core.transforms.batching import place_axis
from olympus_core.transforms.evaluate import evaluate
from olympus_core.transforms.flat import instantiate
from olympus_core.transforms.linearize import tangent_aval
from olympus_core.transforms.programs import (
    batch_program,
    jvp_program,
    permute,
    split_program,
    staged,
)

if TYPE_CHECKING:
    from olympus_core.lowering.divergence import Agreement, Differing
    from olympus_core.lowering.module import LoweringContext
    from olympus_core.raising.stablehlo_operation import StableHloOperation


class While(MultipleResults):
    """`while cond(*cond_consts, *carry): carry = body(*body_consts, *carry)`."""

    higher_order: ClassVar[bool] = True
    has_programs: ClassVar[bool] = True
    is_loop: ClassVar[bool] = True
    raised_from: tuple[str, ...] = ("stablehlo.while",)

    def abstract(self, *avals: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        body: Olympuspr = params["body_olympuspr"]
        return body.out_avals

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
        cond_consts, body_consts = operands[:n_cond], operands[n_cond : n_cond + n_body]
        carry = operands[n_cond + n_body :]
        loop = mlir.op("stablehlo.while", [v.type for v in carry], carry, regions=2)
        ctx.region(loop.regions[0], params["cond_olympuspr"], cond_consts)
        ctx.region(loop.regions[1], params["body_olympuspr"], body_consts)
        return list(loop.results)

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        (cond_consts, cond), (body_consts, body) = operation.program(0), operation.program(1)
        return self.bind(
            *cond_consts,
            *body_consts,
            *operands,
            cond_nconsts=len(cond_consts),
            cond_olympuspr=cond,
            body_nconsts=len(body_consts),
            body_olympuspr=body,
        )

    def run_inside(self, args: Sequence[Any], **params: Any) -> None:
        n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
        cond_consts, body_consts = args[:n_cond], args[n_cond : n_cond + n_body]
        carry = list(args[n_cond + n_body :])
        while bool(evaluate(params["cond_olympuspr"], [*cond_consts, *carry])[0]):
            carry = evaluate(params["body_olympuspr"], [*body_consts, *carry])

    def unrecorded_axes(self, eqn: Eqn) -> frozenset[Any]:
        (predicate,) = eqn.params["cond_olympuspr"].out_avals
        return frozenset[Any]().union(*[predicate.vma - v.aval.vma for v in eqn.outputs])

    def differing(
        self, agreement: Agreement, eqn: Eqn, operands: Sequence[Differing]
    ) -> Sequence[Differing]:
        test, step = eqn.params["cond_olympuspr"], eqn.params["body_olympuspr"]
        n_cond, n_body = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
        first = n_cond + n_body
        is_forwarded = [place == n_body + i for i, place in enumerate(places_of_inputs(step))]
        carry, before = tuple(operands[first:]), None
        while carry != before:  # the body or the end of the loop makes carries differ
            before = carry
            (stops,) = agreement.follow(test, [*operands[:n_cond], *carry])
            agreement.need(eqn, "the condition of while_loop", stops, (test, step))
            results = agreement.follow(step, [*operands[n_cond:first], *carry])
            carry = tuple(
                [
                    a if k else a | b | stops
                    for a, b, k in zip(carry, results, is_forwarded, strict=True)
                ]
            )
        return carry

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[Any], list[Any]]:
        n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
        cond: Olympuspr = params["cond_olympuspr"]
        body: Olympuspr = params["body_olympuspr"]
        consts = tuple(t is not None for t in tangents[n_cond : n_cond + n_body])
        first = n_cond + n_body
        carry = tuple(t is not None for t in tangents[first:])
        while True:  # a carry has a tangent if the body returns one
            dual_program, has_tangent = jvp_program(body, (*consts, *carry), carry)
            if has_tangent == carry:
                break
            carry = has_tangent
        n, n_tangents = len(carry), sum(carry)
        order = _interleaved(n_body, n, sum(consts), n_tangents)
        padded = staged(
            lambda *args: evaluate(cond, args[: n_cond + n]),
            [
                *cond.in_avals,
                *(tangent_aval(a) for a, c in zip(body.out_avals, carry, strict=True) if c),
            ],
        )
        values = primals[first:]
        carry_tangents = [
            instantiate(t, tangent_aval(a))
            for t, a, c in zip(tangents[first:], body.out_avals, carry, strict=True)
            if c
        ]
        outs = self.bind(
            *primals[:first],
            *(t for t in tangents[n_cond:first] if t is not None),
            *values,
            *carry_tangents,
            cond_nconsts=n_cond,
            cond_olympuspr=padded,
            body_nconsts=n_body + sum(consts),
            body_olympuspr=permute(dual_program, order, range(n + n_tangents)),
        )
        out_tangents = iter(outs[n:])
        return outs[:n], [next(out_tangents) if c else None for c in carry]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[list[Any], Sequence[int | None]]:
        n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
        cond: Olympuspr = params["cond_olympuspr"]
        body: Olympuspr = params["body_olympuspr"]
        first = n_cond + n_body
        cond_dims, body_dims = tuple(dims[:n_cond]), tuple(dims[n_cond:first])
        carry = tuple(d is not None for d in dims[first:])
        while True:
            places = tuple(0 if c else None for c in carry)
            test = batch_program(cond, batched, (*cond_dims, *places))
            step = batch_program(body, batched, (*body_dims, *places), carry)
            stops_separately = test.out_dims[0] is not None
            mapped_carry = tuple(stops_separately or d is not None for d in step.out_dims)
            if mapped_carry == carry:
                break
            carry = mapped_carry
        values = [
            place_axis(x, d, 0 if c else None, batched.size)
            for x, d, c in zip(args[first:], dims[first:], carry, strict=True)
        ]
        changed = {"cond_olympuspr": test.program, "body_olympuspr": step.program}
        if stops_separately and (has_io_effects(cond) or has_io_effects(body)):
            raise TransformError(
                "Unordered IO effects not supported in while_loops with batched predicates: an "
                "element that has stopped would make the call too",
                hint="use scan or lax.map in place of vmap",
            )
        if stops_separately:
            changed = _until_all_stop(test.program, step.program, n_cond, n_body)
            args = [*args[:n_cond], *args[:first]]
        else:
            args = args[:first]
        outs = self.bind(*args, *values, **(params | changed))
        return outs, [0 if c else None for c in carry]

    def split(self, unknown: tuple[bool, ...], **params: Any) -> TangentSplit | None:
        """Return two loops: one computes the known values of the carry, the other the unknown ones.

        The second loop computes the whole carry again. Return None if the condition is unknown; it
        is always known if only tangents are unknown.
        """
        n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
        cond: Olympuspr = params["cond_olympuspr"]
        body: Olympuspr = params["body_olympuspr"]
        first = n_cond + n_body
        consts, carry = unknown[n_cond:first], unknown[first:]
        while True:
            parts = split_program(body, (*consts, *carry), carry)
            if parts.unknown_outs == carry:
                break
            carry = parts.unknown_outs
        if split_program(cond, (*unknown[:n_cond], *carry)).unknown_outs[0]:
            return None
        flags = (*unknown[:first], *carry)
        known_cond_inputs = [
            i for i in range(len(cond.invars)) if i < n_cond or not carry[i - n_cond]
        ]
        count = len(carry) - sum(carry)
        known_params = {
            "cond_nconsts": n_cond,
            "cond_olympuspr": permute(cond, known_cond_inputs, [0]),
            "body_nconsts": n_body - sum(consts),
            "body_olympuspr": permute(parts.known, range(len(parts.known.invars)), range(count)),
        }
        known_inputs = [i for i, u in enumerate(unknown) if not u]

        def run(args: Sequence[Any]) -> list[Any]:
            operands = [x for i, x in zip(known_inputs, args, strict=True) if not flags[i]]
            return [*self.bind(*operands, **known_params), *args]

        pure = params | {  # the known loop has the effects
            "cond_olympuspr": without_effects(cond),
            "body_olympuspr": without_effects(body),
        }

        def unknown_carry(*args: Any) -> list[Any]:
            outs = self.bind(*args, **pure)
            return [x for x, u in zip(outs, carry, strict=True) if u]

        unknown_params = {
            "name": "while",
            "olympuspr": staged(unknown_carry, [*cond.in_avals[:n_cond], *body.in_avals]),
        }
        place = [*known_inputs, *(i for i, u in enumerate(unknown) if u)]
        order = tuple(place.index(i) for i in range(len(unknown)))
        return TangentSplit(run, count, jit_p, unknown_params, carry, order)

    def threaded(
        self, eqn: Eqn, thread: Callable[[Olympuspr], Olympuspr], order: Atom, after: Var
    ) -> Eqn:
        params = eqn.params
        if has_ordered_effects(params["cond_olympuspr"]):
            return _with_ordered_condition(eqn, thread, order, after)
        n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
        first, test = n_cond + n_body, params["cond_olympuspr"]
        invars = (*test.invars[:n_cond], Var(order.aval), *test.invars[n_cond:])
        body = _order_before_carry(thread(params["body_olympuspr"]), n_body)
        return eqn.replace(
            inputs=(*eqn.inputs[:first], order, *eqn.inputs[first:]),
            outputs=(after, *eqn.outputs),
            params=params | {"cond_olympuspr": test.replace(invars=invars), "body_olympuspr": body},
        )

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        raise TransformError(
            "Reverse-mode differentiation does not work for lax.while_loop or lax.fori_loop with "
            "dynamic start/stop values: the number of iterations is not known in advance, so the "
            "memory that their values need is not known either",
            hint="use scan, or fori_loop with Python bounds; forward mode (jvp, jacfwd) works",
        )


def _order_before_carry(program: Olympuspr, count: int) -> Olympuspr:
    """Move the first input of a program, the order, behind `count` constants."""
    first, rest = program.invars[0], program.invars[1:]
    return program.replace(invars=(*rest[:count], first, *rest[count:]))


def _with_ordered_condition(
    eqn: Eqn, thread: Callable[[Olympuspr], Olympuspr], order: Atom, after: Var
) -> Eqn:
    """Return the call of a program that runs the condition before the loop and after each body.

    The loop then carries the result of the condition, and its own condition has no effect.
    """
    params, source = eqn.params, eqn.source
    n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
    test = thread(params["cond_olympuspr"])
    body = params["body_olympuspr"]
    body = thread(body) if has_ordered_effects(body) else _passing(body, order.aval)
    carry_avals = [x.aval for x in eqn.inputs[n_cond + n_body :]]

    def new(avals: Sequence[ShapedArray]) -> tuple[Var, ...]:
        return tuple(map(Var, avals))

    def call(program: Olympuspr, inputs: Sequence[Atom], outputs: Sequence[Var]) -> Eqn:
        called = {"name": "while", "olympuspr": program}
        return Eqn(jit_p, tuple(inputs), tuple(outputs), ProgramParams(called), source)

    def checked(inputs: Sequence[Atom], consts: Sequence[Atom]) -> tuple[Eqn, tuple[Var, ...]]:
        outs = new(test.out_avals)
        return call(test, [inputs[0], *consts, *inputs[1:]], outs), outs

    consts, carry = new([x.aval for x in eqn.inputs[: n_cond + n_body]]), new(carry_avals)
    # the body of the loop: constants, then the result of the condition, the order and the carry
    inner_consts, flag = new([v.aval for v in consts]), Var(test.out_avals[1])
    inner_order, inner_carry = Var(order.aval), new(carry_avals)
    results = new(body.out_avals)
    step = call(body, [inner_order, *inner_consts[n_cond:], *inner_carry], results)
    again, (last, goes_on) = checked(results, inner_consts[:n_cond])
    inner = Olympuspr(
        (*inner_consts, flag, inner_order, *inner_carry),
        (step, again),
        (goes_on, last, *results[1:]),
    )
    flags = new([flag.aval, order.aval, *carry_avals])
    start = Var(order.aval)
    first, (started, begins) = checked([start, *carry], consts[:n_cond])
    ends = new([flag.aval, order.aval, *carry_avals])
    loop = Eqn(
        while_p,
        (*consts, begins, started, *carry),
        ends,
        ProgramParams(
            cond_nconsts=0,
            cond_olympuspr=Olympuspr(flags, (), flags[:1]),
            body_nconsts=len(consts),
            body_olympuspr=inner,
        ),
        source,
    )
    whole = Olympuspr((start, *consts, *carry), (first, loop), ends[1:])
    return call(whole, [order, *eqn.inputs], [after, *eqn.outputs])


def _passing(program: Olympuspr, aval: ShapedArray) -> Olympuspr:
    """Return a program with one more input, the first one, which it returns first."""
    order = Var(aval)
    return program.replace(invars=(order, *program.invars), outvars=(order, *program.outvars))


def _interleaved(n_consts: int, n_carry: int, t_consts: int, t_carry: int) -> list[int]:
    """Return the indices that put the tangents of a body's arguments behind their primals.

    The order is (consts, carry, tangents of consts, tangents of carry) before, and (consts,
    tangents of consts, carry, tangents of carry) after.
    """
    consts, carry = range(n_consts), range(n_consts, n_consts + n_carry)
    end = n_consts + n_carry
    return [
        *consts,
        *range(end, end + t_consts),
        *carry,
        *range(end + t_consts, end + t_consts + t_carry),
    ]


def _until_all_stop(test: Olympuspr, step: Olympuspr, n_cond: int, n_body: int) -> dict[str, Any]:
    """Return parameters of a loop over a batch that runs until the condition of all is False.

    An element whose condition is False keeps its carry.
    """
    count = len(step.outvars)

    def any_runs(*args: Any) -> list[Any]:
        return [op.reduce_or(evaluate(test, args)[0], axes=(0,))]

    def guarded(*args: Any) -> list[Any]:
        carry = args[n_cond + n_body :]
        runs = evaluate(test, [*args[:n_cond], *carry])[0]
        results = evaluate(step, args[n_cond:])
        selected = []
        for old, x in zip(carry, results, strict=True):
            predicate = op.broadcast_in_dim(runs, shape=x.shape, broadcast_dimensions=(0,))
            selected.append(op.select_n(predicate, old, x))
        return selected

    carry_avals = step.in_avals[len(step.invars) - count :]
    cond_consts = test.in_avals[:n_cond]
    return {
        "cond_olympuspr": staged(any_runs, [*cond_consts, *carry_avals]),
        "body_olympuspr": staged(guarded, [*cond_consts, *step.in_avals]),
        "body_nconsts": n_cond + n_body,
    }


while_p = While("while")
