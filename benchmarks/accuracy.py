"""`python -m benchmarks.accuracy`: the errors of the special functions, in units in the last place.

The reference is mpmath with 60 digits. The arguments are numbers of float32, drawn with a seed, so
that both dtypes have the same exact arguments. An error of 1 ulp is the distance from the exact
value to the next number of the dtype, and the best result has at most 0.5. It prints Markdown: the
largest error of each function in each range, for OLYMPUS, JAX and SciPy.
"""

from __future__ import annotations

import argparse
import math
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.scipy.special
import mpmath
import numpy as np
import numpy.typing as npt
import scipy.special
from mpmath import mp

import olympus
import olympus.scipy.special

Numbers = npt.NDArray[Any]
Draw = Callable[[np.random.Generator, int], Numbers]

POINTS, SHORT_POINTS = 400, 25
_DIGITS = 60
_SEED = 20


def between(low: float, high: float) -> Draw:
    """Draw uniformly from an interval."""
    return lambda random, n: random.uniform(low, high, n)


def sizes(low: float, high: float, *, signed: bool = False) -> Draw:
    """Draw magnitudes whose logarithm is uniform, with both signs if they are `signed`."""

    def draw(random: np.random.Generator, n: int) -> Numbers:
        magnitudes = np.exp(random.uniform(math.log(low), math.log(high), n))
        return magnitudes * random.choice([-1, 1], n) if signed else magnitudes

    return draw


def whole(low: int, high: int) -> Draw:
    """Draw whole numbers, the last one included."""
    return lambda random, n: random.integers(low, high, n, endpoint=True)


class Row(NamedTuple):
    """A function of `scipy.special`, a range of each argument, and the exact function.

    `part` selects one of several results. `call` calls the function of a module in another way.
    """

    name: str
    ranges: str
    draws: tuple[Draw, ...]
    exact: Callable[..., Any]
    part: int | None = None
    call: Callable[..., Any] | None = None

    @property
    def title(self) -> str:
        """The name, with the number of the result."""
        return self.name if self.part is None else f"{self.name}[{self.part}]"


def _erfcx(x: Any) -> Any:
    return mpmath.exp(x * x) * mpmath.erfc(x)


def _ndtr(x: Any) -> Any:
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def _log1p(x: Any) -> Any:
    return mpmath.log1p(x)


def _boxcox(x: Any, power: Any) -> Any:
    return mpmath.expm1(power * mpmath.log(x)) / power if power else mpmath.log(x)


def _boxcox1p(x: Any, power: Any) -> Any:
    return mpmath.expm1(power * _log1p(x)) / power if power else _log1p(x)


def _gammainc(a: Any, x: Any) -> Any:
    return mpmath.gammainc(a, 0, x, regularized=True)


def _gammaincc(a: Any, x: Any) -> Any:
    return mpmath.gammainc(a, x, mpmath.inf, regularized=True)


def _betainc(a: Any, b: Any, x: Any) -> Any:
    return mpmath.betainc(a, b, 0, x, regularized=True)


def _multigammaln(a: Any) -> Any:
    return 3 / mpmath.mpf(2) * mpmath.log(mpmath.pi) + sum(
        mpmath.loggamma(a - mpmath.mpf(j) / 2) for j in range(3)
    )


def _owens_t(h: Any, a: Any) -> Any:
    h = abs(h)
    value = mpmath.quad(
        lambda t: mpmath.exp(-h * h * (1 + t * t) / 2) / (1 + t * t), [0, abs(a)]
    ) / (2 * mpmath.pi)
    return mpmath.sign(a) * value


def _sph_harm(n: Any, m: Any, theta: Any, phi: Any) -> Any:
    return mpmath.spherharm(int(n), int(m), theta, phi)


def _erfcinv(y: Any) -> Any:
    if y > mpmath.mpf("0.5"):
        return mpmath.erfinv(1 - y)
    guess = mpmath.sqrt(-mpmath.log(y * mpmath.sqrt(mpmath.pi)))
    return mpmath.findroot(lambda x: mpmath.log(mpmath.erfc(x)) - mpmath.log(y), guess)


def _ndtri(p: Any) -> Any:
    return -mpmath.sqrt(2) * _erfcinv(2 * p)


