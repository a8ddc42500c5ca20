"""Faults are found at the operation and the line that they come from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import lax, nn
from olympus.verification import Finding, Tolerance, Verification, runner, verify
from olympus_core.execution import eager
from olympus_core.ir.olympuspr import Literal
from olympus_core.ir.primitive import op
from olympus_core.mlir import bindings as mlir
from olympus_core.primitives.elementwise.logic import emit_compare, le_p
from olympus_core.primitives.linalg.qr import geqrf_p

_rng = np.random.default_rng(0)


def f32(*shape: int) -> Any:
    return _rng.standard_normal(shape).astype("float32")


Lower = Callable[..., Any]


@pytest.fixture
def lowered_as(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, Lower], None]]:
    """Replace the lowering of a primitive by a function of the right one and its arguments."""

    def replace(name: str, lower: Lower) -> None:
        primitive = op.find(name)
        right = primitive.lower
        monkeypatch.setattr(primitive, "lower", lambda *a, **k: lower(right, *a, **k), raising=True)

    eager.clear_cache()
    yield replace
    eager.clear_cache()


def sine(right: Lower, ctx: Any, x: Any, **params: Any) -> Any:
    return mlir.op1("stablehlo.sine", ctx.aval_out, (x,))


def scaled(factor: float) -> Lower:
    def lower(right: Lower, ctx: Any, *xs: Any, **params: Any) -> Any:
        value, out = right(ctx, *xs, **params), ctx.aval_out
        return mlir.op1("stablehlo.multiply", out, (value, mlir.full(out, factor)))

    return lower


def only_in_programs(right: Lower, ctx: Any, *xs: Any, **params: Any) -> Any:
    """Wrong by 0.001, but right where the operation is compiled alone."""
    value, out = right(ctx, *xs, **params), ctx.aval_out
    if not ctx.module.root.startswith("jit_part"):
        return value
    return mlir.op1("stablehlo.add", out, (value, mlir.full(out, 1e-3)))


def constant_replaced(right: Lower, ctx: Any, *xs: Any, **params: Any) -> Any:
    other = mlir.full(ctx.aval_out.update(shape=()), 0.26)
    return right(ctx, *(other if isinstance(x, Literal) else x for x in xs), **params)


def term_dropped(right: Lower, ctx: Any, x: Any, **params: Any) -> Any:
    """The sum without the first row."""
    (aval,) = ctx.avals_in
    zero = mlir.full(aval.update(shape=(1, *aval.shape[1:])), 0)
    index = mlir.full(aval.update(shape=(), dtype=np.dtype("int32")), 0)
    cut = mlir.op1("stablehlo.dynamic_update_slice", aval, (x, zero, *[index] * aval.ndim))
    return right(ctx, cut, **params)


def verified(function: Callable[..., Any], *args: Any, **options: Any) -> Verification:
    traced = olympus.jit(function).trace(*args)
    inputs = [np.asarray(x) for x in olympus.tree.leaves(args)]
    return verify(traced, inputs, runner()(traced.olympuspr, inputs), run=runner(), **options)


def first(found: Verification) -> Finding:
    assert not found.passed
    every = [*found.operations, *(c.finding for c in found.checks if c.finding)]
    return every[0]


def network(x, w, v):
    h = jnp.tanh(x @ w)
    y = jnp.exp(h @ v) * 0.25
    return y / y.sum(0, keepdims=True)


NETWORK = (f32(8, 16), f32(16, 32) / 4, f32(32, 4) / 4)


@pytest.mark.parametrize(
    ("primitive", "lower", "line"),
    [
        ("tanh", sine, "h = jnp.tanh(x @ w)"),
        ("exp", scaled(1.0001), "y = jnp.exp(h @ v) * 0.25"),
        ("dot_general", scaled(1.0002), "h = jnp.tanh(x @ w)"),
        ("reduce_sum", term_dropped, "return y / y.sum(0, keepdims=True)"),
    ],
)
def test_a_wrong_lowering(lowered_as, primitive: str, lower: Lower, line: str) -> None:
    lowered_as(primitive, lower)
    found = first(verified(network, *NETWORK))
    assert (found.kind, found.operation, found.text) == ("wrong", primitive, line)
    assert found.location and found.location.startswith(__file__)
    assert found.element is not None
    assert found.element.ulps is None or found.element.ulps > 100
    assert found.operands[0].mean is not None


SQUARE = f32(6, 6)
SYMMETRIC = SQUARE + SQUARE.T


def geqrf(x):
    return geqrf_p.bind(x)


def eig(x):
    return lax.linalg.eig(x)


def eig_right(x):
    return lax.linalg.eig(x, compute_left_eigenvectors=False)


def eigvals(x):
    return jnp.linalg.eigvals(x)


def result_scaled(number: int, factor: float) -> Lower:
    """One of the results times a number."""

    def lower(right: Lower, ctx: Any, /, *xs: Any, **params: Any) -> Any:
        values = [*right(ctx, *xs, **params)]
        aval = ctx.avals_out[number]
        values[number] = mlir.op1(
            "stablehlo.multiply", aval, (values[number], mlir.full(aval, factor))
        )
        return values

    return lower


def triangle_replaced(right: Lower, ctx: Any, *xs: Any, **params: Any) -> Any:
    """The upper triangle 1.001 times what it is; the reflectors below are right."""
    packed, taus = right(ctx, *xs, **params)
    aval = ctx.avals_out[0]
    moved = mlir.op1("stablehlo.multiply", aval, (packed, mlir.full(aval, 1.001)))
    index = aval.update(dtype=np.dtype("int32"))
    row, column = (
        mlir.op1("stablehlo.iota", index, (), {"iota_dimension": mlir.i64_attr(i)}) for i in (0, 1)
    )
    above = emit_compare(le_p, index, row, column)
    return [mlir.op1("stablehlo.select", aval, (above, moved, packed)), taus]


def sides_exchanged(right: Lower, ctx: Any, /, *xs: Any, **params: Any) -> Any:
    """The left vectors in the place of the right ones, and the other way round."""
    values, left, vectors = right(ctx, *xs, **params)
    return [values, vectors, left]


def values_reversed(right: Lower, ctx: Any, /, *xs: Any, **params: Any) -> Any:
    """Right eigenvalues, in the places of others."""
    values, *vectors = right(ctx, *xs, **params)
    along = {"dimensions": mlir.i64_array((0,))}
    return [mlir.op1("stablehlo.reverse", ctx.avals_out[0], (values,), along), *vectors]


@pytest.mark.parametrize(
    ("primitive", "lower", "function", "requirement"),
    [
        ("geqrf", triangle_replaced, geqrf, "Q R = a for the Q of the reflectors"),
        ("eig", sides_exchanged, eig, "a^H L = L diag(w*)"),
        ("eig", values_reversed, eig, "a^H L = L diag(w*)"),
        ("eig", values_reversed, eig_right, "a R = R diag(w)"),
    ],
)
def test_a_wrong_part_of_a_decomposition(
    lowered_as, primitive: str, lower: Lower, function: Any, requirement: str
) -> None:
    assert not verified(function, SQUARE).operations
    eager.clear_cache()
    lowered_as(primitive, lower)
    found = first(verified(function, SQUARE))
    assert found.operation == f"{primitive}, of which {requirement} must hold"
    assert "return " in found.text and primitive in found.text


def test_eigenpairs_of_rows_of_other_sizes_than_columns_are_right() -> None:
    """LAPACK's residual is that of the balanced matrix, far above 30 n u |a| of this one."""
    rng = np.random.default_rng(0)
    for n in (7, 20):
        rows = 10.0 ** rng.uniform(-6, 6, (n, 1))
        found = verified(eig, np.float32(rows * rng.standard_normal((n, n))))
        assert not found.operations


