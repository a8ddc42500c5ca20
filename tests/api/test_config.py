"""`config.update` and the contexts: what is set for the process, for a thread, and for traces."""

from __future__ import annotations

import sys
import threading
import types
import warnings
from concurrent.futures import ThreadPoolExecutor

import jax
import numpy as np
import pytest

import olympus
import olympus.experimental
import olympus.numpy as jnp
from olympus.errors import ConfigError, NaNError, OlympusWarning
from olympus_core.api.config import Config

BOTH = pytest.mark.parametrize("ox", [olympus, jax], ids=["olympus", "jax"])
X = np.ones((2, 3), np.float32)


@pytest.fixture(autouse=True)
def _as_before():
    """The options that the tests set, as they were, in both libraries."""
    names = [n for n in olympus.config.values if n != "jax_default_matmul_precision"]
    old = {ox: {n: getattr(ox.config, n) for n in names} for ox in (olympus, jax)}
    yield
    for ox, values in old.items():
        for name, value in values.items():
            ox.config.update(name, value)
        ox.config.update("jax_default_matmul_precision", None)


@BOTH
def test_an_option_holds_for_every_thread_and_a_context_for_its_own(ox):
    def arange_dtype():
        return ox.numpy.arange(2.0).dtype.name

    ox.config.update("jax_enable_x64", True)
    assert ox.config.jax_enable_x64 is ox.config.x64_enabled is True
    inside = threading.Event()
    with ThreadPoolExecutor(1) as other:
        assert other.submit(arange_dtype).result() == arange_dtype() == "float64"
        with ox.enable_x64(False):
            assert arange_dtype() == "float32"
            inside.set()
            assert other.submit(arange_dtype).result() == "float64"
        assert arange_dtype() == "float64"
        ox.config.update("jax_enable_x64", False)
        assert other.submit(arange_dtype).result() == arange_dtype() == "float32"


@BOTH
def test_a_function_is_traced_again_where_an_option_matters_to_it(ox):
    traced = []

    @ox.jit
    def f(x):
        traced.append(x.dtype)
        return x @ x.T + ox.numpy.ones(2, "float32")

    for name, value in {
        "jax_numpy_rank_promotion": "warn",
        "jax_default_matmul_precision": "float32",
        "jax_numpy_dtype_promotion": "strict",
        "jax_enable_x64": True,
    }.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            f(X), f(X)
            count = len(traced)
            ox.config.update(name, value)
            f(X), f(X)
        assert len(traced) == count + 1, name


@BOTH
def test_an_option_is_set_by_keywords(ox):
    ox.config.update(name="jax_debug_nans", val=False)
    with pytest.raises(TypeError):
        ox.config.update("jax_debug_nans", value=False)


@BOTH
def test_promotion_of_dtypes(ox):
    mixed = np.arange(3, dtype=np.int8), np.arange(3, dtype=np.float32)
    ox.config.update("jax_numpy_dtype_promotion", "strict")
    with pytest.raises(Exception, match="strict"):
        ox.numpy.add(*mixed)
    with ox.numpy_dtype_promotion("standard"):
        assert ox.numpy.add(*mixed).dtype == np.float32


@BOTH
def test_promotion_of_ranks(ox):
    row = np.ones(3, np.float32)
    ox.config.update("jax_numpy_rank_promotion", "raise")
    for call in (lambda: ox.numpy.add(X, row), lambda: ox.jit(ox.numpy.add)(X, row)):
        with pytest.raises(ValueError, match="rank"):
            call()
    np.testing.assert_array_equal(ox.numpy.add(X, 1.0), X + 1)
    np.testing.assert_array_equal(ox.numpy.add(X, X[:1]), X + X)
    with ox.numpy_rank_promotion("warn"), pytest.warns(UserWarning, match="rank"):
        np.testing.assert_array_equal(ox.numpy.multiply(X, row), X)
    with ox.numpy_rank_promotion("allow"):
        np.testing.assert_array_equal(ox.numpy.subtract(X, row), X - row)