def _bessel(module: Any, z: Any, order: Any) -> Any:
    """The values of the order 2: SciPy has another function for it."""
    if module is scipy.special:
        return scipy.special.jv(order, z)
    return module.bessel_jn(z, v=2)[2]


def _bernoulli(module: Any, n: Any) -> Any:
    values = module.bernoulli(30)
    return values[n.astype(int)]


def _spherical(module: Any, n: Any, m: Any, theta: Any, phi: Any) -> Any:
    orders = n.astype(np.int32), m.astype(np.int32)
    if module is scipy.special:
        return module.sph_harm_y(*orders, theta, phi)
    return module.sph_harm_y(*orders, theta, phi, n_max=6)


def _multi(module: Any, a: Any) -> Any:
    if module is scipy.special:
        return np.asarray([module.multigammaln(x, 3) for x in a])
    return module.multigammaln(a, 3)


def _polygamma(module: Any, n: Any, x: Any) -> Any:
    return module.polygamma(n.astype(np.int32), x)


def _expn(module: Any, n: Any, x: Any) -> Any:
    return module.expn(n.astype(np.int32), x)


POSITIVE = sizes(1e-3, 30.0)
ROWS = (
    Row("bernoulli", "n = 2, 4, ..., 30", (whole(2, 30),), lambda n: mpmath.bernoulli(int(n)),
        call=_bernoulli),
    Row("bessel_jn", "order 2, 0.5 to 30", (between(0.5, 30.0), whole(2, 2)),
        lambda z, v: mpmath.besselj(v, z), call=_bessel),
    Row("beta", "0.001 to 30", (POSITIVE, POSITIVE), mpmath.beta),
    Row("betaln", "0.001 to 30", (POSITIVE, POSITIVE), lambda a, b: mpmath.log(mpmath.beta(a, b))),
    Row("betainc", "0.1 to 30; x 0 to 1", (sizes(0.1, 30), sizes(0.1, 30), between(0.01, 0.99)),
        _betainc),
    Row("boxcox", "0.01 to 100; -2 to 2", (sizes(0.01, 100), between(-2, 2)), _boxcox),
    Row("boxcox1p", "0.001 to 100; -2 to 2", (sizes(1e-3, 100), between(-2, 2)), _boxcox1p),
    Row("comb", "0 to 30, k to n", (whole(15, 30), whole(0, 15)), mpmath.binomial),
    Row("dawsn", "-30 to 30", (sizes(1e-3, 30, signed=True),),
        lambda x: mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(-x * x) * mpmath.erfi(x)),
    Row("digamma", "0.001 to 1000", (sizes(1e-3, 1e3),), mpmath.digamma),
    Row("digamma", "-20 to 0", (between(-20, 0),), mpmath.digamma),
    Row("entr", "0.001 to 100", (sizes(1e-3, 100),), lambda x: -x * mpmath.log(x)),
    Row("erf", "-6 to 6", (sizes(1e-4, 6, signed=True),), mpmath.erf),
    Row("erfc", "-6 to 9", (between(-6, 9),), mpmath.erfc),
    Row("erfcinv", "0.000001 to 2", (sizes(1e-6, 1.99),), _erfcinv),
    Row("erfcx", "-4 to 4", (between(-4, 4),), _erfcx),
    Row("erfcx", "4 to 1000", (sizes(4, 1000),), _erfcx),
    Row("erfinv", "-1 to 1", (between(-0.999, 0.999),), mpmath.erfinv),
    Row("exp1", "0.001 to 80", (sizes(1e-3, 80),), mpmath.e1),
    Row("expi", "-80 to 80", (sizes(1e-3, 80, signed=True),), mpmath.ei),
    Row("expit", "-30 to 30", (between(-30, 30),), lambda x: 1 / (1 + mpmath.exp(-x))),
    Row("expn", "n 0 to 10; 0.01 to 80", (whole(0, 10), sizes(0.01, 80)),
        lambda n, x: mpmath.expint(n, x), call=_expn),
    Row("factorial", "0 to 30", (whole(0, 30),), mpmath.factorial),
    Row("fresnel", "0.001 to 30", (POSITIVE,), mpmath.fresnels, 0),
    Row("fresnel", "0.001 to 30", (POSITIVE,), mpmath.fresnelc, 1),
    Row("gamma", "0.001 to 30", (POSITIVE,), mpmath.gamma),
    Row("gamma", "-20 to 0", (between(-20, 0),), mpmath.gamma),
    Row("gammainc", "0.1 to 100", (sizes(0.1, 100), sizes(0.1, 100)), _gammainc),
    Row("gammaincc", "0.1 to 100", (sizes(0.1, 100), sizes(0.1, 100)), _gammaincc),
    Row("gammaln", "0.001 to 1000", (sizes(1e-3, 1e3),), mpmath.loggamma),
    Row("gammaln", "-20 to 0", (between(-20, 0),), lambda x: mpmath.log(abs(mpmath.gamma(x)))),
    Row("gammasgn", "-20 to 20", (between(-20, 20),), lambda x: mpmath.sign(mpmath.gamma(x))),
    Row("hyp1f1", "a, b 0.1 to 5; -10 to 10",
        (sizes(0.1, 5), sizes(0.1, 5), between(-10, 10)), mpmath.hyp1f1),
    Row("hyp2f1", "0.1 to 3; -0.9 to 0.9",
        (sizes(0.1, 3), sizes(0.1, 3), sizes(0.1, 3), between(-0.9, 0.9)), mpmath.hyp2f1),
    Row("i0", "-30 to 30", (between(-30, 30),), lambda x: mpmath.besseli(0, x)),
    Row("i0e", "-1000 to 1000", (sizes(0.01, 1000, signed=True),),
        lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(0, x)),
    Row("i1", "-30 to 30", (between(-30, 30),), lambda x: mpmath.besseli(1, x)),
    Row("i1e", "-1000 to 1000", (sizes(0.01, 1000, signed=True),),
        lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(1, x)),
    Row("kl_div", "0.01 to 100", (sizes(0.01, 100), sizes(0.01, 100)),
        lambda x, y: x * mpmath.log(x / y) - x + y),
    Row("log_ndtr", "-100 to 5", (between(-100, 5),), lambda x: mpmath.log(_ndtr(x))),
    Row("loggamma", "0.001 to 1000", (sizes(1e-3, 1e3),), mpmath.loggamma),
    Row("logit", "0 to 1", (between(0.001, 0.999),), lambda p: mpmath.log(p / (1 - p))),
    Row("multigammaln", "1.1 to 100; d = 3", (sizes(1.1, 100),), _multigammaln, call=_multi),
    Row("ndtr", "-10 to 10", (between(-10, 10),), _ndtr),
    Row("ndtri", "0.000001 to 1", (sizes(1e-6, 0.999),), _ndtri),
    Row("owens_t", "h 0.01 to 6; a -10 to 10", (sizes(0.01, 6), sizes(0.01, 10, signed=True)),
        _owens_t),
    Row("poch", "0.1 to 20; 0.1 to 10", (sizes(0.1, 20), sizes(0.1, 10)), mpmath.rf),
    Row("polygamma", "n 1 to 5; 0.1 to 100", (whole(1, 5), sizes(0.1, 100)),
        lambda n, x: mpmath.polygamma(int(n), x), call=_polygamma),
    Row("rel_entr", "0.01 to 100", (sizes(0.01, 100), sizes(0.01, 100)),
        lambda x, y: x * mpmath.log(x / y)),
    Row("sici", "0.001 to 100", (sizes(1e-3, 100),), mpmath.si, 0),
    Row("sici", "0.001 to 100", (sizes(1e-3, 100),), mpmath.ci, 1),
    Row("spence", "0.001 to 100", (sizes(1e-3, 100),), lambda z: mpmath.polylog(2, 1 - z).real),
    Row("sph_harm_y", "n to 6", (whole(6, 6), whole(0, 6), between(0.1, 3), between(0, 6)),
        _sph_harm, call=_spherical),
    Row("wofz", "-10 to 10", (between(-10, 10),),
        lambda x: mpmath.exp(-x * x) * mpmath.erfc(-1j * x)),
    Row("xlog1py", "0.01 to 100; 0.001 to 100", (sizes(0.01, 100), sizes(1e-3, 100)),
        lambda x, y: x * _log1p(y)),
    Row("xlogy", "0.01 to 100", (sizes(0.01, 100), sizes(0.01, 100)),
        lambda x, y: x * mpmath.log(y)),
    Row("zeta", "s 1.1 to 30; q 0.1 to 30", (sizes(1.1, 30), sizes(0.1, 30)), mpmath.zeta),
)  # fmt: skip
#: The functions that are sums over an axis.
REDUCTIONS = ("log_softmax", "logsumexp", "softmax")
SIDES = {"OLYMPUS": olympus.scipy.special, "JAX": jax.scipy.special, "SciPy": scipy.special}


