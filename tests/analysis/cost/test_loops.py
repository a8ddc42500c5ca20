"""The cost counts all iterations of loops and the most expensive branch; it names unknown loops."""

from __future__ import annotations

import numpy as np
import pytest

import olympus as ox
import olympus.numpy as jnp
from olympus import lax
from olympus.errors import ArtifactError, UsageError
from olympus_core.analysis.cost.cost import cost_of_module
from olympus_core.analysis.cost.trips import _trips
from olympus_core.mlir import bindings as mlir

N = 8
X = ox.ShapeDtypeStruct((N,), "float32")
FLAG = ox.ShapeDtypeStruct((), "bool")
INDEX = ox.ShapeDtypeStruct((), "int32")


def cost(f, *args, trips=None):
    return ox.jit(f).lower(*args).cost(trips)


def doubled(c):
    return c * 2.0


def counting(start, goes_on, step, *, flip=False):
    """A loop of one multiplication of N elements; the counter is first or last in the carry."""
    if flip:
        return lambda x: lax.while_loop(
            lambda c: goes_on(c[1]), lambda c: (doubled(c[0]), step(c[1])), (x, start)
        )
    return lambda x: lax.while_loop(
        lambda c: goes_on(c[0]), lambda c: (step(c[0]), doubled(c[1])), (start, x)
    )


@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize(
    ("start", "goes_on", "step", "trips"),
    [
        (0, lambda i: i < 10, lambda i: i + 1, 10),
        (0, lambda i: i < 10, lambda i: i + 3, 4),
        (0, lambda i: i <= 10, lambda i: i + 2, 6),
        (0, lambda i: lax.gt(jnp.int32(10), i), lambda i: 1 + i, 10),
        (10, lambda i: i > 0, lambda i: i - 3, 4),
        (10, lambda i: i >= 0, lambda i: i + -1, 11),
        (10, lambda i: lax.le(jnp.int32(0), i), lambda i: i - 2, 6),
        (0, lambda i: i != 10, lambda i: i + 2, 5),
        (10, lambda i: i < 10, lambda i: i + 1, 0),
        (5, lambda i: i == 5, lambda i: i + 1, 1),
        (1, lambda i: i < 1000, lambda i: i * 2, 10),
        (0, lambda i: i < 10**6, lambda i: i + 1, 10**6),
        (2**31 - 3, lambda i: i < 2**31 - 1, lambda i: i + 1, 2),
        (0.0, lambda t: t < 1.0, lambda t: t + 0.25, 4),
        (0, lambda i: (i < 10) & (i < 7), lambda i: i + 1, 7),
        (0, lambda i: jnp.asarray([4, 6])[1] * 2 > i, lambda i: i + 1, 12),
        (np.uint8(250), lambda i: i > np.uint8(3), lambda i: i - np.uint8(1), 247),
        (0, lambda i: ~(i >= 6), lambda i: i + 1, 6),
    ],
)
def test_a_loop_with_constant_bounds_has_an_exact_count(start, goes_on, step, trips, flip):
    figures = cost(counting(start, goes_on, step, flip=flip), X)
    floats = isinstance(start, float)  # the comparison and the addition of floats are flops
    assert figures.flops == trips * N + floats * (2 * trips + 1)
    assert figures.unknown == ()
    assert figures.at_least is figures


@pytest.mark.parametrize("direction", ["LT", "LE", "GT", "GE", "NE", "EQ"])
def test_trips_agree_with_a_loop_in_python(direction):
    tests = {
        "LT": lambda i, b: i < b,
        "LE": lambda i, b: i <= b,
        "GT": lambda i, b: i > b,
        "GE": lambda i, b: i >= b,
        "NE": lambda i, b: i != b,
        "EQ": lambda i, b: i == b,
    }
    for start in range(-4, 5):
        for bound in range(-4, 5):
            for step in range(-3, 4):
                i, trips = start, 0
                while tests[direction](i, bound) and trips < 40:
                    i, trips = i + step, trips + 1
                expected = trips if trips < 40 else None
                assert _trips(start, bound, step, direction) == expected, (start, bound, step)


def test_bounds_and_steps_in_the_carry():
    figures = cost(
        lambda x: lax.while_loop(
            lambda c: c[1] < c[2], lambda c: (c[0] * 2.0, c[1] + c[3], c[2], c[3]), (x, 0, 10, 2)
        ),
        X,
    )
    assert figures.flops == 5 * N