@BOTH
def test_rank_promotion_inside_a_library_function_is_not_checked(ox):
    row = X[0]
    with ox.numpy_rank_promotion("raise"):
        np.testing.assert_array_equal(ox.numpy.linspace(row, 2.0, 3)[1], 1.5 * row)
        np.testing.assert_array_equal(
            ox.numpy.tril(np.ones((2, 3, 3))), np.tril(np.ones((2, 3, 3)))
        )
        assert ox.numpy.var(X, axis=0).shape == ox.nn.logsumexp(X, axis=0).shape == (3,)


@BOTH
def test_no_staging(ox):
    seen = []

    @ox.jit
    def f(x):
        seen.append(float(x))
        return x * 2

    ox.config.update("jax_disable_jit", True)
    assert [float(f(1.0)), float(f(2.0))] == [2.0, 4.0]
    assert seen == [1.0, 2.0]
    with ox.disable_jit(False), pytest.raises(TypeError):
        f(3.0)


#: the error that a program compiled ahead of time by JAX raises
_ORACLES = (getattr(jax._src.api_util, "InternalFloatingPointError", FloatingPointError),)


@BOTH
@pytest.mark.parametrize("option", ["nans", "infs"])
def test_values_that_are_looked_for_are_found(ox, option):
    wrong = {"nans": lambda x: ox.numpy.log(-x), "infs": lambda x: ox.numpy.divide(1.0, x - x)}[
        option
    ]

    def f(x):
        return x + wrong(x)

    calls = {
        "at once": lambda: f(np.float32(2)),
        "jit": lambda: ox.jit(f)(np.float32(2)),
        "grad": lambda: ox.grad(f)(np.float32(2)),
        "compiled": lambda: ox.jit(f).lower(np.float32(2)).compile()(np.float32(2)),
    }
    ox.config.update(f"jax_debug_{option}", True)
    for call in calls.values():
        with pytest.raises((FloatingPointError, *_ORACLES)):
            call()
    with getattr(ox, f"debug_{option}")(False):
        for call in calls.values():
            call()


@pytest.mark.parametrize("how", ["at once", "jit"])
def test_the_error_of_a_nan_names_its_line(how):
    def f(x):
        y = jnp.log(x)  # the line
        return y + 1

    with olympus.debug_nans(), pytest.raises(NaNError) as caught:
        (olympus.jit(f) if how == "jit" else f)(np.float32(-1))
    assert "y = jnp.log(x)  # the line" in str(caught.value)
    assert caught.value.location.startswith(__file__)


def test_a_compiled_program_reports_its_nan():
    compiled = olympus.jit(jnp.log).lower(np.float32(-1)).compile()
    assert np.isnan(compiled(np.float32(-1)))
    with (
        olympus.debug_nans(new_val=True),
        pytest.raises(NaNError, match="'log' gave a NaN") as caught,
    ):
        compiled(np.float32(-1))
    assert "call the function itself" in caught.value.hint


def test_the_precision_of_products():
    olympus.config.update("jax_default_matmul_precision", "float32")
    text = olympus.jit(lambda x: x @ x.T).lower(X).as_text()
    assert "precision = [HIGHEST, HIGHEST]" in text
    with olympus.default_matmul_precision("bfloat16"):
        assert "[HIGHEST" not in olympus.jit(lambda x: x @ x.T).lower(X).as_text()


def test_checks_look_at_each_program(monkeypatch):
    checked = []
    monkeypatch.setattr("olympus_core.transforms.staging.check", checked.append)
    olympus.jit(lambda x: x + 1).trace(1.0)
    assert not checked
    with olympus.enable_checks():
        traced = olympus.jit(lambda x: x + 1).trace(1.0)
    assert str(traced.olympuspr) in map(str, checked)


