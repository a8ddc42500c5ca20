"""Programs that cast values in a `shard_map` along axes, or type collectives: rows as of ROWS."""

from __future__ import annotations

from typing import Any

from tests.devices.explicit_programs import Row

__all__ = ["CAST_ROWS"]

CAST_ROWS: list[Row] = []


def row(name: str, body: Any, *operands: Any, out: Any = None, **options: Any) -> None:
    """Add the program that maps `body(p, *parts)`; `out(p)` is the spec of the result."""

    def program(p: Any, *arrays: Any) -> Any:
        specs = p.P("x", "y") if out is None else out(p)
        mapped = p.m.shard_map(lambda *parts: body(p, *parts), out_specs=specs, **options)
        return mapped(*arrays)

    CAST_ROWS.append(Row(f"cast: {name}", program, operands))


def unreduced(p: Any) -> Any:
    return p.P("x", unreduced={"y"})


def reduced(p: Any) -> Any:
    return p.P("x", reduced={"y"})


def rows(p: Any) -> Any:
    return p.P("x")


def cast(p: Any, v: Any, to: str, axes: Any = "y") -> Any:
    return p.lax.pcast(v, axes, to=to)


def gathered(p: Any, v: Any, to: str = "reduced") -> Any:
    return p.lax.all_gather(v, "y", axis=1, tiled=True, to=to)


def scattered(p: Any, v: Any) -> Any:
    return p.lax.psum_scatter(v, "y", scatter_dimension=1, tiled=True)


A, X = ((8, 16), ("x", "y")), ((8, 16), ("x", None))

row("varying to unreduced", lambda p, v: cast(p, v, "unreduced"), A, out=unreduced)
row("same to reduced", lambda p, v: cast(p, v, "reduced"), X, out=reduced)
row("reduced to varying", lambda p, v: cast(p, cast(p, v, "reduced"), "varying"), X)
row("same to unreduced", lambda p, v: cast(p, v, "unreduced"), X, out=unreduced)
row("varying to reduced", lambda p, v: cast(p, v, "reduced"), A, out=reduced)
row("unreduced twice", lambda p, v: cast(p, cast(p, v, "unreduced"), "unreduced"), A, out=rows)
row("unreduced to varying", lambda p, v: cast(p, cast(p, v, "unreduced"), "varying"), A)
row("reduced to unreduced", lambda p, v: cast(p, cast(p, v, "reduced"), "unreduced"), X)
row("to another", lambda p, v: cast(p, v, "whole"), A)
row("two states", lambda p, v: cast(p, v, "varying", ("x", "y")), X)
row("psum", lambda p, v: p.lax.psum(cast(p, v, "unreduced"), "y"), A, out=rows)
row("psum of two states", lambda p, v: p.lax.psum(cast(p, v, "unreduced"), ("x", "y")), A, out=rows)
row("psum of reduced", lambda p, v: p.lax.psum(cast(p, v, "reduced"), "y"), X, out=rows)
row("pmean", lambda p, v: p.lax.pmean(cast(p, v, "unreduced"), "y"), A, out=rows)
row("pmax", lambda p, v: p.lax.pmax(cast(p, v, "unreduced"), "y"), A, out=rows)
row("ppermute", lambda p, v: p.lax.ppermute(cast(p, v, "unreduced"), "y", [(0, 1)]), A)
row("psum_scatter", lambda p, v: scattered(p, cast(p, v, "unreduced")), A)
row("all_gather reduced", gathered, A, out=reduced)
row("all_gather varying", lambda p, v: gathered(p, v, "varying"), A)
row("all_gather invarying", lambda p, v: gathered(p, v, "invarying"), A, out=rows)
row("all_gather of same", gathered, X, out=reduced)
row("all_gather to another", lambda p, v: gathered(p, v, "whole"), A)
row(
    "add unreduced",
    lambda p, v: cast(p, v, "unreduced") + cast(p, v, "unreduced"),
    A,
    out=unreduced,
)
row("scale unreduced", lambda p, v: cast(p, v, "unreduced") * 2, A, out=unreduced)
row("sin of unreduced", lambda p, v: p.np.sin(cast(p, v, "unreduced")), A, out=unreduced)
row("sin of reduced", lambda p, v: p.np.sin(cast(p, v, "reduced")), X, out=reduced)
row("reduced times varying", lambda p, v, w: cast(p, v, "reduced") * w, X, ((8, 64), ("x", "y")))
row("reduced in a product", lambda p, v, w: cast(p, v, "reduced") @ w, X, ((16, 64), (None, "y")))
row("result becomes unreduced", lambda p, v: v, A, out=unreduced)
row("result cannot become unreduced", lambda p, v: v, X, out=unreduced)
row("result cannot become reduced", lambda p, v: v, X, out=reduced)
row("unreduced without its axis", lambda p, v: cast(p, v, "unreduced"), A, out=rows)
row("reduced without its axis", lambda p, v: cast(p, v, "reduced"), X, out=rows)


def grad(name: str, function: Any, *operands: Any) -> None:
    def program(p: Any, *arrays: Any) -> Any:
        return p.m.grad(lambda *xs: function(p, *xs), tuple(range(len(arrays))))(*arrays)

    CAST_ROWS.append(Row(f"cast: {name}", program, operands))


def of_reduced(p: Any, w: Any, x: Any) -> Any:
    def body(w: Any, x: Any) -> Any:
        return cast(p, cast(p, w, "reduced"), "varying") * x

    return p.m.shard_map(body, out_specs=p.P("x", "y"))(w, x).sum()


def of_gathered(p: Any, w: Any, x: Any) -> Any:
    """The loss of a product with weights that each device gathers."""

    def body(w: Any, x: Any) -> Any:
        return x @ cast(p, p.lax.all_gather(w, "y", tiled=True, to="reduced"), "varying")

    return (p.m.shard_map(body, out_specs=p.P(("x", "y")))(w, x) ** 2).sum()


def of_invarying(p: Any, x: Any) -> Any:
    mapped = p.m.shard_map(lambda v: gathered(p, v, "invarying"), out_specs=p.P("x"))
    return (mapped(x) * p.np.arange(16.0)).sum()


def of_terms(p: Any, x: Any) -> Any:
    def body(v: Any) -> Any:
        return p.lax.psum(cast(p, p.np.sin(v), "unreduced"), "y")

    return (p.m.shard_map(body, out_specs=p.P("x"))(x) ** 2).sum()


def of_scattered(p: Any, x: Any) -> Any:
    def body(v: Any) -> Any:
        return scattered(p, cast(p, p.np.sin(v), "unreduced"))

    return (p.m.shard_map(body, out_specs=p.P("x", "y"))(x) ** 2).sum()


grad("grad of reduced", of_reduced, X, ((8, 64), ("x", "y")))
grad("grad of gathered", of_gathered, ((8, 4), ("y", None)), ((16, 8), (("x", "y"), None)))
grad("grad of invarying", of_invarying, A)
grad("grad of terms", of_terms, A)
grad("grad of scattered", of_scattered, A)
