"""`custom_root`: a root of a function, found by a function of the user.

The root u of F(m, u) = 0 depends on m. Its derivative in a direction v follows from that of the
equation, F_u du = -F_m v (the implicit function theorem), and not from the steps of the solver.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from olympus_core.base import tree
from olympus_core.base.avals import get_aval
from olympus_core.base.errors import TransformError
from olympus_core.control.bodies import stage_body
from olympus_core.control.custom_jvp import custom_jvp
from olympus_core.ir.primitive import op
from olympus_core.transforms import data
from olympus_core.transforms.autodiff import linearize
from olympus_core.transforms.evaluate import evaluate
from olympus_core.transforms.flat import instantiate
from olympus_core.transforms.jvp import jvp_flat
from olympus_core.transforms.linearize import tangent_aval


def custom_root(
    f: Callable[[Any], Any],
    initial_guess: Any,
    solve: Callable[[Callable[[Any], Any], Any], Any],
    tangent_solve: Callable[[Callable[[Any], Any], Any], Any],
    has_aux: bool = False,
) -> Any:
    """Return `solve(f, initial_guess)`, a root of `f`, with an implicit derivative.

    `f` returns a value of the structure and shapes of its argument, and may close over values,
    which have derivatives. `tangent_solve(g, y)` returns x with g(x) = y, for the derivative `g` of
    `f` at the root. With `has_aux`, `solve` returns a pair (root, aux), and so does the call; `aux`
    has no derivative.

    Raises TransformError (a TypeError) for a function whose result is not like `initial_guess`.

    >>> root = lambda c: custom_root(lambda x: x * x - c, 1.0, lambda f, x: sqrt(c),
    ...                              lambda g, y: y / g(1.0))
    >>> grad(root)(4.0)
    Array(0.25, dtype=float32, weak_type=True)
    """
    guess, in_tree = data.flatten_data(initial_guess)
    avals = [get_aval(x) for x in guess]
    whole = tree.structure((initial_guess,))
    function = stage_body(f, whole, avals, "the function of custom_root")
    solver = stage_body(lambda x: solve(f, x), whole, avals, "the solver of custom_root")
    _check("f", function.out_tree, in_tree)
    _check("solve", _first(solver.out_tree) if has_aux else solver.out_tree, in_tree)
    count = len(guess)

    def root(consts: Any, guess: Any) -> Any:
        return evaluate(solver.program, [*consts[1], *guess])

    def derivative(primals: Any, tangents: Any) -> Any:
        consts = primals[0][0]
        outs = root_p(*primals)
        at, aux = outs[:count], outs[count:]
        _, change = jvp_flat(
            lambda *values: evaluate(function.program, [*values, *at]), consts, tangents[0][0]
        )
        right = [
            instantiate(t, tangent_aval(a)) for t, a in zip(change, function.out_avals, strict=True)
        ]
        _, slope = linearize(lambda x: _apply(function, consts, x), in_tree.unflatten(at))
        step = tangent_solve(slope, in_tree.unflatten(right))
        leaves, step_tree = data.flatten_data(step)
        _check("tangent_solve", step_tree, in_tree, "x")
        zeros = [instantiate(None, tangent_aval(get_aval(x))) for x in aux]
        return outs, [*map(op.neg, leaves), *zeros]

    root_p = custom_jvp(root)
    root_p.defjvp(derivative)
    outs = root_p((list(function.consts), list(solver.consts)), guess)
    return solver.out_tree.unflatten(outs)


def _apply(function: Any, consts: Any, x: Any) -> Any:
    outs = evaluate(function.program, [*consts, *data.flatten_data(x)[0]])
    return function.out_tree.unflatten(outs)


def _first(out_tree: tree.PyTreeDef) -> tree.PyTreeDef:
    parts = out_tree.children()
    if len(parts) != 2:
        raise TransformError(
            f"solve() produced a pytree with structure {out_tree}, and has_aux is True: it must be "
            "a pair (result, auxiliary output)"
        )
    return parts[0]


def _check(
    what: str,
    out_tree: tree.PyTreeDef,
    in_tree: tree.PyTreeDef,
    expected: str = "initial_guess",
) -> None:
    if out_tree != in_tree:
        raise TransformError(
            f"{what}() output pytree structure must match {expected}, got {out_tree} and {in_tree}"
        )
