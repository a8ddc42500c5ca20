"""Symbolic dimensions: arithmetic, decisions, texts and the variables of a call."""

from __future__ import annotations

import itertools
import random
import re
from typing import Any

import numpy as np
import pytest

from olympus import ShapeDtypeStruct
from olympus_core.base.avals import ShapedArray, shaped
from olympus_core.base.dimensions.expression import max_dim, min_dim, symbolic_slice
from olympus_core.base.dimensions.scope import SymbolicScope
from olympus_core.base.dimensions.shapes import symbolic_shape
from olympus_core.base.dimensions.solving import bound_variables, evaluated, solved
from olympus_core.base.errors import InconclusiveDimensionOperation, ShapeError, TraceError

F32 = np.dtype("float32")


def _pair(*constraints: str) -> Any:
    return symbolic_shape("a, b", constraints=constraints)


def _are_equal(x: Any, y: Any) -> bool:
    """Compare as the user's code does, in a function, so that linters accept it."""
    return bool(x == y)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("a + b", "b + a"),
        ("2*a*b + b^2", "2*a*b + b^2"),
        ("3*a - 2", "3*a - 2"),
        ("-a + b", "b - a"),
        ("a*2 - a*2 + 7", "7"),
        ("(a + b) * (a - b)", "- b^2 + a^2"),
        ("floordiv(a, 2) + mod(b, 3)", "mod(b, 3) + floordiv(a, 2)"),
        ("a // 2", "floordiv(a, 2)"),
        ("(4*a + 6) // 2", "2*a + 3"),
        ("(3*a + 5) % 3", "2"),
        ("(a^2 - b^2) // (a + b)", "- b + a"),
        ("max(a, b)", "max(a, b)"),
        ("max(a, 1)", "a"),
        ("min(a, 0)", "0"),
        ("a ** 3", "a^3"),
    ],
)
def test_expressions_are_canonical(text: str, printed: str) -> None:
    assert str(symbolic_shape(f"{text}, a, b")[0]) == printed


def test_canonical_expressions_are_equal_and_have_one_hash() -> None:
    a, b = _pair()
    assert (a + b) * 2 == 2 * b + 2 * a
    assert hash((a + b) * 2) == hash(2 * b + 2 * a)
    for one, other in (
        (a.max(b), b.max(a)),
        (min_dim(2, a + 1), min_dim(a + 1, 2)),
        (a.min(b), b.min(a)),
    ):
        assert one == other
        assert hash(one) == hash(other)
    assert str(max_dim(0, a - 3)) == "max(0, a - 3)"
    assert shaped((a + b, 3), F32) is shaped((b + a, 3), F32)
    assert ShapeDtypeStruct((a,), "f4") == ShapeDtypeStruct((a,), "f4")
    assert a - a == 0
    assert isinstance(a - a + 3, int)


@pytest.mark.parametrize(
    "text",
    ["2.5", "a + a a", "a ^ a", "_", "...", "a;a", "?", "b+", "(a", "a,,b", "a, ..., b", "a // 0"],
)
def test_an_invalid_shape_is_refused(text: str) -> None:
    with pytest.raises(ShapeError, match="syntax error in symbolic shape"):
        symbolic_shape(text)


def test_an_error_has_the_number_of_the_dimension() -> None:
    for text, dimension in (("a b", 0), ("a^2, 2 a", 1), ("a,,", 1)):
        with pytest.raises(ShapeError, match=f"in dimension {dimension}: "):
            symbolic_shape(text)


def test_placeholders_are_the_sizes_of_another_shape() -> None:
    assert symbolic_shape("b, _, ...", like=(None, 3, 4, 5))[1:] == (3, 4, 5)
    assert symbolic_shape(None, like=(2, 3)) == (2, 3)
    with pytest.raises(ShapeError, match="unexpected placeholder for unknown dimension"):
        symbolic_shape("_", like=(None,))
    with pytest.raises(ShapeError, match="different size 2 for known dimension"):
        symbolic_shape("2", like=(3,))