def test_a_loop_in_a_function_whose_bound_is_the_callers_constant():
    @ox.jit
    def power(x, n):
        return lax.fori_loop(0, n, lambda i, c: c * 2.0, x)

    @ox.jit
    def outer(x, n):
        return power(x, n + 1)

    assert cost(lambda x: power(power(x, 7), 9), X).flops == 16 * N
    assert cost(lambda x: outer(x, jnp.int32(4)), X).flops == 5 * N
    assert cost(lambda x, n: power(x, n), X, INDEX).flops is None


def test_a_scan_of_products():
    w = ox.ShapeDtypeStruct((64, 64), "float32")
    figures = cost(lambda w: lax.scan(lambda c, _: (c @ w, None), w, None, length=100)[0], w)
    assert figures.flops == 52_428_800
    assert figures.matmul_flops == {"float32": 52_428_800}


def test_a_function_counts_at_each_of_its_calls():
    @ox.jit
    def layer(x):
        return lax.scan(lambda c, _: (doubled(c), None), x, None, length=5)[0]

    def f(x):
        x = lax.scan(lambda c, _: (layer(layer(c)), None), x, None, length=3)[0]
        return layer(x)

    assert cost(f, X).flops == (3 * 2 * 5 + 5) * N


@pytest.mark.parametrize("unroll", [1, 3, 10])
def test_an_unrolled_scan_costs_the_same(unroll):
    def f(x):
        return lax.scan(lambda c, _: (doubled(c), None), x, None, length=10, unroll=unroll)[0]

    assert cost(f, X).flops == 10 * N


def test_loops_without_iterations_cost_nothing():
    assert cost(lambda x: lax.fori_loop(5, 3, lambda i, c: c * 2.0, x), X).flops == 0
    assert cost(lambda x: lax.scan(lambda c, _: (c * 2.0, None), x, None, 0)[0], X).flops == 0


@pytest.mark.parametrize("bound", [10, 10**6])
def test_counters_under_vmap(bound):
    def counted(x, n):
        return lax.while_loop(lambda c: c[0] < bound, lambda c: (c[0] + 1, c[1] * 2.0), (n, x))[1]

    figures = cost(lambda x: ox.vmap(counted)(x, jnp.arange(N)), X)
    # each step multiplies, and selects the old value where a lane has ended
    assert figures.flops == 2 * N * bound
    assert cost(ox.vmap(lambda x: lax.fori_loop(0, 9, lambda i, c: c * 2.0, x)), X).flops == 9 * N


def test_derivatives_of_loops():
    def f(x, wrap=lambda g: g):
        def step(c, _):
            return jnp.sin(c), None

        return lax.scan(wrap(step), x, None, length=10)[0].sum()

    plain = cost(ox.grad(f), X)  # sin and cos in the forward pass, a product in the backward pass
    assert (plain.transcendentals, plain.flops) == (2 * 10 * N, 10 * N)
    recomputed = cost(ox.grad(lambda x: f(x, ox.checkpoint)), X)
    # cos does not need the sin, which is not recomputed
    assert recomputed.transcendentals == 2 * 10 * N
    forward = cost(lambda x: ox.jvp(f, (x,), (x,)), X)
    assert forward.transcendentals == 2 * 10 * N


def test_a_checkpoint_recomputes_the_residuals_of_the_backward_pass():
    def f(w, x, wrap):
        def step(c, _):
            return jnp.tanh(jnp.tanh(c @ w) @ w), None

        return lax.scan(wrap(step), x, None, length=10)[0].sum()

    w = ox.ShapeDtypeStruct((N, N), "float32")
    product = 2 * N * N * 10
    saved = cost(lambda w, x: ox.grad(lambda w: f(w, x, lambda g: g))(w), w, X)
    recomputed = cost(lambda w, x: ox.grad(lambda w: f(w, x, ox.checkpoint))(w), w, X)
    assert saved.matmul_flops == {"float32": 6 * product}
    assert recomputed.matmul_flops["float32"] == 8 * product
    rows = {r.key: r for r in recomputed.by("operation")}
    assert rows["dot_general"].backward_flops == 6 * product


def test_the_cost_of_a_branch_is_that_of_the_most_expensive_one():
    def cheap(x):
        return x + 1.0

    def expensive(x):
        return x * 2.0 + 1.0 + x

    assert cost(lambda p, x: lax.cond(p, cheap, expensive, x), FLAG, X).flops == 3 * N
    assert cost(lambda i, x: lax.switch(i, [cheap, expensive, cheap], x), INDEX, X).flops == 3 * N

    def moved(x):
        return jnp.concatenate([x, x])[:N]

    by_bytes = cost(lambda p, x: lax.cond(p, lambda x: x, moved, x), FLAG, X)
    assert by_bytes.flops == 0
    assert by_bytes.bytes >= 4 * 3 * N


