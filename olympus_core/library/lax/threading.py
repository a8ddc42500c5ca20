"""Loops and branches whose functions use mutable references.

The values of the references are a part of the carry, or results of the branches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_core.base import tree
from olympus_core.base.avals import get_aval
from olympus_core.base.source import function_name
from olympus_core.library.lax import unstaged
from olympus_core.transforms import references
from olympus_core.transforms.references import Boxed, Threaded

#: of a function that is threaded already
_DONE = "olympus_threaded"


def _is_done(fun: Callable[..., Any]) -> bool:
    return hasattr(fun, _DONE)


def _mark(fun: Callable[..., Any]) -> Callable[..., Any]:
    setattr(fun, _DONE, True)
    return fun


def of_fold(
    name: str, f: Callable[..., Any], init: Any, xs: Any, of: Callable[..., Any]
) -> tuple[Any, ...] | None:
    """Return the step, the carry and the xs of a scan with references, and how to end it.

    None if the step uses no references, or Python runs it, with references of its closure as they
    are.  Of a reference in `xs`, each step gets a row as one.
    """
    if _is_done(f) or (unstaged.wanted() and not references.has_references((init, xs))):
        return None
    references.check_result(function_name(of), (init, None), name)
    (init, array_xs), _, passed = references.unboxed((init, xs), {}, of, name)
    leaves, in_tree = tree.flatten((init, array_xs))
    carried = tree.structure(init).num_leaves
    avals = [get_aval(x) for x in leaves]
    avals = [a.without_axis(0) if i >= carried and a.shape else a for i, a in enumerate(avals)]
    boxed = Boxed(f, list(passed), name)
    used = references.used_by([boxed if passed else f], avals, in_tree)
    if not used and not passed:
        return None
    references.check_closure(of, tree.structure(((init, array_xs), {})), passed, used, name)
    threaded = Threaded(boxed, used, name)

    def step(carry: Any, x: Any) -> Any:
        values, (last, (inner, y)) = threaded(carry[0], carry[1], x)
        return (values, inner), (last, y)

    def end(carry: Any, ys: Any) -> Any:
        threaded.write(carry[0])
        for reference, value in zip(passed.values(), ys[0], strict=True):
            reference.set_value(value)
        return carry[1], ys[1]

    return _mark(step), (threaded.values, init), array_xs, end


def of_while(
    name: str, cond_fun: Callable[..., Any], body_fun: Callable[..., Any], init: Any
) -> tuple[Any, ...] | None:
    """Return the condition, the body and the carry of a loop with references, and how to end it."""
    if _is_done(body_fun):
        return None
    references.check_result(name, init, "while_loop")
    leaves, in_tree = tree.flatten((init,))
    used = references.used_by([cond_fun, body_fun], [get_aval(x) for x in leaves], in_tree)
    if not used:
        return None
    body, condition = Threaded(body_fun, used, "while_body"), Threaded(cond_fun, used)

    def step(carry: Any) -> Any:
        return body(*carry)

    def test(carry: Any) -> Any:
        return condition(*carry)[1]

    def end(carry: Any) -> Any:
        body.write(carry[0])
        return carry[1]

    return test, _mark(step), (body.values, init), end


def of_branches(
    name: str, functions: Sequence[Callable[..., Any]], operands: tuple[Any, ...]
) -> tuple[Any, ...] | None:
    """Return the branches and operands of a conditional with references, and how to end it."""
    if _is_done(functions[0]):
        return None
    _, _, passed = references.unboxed(operands, {}, functions[0], name)
    leaves, in_tree = tree.flatten(references.static_references(operands))
    used = references.used_by(functions, leaves, in_tree)
    if passed:
        _check_branches(name, functions, operands, passed)
    elif not used:
        return None

    def branch(fun: Callable[..., Any]) -> Callable[..., Any]:
        threaded = Threaded(fun, used, name)
        return _mark(lambda values, arrays: threaded(values, *in_tree.unflatten(arrays)))

    first = Threaded(functions[0], used)

    def end(result: Any) -> Any:
        first.write(result[0])
        return result[1]

    return [branch(f) for f in functions], (first.values, leaves), end


def _check_branches(
    name: str,
    functions: Sequence[Callable[..., Any]],
    operands: tuple[Any, ...],
    passed: dict[int, references.Reference],
) -> None:
    """Raise ArgumentError for a branch that closes over a reference among the operands."""
    values, _, _ = references.unboxed(operands, {})
    leaves, in_tree = tree.flatten(values)
    for fun in functions:
        used = references.used_by([Boxed(fun, list(passed), name)], leaves, in_tree)
        references.check_closure(fun, tree.structure((values, {})), passed, used, name)