def test_an_undecided_equality_raises_with_the_line_and_the_missing_constraint() -> None:
    a, b = _pair()
    with pytest.raises(InconclusiveDimensionOperation, match="'b' == '1' is inconclusive") as info:
        _are_equal(b, 1)
    assert "return bool(x == y)" in str(info.value)
    assert info.value.hint == "add one of the constraints 'b == 1' or 'b >= 2'"
    with pytest.raises(InconclusiveDimensionOperation, match="'a' == 'b' is inconclusive"):
        _are_equal((a, 3), (b, 3))
    with pytest.raises(InconclusiveDimensionOperation, match="'b' == '1' is inconclusive"):
        _are_equal(b, np.int64(1))


def test_decided_equalities_do_not_raise() -> None:
    a, b = _pair("b >= 2", "a == 2*b")
    assert not _are_equal(b, 1)
    assert not _are_equal(b, 0)
    assert _are_equal(a, b + b)
    assert not _are_equal(b, "b")
    assert not _are_equal(b, None)
    assert {b: 1}[b] == 1
    assert b + 1 != b


def test_an_undecided_order_raises_with_the_missing_constraint() -> None:
    a, b = _pair()
    with pytest.raises(InconclusiveDimensionOperation, match="'a' >= 'b' is inconclusive") as info:
        bool(a >= b)
    assert info.value.hint == "add the constraint 'a >= b', or 'a <= b - 1' if it is never so"
    a, b = _pair("a >= b")
    assert a >= b
    assert a + 1 > b
    assert not a < b
    assert a * b >= b


@pytest.mark.parametrize(
    ("constraints", "text", "bounds"),
    [
        (["1 <= b <= 1024", "b % 8 == 0"], "b", (8, 1024)),
        (["1 <= b <= 1024", "b % 8 == 0"], "b % 4", (0, 0)),
        (["b % 8 == 0"], "b // 4 * 4 - b", (0, 0)),
        (["a <= 2*b", "b <= 10"], "a", (1, 20)),
        (["a > b"], "a - b", (1, float("inf"))),
        (["max(a, b) <= 5"], "a", (1, 5)),
        (["a*b <= 12"], "a", (1, 12)),
        ([], "mod(b, 3)", (0, 2)),
        ([], "b - mod(b, 3)", (0, float("inf"))),
        ([], "max(a, b) - a", (0, float("inf"))),
        (["a == b"], "a - b", (0, 0)),
    ],
)
def test_bounds(constraints: list[str], text: str, bounds: tuple[float, float]) -> None:
    scope = SymbolicScope(constraints)
    assert scope.bounds(symbolic_shape(text, scope=scope)[0]) == bounds


@pytest.mark.parametrize(
    "constraints",
    [["a >= 5", "a <= 3"], ["a >= b", "b >= a + 1"], ["a == 3", "a == 4"], ["1 >= 2"]],
)
def test_constraints_that_exclude_each_other_are_refused(constraints: list[str]) -> None:
    with pytest.raises(ShapeError, match="Unsatisfiable"):
        SymbolicScope(constraints)


@pytest.mark.parametrize("constraint", ["a + b", "a >=", "a = 1", 3])
def test_an_invalid_constraint_is_refused(constraint: Any) -> None:
    with pytest.raises(ShapeError):
        SymbolicScope([constraint])


_CONSTRAINTS = (
    *([], ["a >= b"], ["b % 4 == 0", "b <= 12"], ["a <= 2*b", "a >= 3"], ["a == 2*b"]),
    *(["2*a == 3*b"], ["a + b <= 7"], ["max(a, b) <= 5"], ["a*b <= 12"], ["a // 2 >= b"]),
)


def _expression(draw: random.Random, depth: int, a: Any, b: Any) -> Any:
    if depth == 0:
        return draw.choice([a, b, draw.randint(-3, 5)])
    x, y = (_expression(draw, depth - 1, a, b) for _ in range(2))
    kind = draw.randrange(7)
    if kind < 5:
        return [x + y, x - y, x * y, max_dim(x, y), min_dim(x, y)][kind]
    return x // draw.randint(1, 4) if kind == 5 else x % draw.randint(2, 4)