def search(x):
    x = x + 1.0
    return lax.while_loop(lambda c: c.sum() < 1.0, lambda c: c * 2.0, x)


LINE = search.__code__.co_firstlineno + 2


def test_a_loop_that_depends_on_data_is_named():
    figures = cost(search, X)
    assert figures.flops is None
    assert figures.transcendentals == 0  # the body has none
    assert (figures.bytes, figures.operations) == (None, None)
    (unknown,) = figures.unknown
    assert str(unknown) == (
        f"the cost of the while loop at {__file__}:{LINE} is not known: how often it runs depends "
        "on data"
    )
    least = figures.at_least
    assert least.flops == N + N + 2 * (N - 1 + 1)  # one step, and two evaluations of the condition
    assert least.at_least is least
    assert sum(row.flops for row in figures.by("line")) == least.flops


@pytest.mark.parametrize("key", [f"test_loops.py:{LINE}", f"{__file__}:{LINE}"])
def test_trips_give_the_count_of_an_unknown_loop(key):
    figures = cost(search, X, trips={key: 30})
    assert figures.flops == N + 30 * N + 31 * N
    assert figures.unknown == ()
    assert cost(search, X, trips={key: 0}).flops == N + N
    assert cost(search, X, trips={key: np.int16(30)}).flops == figures.flops


def test_trips_for_no_loop_of_the_program_are_refused():
    with pytest.raises(UsageError, match="where the program has no loop") as raised:
        cost(search, X, trips={f"loops.py:{LINE}": 3})
    assert raised.value.hint == f"the nearest is {__file__}:{LINE}"
    with pytest.raises(UsageError) as raised:
        cost(doubled, X, trips={"a.py:3": 3})
    assert "no loop whose number of iterations" in raised.value.hint
    for wrong in (-1, 1.5, True, "3", None, np.int8(-1), np.bool_(True)):
        with pytest.raises(UsageError, match="0 or more"):
            cost(search, X, trips={f"test_loops.py:{LINE}": wrong})
    for wrong in ([1], "3", 3):
        with pytest.raises(UsageError, match="trips is a mapping"):
            cost(search, X, trips=wrong)
    with pytest.raises(UsageError, match="the keys of trips are lines"):
        cost(search, X, trips={3: 3})


def test_trips_do_not_change_the_count_of_a_known_loop():
    def f(x):
        return lax.fori_loop(0, 10, lambda i, c: c * 2.0, x)

    line = f.__code__.co_firstlineno + 1
    assert cost(f, X, trips={f"test_loops.py:{line}": 3}).flops == 10 * N


def test_an_unknown_loop_inside_a_loop_is_named_once():
    def f(x):
        return lax.scan(lambda c, _: (search(c), None), x, None, length=5)[0]

    figures = cost(f, X)
    assert [u.line for u in figures.unknown] == [f"{__file__}:{LINE}"]
    assert figures.at_least.flops == 5 * cost(search, X).at_least.flops
    with_trips = cost(f, X, trips={f"test_loops.py:{LINE}": 30})
    assert with_trips.flops == 5 * cost(search, X, trips={f"test_loops.py:{LINE}": 30}).flops


def test_an_unknown_loop_in_any_branch_makes_the_cost_unknown():
    figures = cost(lambda p, x: lax.cond(p, search, doubled, x), FLAG, X)
    assert figures.flops is None
    assert len(figures.unknown) == 1


def test_a_loop_without_a_provable_end_gives_the_reason():
    figures = cost(counting(0, lambda i: i != 9, lambda i: i + 2), X)
    assert "no end that can be proved" in figures.unknown[0].why
    figures = cost(counting(0, lambda i: i <= 2**31 - 1, lambda i: i + 1), X)
    assert figures.flops is None


def test_loops_of_other_platforms_algorithms_have_the_users_line():
    def values(a):
        return jnp.linalg.eigh(a)

    lowered = ox.jit(values).trace(ox.ShapeDtypeStruct((6, 6), "float32")).lower(ox.target("tpu"))
    figures = lowered.cost()
    line = f"{__file__}:{values.__code__.co_firstlineno + 1}"
    assert {u.line for u in figures.unknown} == {line}
    assert {row.key for row in figures.by("line")} == {line}
    with_trips = lowered.cost(trips={line: 10})
    assert with_trips.unknown == ()
    assert with_trips.flops > figures.at_least.flops