def arguments_of(row: Row) -> list[Numbers]:
    """Return the arguments of a row: numbers of float32, in float64."""
    random = np.random.default_rng(_SEED)
    drawn = [draw(random, POINTS) for draw in row.draws]
    drawn = [values.astype(np.float32).astype(np.float64) for values in drawn]
    if row.name == "bernoulli":
        drawn = [2 * np.ceil(drawn[0] / 2)]
    return drawn


@cache
def exact_values(row: Row, points: int) -> list[Any]:
    """Return the exact results at the first points, as numbers of mpmath."""
    with mpmath.workdps(_DIGITS):
        return [
            row.exact(*map(mp.mpf, values))
            for values in zip(*(x[:points].tolist() for x in arguments_of(row)), strict=True)
        ]


def errors(row: Row, side: str, dtype: str, points: int) -> list[float]:
    """Return the errors of a function at the first points, in ulps; infinity for a wrong NaN.

    The function is called with all points, because XLA may round otherwise in a shorter loop.
    Points whose exact value is outside of the normal numbers of the dtype are left out.
    """
    arguments = [values.astype(dtype) for values in arguments_of(row)]
    module = SIDES[side]
    function = row.call or (lambda module, *values: getattr(module, row.name)(*values))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        with olympus.enable_x64(dtype == "float64"), jax.enable_x64(dtype == "float64"):
            result = function(module, *arguments)
            found = np.asarray(result if row.part is None else result[row.part])
    return list(_distances(found[:points], exact_values(row, points), dtype))