@pytest.mark.parametrize("constraints", _CONSTRAINTS, ids=str)
def test_bounds_hold_for_all_values(constraints: list[str]) -> None:
    draw, scope = random.Random(1), SymbolicScope(constraints)
    a, b = symbolic_shape("a, b", scope=scope)
    points = [
        {"a": x, "b": y}
        for x, y in itertools.product(range(1, 14), repeat=2)
        if all(
            eval(re.sub("=+", "==", c) if "==" in c else c, {"a": x, "b": y}) for c in constraints
        )
    ]
    assert points
    for _ in range(25):
        expression = _expression(draw, 3, a, b)
        values: list[Any] = [evaluated(expression, point) for point in points]
        least, most = scope.bounds(expression)
        assert least <= min(values), expression
        assert max(values) <= most, expression


def test_scopes_do_not_mix() -> None:
    (a,), (b,) = symbolic_shape("a"), symbolic_shape("a")
    with pytest.raises(ShapeError, match="Invalid mixing of symbolic scopes"):
        a + b
    with pytest.raises(ShapeError, match="Cannot specify both"):
        symbolic_shape("a", scope=SymbolicScope(), constraints=["a >= 2"])


def test_a_symbolic_size_is_no_int() -> None:
    (b,) = symbolic_shape("b")
    for use in (int, float, range, lambda n: [0] * n):
        with pytest.raises(TraceError):
            use(b)  # type: ignore[operator]
    with pytest.raises(ShapeError, match="raised to negative powers"):
        b**-1


@pytest.mark.parametrize(
    "i",
    [
        *(slice(None), slice(1, None), slice(-2, None), slice(None, -1), slice(2, 5)),
        *(slice(None, None, 2), slice(None, None, -1), slice(4, None, -3), slice(9, 1, -2)),
    ],
    ids=str,
)
def test_a_symbolic_slice_is_the_slice_of_each_size(i: slice) -> None:
    (b,) = symbolic_shape("b")
    start, size, step = symbolic_slice(i, b)
    for n in range(1, 12):
        expected = range(*i.indices(n))
        assert evaluated(size, {"b": n}) == len(expected)
        if len(expected):
            assert evaluated(start, {"b": n}) == expected.start
            assert step == expected.step


def _avals(*shapes: str, scope: SymbolicScope | None = None) -> list[ShapedArray]:
    scope = scope or SymbolicScope()
    return [shaped(symbolic_shape(s, scope=scope), F32) for s in shapes]


def test_variables_are_solved_one_after_the_other() -> None:
    solution = solved(_avals("a + 2*b, 3", "2*a, c", "b*c"))
    assert solution.variables == ("a", "c", "b")
    values = bound_variables(solution, [(9, 3), (6, 5), (15,)])
    assert values == {"a": 3, "b": 3, "c": 5}


@pytest.mark.parametrize(
    ("shapes", "sizes", "message"),
    [
        (
            ("a", "2*a"),
            [(3,), (5,)],
            r"dimension size args\[1\].shape\[0\] \(= 5\) .* '2\*a' \(= 6\)",
        ),
        (("2*a",), [(5,)], "Division had remainder 1 when computing the value of 'a'"),
        (("a + 3",), [(3,)], "Expected value >= 1 for dimension variable 'a'"),
    ],
)
def test_sizes_that_do_not_match_are_refused(
    shapes: tuple[str, ...], sizes: list[tuple[int, ...]], message: str
) -> None:
    with pytest.raises(ShapeError, match=message):
        bound_variables(solved(_avals(*shapes)), sizes)


def test_constraints_are_checked_for_a_call() -> None:
    solution = solved(_avals("b", scope=SymbolicScope(["b % 8 == 0", "b <= 32"])), ("x",))
    assert bound_variables(solution, [(16,)]) == {"b": 16}
    with pytest.raises(
        ShapeError, match=r"constraint b % 8 == 0. Expected 'mod.b, 8.' to be equal"
    ):
        bound_variables(solution, [(9,)])
    with pytest.raises(ShapeError, match="constraint b <= 32"):
        bound_variables(solution, [(40,)])


def test_a_variable_that_cannot_be_solved_is_refused() -> None:
    with pytest.raises(
        ShapeError, match=r"Cannot solve for values of dimension variables \{'a', 'b'\}"
    ):
        solved(_avals("a*b", "a + b"))


def test_constraints_that_exclude_each_other_by_a_remainder_are_refused() -> None:
    with pytest.raises(ShapeError, match="Unsatisfiable constraint"):
        SymbolicScope(["b % 4 == 0", "b <= 64", "b >= 500"])
