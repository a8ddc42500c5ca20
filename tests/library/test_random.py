"""olympus.random against jax.random: the same key gives the same bits."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import olympus as ox
from olympus_core.library.random.keys import KeyArray
from tests.library.oracle import Row, check, row

PACKAGE = {ox.numpy: ox, jax.numpy: jax}
WORDS = np.asarray([1234567, 89], np.uint32)
FLOATS = ("float32", "float16", "bfloat16")
PARAMETERS = np.asarray([0.5, 2.0], np.float32)
LOGITS = np.log(np.asarray([[0.1, 0.2, 0.3, 0.4], [0.7, 0.1, 0.1, 0.1]], np.float32))


def draw(name: str, *args: Any, rtol: float = 0, label: str = "", **options: Any) -> Row:
    """Return a row that calls a function of `random`, by default without tolerance."""

    def call(jnp: Any, key: Any) -> Any:
        return getattr(PACKAGE[jnp].random, name)(key, *args, **options)

    return row(f"{name}{args}{options}{label}", call, WORDS, rtol=rtol, atol=rtol)


close = functools.partial(draw, rtol=5e-6)

BITS = [
    *[draw("split", n) for n in (2, 5, (2, 3), (2, 0))],
    *[draw("fold_in", n) for n in (0, 7, 2**32 - 1)],
    *[draw("bits", shape, d) for shape in ((), (5,), (0,)) for d in ("uint8", "uint16", "uint32")],
    draw("bits", (2, 3, 4)),
    *[draw("uniform", shape, d) for shape in ((), (2, 3), (0,)) for d in FLOATS],
    *[draw("uniform", (5,), d, -3.0, 5.0) for d in FLOATS],
    draw("uniform", (3, 2), minval=PARAMETERS, maxval=np.float32(4)),
]
INTEGERS = [
    *[
        draw("randint", (6,), low, high, d)
        for d in ("int32", "uint32")
        for low, high in ((0, 10), (5, 5), (9, 3), (-5, 70000), (0, 65536), (0, 65537))
    ],
    *[draw("randint", (6,), 0, 2**31 - 1), draw("randint", (), 0, 256, "uint8")],
    *[draw("randint", (6,), low, high, "int8") for low, high in ((-128, 128), (-500, 500))],
    draw("randint", (2, 3), np.asarray([0, 1, 2]), np.asarray([[5], [7]])),
]
CONTINUOUS = [
    *[close(name, (7,), d) for name in ("normal", "gumbel") for d in FLOATS],
    *[close(name, (7,)) for name in ("exponential", "laplace", "logistic", "cauchy", "maxwell")],
    *[close("normal", shape) for shape in ((), (2, 3), (0,))],
    close("normal", (3,), "complex64"),
    close("gumbel", (50,), mode="high"),
    close("truncated_normal", -1.0, 2.0),
    close("truncated_normal", -1.0, PARAMETERS, (3, 2), "float16"),
    close("lognormal", 0.5, (3,)),
    close("pareto", PARAMETERS),
    close("rayleigh", PARAMETERS, (3, 2)),
    close("triangular", 0.0, 0.3, 1.0, (4,)),
    close("wald", PARAMETERS, (5, 2)),
    close("weibull_min", 2.0, 1.5, (4,)),
    close("double_sided_maxwell", PARAMETERS, 2.0),
]
DISCRETE = [
    draw("bernoulli"),
    draw("bernoulli", 0.3, (40,)),
    draw("bernoulli", PARAMETERS / 4, (5, 2), mode="high"),
    draw("rademacher", (9,)),
    draw("rademacher", (9,), "bool"),
    draw("choice", 2.5, (9,)),
    draw("rademacher", (9,), "float32"),
    draw("geometric", 0.3, (40,)),
    *[draw("categorical", LOGITS, axis) for axis in (0, -1)],
    draw("categorical", LOGITS, shape=(5, 2)),
    draw("categorical", LOGITS, mode="high"),
    draw("categorical", LOGITS, shape=(3, 2), replace=False),
]
GRID = np.arange(24, dtype=np.float32).reshape(4, 6)
CHANCES = np.asarray([0.1, 0.2, 0.3, 0.4], np.float32)
ORDERS = [
    draw("permutation", 10),
    draw("permutation", 3000),
    *[draw("permutation", n) for n in (0, 1)],
    *[draw("permutation", GRID, axis) for axis in (0, 1)],
    draw("permutation", GRID, 1, True),
    draw("choice", 10),
    draw("choice", GRID, (2, 3)),
    draw("choice", GRID, (2,), axis=1),
    draw("choice", 10, (4,), False),
    draw("choice", GRID, (2, 3), False, axis=1),
    draw("choice", 4, (50,), p=CHANCES),
    draw("choice", GRID, (5, 3), p=CHANCES),
    draw("choice", 4, (3,), False, CHANCES),
    draw("choice", GRID, (0,)),
]
OF_GAMMA = [
    close("gamma", np.asarray([0.1, 0.9, 1, 2.5, 50], np.float32)),
    close("gamma", 2.0, (0,)),
    close("loggamma", np.asarray([0.01, 0.1, 3], np.float32), (5, 3)),
    close("beta", 2.0, 3.0, (6,)),
    close("dirichlet", np.asarray([0.5, 1, 3], np.float32), (4,)),
    close("f", 3.0, 5.0, (5,)),
    close("t", 3.0, (5,)),
    close("ball", 3, 2.0, (4,)),
]
COUNTS = [
    draw("poisson", np.asarray([0, 0.1, 9, 11, 1e4], np.float32)),
    draw("poisson", 3.0, (20,), "int16"),
    draw("binomial", 10, 0.3, (40,)),
    draw("binomial", np.asarray([100, 1e4], np.float32), np.asarray([0.7, 0.4], np.float32)),
    draw(
        "binomial",
        np.asarray([np.nan, np.inf, -1, 5, 5, 5], np.float32),
        np.asarray([0.5, 0.5, 0.5, np.nan, -1, 1], np.float32),
    ),
    draw("multinomial", 20.0, CHANCES),
    draw("multinomial", 20.0, CHANCES, unroll=2),
    draw("multinomial", np.asarray([20, 5]), np.stack([CHANCES, CHANCES[::-1]])),
]
COVARIANCE = np.asarray([[2, 0.5, 0], [0.5, 1, 0.2], [0, 0.2, 3]], np.float32)
MEANS = np.asarray([[0, 1, 2], [5, 0, -5]], np.float32)
OF_MATRICES = [
    *[close("orthogonal", 3, (2,), d) for d in ("float32", "complex64")],
    *[close("orthogonal", 4, m=m) for m in (2, 6)],
    close("orthogonal", 1),
    *[close("multivariate_normal", MEANS[0], COVARIANCE, (5,), method=m) for m in ("cholesky",)],
    close("multivariate_normal", MEANS, COVARIANCE),
    close("multivariate_normal", MEANS[0], np.stack([COVARIANCE, 2 * COVARIANCE]), (3, 2)),
    close("multivariate_normal", np.zeros(2, np.int32), np.eye(2, dtype=np.int32), dtype="float16"),
]
GROUPS = {
    "of matrices": OF_MATRICES,
    "bits": BITS,
    "integers": INTEGERS,
    "continuous": CONTINUOUS,
    "discrete": DISCRETE,
    "orders": ORDERS,
    "of gamma": OF_GAMMA,
    "counts": COUNTS,
}


#: The groups whose samplers have loops, which take long to compile: at night.
LOOPS = {"of gamma", "counts"}


@pytest.mark.parametrize(
    "group",
    [
        pytest.param(rows, id=name, marks=[pytest.mark.night] * (name in LOOPS))
        for name, rows in GROUPS.items()
    ],
)
def test_samples_agree_with_the_oracle(group: list[Row]) -> None:
    check(group, jit=False)


def test_compiled_samples_agree_with_eager_ones() -> None:
    rows = [r for group in GROUPS.values() for r in group[::4]]
    together = ox.jit(lambda key: [r.call(ox.numpy, key) for r in rows])(WORDS)
    for r, result in zip(rows, together, strict=True):
        ours, expected = (np.asarray(x).astype(float) for x in (result, r.call(ox.numpy, WORDS)))
        np.testing.assert_allclose(ours, expected, rtol=1e-5, err_msg=r.id)


SEEDS = [0, 1, -1, 2**31, 2**32 + 5, 2**40 + 3, -(2**40), 2**63 - 1, True]
SEEDS += [np.uint32(2**32 - 1), np.int64(2**40 + 3), np.uint8(7), np.int8(-3)]


def test_the_shape_of_multinomial_has_the_outcomes() -> None:
    drawn = np.asarray(ox.random.multinomial(ox.random.key(0), 9, CHANCES, shape=(5, 2, 4)))
    assert drawn.shape == (5, 2, 4)
    np.testing.assert_array_equal(drawn.sum(-1), 9)


@pytest.mark.parametrize("x64", [False, True])
def test_seeds_agree_with_the_oracle(x64: bool) -> None:
    with ox.enable_x64(x64), jax.enable_x64(x64):
        for seed in SEEDS:
            expected = np.asarray(jax.random.PRNGKey(seed))
            np.testing.assert_array_equal(ox.random.PRNGKey(seed), expected)
            np.testing.assert_array_equal(ox.random.key_data(ox.random.key(seed)), expected)


def test_wide_samples_agree_with_the_oracle() -> None:
    with ox.enable_x64(True), jax.enable_x64(True):
        check(
            [
                draw("bits", (3,)),
                draw("bits", (3,), "uint64"),
                draw("uniform", (3,), "float64", -2.0, 3.0),
                draw("uniform", (3,)),
                draw("randint", (3,), -(2**62), 2**62),
                draw("randint", (3,), -(2**31), 2**40, "int32"),
                draw("normal", (3,), rtol=1e-12),
            ],
            jit=False,
        )


def test_counters_of_more_than_32_bits() -> None:
    shape = (2**17, 2**16)
    program = ox.jit(lambda key: ox.random.bits(key, shape)).lower(WORDS).as_text()
    assert "ui64" in program
    assert "ui64" not in ox.jit(lambda key: ox.random.bits(key, (8,))).lower(WORDS).as_text()


def test_typed_keys_and_raw_keys_give_the_same_draws() -> None:
    typed, raw = ox.random.key(3), ox.random.PRNGKey(3)
    np.testing.assert_array_equal(ox.random.normal(typed, (4,)), ox.random.normal(raw, (4,)))
    keys = ox.random.split(typed, (2, 3))
    assert isinstance(keys, KeyArray)
    assert (keys.shape, keys.ndim, keys.size, len(keys)) == ((2, 3), 2, 6, 2)
    np.testing.assert_array_equal(ox.random.key_data(keys), ox.random.split(raw, (2, 3)))
    first, second = ox.random.split(typed)
    np.testing.assert_array_equal(ox.random.key_data(second), ox.random.split(raw)[1])
    folded = ox.random.fold_in(first, 1)
    assert isinstance(folded, KeyArray)
    assert bool(folded == ox.random.fold_in(first, 1))
    assert not bool(folded == second)


def test_chosen_indices_have_the_default_integer_dtype() -> None:
    p = np.asarray([0.2, 0.3, 0.5])
    with ox.enable_x64(True), jax.enable_x64(True):
        chosen = [n.random.choice(n.random.key(0), 3, (4,), p=p) for n in (ox, jax)]
    assert chosen[0].dtype == chosen[1].dtype == np.int64
    np.testing.assert_array_equal(chosen[0], np.asarray(chosen[1]))


def test_typed_keys_are_indexed_as_an_array_of_keys() -> None:
    keys = ox.random.split(ox.random.key(0), (4, 3))
    words = np.asarray(ox.random.key_data(keys))
    for index in (1, (1, 2), slice(1, 3), (slice(None), 0), (..., 1), (None, 2)):
        ours = keys[index]
        full = (*index, slice(None)) if isinstance(index, tuple) and Ellipsis in index else index
        np.testing.assert_array_equal(ox.random.key_data(ours), words[full])
    np.testing.assert_array_equal(keys.reshape(6, -1).data, words.reshape(6, 2, 2))
    np.testing.assert_array_equal(keys.ravel().data, words.reshape(12, 2))
    with pytest.raises(IndexError):
        keys[0, 0, 0]
    with pytest.raises(TypeError):
        iter(keys[0, 0])
    with pytest.raises(ox.errors.ShapeError):
        keys.reshape(5)


def test_typed_keys_go_through_jit_and_trees() -> None:
    key = ox.random.key(0)
    step = ox.jit(lambda key: (ox.random.split(key)[0], ox.random.uniform(key)))
    next_key, sample = step(key)
    assert isinstance(next_key, KeyArray)
    np.testing.assert_array_equal(next_key.data, jax.random.split(jax.random.PRNGKey(0))[0])
    np.testing.assert_array_equal(sample, ox.random.uniform(key))
    leaves, treedef = ox.tree.flatten({"key": key})
    assert leaves == [key]
    assert ox.tree.unflatten(treedef, leaves)["key"].shape == ()
    assert ox.eval_shape(ox.random.split, key).shape == (2,)


#: expressions of keys `k`, of shape (), and `ks`, of shape (4,)
KEY_READS = """
    tree.leaves({"a": k})[0].shape
    str(tree.structure({"a": k, "b": (ks, 1)}))
    tree.map(lambda x: x.shape, {"a": ks})
    tree.leaves((ks, 1), is_leaf=lambda x: isinstance(x, tuple))[0][1]
    [str(p) for p, _ in tree.leaves_with_path({"a": k})]
    tree.leaves_with_path(k, is_leaf=lambda p, x: False, is_leaf_takes_path=True)[0][0]
    tree_util.all_leaves([k]), tree_util.tree_structure(k).num_leaves
    isinstance(k, Array), issubclass(type(k), Array), isinstance(1, Array)
    str(typeof(k)), str(typeof(ks)), str(ks.aval)
    str(eval_shape(lambda k: random.split(k), k))
    eval_shape(lambda k: k, ShapeDtypeStruct((2,), k.dtype)).shape
    isinstance(ShapeDtypeStruct((2,), k.dtype), ShapeDtypeStruct)
    jit(lambda k: random.uniform(k)).lower(ShapeDtypeStruct((), k.dtype)).compile()(k).shape
    str(jit(lambda k: k).lower(ks).in_avals)
    ks.sharding.num_devices, ks.is_fully_addressable, ks.is_fully_replicated
    [s.data.shape for s in ks.addressable_shards], len(ks.global_shards)
    ks.on_device_size_in_bytes(), ks.nbytes, ks.itemsize
    bool(numpy.equal(k, k)), numpy.not_equal(ks, ks).tolist()
    numpy.zeros((2,), k.dtype).shape, random.key_data(numpy.empty(2, k.dtype)).tolist()
    random.key_data(numpy.asarray(k, dtype=k.dtype)).tolist()
    numpy.array(ks, dtype="uint32")
    k + 1
    1 - k
    -k
    k < k
    bool(k)
    float(k)
    ks.at[0].add(k)
    numpy.sin(k)
    numpy.sort(ks)
    k.__array__()
    random.key(numpy.arange(3))
    random.key(1.0)
    random.split(ks)
    random.uniform(ks)
    random.uniform(numpy.ones(2))
    random.uniform(numpy.ones(3, "uint32"))
    random.fold_in(ks, 1)
    random.fold_in(k, numpy.arange(2))
