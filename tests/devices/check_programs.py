"""Programs with checks on several devices, whose error is that of JAX.

A program is a function of a side, as in `device_programs`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from tests.devices.device_programs import Program, host, mesh, named

CHECKS: list[Program] = []


def row(name: str, run: Callable[[Any], Any]) -> None:
    CHECKS.append(Program(name, run))


def checks(p: Any) -> Any:
    return importlib.import_module(f"{p.m.__name__}.experimental.checkify")


def message(error: Any) -> str | None:
    """Return the lines of an error without the place of the check."""
    text = error.get()
    return None if text is None else "\n".join(x.split(" (`check")[0] for x in text.split("\n"))


def below(p: Any, limit: float) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        largest = p.np.max(x)
        checks(p).check(largest < limit, "got {m}", m=largest)
        return x * 2

    return f


def mapped(p: Any, f: Callable[[Any], Any], **options: Any) -> Any:
    return p.m.shard_map(f, mesh=mesh(p), in_specs=p.P("x"), out_specs=p.P("x"), **options)


def checked(p: Any, f: Callable[..., Any], *args: Any, errors: str = "user_checks") -> Any:
    error, result = checks(p).checkify(f, errors=getattr(checks(p), errors))(*args)
    return message(error), result


def two(p: Any) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        checks(p).check(x[0] > 0, "zero")
        checks(p).check(x[0] < 1, "one or more")
        return x

    return f


def summed(p: Any) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        total = p.m.lax.psum(x.sum(), "i")
        checks(p).check(total < 1, "the sum is {t}", t=total)
        return x / total

    return f


row("fails", lambda p: checked(p, mapped(p, below(p, 5)), host(8)))
row("passes", lambda p: checked(p, mapped(p, below(p, 50)), host(8)))
row("fails everywhere", lambda p: checked(p, mapped(p, below(p, -1)), host(8)))
row("unchecked axes", lambda p: checked(p, mapped(p, below(p, 5), check_vma=False), host(8)))
row("jit inside", lambda p: checked(p, p.m.jit(mapped(p, below(p, 5))), host(8)))
row("two places", lambda p: checked(p, mapped(p, two(p)), host(8)))
row(
    "nans",
    lambda p: checked(p, mapped(p, lambda x: p.np.log(x - 2)), host(8), errors="nan_checks")[0],
)
row("division", lambda p: checked(p, mapped(p, lambda x: x / x), host(8), errors="div_checks")[0])
row("pmap", lambda p: checked(p, p.m.pmap(below(p, 5)), host(8)))
row("inside pmap", lambda p: message(p.m.pmap(checks(p).checkify(below(p, 5)))(host(8))[0]))
row("sums", lambda p: checked(p, p.m.pmap(summed(p), axis_name="i"), host(8)))
row("a sharded array", lambda p: checked(p, below(p, 5), p.m.device_put(host(8), named(p, "x"))))
row(
    "shardings of jit",
    lambda p: checked(
        p, p.m.jit(below(p, 5), in_shardings=named(p, "x"), out_shardings=named(p)), host(8)
    ),
)
row(
    "jit outside",
    lambda p: message(p.m.jit(checks(p).checkify(mapped(p, below(p, 5))))(host(8))[0]),
)
