"""How `scan` is differentiated, batched, split and transposed: by doing so to its body.

Operands are (consts, carry, xs), results (carry, ys).  A carry is active, mapped or unknown where
it starts so or where the body makes it so: each rule looks for the fixed point first.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from olympus_core.olympuspr import Eqn, Olympuspr, Var
from olympus_core.primitive import Batched, Linear, Primitive, Split, op
from olympus_core.primitives.elementwise.base import move_axis
from olympus_core.simplify import restrict
from olympus_core.transforms.batching import place_axis
from olympus_core.transforms.flat import instantiate, zeros
from olympus_core.transforms.linearize import tangent_aval, transpose_program
from olympus_core.transforms.programs import (
    SplitProgram,
    batch_program,
    jvp_program,
    permute,
    split_program,
    staged,
)

__all__ = ["batch", "jvp", "prune", "split", "transpose"]

Params = dict[str, Any]


def _counts(params: Params) -> tuple[int, int, int]:
    """The numbers of consts, of consts and carry, and of carry."""
    n_consts, n_carry = params["num_consts"], params["num_carry"]
    return n_consts, n_consts + n_carry, n_carry


def jvp(
    primitive: Primitive, primals: Sequence[Any], tangents: Sequence[Any], params: Params
) -> tuple[list[Any], list[Any]]:
    """A scan over values and tangents."""
    body: Olympuspr = params["olympuspr"]
    a, b, n = _counts(params)
    nonzero = [t is not None for t in tangents]
    n_ys = len(body.outvars) - n
    while True:
        both, made = jvp_program(body, tuple(nonzero), (*nonzero[a:b], *[False] * n_ys))
        if list(made[:n]) == nonzero[a:b]:
            break
        nonzero[a:b] = made[:n]
    filled = list(tangents)
    filled[a:b] = [
        instantiate(t, tangent_aval(v)) if z else None
        for t, z, v in zip(tangents[a:b], nonzero[a:b], body.in_avals[a:b], strict=True)
    ]
    ins = _interleave([range(a), range(a, b), range(b, len(nonzero))], nonzero)
    outs = _interleave([range(n), range(n, n + n_ys)], made)
    operands = [
        x
        for part in (slice(0, a), slice(a, b), slice(b, None))
        for x in (*primals[part], *(t for t in filled[part] if t is not None))
    ]
    results = primitive.bind(
        *operands,
        **params
        | {
            "olympuspr": permute(both, ins, outs),
            "num_consts": a + sum(nonzero[:a]),
            "num_carry": n + sum(made[:n]),
        },
    )
    k = sum(made[:n])
    carry, carry_t = results[:n], iter(results[n : n + k])
    ys, ys_t = results[n + k : n + k + n_ys], iter(results[n + k + n_ys :])
    out_tangents = [next(carry_t) if m else None for m in made[:n]]
    out_tangents += [next(ys_t) if m else None for m in made[n:]]
    return [*carry, *ys], out_tangents


def _interleave(parts: Sequence[range], nonzero: Sequence[bool]) -> list[int]:
    """The order of (all values, all tangents) in which each part's tangents follow its values."""
    total, position, place = len(nonzero), 0, {}
    for i, z in enumerate(nonzero):
        if z:
            place[i] = total + position
            position += 1
    return [j for part in parts for j in (*part, *(place[i] for i in part if nonzero[i]))]


def batch(
    primitive: Primitive,
    batched: Batched,
    args: Sequence[Any],
    dims: Sequence[int | None],
    params: Params,
) -> tuple[list[Any], Sequence[int | None]]:
    """A scan whose body is mapped; a row of the xs has its mapped axis in front."""
    body: Olympuspr = params["olympuspr"]
    a, b, n = _counts(params)
    carry = [d is not None for d in dims[a:b]]
    rows = [None if d is None else 0 for d in dims[b:]]
    unset = [False] * (len(body.outvars) - n)
    while True:
        places = [0 if c else None for c in carry]
        found = batch_program(body, batched, (*dims[:a], *places, *rows), (*carry, *unset))
        mapped = [d is not None for d in found.out_dims[:n]]
        if mapped == carry:
            break
        carry = mapped
    start = [
        place_axis(x, d, p, batched.size)
        for x, d, p in zip(args[a:b], dims[a:b], places, strict=True)
    ]
    xs = [x if d is None else move_axis(x, d, 1) for x, d in zip(args[b:], dims[b:], strict=True)]
    outs = primitive.bind(*args[:a], *start, *xs, **params | {"olympuspr": found.program})
    return outs, [*places, *(None if d is None else 1 for d in found.out_dims[n:])]


def prune(eqn: Eqn, used: tuple[bool, ...]) -> Eqn:
    """A scan without the ys that are not used, and without what only they needed."""
    params = eqn.params
    body: Olympuspr = params["olympuspr"]
    a, b, n = _counts(params)
    wanted = (*[True] * n, *used[n:])
    program, read = restrict(body, wanted)
    kept = [i for i in range(len(eqn.inputs)) if i in read or a <= i < b]
    invars = tuple(body.invars[i] for i in kept)
    changed = {
        "olympuspr": Olympuspr(invars, program.eqns, program.outvars),
        "num_consts": sum(i < a for i in kept),
    }
    return eqn.replace(
        inputs=tuple(eqn.inputs[i] for i in kept),
        outputs=tuple(v for v, w in zip(eqn.outputs, wanted, strict=True) if w),
        params=params | changed,
    )


