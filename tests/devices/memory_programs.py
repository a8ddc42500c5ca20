"""Programs on arrays in the memory of the host, transfers in traced functions, and wrong calls."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.devices.device_programs import (
    Program,
    host,
    in_memory,
    keys,
    mapped,
    mesh,
    named,
    put,
    single,
)

__all__ = ["MEMORY_PROGRAMS"]

MEMORY_PROGRAMS: list[Program] = []


def row(name: str, run: Callable[[Any], Any], words: str | None = None) -> None:
    MEMORY_PROGRAMS.append(Program(name, run, words))


def on_host(p: Any, *shape: int) -> Any:
    return p.m.device_put(host(*shape), p.m.memory.Space.Host)


def moved(p: Any, x: Any, space: str = "Host") -> Any:
    return p.m.device_put(x, p.m.memory.Space[space])


def traced(p: Any, run: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a staged function, and the types of its parts while it is traced."""
    types: list[str] = []

    def typed(*xs: Any) -> Any:
        out = run(*xs)
        types.extend(str(p.m.typeof(x)) for x in p.m.tree.leaves(out))
        return out

    return p.m.jit(typed)(*arguments), types


DIFFERENT = "memory_space of all inputs passed to `{}` must be the same. Got one operand with type"

row("type on the host", lambda p: str(p.m.typeof(on_host(p, 8))))
row("space of a type", lambda p: [str(p.m.typeof(x).memory_space)
    for x in (on_host(p, 8), put(p, "x"))])  # fmt: skip
row("type in another space", lambda p: str(p.m.typeof(put(p, "x")).update(
    memory_space=p.m.memory.Space.Host)))  # fmt: skip
row("type in unpinned memory", lambda p: str(p.m.typeof(
    p.m.device_put(host(4), single(p, "unpinned_host", 0)))))  # fmt: skip
row("scaled on the host", lambda p: on_host(p, 8) * 2)
row("sum on the host", lambda p: on_host(p, 8).sum())
row("staged on the host", lambda p: traced(p, p.np.sin, on_host(p, 8)))
row("product on the host", lambda p: traced(p, lambda x: x @ x, on_host(p, 8, 8)))
row("comparison on the host", lambda p: traced(p, lambda x: x > x, on_host(p, 8)))
row("slice on the host", lambda p: traced(
    p, lambda x, i: p.lax.dynamic_slice(x, (i,), (2,)), on_host(p, 8), 1))  # fmt: skip
row("zeros like on the host", lambda p: traced(p, p.np.zeros_like, on_host(p, 8)))
row("scan on the host", lambda p: traced(p, lambda x: p.lax.scan(
    lambda c, _: (c + c, None), x, None, length=2)[0], on_host(p, 8)))  # fmt: skip
row("scan of rows of the host", lambda p: traced(p, lambda x: p.lax.scan(
    lambda c, y: (c + moved(p, y, "Device").sum(), None), 0.0, x)[0],
    on_host(p, 8, 2)))  # fmt: skip
row("branch on the host", lambda p: traced(p, lambda x: p.lax.cond(
    True, lambda x: x, lambda x: x + x, x), on_host(p, 8)))  # fmt: skip
row("vmap to the host", lambda p: traced(p, p.m.vmap(lambda x: moved(p, x)), host(8, 2)))
row("gradient on the host", lambda p: traced(
    p, p.m.grad(lambda x: moved(p, x, "Device").sum()), on_host(p, 8)))  # fmt: skip
row("two memories", lambda p: on_host(p, 8) + host(8), DIFFERENT.format("add"))
row("two memories in jit", lambda p: p.m.jit(
    lambda x: x + p.np.arange(8.0))(on_host(p, 8)), DIFFERENT.format("add"))  # fmt: skip
row("two memories of a product", lambda p: on_host(p, 8, 8) @ host(8, 8),
    DIFFERENT.format("dot_general"))  # fmt: skip
row("put on the host in jit", lambda p: traced(p, lambda x: moved(p, x), host(8)))
row("put parts on the host in jit", lambda p: traced(p, lambda x: moved(p, x), put(p, "x")))
row("put there and back in jit", lambda p: traced(
    p, lambda x: moved(p, moved(p, x), "Device") * 2, put(p, "x")))  # fmt: skip
