"""custom_jvp, custom_vjp and checkpoint: the user's rules are used, and compose."""

from __future__ import annotations

import functools

import jax
import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus.errors import SignatureError, TransformError

X = np.float32(0.7)
XS = np.array([0.3, -0.7, 1.1], np.float32)


def scaled(ox):
    """A function whose derivative rule returns ten times the true derivative."""

    @ox.custom_jvp
    def f(x, y):
        return ox.numpy.sin(x) * y

    @f.defjvp
    def rule(primals, tangents):
        (x, y), (tx, ty) = primals, tangents
        return f(x, y), 10 * (ox.numpy.cos(x) * tx * y + ox.numpy.sin(x) * ty)

    return f


def reverse(ox, nondiff=()):
    @ox.custom_vjp
    def f(x, y):
        return {"out": ox.numpy.sin(x) * y}

    f.defvjp(lambda x, y: (f(x, y), (x, y)), lambda r, ct: (ct["out"] * 7 * r[1], None))
    return f


def same(got, want):
    for a, b in zip(olympus.tree.leaves(got), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-5)


@pytest.mark.parametrize(
    "use",
    [
        lambda ox, f: f(X, X),
        lambda ox, f: ox.grad(f, (0, 1))(X, X),
        lambda ox, f: ox.jit(ox.grad(f, (0, 1)))(X, X),
        lambda ox, f: ox.jit(ox.grad(ox.jit(f), (0, 1)))(X, X),
        lambda ox, f: ox.vmap(ox.grad(f), (0, None))(XS, X),
        lambda ox, f: ox.grad(lambda y: ox.vmap(f, (0, None))(XS, y).sum())(X),
        lambda ox, f: ox.jvp(ox.vmap(f), (XS, XS), (XS, XS)),
        lambda ox, f: ox.grad(ox.grad(f))(X, X),
        lambda ox, f: ox.grad(lambda x: ox.lax.scan(lambda c, _: (f(c, x), c), x, None, 3)[0])(X),
        lambda ox, f: ox.grad(ox.checkpoint(f), (0, 1))(X, X),
        lambda ox, f: ox.hessian(f)(X, X),
        lambda ox, f: ox.grad(f)(X, y=X),
    ],
)
def test_custom_jvp_composes(use):
    same(use(olympus, scaled(olympus)), use(jax, scaled(jax)))


@pytest.mark.parametrize(
    "use",
    [
        lambda ox, f: f(X, X),
        lambda ox, f: ox.grad(lambda x, y: f(x, y)["out"], (0, 1))(X, X),
        lambda ox, f: ox.jit(ox.grad(lambda x, y: f(x, y)["out"], (0, 1)))(X, X),
        lambda ox, f: ox.vmap(ox.grad(lambda x, y: f(x, y)["out"]), (0, None))(XS, X),
        lambda ox, f: ox.grad(lambda x: ox.vmap(f, (None, 0))(x, XS)["out"].sum())(X),
        lambda ox, f: ox.jacrev(lambda x: ox.vmap(f)(x, XS)["out"])(XS),
        lambda ox, f: ox.grad(
            lambda x: ox.lax.scan(lambda c, _: (f(c, x)["out"], c), x, None, 3)[0]
        )(X),
        lambda ox, f: ox.grad(ox.checkpoint(lambda x: f(x, x)["out"]))(X),
        lambda ox, f: ox.grad(ox.grad(lambda x: f(x, x)["out"]))(X),
    ],
)
def test_custom_vjp_composes(use):
    same(use(olympus, reverse(olympus)), use(jax, reverse(jax)))


def test_nondiff_arguments():
    def build(ox):
        @ox.custom_vjp
        def plain(x):
            return x

        plain.defvjp(lambda x: (x, None), lambda r, ct: (ct,))

        def f(g, x, n):
            return g(x) ** n

        jvp = ox.custom_jvp(f, nondiff_argnums=(0, 2))

        @jvp.defjvp
        def rule(g, n, primals, tangents):
            return g(primals[0]) ** n, 100.0 * n * tangents[0]

        vjp = ox.custom_vjp(f, nondiff_argnums=(0, 2))
        vjp.defvjp(lambda g, x, n: (g(x) ** n, x), lambda g, n, x, ct: (ct * n,))
        g = ox.numpy.sin
        return ox.grad(jvp, 1)(g, X, 3), ox.jit(lambda x: ox.grad(vjp, 1)(g, x, 3))(X)

    same(build(olympus), build(jax))


