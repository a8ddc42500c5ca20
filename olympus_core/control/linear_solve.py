"""`custom_linear_solve`: the solution of a linear system, by a function of the user.

Its derivatives do not follow the steps of the solver.  They solve the same system, or the
transposed one, for another right-hand side: A dx = db - dA x, and A^T cb = cx.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from olympus_core.base import tree
from olympus_core.base.avals import ShapedArray, get_aval
from olympus_core.base.errors import TransformError
from olympus_core.base.source import function_name
from olympus_core.control.bodies import Body, share_consts, stage_body
from olympus_core.control.call import InlineCall
from olympus_core.ir.olympuspr import Eqn, Olympuspr
from olympus_core.ir.primitive import Batched, Linear, TangentSplit, op
from olympus_core.transforms import data
from olympus_core.transforms.autodiff import linear_transpose
from olympus_core.transforms.batching import place_axis
from olympus_core.transforms.evaluate import evaluate
from olympus_core.transforms.flat import instantiate
from olympus_core.transforms.linearize import cotangent_aval
from olympus_core.transforms.programs import batch_program, jvp_program

#: a linear function of a vector, and a solver: (that function, right-hand side) -> solution
Map = Callable[[Any], Any]
Solver = Callable[[Map, Any], Any]


class LinearSystem:
    """The programs of a system besides its solver; each takes the shared constants and a vector.

    `vecmat` and `transpose_solve` are those of the transposed system, or None without a solver.
    """

    __slots__ = ("matvec", "transpose_solve", "vecmat")

    def __init__(
        self, matvec: Olympuspr, vecmat: Olympuspr | None, transpose_solve: Olympuspr | None
    ) -> None:
        self.matvec, self.vecmat, self.transpose_solve = matvec, vecmat, transpose_solve

    def transposed(self, solve: Olympuspr) -> LinearSystem:
        """Return the transposed system of one that `solve` solves."""
        if self.vecmat is None:
            raise TransformError(
                "transpose_solve required for backwards mode automatic differentiation of "
                "custom_linear_solve",
                hint="pass transpose_solve, or symmetric=True if the system equals its transpose",
            )
        return LinearSystem(self.vecmat, self.matvec, solve)

    def programs(self) -> list[Olympuspr | None]:
        """Return the three programs."""
        return [self.matvec, self.vecmat, self.transpose_solve]


class LinearSolve(InlineCall):
    """The solution that `olympuspr` computes of `system`, and auxiliary results.

    The operands are the constants that all programs share, and the `count` arrays of the
    right-hand side.  The first `count` results are the solution.
    """

    def prune(self, eqn: Eqn, used: tuple[bool, ...]) -> Eqn:
        return eqn  # the derivative needs the whole solution

    def split(self, unknown: tuple[bool, ...], **params: Any) -> TangentSplit | None:
        return None

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[Any], list[Any]]:
        count, system = params["count"], params["system"]
        n = len(primals) - count
        outs = self.bind(*primals, **params)
        right = list(tangents[n:])
        nonzero = tuple(t is not None for t in tangents[:n])
        if any(nonzero):
            program, has_tangent = jvp_program(
                system.matvec, (*nonzero, *(False,) * count), (False,) * count
            )
            given = [t for t in tangents[:n] if t is not None]
            results = iter(evaluate(program, [*primals[:n], *outs[:count], *given])[count:])
            changes = [next(results) if m else None for m in has_tangent]
            right = [_difference(t, c) for t, c in zip(right, changes, strict=True)]
        if all(t is None for t in right):
            return outs, [None] * len(outs)
        full = [instantiate(t, get_aval(x)) for t, x in zip(right, primals[n:], strict=True)]
        solved = self.bind(*primals[:n], *full, **params)
        return outs, [*solved[:count], *[None] * (len(outs) - count)]

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> list[Any]:
        count, system = params["count"], params["system"]
        consts = operands[: len(operands) - count]
        if any(isinstance(x, Linear) for x in consts):
            raise TransformError("custom_linear_solve is not linear in the values of its system")
        transposed = system.transposed(params["olympuspr"])
        right = [
            instantiate(c, cotangent_aval(a))
            for c, a in zip(cotangent, params["olympuspr"].out_avals[:count], strict=False)
        ]
        solved = self.bind(
            *consts,
            *right,
            **(params | {"olympuspr": system.transpose_solve, "system": transposed}),
        )
        return [*[None] * len(consts), *solved[:count]]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[list[Any], tuple[int | None, ...]]:
        """Map all parts of the solution that depend on a mapped value through the system."""
        count, system, solve = params["count"], params["system"], params["olympuspr"]
        n = len(args) - count
        mapped = [d is not None for d in dims[n:]]
        others = [p for p in (system.matvec, system.vecmat, system.transpose_solve) if p]
        while True:
            places = (*dims[:n], *[0 if m else None for m in mapped])
            results = [batch_program(p, batched, places).out_dims for p in (solve, *others)]
            every = [m or any(r[i] is not None for r in results) for i, m in enumerate(mapped)]
            if every == mapped:
                break
            mapped = every

        def over(program: Olympuspr | None) -> Any:
            if program is None:
                return None
            extra = (False,) * (len(program.outvars) - count)
            return batch_program(program, batched, places, (*mapped, *extra))

        right = [
            place_axis(x, d, 0 if m else None, batched.size)
            for x, d, m in zip(args[n:], dims[n:], mapped, strict=True)
        ]
        solver = over(solve)
        parts = [p and over(p).program for p in system.programs()]
        outs = self.bind(
            *args[:n],
            *right,
            **(params | {"olympuspr": solver.program, "system": LinearSystem(*parts)}),
        )
        out_dims: tuple[int | None, ...] = solver.out_dims
        return outs, out_dims


def _difference(x: Any, y: Any) -> Any:
    if y is None:
        return x
    return op.neg(y) if x is None else op.sub(x, y)


linear_solve_p = LinearSolve("custom_linear_solve")


def custom_linear_solve(
    matvec: Map,
    b: Any,
    solve: Solver,
    transpose_solve: Solver | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """Return `solve(matvec, b)`, the solution of `matvec(x) = b`, with implicit derivatives.

    `matvec` is a linear function of arrays of the structure, shapes and dtypes of `b`; it may close
    over values, which have derivatives.  `transpose_solve(vecmat, b)` solves the transposed system,
    for reverse mode; `symmetric` declares that `solve` does.  With `has_aux`, the solvers return
    pairs (solution, aux), and so does the call; `aux` has no derivative.

    Raises TransformError (a TypeError) for a function whose result has other types than `b`.

    >>> custom_linear_solve(lambda x: 4.0 * x, 2.0, lambda f, b: b / f(1.0), symmetric=True)
    Array(0.5, dtype=float32, weak_type=True)
    """
    if transpose_solve is None and symmetric:
        transpose_solve = solve
    leaves, in_tree = data.flatten_data(b)
    avals = [get_aval(x) for x in leaves]
    check = functools.partial(_check, in_tree, avals)
    stage = functools.partial(stage_body, in_tree=tree.structure((b,)), avals=avals)
    forward = check("matvec", stage(matvec, what="the function of custom_linear_solve"), False)
    bodies = [forward, check("solve", stage(_call(solve, matvec), what="a solver"), has_aux)]
    if transpose_solve is not None:
        vecmat = matvec if symmetric else _transposed(matvec, b)
        backward = stage(vecmat, what="a transposed function") if not symmetric else forward
        solver = stage(_call(transpose_solve, vecmat), what="a transposed solver")
        bodies += [check("vecmat", backward, False), check("transpose_solve", solver, has_aux)]
    programs, consts = share_consts(bodies)
    vecmat_program, transposed_solver = programs[2:] or (None, None)
    system = LinearSystem(programs[0], vecmat_program, transposed_solver)
    outs = linear_solve_p.bind(
        *consts,
        *leaves,
        count=len(leaves),
        name=function_name(solve),
        olympuspr=programs[1],
        system=system,
    )
    return bodies[1].out_tree.unflatten(outs)


def _call(solver: Solver, linear: Map) -> Map:
    def solve(b: Any) -> Any:
        return solver(linear, b)

    return functools.update_wrapper(solve, solver) if hasattr(solver, "__name__") else solve


def _transposed(matvec: Map, like: Any) -> Map:
    transpose = linear_transpose(matvec, like)

    def vecmat(x: Any) -> Any:
        return transpose(x)[0]

    return vecmat


def _check(
    in_tree: tree.PyTreeDef, avals: Sequence[ShapedArray], what: str, body: Body, has_aux: bool
) -> Body:
    """Return the body, or raise TransformError unless its result is like the right-hand side."""
    out_tree = body.out_tree
    if has_aux:
        parts = out_tree.children()
        if len(parts) != 2:
            raise TransformError(
                f"{what}() produced a pytree with structure {out_tree}, and has_aux is True: it "
                "must be a pair (result, auxiliary output)"
            )
        out_tree = parts[0]
    if out_tree != in_tree:
        raise TransformError(
            f"{what}() output pytree structure must match b, got {out_tree} and {in_tree}"
        )
    shapes, expected = ([a.shape for a in x] for x in (body.out_avals[: len(avals)], avals))
    if shapes != expected:
        raise TransformError(f"{what}() output shapes must match b, got {shapes} and {expected}")
    return body