@pytest.mark.parametrize("prefix", ["jax_", "olympus_", ""])
def test_names_may_begin_with_either_librarys(prefix):
    olympus.config.update(f"{prefix}debug_nans", True)
    assert getattr(olympus.config, f"{prefix}debug_nans") is True
    assert olympus.config.read(f"{prefix}debug_nans") is True
    olympus.config.jax_debug_nans = False
    assert olympus.config.values["jax_debug_nans"] is False


@BOTH
def test_an_option_that_neither_has(ox):
    for call in (
        lambda: ox.config.update("jax_enable_x46", True),
        lambda: ox.config.jax_enable_x46,
    ):
        with pytest.raises(AttributeError) as caught:
            call()
    assert not hasattr(ox.config, "jax_enable_x46")
    if ox is olympus:
        assert isinstance(caught.value, ConfigError)
        assert caught.value.hint.startswith("did you mean 'jax_enable_x64'")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("jax_numpy_dtype_promotion", "loose"),
        ("jax_numpy_rank_promotion", True),
        ("jax_enable_x64", "yes"),
        ("jax_default_matmul_precision", "float31"),
    ],
)
def test_a_value_that_an_option_cannot_have(name, value):
    before = olympus.config.read(name)
    with pytest.raises(olympus.errors.TraceError, match=str(value)):
        olympus.config.update(name, value)
    with pytest.raises(olympus.errors.TraceError, match=str(value)):
        getattr(olympus, name.removeprefix("jax_"))(value)
    assert olympus.config.read(name) == before


def test_options_are_flags_of_the_command_line(monkeypatch):
    arguments = ["--jax_enable_x64=true", "--jax_debug_nans", "--other=1", "--", "--jax_x=1"]
    monkeypatch.setattr("sys.argv", ["script.py", *arguments])
    olympus.config.parse_flags_with_absl()
    assert olympus.config.jax_enable_x64
    assert olympus.config.jax_debug_nans
    monkeypatch.setattr("sys.argv", ["script.py", "--jax_enable_x64=maybe"])
    with pytest.raises(ConfigError, match="true or false, not 'maybe'"):
        olympus.config.parse_flags_with_absl()


class Flags(dict[str, types.SimpleNamespace]):
    """The registered flags, as absl has them."""

    def define(self, name, value, text):
        self[name] = types.SimpleNamespace(present=False, value=value)


def test_options_are_flags_of_absl(monkeypatch):
    known, after = Flags(), []
    flags = types.SimpleNamespace(FLAGS=known, DEFINE_bool=known.define, DEFINE_string=known.define)
    monkeypatch.setitem(sys.modules, "absl.flags", flags)
    monkeypatch.setitem(
        sys.modules, "absl.app", types.SimpleNamespace(call_after_init=after.append)
    )
    olympus.config.config_with_absl()
    olympus.config.config_with_absl()  # the flags are there already
    known["jax_debug_nans"] = types.SimpleNamespace(present=True, value=True)
    assert not olympus.config.jax_debug_nans
    for call in after:
        call()
    assert olympus.config.jax_debug_nans


def test_an_option_without_a_meaning_is_accepted_with_one_warning():
    config = Config()
    with pytest.warns(
        OlympusWarning, match=r"config.update\('jax_platforms', 'tpu'\) has no effec"
    ):
        config.update("jax_platforms", "tpu")
    config.update("jax_platforms", "cuda")  # a warning would be an error here
    assert config.jax_platforms == "cuda"
    Config().update("jax_platforms", "cpu")  # it is what OLYMPUS does anyway


def test_every_option_of_the_oracle_is_accepted():
    config = Config()
    for name in jax.config.values:
        if name.startswith("jax_"):
            config.read(name)


def test_the_experimental_names_of_x64():
    with olympus.experimental.enable_x64():
        assert jnp.arange(2.0).dtype == np.float64
        with olympus.experimental.disable_x64():
            assert jnp.arange(2.0).dtype == np.float32