row("put in another memory in jit", lambda p: traced(
    p, lambda x: p.m.device_put(x, in_memory(p, "pinned_host", "x")), put(p, "x")))  # fmt: skip
row("put on a device in jit", lambda p: p.m.jit(
    lambda x: p.m.device_put(x, p.m.devices()[1]) * 2)(host(8)))  # fmt: skip
row("put on one device in jit", lambda p: p.m.jit(
    lambda x: p.m.device_put(x, single(p, None, 2)))(host(8)))  # fmt: skip
row("put nowhere in jit", lambda p: p.m.jit(lambda x: p.m.device_put(x) * 2)(put(p, "x")))
row("put in vmap", lambda p: p.m.vmap(
    lambda x: p.m.device_put(x, p.m.devices()[1]))(host(8, 2)))  # fmt: skip
row("gradient of put", lambda p: p.m.grad(
    lambda x: (p.m.device_put(x, named(p, "x")) ** 2).sum())(p.np.arange(8.0)))  # fmt: skip
row("gradient of put on a device", lambda p: p.m.grad(
    lambda x: (p.m.device_put(x, p.m.devices()[2]) ** 2).sum())(p.np.arange(8.0)))  # fmt: skip
row("programs of transfers", lambda p: [
    str((p.m.make_jaxpr if hasattr(p.m, "make_jaxpr") else p.m.make_olympuspr)(
        lambda x, d=d: p.m.device_put(x, d))(host(8)))
    for d in (None, p.m.devices()[1], named(p, "x"), p.m.memory.Space.Host)])  # fmt: skip
row("program of two transfers", lambda p: str(p.m.make_jaxpr(
    lambda x, y: p.m.device_put([x, y], [named(p, "x"), None], may_alias=False))(
        host(8), host(2))))  # fmt: skip
row("transfer without an alias", lambda p: [
    a.data.unsafe_buffer_pointer() == b.data.unsafe_buffer_pointer()
    for x in [put(p, "x")]
    for a, b in zip(x.addressable_shards, p.m.device_put(
        x, x.sharding, may_alias=False).addressable_shards, strict=True)])  # fmt: skip
row("arguments on the host", lambda p: p.m.jit(
    lambda x: x + x, in_shardings=in_memory(p, "pinned_host", "x"))(
        p.m.device_put(host(8, 2), in_memory(p, "pinned_host", "x"))))  # fmt: skip
row("free arguments in another memory", lambda p: p.m.jit(
    lambda x: x, in_shardings=in_memory(p, "pinned_host", "x"))(p.np.arange(8.0)),
    "Memory kinds passed to jax.jit does not match memory kind on the respective arg. Got jit "
    "memory kind: pinned_host, arg memory kind: device for arg type: float32.8.")  # fmt: skip
row("described on the host", lambda p: [str(x) for x in [p.m.jit(lambda x: x + x).lower(
    p.m.ShapeDtypeStruct((8,), np.float32, sharding=in_memory(p, "pinned_host", "x"))
        ).compile().output_shardings]])  # fmt: skip
row("map on the host", lambda p: p.m.jit(p.m.shard_map(
    lambda x: moved(p, x), mesh=mesh(p), in_specs=p.P("x"), out_specs=p.P("x")))(
        host(8)))  # fmt: skip
row("specs of keys", lambda p: p.m.device_put(keys(p), named(p, "x", None)),
    "is only valid for values of rank at least 2")  # fmt: skip
row("constraint of keys", lambda p: p.m.jit(lambda x: p.lax.with_sharding_constraint(
    x, named(p, "x", "y")))(keys(p)), "is only valid for values of rank at least 2")  # fmt: skip
row("described results of jit", lambda p: str(p.m.eval_shape(
    p.m.jit(lambda x: x, out_shardings=named(p, "x")), host(8))))  # fmt: skip
row("keywords beside in_shardings", lambda p: p.m.jit(
    lambda x, n: x * n, in_shardings=(named(p, "x"),), static_argnames="n")(host(8), n=3),
    "pjit does not support kwargs when in_shardings is specified")  # fmt: skip