def test_defjvps_and_symbolic_zeros():
    seen = []

    @olympus.custom_jvp
    def f(x, y):
        return x * y

    f.defjvps(lambda t, out, x, y: 3 * t, None)
    assert float(olympus.grad(f)(2.0, 5.0)) == 3.0
    assert float(olympus.grad(f, 1)(2.0, 5.0)) == 0.0

    @olympus.custom_jvp
    def g(x, y):
        return x * y

    def rule(primals, tangents):
        seen.append([type(t).__name__ for t in tangents])
        return g(*primals), 2 * tangents[0]

    g.defjvp(rule, symbolic_zeros=True)
    assert float(olympus.grad(g)(2.0, 5.0)) == 2.0
    assert seen[0][1] == "SymbolicZero"


def test_methods_can_have_rules():
    class Model:
        @olympus.custom_jvp
        @staticmethod
        def act(x):
            return x

    Model.act.defjvp(lambda p, t: (p[0], 5 * t[0]))
    assert float(olympus.grad(Model.act)(1.0)) == 5.0


@pytest.mark.parametrize("policy", [None, "everything_saveable", "dots_saveable"])
def test_checkpoint_gives_the_same_derivatives(policy):
    def build(ox):
        chosen = None if policy is None else getattr(ox.checkpoint_policies, policy)

        @functools.partial(ox.checkpoint, policy=chosen)
        def f(x):
            return ox.numpy.sin(ox.numpy.sin(x @ x) * x)

        def loss(x):
            return f(f(x)).sum()

        return ox.grad(loss)(XS), ox.hessian(loss)(XS), ox.jit(ox.grad(loss))(XS)

    same(build(olympus), build(jax))


NESTED = {
    "jit": lambda x: olympus.jit(lambda a, b: a * b)(x, olympus.jit(jnp.sin)(x)),
    "scan": lambda x: olympus.lax.scan(lambda c, y: (jnp.sin(c) * y, c), x, x)[1].sum(1),
    "cond": lambda x: olympus.lax.cond(x[0] > 0, lambda v: (v * v, v), lambda v: (v, v), x)[0] * x,
    "checkpoint": lambda x: olympus.checkpoint(lambda v: jnp.sin(v) * v)(x) * x,
    "custom_vjp": lambda x: clipped(x) * x,
}


@olympus.custom_vjp
def clipped(x):
    return jnp.sin(x)


clipped.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (g * jnp.cos(x),))


@pytest.mark.parametrize("name", NESTED)
def test_programs_within_a_checkpoint_are_differentiated(name):
    x = jnp.arange(1.0, 4.0)
    plain = olympus.grad(lambda v: NESTED[name](v).sum())
    checkpointed = olympus.grad(olympus.checkpoint(lambda v: NESTED[name](v).sum()))
    np.testing.assert_allclose(checkpointed(x), plain(x), rtol=1e-5)
    np.testing.assert_allclose(olympus.jacrev(checkpointed)(x), olympus.jacrev(plain)(x), rtol=1e-5)


def test_policies_choose_the_saved_values():
    policies = olympus.checkpoint_policies

    def f(x):
        y = olympus.ad_checkpoint.checkpoint_name(olympus.numpy.sin(x), "kept")
        return olympus.numpy.sin(y)

    def recomputed(policy):
        program = olympus.jit(olympus.grad(olympus.checkpoint(f, policy=policy))).trace(X)
        last = [e for e in program.olympuspr.eqns if e.primitive.name == "checkpoint"][-1]
        return sum(e.primitive.name == "sin" for e in last.params["olympuspr"].eqns)

    none = recomputed(policies.nothing_saveable)
    assert recomputed(policies.save_only_these_names("kept")) < none
    assert recomputed(policies.save_only_these_names("other")) == none
    assert recomputed(policies.save_any_names_but_these("kept")) == none
    assert recomputed(policies.everything_saveable) == 0
    both = policies.save_from_both_policies(
        policies.nothing_saveable, policies.save_only_these_names("kept")
    )
    assert recomputed(both) == recomputed(policies.save_only_these_names("kept"))
    names = olympus.ad_checkpoint
    assert recomputed(lambda *_, **__: names.Recompute) == none
    for decision in (names.Saveable, names.Offloadable("device", "pinned_host")):
        assert recomputed(lambda *_, _decision=decision, **__: _decision) == 0