def _distances(found: Numbers, exact: Sequence[Any], dtype: str) -> Iterator[float]:
    limits = np.finfo(dtype)
    with mpmath.workdps(_DIGITS):
        for value, truth in zip(found.tolist(), exact, strict=True):
            size = float(abs(truth))
            if not float(limits.tiny) <= size <= float(limits.max):
                continue
            if not np.isfinite(value):
                yield math.inf
                continue
            unit = float(np.spacing(np.dtype(dtype).type(size)))
            yield float(abs(mpmath.mpmathify(value) - truth)) / unit


def table(points: int, rows: Sequence[Row] = ROWS) -> Iterator[str]:
    """Yield the lines of the table."""
    columns = [("float32", "OLYMPUS"), ("float32", "JAX")]
    columns += [("float64", side) for side in SIDES]
    titles = (f"{dtype}: {side}" for dtype, side in columns)
    yield f"| function | arguments | {' | '.join(titles)} |"
    yield "| --- " * (len(columns) + 2) + "|"
    for row in rows:
        cells = [_cell(row, side, dtype, points) for dtype, side in columns]
        yield f"| `{row.title}` | {row.ranges} | {' | '.join(cells)} |"


def _cell(row: Row, side: str, dtype: str, points: int) -> str:
    if not hasattr(SIDES[side], row.name) and row.call is None:
        return "-"
    most = max(errors(row, side, dtype, points))
    return "NaN" if math.isinf(most) else f"{most:.2g}" if most < 1e4 else f"{most:.0e}"


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; the exit code is 0."""
    parser = argparse.ArgumentParser("python -m benchmarks.accuracy", description=__doc__)
    parser.add_argument("--short", action="store_true", help=f"{SHORT_POINTS} points")
    parser.add_argument("names", nargs="*", help="the functions; by default all")
    options = parser.parse_args(sys.argv[1:] if argv is None else argv)
    points = SHORT_POINTS if options.short else POINTS
    rows = [row for row in ROWS if not options.names or row.name in options.names]
    for line in table(points, rows):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
