"""Calls of the public functions for several devices, with random wrong arguments.

`python -m tests.devices.wrong_calls SEED COUNT` makes COUNT calls; the tests make a few.
"""

from __future__ import annotations

import random
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import olympus
import olympus.numpy as jnp
from olympus import debug, lax
from olympus.errors import OlympusError
from olympus.sharding import (
    AbstractMesh,
    Mesh,
    NamedSharding,
    PartitionSpec,
    SingleDeviceSharding,
)

__all__ = ["Call", "calls", "outcome"]

P = PartitionSpec
X = np.arange(16, dtype=np.float32)


class Call:
    """A function, valid arguments, and the name of the call in messages."""

    def __init__(self, name: str, run: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        self.name, self.run, self.args, self.kwargs = name, run, args, kwargs

    def spoiled(self, draw: random.Random, values: list[Any]) -> Call:
        """Return the call with one or two of its arguments replaced."""
        args, kwargs = list(self.args), dict(self.kwargs)
        for _ in range(draw.choice((1, 1, 2))):
            places: list[Any] = [*range(len(args)), *kwargs]
            place = draw.choice(places)
            value = draw.choice(values)
            if isinstance(place, int):
                args[place] = value
            else:
                kwargs[place] = value
        return Call(self.name, self.run, *args, **kwargs)

    def __repr__(self) -> str:
        named = [f"{k}={v!r:.60}" for k, v in self.kwargs.items()]
        text = f"{self.name}({', '.join([f'{x!r:.60}' for x in self.args] + named)})"
        return " ".join(text.split())


def _values() -> list[Any]:
    """Return values that are wrong for all functions or for some."""
    devices = olympus.devices()
    mesh = olympus.make_mesh((2, 4), ("x", "y"), olympus.sharding.AxisType.Auto)
    is_reversed = Mesh(np.array(devices[::-1]).reshape(2, 4), ("x", "y"))
    deleted = olympus.device_put(X, NamedSharding(mesh, P("x")))
    deleted.delete()
    return [
        *(None, True, -1, 0, 1, 2, 7, 2**70, 2.5, float("nan"), 1j, "", "x", "q", b"x"),
        *([], (), {}, set(), [1, [2]], ["x", ["y"]], ("x", "x"), ("x", None), {"x": 1}),
        *([[0, 1], [1, 0]], [(0, 1)], [("x", 1)], range(2), frozenset({"y"}), {"q"}),
        *(object(), type, len, lambda *_: None, iter(()), np.array(3), np.arange(3.0)),
        *(np.array(["a"]), np.zeros((0, 4)), np.float32(1), jnp.ones(16), deleted, (8,), (2, 4)),
        *(
            devices[0],
            devices[5],
            devices,
            [devices[0]] * 8,
            P(),
            P("x"),
            P("q"),
            P("x", "y"),
            P(None, "x"),
        ),
        *(P(P.UNCONSTRAINED), mesh, is_reversed, AbstractMesh((2, 4), ("x", "y")), P(("y", "x"))),
        *(Mesh(devices[:2], ("x",)), NamedSharding(mesh, P("y")), SingleDeviceSharding(devices[3])),
        *(NamedSharding(is_reversed, P("x")), NamedSharding(AbstractMesh((4,), ("x",)), P("x"))),
        *(olympus.ShapeDtypeStruct((16,), "float32"), olympus.device_put(X, devices[2])),
        olympus.device_put(X, NamedSharding(is_reversed, P("x"))),
    ]


def _sharding_calls(mesh: Any) -> Iterator[Call]:
    devices = olympus.devices()
    rows = NamedSharding(mesh, P("x"))
    yield Call("P", P, "x", None, ("y",))
    yield Call("Mesh", Mesh, np.array(devices).reshape(2, 4), ("x", "y"))
    yield Call("make_mesh", olympus.make_mesh, (2, 4), ("x", "y"), devices=devices)
    yield Call("AbstractMesh", AbstractMesh, (2, 4), ("x", "y"))
    yield Call("NamedSharding", NamedSharding, mesh, P("x"))
    yield Call("SingleDeviceSharding", SingleDeviceSharding, devices[1])
    yield Call("shard_shape", rows.shard_shape, (16, 3))
    yield Call("devices_indices_map", rows.devices_indices_map, (16, 3))
    yield Call("is_equivalent_to", rows.is_equivalent_to, rows, 1)
    yield Call("ShapeDtypeStruct", olympus.ShapeDtypeStruct, (16,), "float32", sharding=rows)
    yield Call("set_mesh", _in_mesh, mesh, P("x"))
    yield Call("visualize_sharding", debug.visualize_sharding, (16,), rows)


def _in_mesh(mesh: Any, spec: Any) -> Any:
    with olympus.set_mesh(mesh):
        return olympus.device_put(X, spec)


def _array_calls(mesh: Any) -> Iterator[Call]:
    rows = NamedSharding(mesh, P("x"))
    parts = [s.data for s in olympus.device_put(X, rows).addressable_shards]
    yield Call("device_put", olympus.device_put, X, rows)
    yield Call("device_put of a dict", olympus.device_put, {"a": X}, {"a": rows})
    yield Call(
        "make_array_from_callback",
        olympus.make_array_from_callback,
        (16,),
        rows,
        lambda i: X[i[:1]],
        dtype="float32",
    )
    for value in (X[:8], 3, None, [[1], [2, 3]], "text"):
        yield Call(
            "make_array_from_callback of a value",
            lambda shape, s, v: olympus.make_array_from_callback(shape, s, lambda _: v),
            *((16,), rows, value),
        )
    make = olympus.make_array_from_single_device_arrays
    yield Call("make_array_from_single_device_arrays", make, (16,), rows, parts, dtype="float32")


def _program_calls(mesh: Any) -> Iterator[Call]:
    rows = NamedSharding(mesh, P("x"))
    put = olympus.device_put(X, rows)
    compiled = olympus.jit(lambda a, b: jnp.add(a, b["b"])).lower(put, {"b": put}).compile()
    yield Call("a compiled program", compiled, put, {"b": put})
    donating = olympus.jit(jnp.add, donate_argnums=0)
    yield Call("a donating jit", lambda a, b: donating(jnp.positive(a), b), jnp.ones(16), put)
    yield Call("add", jnp.add, put, put)
    yield Call(
        "jit",
        lambda x, ins, outs: olympus.jit(jnp.tanh, in_shardings=ins, out_shardings=outs)(x),
        *(X, rows, rows),
    )
    yield Call("with_sharding_constraint", lax.with_sharding_constraint, X, rows)
    yield Call(
        "with_sharding_constraint in jit",
        lambda x, s: olympus.jit(lambda a: lax.with_sharding_constraint(a, s))(x),
        *(X, rows),
    )
    yield Call("pmap", _pmapped, X.reshape(8, 2), axis_name="i", in_axes=0, out_axes=0)
    yield Call("pmap on", _pmapped, X.reshape(8, 2), devices=None, backend=None, axis_size=8)
    yield Call("pmap of", _pmapped, X, static_broadcasted_argnums=(), donate_argnums=())


def _pmapped(x: Any, **options: Any) -> Any:
    return olympus.pmap(jnp.negative, **options)(x)


def _shard_map_calls(mesh: Any) -> Iterator[Call]:
    yield Call(
        "shard_map",
        lambda x, **options: olympus.shard_map(jnp.negative, **options)(x),
        X,
        mesh=mesh,
        in_specs=P("x"),
        out_specs=P("x"),
        axis_names={"x"},
        check_vma=True,
    )
    yield Call(
        "shard_map of two",
        lambda x, y, ins, outs: olympus.shard_map(
            lambda a, b: (a, {"b": b}), mesh=mesh, in_specs=ins, out_specs=outs
        )(x, {"b": y}),
        *(X, X, (P("x"), {"b": P("y")}), (P("x"), {"b": P("y")})),
    )

    def inside(collective: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **options: Any) -> Any:
            def body(x: Any) -> Any:
                return jnp.sum(collective(x, *args, **options))

            f = olympus.shard_map(body, mesh=mesh, in_specs=P("x"), out_specs=P(), check_vma=False)
            return olympus.jit(f).lower(X)

        return run

    yield Call("psum", inside(lax.psum), "x", axis_index_groups=None)
    yield Call("pmean", inside(lax.pmean), ("x", "y"))
    yield Call("pmax", inside(lax.pmax), "x")
    yield Call("all_gather", inside(lax.all_gather), "x", axis=0, tiled=True)
    yield Call("psum_scatter", inside(lax.psum_scatter), "y", scatter_dimension=0, tiled=True)
    yield Call("ppermute", inside(lax.ppermute), "x", [(0, 1), (1, 0)])
    yield Call("pshuffle", inside(lax.pshuffle), "x", [1, 0])
    yield Call("all_to_all", inside(lax.all_to_all), "y", 0, 0, tiled=True)
    yield Call("pcast", inside(lax.pcast), "x", to="varying")
    yield Call("axis_index", inside(lambda _, name: lax.axis_index(name)), "x")
    yield Call("axis_size", inside(lambda _, name: lax.axis_size(name)), "x")
    yield Call("psum of a value", inside(lambda _, v, name: lax.psum(v, name)), X, "x")


def calls(draw: random.Random, count: int) -> Iterator[Call]:
    """Yield calls with a wrong argument, the same number for each function."""
    mesh = olympus.make_mesh((2, 4), ("x", "y"), olympus.sharding.AxisType.Auto)
    families = (_sharding_calls, _array_calls, _program_calls, _shard_map_calls)
    valid_calls = [call for family in families for call in family(mesh)]
    values = _values()
    for i in range(count):
        yield valid_calls[i % len(valid_calls)].spoiled(draw, values)


def outcome(call: Call) -> str | None:
    """Return the text of an unexpected error of a call, or None."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call.run(*call.args, **call.kwargs)
    except OlympusError as e:
        if e.exit_code == 70:
            return f"{call}: {type(e).__name__}: {e}"
    except Exception as e:
        return f"{call}: {type(e).__name__}: {e}"
    return None


if __name__ == "__main__":
    draw = random.Random(int(sys.argv[1]))
    for call in calls(draw, int(sys.argv[2])):
        sys.stderr.write(f"{call!r:.300}\n")
        sys.stderr.flush()
        wrong = outcome(call)
        if wrong:
            sys.stdout.write(f"{wrong[:400]}\n")
            sys.stdout.flush()