"""


@pytest.mark.parametrize("text", [x.strip() for x in KEY_READS.strip().splitlines()])
def test_keys_have_the_attributes_and_errors_of_jax(text: str) -> None:
    def read(package: Any) -> Any:
        k = package.random.key(0)
        names = vars(package) | {"k": k, "ks": package.random.split(k, 4)}
        try:
            return eval(text, {n: getattr(package, n, x) for n, x in names.items()})
        except Exception as error:
            return error

    mine, theirs = read(ox), read(jax)
    if isinstance(theirs, Exception):
        assert any(isinstance(mine, cls) for cls in type(theirs).__mro__[:-2])
    else:
        assert mine == theirs


def test_loops_carry_keys() -> None:
    def step(key: Any, _: Any) -> Any:
        key, sub = ox.random.split(key)
        return key, ox.random.uniform(sub)

    _, drawn = ox.lax.scan(step, ox.random.key(0), None, length=3)
    key, expected = jax.random.PRNGKey(0), []
    for _ in range(3):
        key, sub = jax.random.split(key)
        expected.append(np.asarray(jax.random.uniform(sub)))
    np.testing.assert_array_equal(drawn, expected)


def test_functions_of_keys() -> None:
    key = ox.random.key(0)
    assert repr(key.dtype) == repr(jax.random.key(0).dtype) == "key<fry>"
    assert key.dtype == ox.random.key_dtype() == ox.random.key_dtype("threefry2x32")
    assert ox.random.key_impl(key) == ox.random.key_impl(ox.random.PRNGKey(0)) == "threefry2x32"
    assert bool(ox.random.clone(key) == key)
    assert bool(ox.random.wrap_key_data(ox.random.PRNGKey(0)) == key)
    assert repr(key) == repr(jax.random.key(0))


@pytest.mark.parametrize("package", [ox, jax])
def test_the_tangent_of_keys_is_a_float0_array_of_their_shape(package: Any) -> None:
    random, float0 = package.random, package.dtypes.float0
    keys, zero = random.split(random.key(0), 3), np.zeros(3, float0)
    gradient = package.grad(lambda k: random.uniform(k[0]), allow_int=True)(keys)
    assert (gradient.shape, gradient.dtype) == ((3,), float0)
    tangent = package.jvp(lambda k: k[:2], (keys,), (zero,))[1]
    assert (tangent.shape, tangent.dtype) == ((2,), float0)
    assert package.linearize(lambda k: random.uniform(k[0]), keys)[1](zero) == 0
    (cotangent,) = package.vjp(lambda k: k[:2], keys)[1](np.zeros(2, float0))
    assert (cotangent.shape, cotangent.dtype) == ((3,), float0)


def test_gather_and_scatter_move_keys() -> None:
    keys, place = ox.random.split(ox.random.key(0), 3), np.asarray([[2]])
    numbers = (), (0,), (0,)
    read = ox.lax.gather(keys, place, ox.lax.GatherDimensionNumbers(*numbers), (1,))
    written = ox.lax.scatter(keys, place, keys[:1], ox.lax.ScatterDimensionNumbers(*numbers))
    assert bool((read == keys[2]).all() and written[2] == keys[0])
    assert bool((keys.at[1].apply(lambda k: keys[0])[1] == keys[0]).all())


def test_an_invalid_key_is_refused() -> None:
    normal = ox.random.normal
    for bad in (3.0, np.arange(2), np.zeros(3, np.uint32), "key"):
        with pytest.raises(TypeError, match="key"):
            normal(bad)
    with pytest.raises(ValueError, match="single key"):
        normal(ox.random.split(ox.random.key(0)))
    with pytest.raises(TypeError, match="PRNGKey dtype cannot be converted to a NumPy array"):
        np.asarray(ox.random.key(0))
    with pytest.raises(ox.errors.DTypeError):
        ox.numpy.add(ox.random.key(0), 1)


def test_an_invalid_seed_is_refused() -> None:
    for bad in (1.5, np.arange(2), ox.random.key(0), "seed"):
        with pytest.raises(TypeError):
            ox.random.key(bad)
    with pytest.raises(OverflowError):
        ox.random.key(2**64)
    with pytest.raises(ValueError, match="threefry2x32"):
        ox.random.key(0, impl="philox")


def test_arguments_that_do_not_fit_are_refused() -> None:
    random, key = ox.random, ox.random.key(0)
    for refused, error in (
        (lambda: random.normal(key, (2,), "int32"), ValueError),
        (lambda: random.uniform(key, (2,), "complex64"), ValueError),
        (lambda: random.bits(key, (2,), "int32"), ValueError),
        (lambda: random.randint(key, (2,), 0, 5, "float32"), TypeError),
        (lambda: random.normal(key, (-2,)), ValueError),
        (lambda: random.normal(key, "a"), TypeError),
        (lambda: random.uniform(key, (2,), minval=np.zeros(3)), TypeError),
        (lambda: random.bernoulli(key, PARAMETERS, (3,)), ValueError),
        (lambda: random.bernoulli(key, 1), TypeError),
        (lambda: random.categorical(key, LOGITS, shape=(3,)), ValueError),
        (lambda: random.categorical(key, LOGITS, 2), IndexError),
        (lambda: random.categorical(key, LOGITS, shape=(9, 2), replace=False), ValueError),
        (lambda: random.choice(key, 3, (5,), False), ValueError),
        (lambda: random.choice(key, 3, p=PARAMETERS), ValueError),
        (lambda: random.permutation(key, 1.5), TypeError),
        (lambda: random.permutation(key, GRID, 2), ValueError),
        (lambda: random.fold_in(key, -1), OverflowError),
        (lambda: random.fold_in(key, np.arange(2)), TypeError),
        (lambda: random.gumbel(key, mode="middle"), ValueError),
        (lambda: random.dirichlet(key, 2.0), ValueError),
        (lambda: random.multinomial(key, PARAMETERS, CHANCES), ValueError),
        (lambda: random.rayleigh(key, 1j), ValueError),
        (lambda: random.gamma(key, 1j), TypeError),
        (lambda: random.ball(key, 2.0), TypeError),
    ):
        with pytest.raises(error):
            refused()


def test_draws_are_few_equations() -> None:
    for count, call in (
        (5, lambda key: ox.random.uniform(key, (3,))),
        (10, lambda key: ox.random.normal(key, (3,))),
        (6, lambda key: ox.random.bernoulli(key, 0.3, (3,))),
        (12, lambda key: ox.random.randint(key, (3,), 0, 10)),
    ):
        assert len(ox.make_olympuspr(call)(WORDS).eqns) <= count


def test_equal_shapes_share_one_hash_function() -> None:
    text = ox.jit(lambda k: [ox.random.normal(s, (8,)) for s in ox.random.split(k, 3)])
    module = text.lower(WORDS).as_text()
    assert module.count("func.func private @threefry2x32") == 2
    assert module.count("call @threefry2x32") == 4


ALPHAS = np.asarray([0.3, 0.9, 2.5, 30], np.float32)
IMPLICIT: dict[str, Callable[[Any, Any], Any]] = {
    "gamma": lambda random, key: lambda a: random.gamma(key, a),
    "loggamma": lambda random, key: lambda a: random.loggamma(key, a),
    "chisquare": lambda random, key: lambda a: random.chisquare(key, a),
    "t": lambda random, key: lambda a: random.t(key, a),
    "beta": lambda random, key: lambda a: random.beta(key, a, 2 * a),
    "dirichlet": lambda random, key: lambda a: random.dirichlet(key, a, (2,)),
}


def test_samples_have_the_implicit_derivatives_of_jax() -> None:
    def slope(name: str, impl: str | None = None) -> Callable[[Any, Any], Any]:
        def call(m: Any, a: Any) -> Any:
            sample = IMPLICIT[name](PACKAGE[m].random, PACKAGE[m].random.key(3, impl=impl))
            weights = m.arange(1.0, 5.0)
            return PACKAGE[m].grad(lambda a: (weights * sample(a)).sum())(a)

        return call

    rows = [row(name, slope(name), ALPHAS, rtol=2e-3, atol=1e-4) for name in IMPLICIT]
    check([*rows, row("rbg", slope("gamma", "rbg"), ALPHAS, rtol=2e-3, atol=1e-4)])


def test_half_floats_have_implicit_derivatives() -> None:
    key = ox.random.key(0)
    wide = ox.grad(lambda a: ox.random.gamma(key, a))(np.float32(2))
    assert wide > 0
    half = ox.grad(lambda a: ox.random.gamma(key, a, dtype="bfloat16"))(ox.numpy.bfloat16(2))
    assert half.dtype == "bfloat16" and half > 0


STRUCTURAL: dict[str, Callable[[Any, Any, Any], Any]] = {
    "stack": lambda np, lax, k: np.stack([k, k], axis=-1),
    "concatenate": lambda np, lax, k: np.concatenate([k, k], axis=1),
    "append": lambda np, lax, k: np.append(k, k),
    "array": lambda np, lax, k: np.array([k[0], k[1]]),
    "where": lambda np, lax, k: np.where(MASK, k[:, 0], k[0, 0]),
    "select": lambda np, lax, k: lax.select(MASK, k[:, 0], k[:, 1]),
    "take": lambda np, lax, k: np.take(k, INDEX, axis=0),
    "ravel": lambda np, lax, k: np.ravel(k),
    "reshape": lambda np, lax, k: np.reshape(k, (2, -1)),
    "expand_dims": lambda np, lax, k: np.expand_dims(k, -1),
    "broadcast_to": lambda np, lax, k: np.broadcast_to(k, (2, 3, 2)),
    "moveaxis": lambda np, lax, k: np.moveaxis(k, 0, -1),
    "roll": lambda np, lax, k: np.roll(k, 1, axis=-1),
    "flip": lambda np, lax, k: np.flip(k),
    "split": lambda np, lax, k: np.split(k, 3)[1],
    "tile": lambda np, lax, k: np.tile(k, (2, 1)),
    "repeat": lambda np, lax, k: np.repeat(k, 2, axis=1),
    "zeros_like": lambda np, lax, k: np.zeros_like(k),
    "full": lambda np, lax, k: np.full((2,), k[0, 0]),
    "dynamic_slice": lambda np, lax, k: lax.dynamic_slice(k, (1, 0), (2, 1)),
    "at": lambda np, lax, k: k.at[INDEX, 0].set(k[1, 1]),
    "at get": lambda np, lax, k: k.at[1].get(),
    "methods": lambda np, lax, k: k.T.swapaxes(0, 1).squeeze().flatten().copy().take(INDEX),
}
MASK, INDEX = np.array([True, False, True]), np.array([2, 0])


@pytest.mark.parametrize("name", STRUCTURAL)
def test_functions_that_move_elements_apply_to_keys(name: str) -> None:
    def run(package: Any, wrap: Any) -> Any:
        def words(keys: Any) -> Any:
            return package.random.key_data(STRUCTURAL[name](package.numpy, package.lax, keys))

        keys = package.random.split(package.random.key(0), (3, 2))
        if wrap is package.vmap:
            return wrap(lambda i: words(keys))(np.arange(2))
        return wrap(words)(keys)

    for transform in ("jit", "vmap"):
        ours, theirs = (run(p, getattr(p, transform)) for p in (ox, jax))
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(run(ox, lambda f: f), run(jax, lambda f: f))


def test_keys_compare_and_do_not_mix_with_numbers() -> None:
    keys = ox.random.split(ox.random.key(0), 3)
    assert ox.numpy.array_equal(keys, keys)
    assert not ox.numpy.array_equal(keys, keys[::-1])
    assert (keys != keys[0]).tolist() == [False, True, True]
    assert (keys.nbytes, keys.devices(), keys.is_deleted()) == (24, {keys.device}, False)
    for call in (
        lambda: ox.numpy.where(MASK, keys, 0),
        lambda: ox.numpy.stack([keys, keys.data[:, 0]]),
        lambda: keys.at[0].set(1),
    ):
        with pytest.raises(TypeError, match="keys"):
            call()


@pytest.mark.parametrize("method", ["svd", "eigh"])
def test_factors_of_a_covariance_give_its_distribution(method: str) -> None:
    singular = np.asarray([[1, 2], [2, 4]], np.float32)
    x = ox.random.multivariate_normal(
        ox.random.key(0), np.asarray([3, 0], np.float32), singular, (4000,), method=method
    )
    np.testing.assert_allclose(np.cov(np.asarray(x).T), singular, rtol=0.1)
    np.testing.assert_allclose(np.asarray(x).mean(0), [3, 0], atol=0.1)


MATRIX_ERRORS: dict[str, Callable[[Any, Any], Any]] = {
    "method": lambda r, k: r.multivariate_normal(k, np.ones(2), np.eye(2), method="qr"),
    "mean": lambda r, k: r.multivariate_normal(k, 1.0, np.eye(1)),
    "covariance": lambda r, k: r.multivariate_normal(k, np.ones(2), np.ones(2)),
    "sizes": lambda r, k: r.multivariate_normal(k, np.ones(2), np.eye(3)),
    "shape": lambda r, k: r.multivariate_normal(k, np.ones((3, 2)), np.eye(2), (2,)),
    "dtype": lambda r, k: r.multivariate_normal(k, np.ones(2), np.eye(2), dtype=int),
    "initializer": lambda r, k: INITIALIZERS[r].orthogonal()(k, (3,)),
    "axes": lambda r, k: INITIALIZERS[r].delta_orthogonal()(k, (3, 3)),
    "outputs": lambda r, k: INITIALIZERS[r].delta_orthogonal()(k, (3, 3, 2)),
}
INITIALIZERS = {ox.random: ox.nn.initializers, jax.random: jax.nn.initializers}


@pytest.mark.parametrize("name", MATRIX_ERRORS)
def test_errors_of_matrices_are_of_the_classes_of_jax(name: str) -> None:
    with pytest.raises(Exception) as theirs:
        MATRIX_ERRORS[name](jax.random, jax.random.key(0))
    with pytest.raises(ox.errors.TraceError) as ours:
        MATRIX_ERRORS[name](ox.random, ox.random.key(0))
    assert issubclass(ours.type, theirs.type), (ours.type, theirs.value)


KEY_CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "isnan": lambda n, keys: n.numpy.isnan(keys),
    "result_type": lambda n, keys: str(n.numpy.result_type(keys, keys[0])),
    "vectorize": lambda n, keys: n.numpy.vectorize(n.random.uniform)(keys),
    "vectorize with a signature": lambda n, keys: n.random.key_data(
        n.numpy.vectorize(lambda k: n.random.split(k, 2), signature="()->(n)")(keys)
    ),
    "vectorize of keys and vectors": lambda n, keys: n.numpy.vectorize(
        lambda k, x: n.random.uniform(k) + x, signature="(),(n)->(n)"
    )(keys, n.numpy.arange(3.0)),
    "allclose": lambda n, keys: n.numpy.allclose(keys, keys),
    "eq": lambda n, keys: n.lax.eq(keys, keys[::-1]),
    "ne": lambda n, keys: n.lax.ne(keys, keys[::-1]),
    "meshgrid": lambda n, keys: n.random.key_data(n.numpy.meshgrid(keys, keys)[1]),
    "select_n": lambda n, keys: n.random.key_data(
        n.lax.select_n(n.numpy.asarray([0, 1, 2]), keys, keys[::-1], keys)
    ),
    "choice": lambda n, keys: n.random.key_data(n.random.choice(keys[0], keys, (5,))),
}


@pytest.mark.parametrize("name", KEY_CALLS)
def test_functions_of_typed_keys_as_in_jax(name: str) -> None:
    ours, theirs = (KEY_CALLS[name](n, n.random.split(n.random.key(5), 3)) for n in (ox, jax))
    np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))


def test_keys_have_no_promotion_with_numbers() -> None:
    for package in (ox, jax):
        with pytest.raises(ValueError):
            package.numpy.result_type(package.random.key(0), 1.0)