def test_a_wrong_product_of_reflectors(lowered_as) -> None:
    def orthogonal(x: Any) -> Any:
        return lax.linalg.householder_product(*geqrf(x))

    right = verified(orthogonal, SQUARE)
    assert right.passed and not right.unchecked
    eager.clear_cache()
    lowered_as("householder_product", scaled(1.0001))
    found = first(verified(orthogonal, SQUARE))
    assert (found.kind, found.operation) == ("wrong", "householder_product")
    assert found.text == "return lax.linalg.householder_product(*geqrf(x))"


@pytest.mark.parametrize(
    ("primitive", "wrong", "function", "x", "requirement"),
    [
        ("lu", 0, lax.linalg.lu, SQUARE, "L U = a[permutation]"),
        ("qr", 0, lambda x: lax.linalg.qr(x), SQUARE, "Q^H Q = 1"),
        ("qr", 1, lambda x: lax.linalg.qr(x), SQUARE, "Q R = a"),
        ("geqrf", 0, geqrf, SQUARE, "Q^H Q = 1 for the Q of the reflectors"),
        ("geqrf", 1, geqrf, SQUARE, "Q^H Q = 1 for the Q of the reflectors"),
        ("eig", 0, eigvals, SQUARE, "sum(w) = trace(a)"),
        ("eig", 0, eig, SQUARE, "sum(w) = trace(a)"),
        ("eig", 1, eig, SQUARE, "each vector has length 1"),
        ("eig", 2, eig, SQUARE, "each vector has length 1"),
        ("eigh", 0, lambda x: lax.linalg.eigh(x), SYMMETRIC, "V^H V = 1"),
        ("eigh", 1, lambda x: lax.linalg.eigh(x), SYMMETRIC, "A V = V diag(w)"),
        ("svd", 0, lambda x: lax.linalg.svd(x), SQUARE, "U diag(s) V^H = a"),
        ("svd", 2, lambda x: lax.linalg.svd(x), SQUARE, "V^H V = 1"),
        ("svd", 0, lambda x: lax.linalg.svd(x, compute_uv=False), SQUARE, "s are the singular"),
    ],
)
def test_a_wrong_decomposition(
    lowered_as, primitive: str, wrong: int, function: Any, x: Any, requirement: str
) -> None:
    assert not verified(function, x).operations
    eager.clear_cache()
    lowered_as(primitive, result_scaled(wrong, 1.001))
    found = first(verified(function, x))
    assert found.kind == "wrong"
    assert found.operation.startswith(f"{primitive}, of which {requirement}")
    assert found.element is not None and found.element.error > found.element.allowed