def split(primitive: Primitive, unknown: tuple[bool, ...], params: Params) -> Split:
    """A scan of what is known, which stacks the residuals, and one of the rest, over them.

    A residual that is a constant of the scan is not stacked; a carry that starts known and
    becomes unknown hands its start on as a residual.
    """
    body: Olympuspr = params["olympuspr"]
    a, b, _ = _counts(params)
    flags, parts = _fixed_point(body, unknown, a, b)
    now = [i for i, f in enumerate(flags) if not f]
    given = [i for i, u in enumerate(unknown) if not u]
    late = [i for i in given if flags[i]]
    count = len(parts.known.outvars) - parts.num_residuals
    counts = {"num_consts": sum(i < a for i in now), "num_carry": sum(a <= i < b for i in now)}
    fixed, stacked = _residuals(parts, counts["num_consts"], count)
    outs = [*range(count), *(count + i for i in stacked)]
    known = params | counts | {"olympuspr": permute(parts.known, range(len(now)), outs)}

    def run(args: Sequence[Any]) -> list[Any]:
        values = dict(zip(given, args, strict=True))
        operands = [values[i] for i in now]
        results = primitive.bind(*operands, **known)
        constants = [operands[j] for j in fixed.values()]
        return [*results[:count], *constants, *(values[i] for i in late), *results[count:]]

    later, order = _later(parts, flags, late, (list(fixed), stacked), params)
    return Split(run, count, primitive, later, parts.unknown_outs, order)


def _fixed_point(
    body: Olympuspr, unknown: Sequence[bool], a: int, b: int
) -> tuple[list[bool], SplitProgram]:
    """Which inputs are unknown once a carry that the body makes so is, and the body parted so."""
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
    """The residuals that are a constant of the known scan, with its place; and the others."""
    places = {v: i for i, v in enumerate(parts.known.invars[:num_consts])}
    atoms = parts.known.outvars[count:]
    fixed = {i: places[x] for i, x in enumerate(atoms) if isinstance(x, Var) and x in places}
    return fixed, [i for i in range(len(atoms)) if i not in fixed]


def _later(
    parts: SplitProgram,
    flags: Sequence[bool],
    late: Sequence[int],
    residuals: tuple[list[int], list[int]],
    params: Params,
) -> tuple[Params, tuple[int, ...]]:
    """The parameters of the scan of what is unknown, and the order of its operands."""
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


def transpose(
    primitive: Primitive, cotangent: Sequence[Any], operands: Sequence[Any], params: Params
) -> list[Any]:
    """A scan in the other direction, over cotangents; those of constants add up in its carry."""
    body: Olympuspr = params["olympuspr"]
    a, b, n = _counts(params)
    asked = tuple(isinstance(x, Linear) for x in operands)
    linear = tuple(_fixed_point(body, asked, a, b)[0])  # a linear carry may start as a value: 0
    if not all(linear[a:b]):
        return _transpose_part(primitive, cotangent, operands, asked, params)
    given = tuple(c is not None for c in cotangent[n:])
    program = _transposed_body(body, linear, given, a, n)
    sums = [zeros(x.aval.strip_weak()) for x in operands[:a] if isinstance(x, Linear)]
    carry = [
        instantiate(c, tangent_aval(v)) for c, v in zip(cotangent[:n], body.out_avals, strict=False)
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
    outs = iter(primitive.bind(*consts, *sums, *carry, *cotangents, *xs, **params | changed))
    found = [next(outs) if u else None for u in linear]
    return [c if u else None for c, u in zip(found, asked, strict=True)]


@functools.lru_cache(maxsize=512)
def _transposed_body(
    body: Olympuspr, linear: tuple[bool, ...], given: tuple[bool, ...], a: int, n: int
) -> Olympuspr:
    """(consts, sums and cotangents of the carry, cotangents of ys, xs) -> (sums, carry, xs)."""
    b = a + n
    pull_back = transpose_program(body, linear, (*[True] * n, *given))
    avals = [v.strip_weak() if u else v for v, u in zip(body.in_avals, linear, strict=True)]
    consts = [v for v, u in zip(avals[:a], linear, strict=False) if not u]
    sums = [v for v, u in zip(avals[:a], linear, strict=False) if u]
    xs = [v for v, u in zip(avals[b:], linear[b:], strict=True) if not u]
    ys = [tangent_aval(v) for v, g in zip(body.out_avals[n:], given, strict=True) if g]
    carry = [tangent_aval(v) for v in body.out_avals[:n]]

    def step(*args: Any) -> list[Any]:
        fixed, rest = args[: len(consts)], args[len(consts) :]
        totals, rest = rest[: len(sums)], rest[len(sums) :]
        cotangents, rows = rest[: n + len(ys)], rest[n + len(ys) :]
        outs = pull_back(*fixed, *rows, *cotangents)
        for i, total in enumerate(totals):
            outs[i] = total if outs[i] is None else op.add(total, outs[i])
        kinds = [v for v, u in zip(avals, linear, strict=True) if u]
        return [instantiate(x, v) for x, v in zip(outs, kinds, strict=True)]

    return staged(step, [*consts, *sums, *carry, *ys, *xs])


def _transpose_part(
    primitive: Primitive,
    cotangent: Sequence[Any],
    operands: Sequence[Any],
    linear: tuple[bool, ...],
    params: Params,
) -> list[Any]:
    """Where a part of the carry is not linear, that part runs first, and the rest is transposed."""
    parts = split(primitive, linear, params)
    outs = parts.known([x for x, u in zip(operands, linear, strict=True) if not u])
    residuals = outs[parts.num_known_outs :]
    every = [*residuals, *(x for x in operands if isinstance(x, Linear))]
    order = parts.order or tuple(range(len(every)))
    later = [every[i] for i in order]
    kept = [c for c, u in zip(cotangent, parts.unknown_outs, strict=True) if u]
    found = dict(zip(order, transpose(primitive, kept, later, parts.linear_params), strict=True))
    given = iter(found[i] for i in range(len(residuals), len(every)))
    return [next(given) if u else None for u in linear]