def jitted(ox, x):
    inner = ox.jit(lambda y: ox.numpy.sin(ox.numpy.cos(y)))
    return ox.jit(lambda y: inner(inner(y)) @ y)(x)


def checkpointed(ox, x):
    return ox.checkpoint(lambda y: ox.numpy.sin(ox.numpy.cos(y)))(x)


def branching(ox, x):
    return ox.lax.cond(x.sum() > 0, lambda y: ox.numpy.sin(ox.numpy.sin(y)), ox.numpy.cos, x)


def looping(ox, x):
    return ox.lax.fori_loop(0, 3, lambda _, c: ox.numpy.sin(ox.numpy.cos(c)), x)


@pytest.mark.parametrize(
    ("f", "name"),
    [
        *[(f, name) for f in (jitted, checkpointed) for name in ("sin", "cos", "dot_general")],
        *[(f, None) for f in (jitted, checkpointed, branching, looping)],
    ],
)
def test_policies_choose_values_of_programs_inside_as_in_jax(f, name):
    def recomputed(ox):
        saves = ox.checkpoint_policies.everything_saveable
        if name is not None:
            saves = lambda primitive, *_, **__: str(primitive) == name  # noqa: E731
        _, linear = ox.linearize(ox.checkpoint(lambda x: f(ox, x), policy=saves), np.eye(2))
        text = str(ox.make_jaxpr(linear)(np.eye(2)))
        return " sin " in text, " cos " in text

    mine, theirs = recomputed(olympus), recomputed(jax)
    assert mine == theirs
    assert name == "dot_general" or False in mine


def test_recomputation_is_behind_a_barrier():
    f = olympus.checkpoint(lambda x: olympus.numpy.sin(olympus.numpy.sin(x)))
    assert "optimization_barrier" in olympus.jit(olympus.grad(f)).lower(X).as_text()
    g = olympus.checkpoint(lambda x: olympus.numpy.sin(olympus.numpy.sin(x)), prevent_cse=False)
    assert "optimization_barrier" not in olympus.jit(olympus.grad(g)).lower(X).as_text()


def bad_rules():
    def jvp(rule):
        f = olympus.custom_jvp(lambda x: x * 1.0)
        f.defjvp(rule)
        return lambda: olympus.grad(f)(X)

    def vjp(fwd, bwd):
        f = olympus.custom_vjp(lambda x: x * 1.0)
        f.defvjp(fwd, bwd)
        return lambda: olympus.grad(f)(X)

    return [
        (jvp(lambda p, t: p[0]), "pair"),
        (jvp(lambda p, t: (p, t)), "structure"),
        (jvp(lambda p, t: (p[0], XS)), "Expected float32\\[\\] .* but got float32\\[3\\]"),
        (vjp(lambda x: x, lambda r, c: (c,)), "pair"),
        (vjp(lambda x: ((x, x), x), lambda r, c: (c,)), "structure"),
        (vjp(lambda x: (x, x), lambda r, c: c), "tuple"),
        (vjp(lambda x: (x, x), lambda r, c: (c, c)), "bwd output structure .*, \\*.* for"),
        (
            vjp(lambda x: (x, x), lambda r, c: (XS,)),
            "output of type float32\\[3\\] .*float32\\[\\]",
        ),
    ]


@pytest.mark.parametrize(("call", "words"), bad_rules())
def test_the_error_of_a_wrong_rule_names_the_fault(call, words):
    with pytest.raises(TransformError, match=words):
        call()
    ref = olympus.new_ref(0.0)  # functions are traced for the references that they use
    with pytest.raises(TransformError, match=words):
        call()
    del ref


def ruled(ox, kind, value):
    """The identity with a rule that returns `value` as its result."""
    if kind == "jvp":
        f = ox.custom_jvp(lambda x: x)
        f.defjvp(lambda p, t: (value, ox.numpy.zeros(ox.numpy.shape(value))))
    else:
        f = ox.custom_vjp(lambda x: x)
        f.defvjp(lambda x: (value, None), lambda _, c: (X,))
    return f


WRONG_RESULTS = {
    "shape": (XS, r"float32\[3\]"),
    "dtype": (np.float16(1), r"float16\[\]"),
    "kind": (3, r"int32\[\]"),
}