def test_a_wrong_permutation_and_a_wrong_order(lowered_as) -> None:
    lowered_as("lu", result_scaled(1, 0))
    found = first(verified(lax.linalg.lu, SQUARE[::-1] + 9 * np.eye(6, dtype="float32")[::-1]))
    assert "the permutation is that of the pivots must hold" in found.operation
    lowered_as("eigh", result_scaled(1, -1))
    found = first(verified(lambda x: lax.linalg.eigh(x), SYMMETRIC))
    assert "the eigenvalues rise must hold" in found.operation


@pytest.mark.parametrize("name", ["random_bits", "random_split", "random_fold_in", "random_seed"])
def test_wrong_random_numbers(lowered_as, name: str) -> None:
    def drawn(seed: Any) -> Any:
        key = olympus.random.fold_in(olympus.random.key(seed), 7)
        first, second = olympus.random.split(key)
        return olympus.random.bits(first, (3, 5)), olympus.random.bits(second, (4,), "uint8")

    seed = np.int32(-3)
    right = verified(drawn, seed)
    assert right.passed
    assert not set(right.unchecked) & {name}
    eager.clear_cache()
    lowered_as(name, wrong_bits)
    found = first(verified(drawn, seed))
    assert (found.kind, found.operation) == ("wrong", name)


def wrong_bits(right: Lower, ctx: Any, *xs: Any, **params: Any) -> Any:
    """The last bit turned."""
    value, out = right(ctx, *xs, **params), ctx.aval_out
    return mlir.op1("stablehlo.xor", out, (value, mlir.full(out, 1)))


