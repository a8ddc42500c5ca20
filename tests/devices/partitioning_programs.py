"""Programs of functions with `custom_partitioning`, with the results and errors of JAX.

They are as in `device_programs`.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.devices.device_programs import Program, host, mesh, named

__all__ = ["PARTITIONING_PROGRAMS", "doubled"]

PARTITIONING_PROGRAMS: list[Program] = []


def row(name: str, run: Callable[[Any], Any], words: str | None = None) -> None:
    PARTITIONING_PROGRAMS.append(Program(name, run, words))


def partitioning(p: Any) -> Any:
    return importlib.import_module(f"{p.m.__name__}.experimental.custom_partitioning")


def shardings(p: Any, types: Any) -> Any:
    return p.m.tree.map(lambda x: x.sharding, types)


def doubled(
    p: Any, rule: Any = "i j -> i j", seen: list[Any] | None = None, factor: int = 2, **options: Any
) -> Any:
    """Return a function of a matrix that it doubles, and records the calls of the compiler."""

    def partition(mesh: Any, args: Any, result: Any) -> Any:
        ins = shardings(p, args)
        if seen is not None:
            every = [args[0], result]
            seen.append([str(mesh.shape), *[(x.shape, str(x.dtype), x.sharding) for x in every]])
        return mesh, lambda x: factor * x, ins[0], ins

    f = partitioning(p).custom_partitioning(lambda x: 2 * x)
    assert f.def_partition(partition, sharding_rule=rule, **options) is partition
    return f


def by(p: Any, partition: Callable[..., Any]) -> Any:
    """Return the identity on a matrix with a partition function, called in a program."""
    f = partitioning(p).custom_partitioning(lambda x: x)
    f.def_partition(partition, sharding_rule="i j -> i j")
    return p.m.jit(f)(matrix(p))


def matrix(p: Any, *spec: Any) -> Any:
    return p.m.device_put(host(32, 16), named(p, *(spec or ("x", "y"))))


def called(p: Any, rule: Any = "i j -> i j", *spec: Any, **options: Any) -> Any:
    seen: list[Any] = []
    y = p.m.jit(doubled(p, rule, seen, **options))(matrix(p, *spec))
    return [y, y.sharding, *seen]


row("a partitioned function", called)
row("split along one axis", lambda p: called(p, "i j -> i j", None, "y"))
row("no rule", lambda p: called(p, None))
row("factors that are not split", lambda p: called(
    p, "i j -> i j", need_replication_factors=("j",)))  # fmt: skip
row("factors of permutations", lambda p: called(p, "i j -> i j", permutation_factors=("i",)))
row("leading dimensions", lambda p: called(p, "... j -> ... j"))
row("a rule by a function", lambda p: called(p, lambda mesh, ins, outs: (
    f"{' '.join('ab'[: len(ins[0].shape)])} -> a b", {"permutation_factors": ("b",)})))  # fmt: skip
row("a rule as an object", lambda p: called(p, partitioning(p).SdyShardingRule(
    ((partitioning(p).BATCHING, "i"),), ((partitioning(p).BATCHING, "i"),))))  # fmt: skip
row("not on a mesh", lambda p: float(p.m.jit(doubled(p, decode_shardings=False))(matrix(p)).sum()))
row("eager", lambda p: doubled(p)(matrix(p)))
row("on one device", lambda p: p.m.jit(doubled(p))(host(4, 4)))


def in_explicit_types(p: Any) -> Any:
    both = p.mesh(("Explicit", "Explicit"))
    x = p.m.device_put(host(8, 8), p.sharding.NamedSharding(both, p.P("x", "y")))
    return p.m.jit(doubled(p))(x)


row("types with shardings", in_explicit_types)


def in_a_context(p: Any) -> Any:
    with p.m.set_mesh(mesh(p)):
        f = p.m.jit(doubled(p), in_shardings=p.P(None, "x"), out_shardings=p.P("x"))
        return f(host(8, 8))


row("a mesh of the context", in_a_context)


def product(p: Any) -> Any:
    """Return a product whose program of one device sums along an axis, with a static argument."""

    def partition(scale: Any, mesh: Any, args: Any, result: Any) -> Any:
        ins, outs = shardings(p, args), shardings(p, result)

        def part(x: Any, y: Any) -> Any:
            axis = ins[1].spec[0][0]
            begin = p.m.lax.axis_index(axis) * y.shape[0]
            z = scale * (p.m.lax.dynamic_slice_in_dim(x, begin, y.shape[0], axis=1) @ y)
            return p.m.lax.psum(z, axis), p.m.lax.psum(2 * z, axis)

        return mesh, part, outs, ins

    @functools.partial(partitioning(p).custom_partitioning, static_argnums=(2,))
    def f(x: Any, y: Any, scale: int = 3) -> Any:
        return scale * (x @ y), 2 * scale * (x @ y)

    f.def_partition(partition, sharding_rule="i j, j k -> i k, i k")
    return f


def multiplied(p: Any, *more: Any) -> Any:
    x, y = host(8, 16) % 7, host(16, 4) % 5
    f = functools.partial(product(p), *more) if not more else lambda x, y: product(p)(x, y, *more)
    return p.m.jit(f)(p.m.device_put(x, named(p, "x")), p.m.device_put(y, named(p, "y")))


row("collectives", multiplied)
row("static arguments", lambda p: multiplied(p, 5))


def reshaped(p: Any) -> Any:
    def partition(mesh: Any, args: Any, result: Any) -> Any:
        return mesh, lambda x, y: x.reshape(y.shape) + y, result.sharding, shardings(p, args)

    f = partitioning(p).custom_partitioning(lambda x, y: x.reshape(8) + y)
    rule = "(i k) j, (i k j) -> (i k j)"
    f.def_partition(partition, sharding_rule=rule, i=2, k=2, need_replication_factors=("k",))
    vector = p.m.device_put(host(8), named(p, "x"))
    return p.m.jit(f)(p.m.device_put(host(4, 2), named(p, "x")), vector)


row("compound factors", reshaped)
row("in a scan", lambda p: p.m.jit(lambda x: p.m.lax.scan(
    lambda c, _: (doubled(p)(c), None), x, None, length=3)[0])(matrix(p)))  # fmt: skip
row("in a branch", lambda p: p.m.jit(lambda x: p.m.lax.cond(
    x.sum() > 0, doubled(p), lambda x: x, x))(matrix(p)))  # fmt: skip
row("in a shard_map", lambda p: p.m.jit(p.m.shard_map(
    doubled(p), mesh=mesh(p), in_specs=p.P("x"), out_specs=p.P("x")))(host(8, 8)))  # fmt: skip
row("in other jitted functions", lambda p: p.m.jit(lambda x: [
    p.m.jit(doubled(p, factor=n))(x) for n in (3, 5)])(matrix(p)))  # fmt: skip


def derived(p: Any) -> Any:
    f = p.m.custom_vjp(doubled(p))
    f.defvjp(lambda x: (doubled(p)(x), None), lambda _, c: (doubled(p)(c),))
    return p.m.jit(p.m.grad(lambda x: (x * f(x)).sum()))(matrix(p))


row("a derivative around it", derived)


def nested_jit(p: Any) -> Any:
    def partition(mesh: Any, args: Any, result: Any) -> Any:
        return mesh, lambda x: p.m.jit(lambda y: 2 * y)(x), args[0].sharding, shardings(p, args)

    return by(p, partition)


row("a jitted function of one device", nested_jit)


def in_reversed_order(p: Any) -> Any:
    def partition(mesh: Any, args: Any, result: Any) -> Any:
        ins = shardings(p, args)
        return mesh, lambda x: x + p.m.lax.axis_index("x"), ins[0], ins

    devices = np.array(p.m.devices()[::-1]).reshape(2, 4)
    x = p.m.device_put(
        host(4, 4), p.sharding.NamedSharding(p.sharding.Mesh(devices, ("x", "y")), p.P("x", "y"))
    )
    f = partitioning(p).custom_partitioning(lambda x: x)
    f.def_partition(partition, sharding_rule="i j -> i j")
    return np.asarray(p.m.jit(f)(x))


row("devices in another order", in_reversed_order)


def misfit(p: Any) -> Any:
    def partition(mesh: Any, args: Any, result: Any) -> Any:
        whole = p.sharding.NamedSharding(mesh, p.P(None))
        return mesh, lambda x: x, whole, shardings(p, args)

    return by(p, partition)


def raising(p: Any) -> Any:
    def partition(mesh: Any, args: Any, result: Any) -> Any:
        raise KeyError("my own error")

    return by(p, partition)


row("a result of another shape", misfit, "Mismatch in result shapes")
row("an error of the author", raising, "KeyError: .my own error")
row("no sharding of a result", lambda p: by(
    p, lambda mesh, args, _: (mesh, lambda x: x, p.P(), (p.P(),))),
    "Custom Partitioning rules must return Sharding")  # fmt: skip
row("functions for another partitioner", lambda p: doubled(
    p, None, infer_sharding_from_operands=lambda *_: None)(host(4, 4)),
    "provide sharding_rule to migrate to Shardy")  # fmt: skip
row("vmap", lambda p: p.m.vmap(doubled(p, "i -> i"))(host(4, 4)), "Batching rule for 'custom_p")
row("grad", lambda p: p.m.grad(lambda x: doubled(p)(x).sum())(host(4, 4)),
    "Differentiation rule for 'custom_partitioning' not implemented")  # fmt: skip
row("linearize", lambda p: p.m.linearize(doubled(p), host(4, 4)),
    "Differentiation rule for 'custom_partitioning' not implemented")  # fmt: skip
row("an argument by keyword only", lambda p: with_keyword(p)(host(2, 2), scale=2),
    "keyword arguments could not be resolved to positions")  # fmt: skip
row("an unknown argument", lambda p: doubled(p)(host(2, 2), scale=2), "unexpected keyword")
row("a traced static argument", lambda p: p.m.jit(product(p))(host(2, 2), host(2, 2), 3),
    "Found a JAX Tracer object passed as an argument")  # fmt: skip
row("two meshes", lambda p: p.m.jit(doubled(p), out_shardings=p.sharding.NamedSharding(
    p.m.make_mesh((8,), ("x",), axis_types=(p.sharding.AxisType.Auto,)), p.P("x")))(matrix(p)),
    "mesh should be the same across the entire program")  # fmt: skip
row("an export", lambda p: importlib.import_module(f"{p.m.__name__}.export").export(
    p.m.jit(doubled(p)))(matrix(p)), "serialization of host_callbacks is not")  # fmt: skip


def with_keyword(p: Any) -> Any:
    f = partitioning(p).custom_partitioning(lambda x, *, scale: scale * x)
    f.def_partition(lambda *_: None, sharding_rule="i j -> i j")
    return f


for title, rule, words in (
    ("of another rank", "i j -> i", "0th result has rank 1, but the operation 0th result has"),
    ("of more operands", "i j, k -> i j", "has 2 operands, but the operation has 1 operands"),
    ("of more results", "i j -> i j, k", "has 2 results, but the operation has 1 results"),
    ("of other groups", "... i -> ... i j", "different number of leading dimensions 1 and 0"),
):
    row(f"a rule {title}", lambda p, rule=rule: called(p, rule), words)
row("a rule of another size", lambda p: called(p, "(i k) j -> (i k) j", i=3, k=4),
    "0th operand actual size 32 doesn't match the size 12 derived from the compound")  # fmt: skip
row("a rule of a function that is none", lambda p: called(p, lambda *_: 3),
    "must produce either an SdyShardingRule object or an Einsum-like")  # fmt: skip


def text(p: Any) -> list[str]:
    lowered = p.m.jit(doubled(p)).lower(matrix(p)).as_text()
    line = next(x for x in lowered.splitlines() if "custom_call" in x)
    before, _, after = line.partition("backend_config")
    return [before, after.partition(",")[2]]


row("the lowered text", text)