@pytest.mark.parametrize(("value", "got"), WRONG_RESULTS.values(), ids=WRONG_RESULTS)
@pytest.mark.parametrize("kind", ["jvp", "vjp"])
def test_a_rule_gives_the_functions_shape_and_dtype(kind, value, got):
    rule = {"jvp": "JVP", "vjp": "fwd"}[kind]
    words = rf"{rule} rule output's first element had shapes/dtypes of:\n    {got}\nwhile"
    f = ruled(olympus, kind, value)
    for call in (olympus.vjp, lambda g, x: olympus.vmap(olympus.grad(g))(x[None])):
        with pytest.raises(TransformError, match=words):
            call(f, X)
    with pytest.raises(TypeError):
        jax.vjp(jax.jit(ruled(jax, kind, value)), X)


@pytest.mark.parametrize("kind", ["jvp", "vjp"])
def test_a_rules_result_may_be_weakly_typed(kind):
    ours, theirs = (ox.vjp(ox.jit(ruled(ox, kind, 2.0)), X)[0] for ox in (olympus, jax))
    assert (ours.dtype, float(ours)) == (theirs.dtype, float(theirs))


def wrong_positions():
    def rule(make, positions):
        f = make(lambda x, n=2: x * n, nondiff_argnums=positions)
        rules = [lambda *a: a[0]] * (1 if make is olympus.custom_jvp else 2)
        (f.defjvp if make is olympus.custom_jvp else f.defvjp)(*rules)
        return f

    def saved(positions):
        return olympus.checkpoint(lambda x, n=2: x * n, static_argnums=positions)

    return {
        "static by keyword": (
            lambda: saved(1)(X, n=3),
            "can only take integer values greater than or equal to `-len(args)`",
        ),
        "static left out": (lambda: saved(-2)(X), "but got (-2,), while `len(args)` = 1"),
        "static of no argument": (lambda: saved(0)(), "but got (0,), while `len(args)` = 0"),
        "static of no number": (
            lambda: saved("n"),
            "static_argnums of checkpoint must be an int or a sequence of ints, and is 'n'",
        ),
        "custom_jvp": (
            lambda: olympus.grad(rule(olympus.custom_jvp, (5,)))(X),
            "got value 5 for len(args) == 2: nondiff_argnums of '<lambda>'",
        ),
        "custom_vjp": (
            lambda: olympus.grad(rule(olympus.custom_vjp, (5,)))(X),
            "got value 5 for len(args) == 2: nondiff_argnums of '<lambda>'",
        ),
        "custom_vjp of no number": (
            lambda: rule(olympus.custom_vjp, ("n",)),
            "nondiff_argnums must be an int or a sequence of ints, and is ('n',)",
        ),
    }


@pytest.mark.parametrize(("call", "message"), wrong_positions().values(), ids=wrong_positions())
def test_positions_of_arguments_that_are_not_there(call, message):
    with pytest.raises(TransformError) as caught:
        call()
    assert message in str(caught.value)


def test_positions_of_static_arguments_are_any_integers():
    f = lambda x, n: x * 2 if n else x  # noqa: E731
    for positions in (1, -1, (1,), np.int64(1)):
        assert olympus.checkpoint(f, static_argnums=positions)(X, True) == 2 * X


def test_names_of_static_arguments():
    f = olympus.checkpoint(lambda x, twice=False: x * 2 if twice else x, static_argnames="twice")
    assert f(X) == X
    for derivative in (olympus.grad(f)(X, True), olympus.grad(f)(X, twice=True)):
        assert derivative == 2
    with pytest.raises(TransformError, match="static_argnames of checkpoint has 'n'"):
        olympus.checkpoint(lambda x: x, static_argnames="n")


@pytest.mark.parametrize("wrap", [olympus.custom_jvp, olympus.custom_vjp])
def test_setters_of_the_wrapped_function(wrap):
    f = wrap(olympus.custom_batching.custom_vmap(lambda x: x))
    f.def_vmap(lambda size, mapped, x: (3 * x, True))
    if wrap is olympus.custom_jvp:
        f.defjvp(lambda primals, tangents: (f(*primals), 7 * tangents[0]))
    else:
        f.defvjp(lambda x: (f(x), None), lambda _, ct: (7 * ct,))
    np.testing.assert_array_equal(olympus.vmap(f)(np.ones(2, "float32")), [3, 3])
    assert olympus.grad(f)(1.0) == 7
    with pytest.raises(AttributeError, match="has no attribute 'def_other'"):
        f.def_other  # noqa: B018