def activations(x, w, v):
    h = jnp.tanh(x @ w)
    return jnp.exp(h @ v)


def test_a_wrong_constant(lowered_as) -> None:
    lowered_as("mul", constant_replaced)
    found = first(verified(lambda x: jnp.exp(jnp.sin(x) * 0.25), f32(8)))
    assert (found.kind, found.operation) == ("compiled", "mul")
    assert "jnp.sin(x) * 0.25" in found.text


def scanned(x, w):
    def step(h, row):
        a = h @ w
        b = jnp.tanh(a + row)
        return b, b.sum()

    return lax.scan(step, jnp.zeros(len(w)), x)


def looped(x):
    return lax.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, jnp.tanh(s[1]) * 2), (0, x))


def branched(x):
    return lax.cond(x[0] > -99, lambda v: jnp.tanh(v) + 1, lambda v: v, x)


def inner(v):
    return jnp.tanh(v) * 2


def called(x):
    return olympus.jit(inner)(x) + 1


def marked(x):
    @olympus.custom_jvp
    def rule(v):
        return jnp.tanh(v) * 3

    rule.defjvps(lambda t, out, v: t)
    return olympus.checkpoint(lambda v: rule(v) + 1)(x)


@pytest.mark.parametrize(
    ("function", "args", "path"),
    [
        (activations, NETWORK, ()),
        (scanned, (f32(5, 8), f32(8, 8) / 3), ("scan, iteration 0",)),
        (looped, (f32(5),), ("while, iteration 0",)),
        (branched, (f32(5),), ("cond, branch 1",)),
        (called, (f32(5),), ("inner",)),
        (marked, (f32(5),), ("<lambda>", "rule")),
    ],
)
def test_what_is_wrong_in_the_compiled_program_alone(lowered_as, function, args, path) -> None:
    lowered_as("tanh", only_in_programs)
    found = verified(function, *args)
    assert not found.operations
    blamed = first(found)
    assert (blamed.kind, blamed.operation, blamed.path) == ("compiled", "tanh", path)
    assert "tanh" in blamed.text
    assert blamed.element is not None
    assert blamed.element.error == pytest.approx(1e-3, rel=0.01)


def overflow(x):
    y = x * 30
    return (y * y) / 1000


def cancelled(x):
    root = jnp.sqrt(x * x + 1)
    return (root - x) * 3


def variance(x):
    return (x * x).mean() - x.mean() ** 2


def divided(x):
    zero = x - x
    return (1 / zero).sum()


def logarithm(x):
    return jnp.log(x * 2 - 100) + 1


def rooted(x):
    return lax.scan(lambda c, v: (c - 1.0, jnp.sqrt(c) * v), 3.5, x)


def exploded(x):
    return jnp.exp(x * 100).sum()


def masked(x):
    return nn.softmax(jnp.where(x > 100, x, -jnp.inf), -1)


class Fault(NamedTuple):
    function: Callable[..., Any]
    argument: Any
    kind: str
    operation: str
    text: str
    path: tuple[str, ...] = ()


FAULTS = [
    Fault(overflow, np.float16([1, 20]), "overflow", "mul", "return (y * y) / 1000"),
    Fault(cancelled, np.float32([3e4, 5e4]), "cancellation", "sub", "return (root - x) * 3"),
    Fault(
        variance, f32(900) + 3000, "cancellation", "sub", "return (x * x).mean() - x.mean() ** 2"
    ),
    Fault(divided, f32(5), "infinity", "div", "return (1 / zero).sum()"),
    Fault(logarithm, f32(5), "nan", "log", "return jnp.log(x * 2 - 100) + 1"),
    Fault(
        *(rooted, f32(8), "nan", "sqrt"),
        "return lax.scan(lambda c, v: (c - 1.0, jnp.sqrt(c) * v), 3.5, x)",
        ("scan, iteration 4",),
    ),
    Fault(exploded, f32(8) + 2, "overflow", "exp", "return jnp.exp(x * 100).sum()"),
    Fault(
        masked, f32(3, 4), "nan", "sub", "return nn.softmax(jnp.where(x > 100, x, -jnp.inf), -1)"
    ),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.function.__name__)