def parts(p: Any, count: int) -> list[Any]:
    return [p.m.device_put(host(4, 2), d) for d in p.m.devices()[:count]]


def assembled(p: Any, arrays: Any) -> Any:
    return p.m.make_array_from_single_device_arrays((8, 2), named(p, "x"), arrays)


row("too long in_specs", lambda p: mapped(p, p.P("x", None, None), p.P("x")),
    "given an in_specs entry which is too long to be compatible with the corresponding input "
    "value from the function")  # fmt: skip
row("too long out_specs", lambda p: mapped(p, p.P("x"), p.P("x"), lambda x: x.sum()),
    "given an out_specs entry which is too long to be compatible with the corresponding output "
    "value from the function")  # fmt: skip
row("uneven in_specs", lambda p: mapped(p, p.P(None, "y"), p.P("x")),
    "was given argument arrays with axis sizes that are not evenly divisible by the corresponding "
    "mesh axis sizes")  # fmt: skip
row("out_specs without an axis", lambda p: mapped(p, p.P("x"), p.P()),
    "was given out_specs which require replication which can't be statically inferred given the "
    "mesh")  # fmt: skip
row("unknown axis_names", lambda p: mapped(p, p.P("x"), p.P("x"), axis_names={"z"}),
    r"requires axis_names=frozenset\({'z'}\) to be a subset of mesh.axis_names=")  # fmt: skip
row("no mesh of shard_map", lambda p: p.m.shard_map(
    lambda x: x, in_specs=p.P("x"), out_specs=p.P("x"))(host(8)),
    "The context mesh cannot be empty")  # fmt: skip
row("all_to_all of other sizes", lambda p: mapped(
    p, p.P("x"), p.P("x"), lambda x: p.lax.all_to_all(x, "x", 0, 0)),
    "requires the size of the mapped axis axis_name to equal x.shape.split_axis., but they are 2 "
    "and 4 respectively")  # fmt: skip
row("psum_scatter of other sizes", lambda p: mapped(
    p, p.P(None, "x"), p.P("x"), lambda x: p.lax.psum_scatter(x[:7], "x", tiled=True)),
    "tiled reduce_scatter operand scatter dimension size 7 must be divisible by shard_count 2"
    )  # fmt: skip
row("few parts", lambda p: assembled(p, parts(p, 4)),
    "Expected 8 per-device arrays .this is how many devices are addressable by the sharding., but "
    "got 4")  # fmt: skip
row("parts of other dtypes", lambda p: assembled(
    p, [*parts(p, 7), p.m.device_put(host(4, 2).astype("int32"), p.m.devices()[7])]),
    "Input buffers to `Array` must have matching dtypes")  # fmt: skip
row("parts on several devices", lambda p: assembled(p, [put(p, "x")] * 8),
    r"input arrays must have one shard each. An argument array had 8 shard\(s\)")  # fmt: skip
row("unknown axis", lambda p: named(p, "z"),
    r"Resource axis: z of P\('z',\) is not found in mesh: \('x', 'y'\)")  # fmt: skip


def memories(p: Any, fun: Callable[[Any], Any], x: Any, **options: Any) -> list[Any]:
    """Return the memories in the module of a program, and the number of requests for one."""
    text = p.m.jit(fun, **options).lower(x).as_text()
    kinds = re.findall(r'mhlo.memory_kind = "(\w+)"', text)
    return [kinds, text.count("annotate_device_placement")]


row("memory of a result in text", lambda p: memories(
    p, lambda x: x * 2, host(8), out_shardings=in_memory(p, "pinned_host")))  # fmt: skip
row("memory of an argument in text", lambda p: memories(
    p, lambda x: x, host(8), in_shardings=in_memory(p, "pinned_host")))  # fmt: skip
row("memory of a moved value in text", lambda p: memories(p, lambda x: moved(p, x), put(p, "x")))
row("memory of the device in text", lambda p: memories(p, lambda x: x * 2, put(p, "x")))
row("memory of a placed array in text", lambda p: memories(p, lambda x: x, on_host(p, 8)))