def test_arguments_that_the_function_does_not_take():
    with pytest.raises(SignatureError, match=r"missing|argument"):
        olympus.jit(lambda x: scaled(olympus)(x))(X)


def test_a_vjp_rule_gives_cotangents_of_other_real_dtypes():
    def gradient(ox, cotangent):
        f = ox.custom_vjp(lambda x, y: x * y)
        f.defvjp(lambda x, y: (x * y, None), lambda _, g: (g.astype("float16"), cotangent))
        return ox.grad(f, (0, 1))(2.0, 3.0)

    for cotangent in (0, 3, True, np.float16(2)):
        got, want = gradient(olympus, cotangent), gradient(jax, cotangent)
        assert [float(x) for x in got] == [float(x) for x in want]
        assert [str(x.dtype) for x in got] == ["float32", "float32"]
    for ox in (olympus, jax):
        with pytest.raises(ValueError, match=r"float32\[2\]"):
            gradient(ox, np.ones(2, np.float32))


@pytest.mark.parametrize("staged", [lambda ox, f: f, lambda ox, f: ox.jit(f)])
def test_a_backward_rule_branches_on_numbers_among_its_residuals(staged):
    def both(ox):
        f = ox.custom_vjp(lambda x, doubled, times: x)

        def bwd(residuals, g):
            is_doubled, times = residuals
            assert isinstance(is_doubled, bool)
            for _ in range(times):
                g = g * 2 if is_doubled else g
            return g, None, None

        f.defvjp(lambda x, doubled, times: (x, (x.ndim == 0, 3)), bwd)

        def summed(x):
            rows = ox.vmap(lambda x: f(x, True, 3))(x)
            carry, _ = ox.lax.scan(lambda c, x: (c + f(x, True, 3), None), 0.0, x)
            return rows.sum() + f(x, False, 3).sum() + carry

        return staged(ox, ox.grad(summed))(np.float32([1, 2]))

    assert both(olympus).tolist() == both(jax).tolist() == [17, 17]


def test_residuals_of_one_rule_have_the_structure_of_their_call():
    f = olympus.custom_vjp(lambda x: x * 2.0)
    calls = []

    def fwd(x):
        calls.append(0)
        return x * 2.0, (x,) if len(calls) == 1 else {"a": x, "b": x}

    f.defvjp(fwd, lambda residuals, g: (g * len(residuals),))

    def both(x):
        _, first = olympus.vjp(f, x)
        _, second = olympus.vjp(f, x)
        return first(1.0)[0], second(1.0)[0]

    assert [float(x) for x in both(3.0)] == [1.0, 2.0]


@pytest.mark.parametrize("policy", ["everything_saveable", "dots_saveable", "nothing_saveable"])
@pytest.mark.parametrize("staged", [False, True])
def test_a_checkpoint_around_cond_stores_no_more_than_jaxs(policy, staged):
    def stored(ox):
        def one(x, w):
            return ox.numpy.sin(ox.numpy.sin(x @ w))

        def other(x, w):
            return ox.numpy.cos(x @ w) @ w

        def mapped(x, w):
            return ox.vmap(lambda r: ox.lax.cond(r.sum() > 0, one, other, r, w))(x).sum()

        def whole(x, w):
            return ox.lax.cond(x.sum() > 0, one, other, x, w).sum()

        sizes = []
        for f in (mapped, whole):
            checkpointed = ox.checkpoint(f, policy=getattr(ox.checkpoint_policies, policy))
            derive = lambda *xs: ox.vjp(checkpointed, *xs)[1]  # noqa: B023, E731
            x, w = ox.numpy.ones((5, 7)), ox.numpy.ones((7, 7))
            leaves = ox.tree_util.tree_leaves((ox.jit(derive) if staged else derive)(x, w))
            sizes.append(sum(leaf.nbytes for leaf in leaves if leaf.ndim))
        return sizes

    ours, theirs = stored(olympus), stored(jax)
    assert all(a <= b for a, b in zip(ours, theirs, strict=True)), (ours, theirs)


def test_symbolic_zeros_with_optimize_remat_are_refused() -> None:
    for package in (olympus, jax):
        rule = package.custom_vjp(lambda x: x)
        options = {"symbolic_zeros": True, "optimize_remat": True}
        with pytest.raises(NotImplementedError, match="does not support symbolic zeros"):
            rule.defvjp(lambda x: (x, None), lambda _, g: (g,), **options)