def test_a_loop_in_a_function_is_counted_for_each_caller():
    @ox.jit
    def power(x, n):
        return lax.fori_loop(0, n, lambda i, c: c * 2.0, x)

    @ox.jit
    def first(x, n):
        return power(x, n)

    @ox.jit
    def second(x, n):
        return power(x, n) + 0.0

    def f(x):
        for function, n in ((first, 3), (second, 3), (second, 5)):
            x = function(x, jnp.int32(n))
        return x

    assert cost(f, X).flops == (3 + 3 + 5 + 2) * N


def triangle(n):
    def f(x):
        return lax.fori_loop(0, n, lambda i, c: lax.fori_loop(0, i, lambda j, d: d * 2.0, c), x)

    return f


def test_a_loop_whose_bound_is_the_counter_of_another_is_summed():
    figures = cost(triangle(4), X)
    assert (figures.flops, figures.unknown) == ((0 + 1 + 2 + 3) * N, ())

    def deeper(x):
        def middle(i, c):
            return lax.fori_loop(0, i, lambda j, d: triangle(j)(d), c)

        return lax.fori_loop(0, 5, middle, x)

    assert cost(deeper, X).flops == sum(sum(range(j)) for i in range(5) for j in range(i)) * N


def test_a_triangle_in_functions_and_one_too_long_to_sum():
    inner = ox.jit(lambda i, c: lax.while_loop(lambda d: d[0] > 0, halved, (i, c))[1])

    def f(x):
        return lax.fori_loop(0, 9, lambda i, c: inner(i, c), x)

    assert cost(f, X).flops == sum(i.bit_length() for i in range(9)) * N
    (unknown,) = cost(triangle(10**6), X).unknown
    assert unknown.why == "how often it runs changes with the steps of a loop around it"


def halved(d):
    return d[0] // 2, d[1] * 2.0


def test_a_branch_that_the_counter_chooses_counts_by_the_step():
    def f(x):
        def step(i, c):
            return lax.cond(i < 2, lambda c: c * 2.0, lambda c: c * 2.0 + 1.0, c)

        return lax.fori_loop(0, 7, step, x)

    assert cost(f, X).flops == (2 * 1 + 5 * 2) * N


def test_trips_apply_to_a_loop_in_a_function_beside_a_triangle():
    searched = ox.jit(search)

    def f(x):
        return lax.fori_loop(0, 4, lambda i, c: searched(triangle(i)(c)), x)

    assert [u.line for u in cost(f, X).unknown] == [f"{__file__}:{LINE}"]
    search_flops = cost(search, X, trips={f"test_loops.py:{LINE}": 3}).flops
    figures = cost(f, X, trips={f"test_loops.py:{LINE}": 3})
    assert figures.flops == 4 * search_flops + (0 + 0 + 1 + 3) * N


def test_exponentially_many_calls_are_counted_in_linear_time():
    f = ox.jit(lambda n, x: (n + 1, lax.fori_loop(0, n, lambda i, c: c * 2.0, x)))
    plain = ox.jit(lambda n: n + 1)
    for _ in range(40):
        plain = ox.jit(lambda n, g=plain: g(g(n)))
        f = ox.jit(lambda n, x, g=f: g(*g(n, x)))
    assert cost(lambda x: (plain(jnp.int32(1)), x), X).operations == 2**40
    assert cost(lambda x: f(jnp.int32(1), x), X).flops is None


def test_loops_are_evaluated_up_to_a_limit_in_a_program():
    def inner(x, n):
        return lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] * 2 + 1 - c[0], c[1] * 2), (0, x))

    def f(x):
        for k in range(200):
            x = ox.jit(inner)(x, jnp.int32(300 + k))[1]
        return lax.fori_loop(0, 10, lambda i, c: c * 2.0, x)

    (unknown,) = cost(f, X).unknown
    assert unknown.why == "how often it runs depends on data, or takes too long to count"
    assert cost(lambda x: inner(x, 300)[1], X).flops == 300 * N


RECURSIVE = """
func.func private @f(%x: tensor<f32>) -> tensor<f32> {
  %0 = func.call @g(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func private @g(%x: tensor<f32>) -> tensor<f32> {
  %0 = func.call @f(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func public @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = func.call @f(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}"""


def test_recursive_functions_and_missing_functions_are_refused():
    with pytest.raises(ArtifactError, match="'f' calls itself"):
        cost_of_module(mlir.parsed(RECURSIVE))
    text = """
    func.func private @f(tensor<f32>) -> tensor<f32>
    func.func public @main(%x: tensor<f32>) -> tensor<f32> {
      %0 = func.call @f(%x) : (tensor<f32>) -> tensor<f32>
      return %0 : tensor<f32>
    }"""
    with pytest.raises(ArtifactError, match="'f', and has no such function"):
        cost_of_module(mlir.parsed(text))