def test_what_a_program_does_to_its_numbers(fault: Fault) -> None:
    found = verified(fault.function, fault.argument)
    assert not found.operations
    blamed = first(found)
    assert (blamed.kind, blamed.operation) == (fault.kind, fault.operation)
    assert (blamed.text, blamed.path) == (fault.text, fault.path)


def test_infinities_and_nans_that_are_allowed() -> None:
    assert verified(logarithm, f32(5), allow=("nan",)).passed
    assert not verified(divided, f32(5), allow=("nan",)).passed
    assert verified(divided, f32(5), allow=("inf",)).passed


def test_a_result_that_decides_by_rounding_is_a_note() -> None:
    """Compiled, the sum is another number, and its last bit decides."""
    traced = olympus.jit(lambda x: (x * 3 - x * 3 * 1.0000001 + 0 * x).sum() > 0).trace(f32(4))
    x = np.float32([1, 2, 3, 4])
    right = runner()(traced.olympuspr, [x])
    flipped = [~right[0]]
    found = verify(traced, [x], flipped, run=lambda program, inputs: _moved(program, inputs))
    assert [each.kind for each in found.notes] == ["sensitive"]
    assert found.passed


def _moved(program: Any, inputs: Any) -> Any:
    """The results of another sound compiler: floats are moved by rounding, and what follows."""
    moved = [np.where(x == 0, x, -x) if _is_tiny(x) else x for x in runner()(program, inputs)]
    return [
        ~x if x.dtype == np.bool_ else y
        for x, y in zip(runner()(program, inputs), moved, strict=True)
    ]


def _is_tiny(x: Any) -> bool:
    return x.dtype == np.float32 and x.shape == () and abs(float(x)) < 1e-5


def test_a_tolerance_that_is_given_is_the_one() -> None:
    traced = olympus.jit(jnp.sin).trace(f32(4))
    x = np.float32([0.1, 0.2, 0.3, 0.4])
    off = np.sin(x) * np.float32(1.001)
    for tolerance, passes in (
        (Tolerance(rtol=2e-3), True),
        (Tolerance(rtol=5e-4), False),
        (Tolerance(atol=1e-2), True),
        (Tolerance(ulps=20_000), True),
        (Tolerance(ulps=100), False),
    ):
        found = verify(traced, [x], [off], tolerances={"float32": tolerance})
        assert found.passed is passes, tolerance
        assert found.checks[0].comparison.ulps > 8000
    assert verify(traced, [x], [off], tolerances={"float16": Tolerance(rtol=1.0)}).passed is False


def test_an_evaluator_of_ones_own() -> None:
    def negated(eqn: Any, operands: Any) -> Any:
        return [-np.tanh(operands[0].numpy())]

    traced = olympus.jit(lambda x: jnp.tanh(x) + 1).trace(f32(4))
    x = np.float32([1, 2, 3, 4])
    results = runner()(traced.olympuspr, [x])
    found = verify(traced, [x], results, evaluators={"tanh": negated})
    assert [each.operation for each in found.operations] == ["tanh"]


def test_another_reference() -> None:
    traced = olympus.jit(lambda x: x * 2).trace(f32(4))
    x = np.float32([1, 2, 3, 4])
    good, bad = [x * 2], [x * 2 + np.float32([0, 0, 1, 0])]
    found = verify(traced, [x], good, against=("file",), references={"file": good})
    assert found.passed
    found = verify(traced, [x], good, against=("file",), references={"file": bad}, run=runner())
    (check,) = found.checks
    assert check.why == "differs from file"
    assert check.comparison.mismatches == 1
    assert check.comparison.element is not None
    assert check.comparison.element.place == (2,)
