"""Programs on arrays on meshes of other contexts, and wrong calls, with the errors of JAX.

They are as in `device_programs`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.devices.device_programs import (
    Program,
    deleted,
    host,
    keys,
    layouts,
    mesh,
    named,
    put,
)

__all__ = ["MESH_PROGRAMS"]

MESH_PROGRAMS: list[Program] = []


def row(name: str, run: Callable[[Any], Any], words: str | None = None) -> None:
    MESH_PROGRAMS.append(Program(name, run, words))


def auto(p: Any, *entries: Any) -> Any:
    return p.m.device_put(host(8, 8), named(p, *entries))


def explicit(p: Any) -> Any:
    both = p.mesh(("Explicit", "Explicit"))
    return p.m.device_put(host(8, 8), p.sharding.NamedSharding(both, p.P("x", "y")))


def in_mesh(p: Any, kind: str, run: Callable[[], Any]) -> Any:
    with p.m.set_mesh(p.mesh((kind, kind))):
        return run()


def own_type(p: Any, x: Any) -> list[Any]:
    aval = p.m.typeof(x)
    return [str(aval), str(aval.sharding), aval.sharding.mesh == mesh(p).abstract_mesh]


def filled(p: Any, sharding: Any) -> list[Any]:
    """Return arrays of a Python scalar with a sharding."""
    return [p.np.full((8,), 2, device=sharding), p.lax.full((8,), 2, sharding=sharding)]


row("the mesh in a type", lambda p: own_type(p, auto(p, "x")) + own_type(p, auto(p)))
row("types on a mesh", lambda p: (
    p.m.typeof(auto(p, "x")) == p.m.typeof(auto(p, "y")),
    p.m.typeof(auto(p, "x")) == p.m.typeof(p.np.ones((8, 8), "float32"))))  # fmt: skip
row("types of results on a mesh", lambda p: [
    own_type(p, x) for x in (auto(p, "x") * 2, auto(p, "x").sum(), p.m.jit(p.np.sin)(auto(p)))
])  # fmt: skip
row("types of keys on a mesh", lambda p: own_type(p, p.m.device_put(keys(p), named(p, "x"))))
for title, run in {
    "a sum": lambda p: auto(p, "x") + explicit(p),
    "a product": lambda p: auto(p) @ explicit(p),
    "a choice": lambda p: p.np.where(auto(p, "x") > 1, explicit(p), 0),
    "a staged sum": lambda p: p.m.jit(lambda x, y: x + y)(auto(p, "x"), explicit(p)),
}.items():
    row(f"{title} on two meshes", run, "Mesh for all inputs should be equal. Got one mesh")
row("a pair on two meshes", lambda p: p.m.jit(lambda x, y: (x, y))(auto(p, "x"), explicit(p)))
for kind, other in (("Auto", explicit), ("Explicit", lambda p: auto(p, "x"))):
    for title, call in {
        "an operation": lambda p, x: x * 2,
        "a function": lambda p, x: p.np.sin(x),
        "a staged operation": lambda p, x: p.m.jit(lambda x: x * 2)(x),
        "a gradient": lambda p, x: p.m.grad(lambda x: x.sum())(x),
    }.items():
        row(f"{title} in the context of a mesh of {kind} axes",
            lambda p, k=kind, o=other, c=call: in_mesh(p, k, lambda: c(p, o(p))),
            "context mesh .* should match the aval mesh")  # fmt: skip
row("a shard_map of an array on a mesh of other axes", lambda p: in_mesh(p, "Auto", lambda:
    p.m.shard_map(lambda x: x, in_specs=p.P("x"), out_specs=p.P("x"))(explicit(p))),
    "should match the mesh")  # fmt: skip
row("a shard_map on a mesh of other axes", lambda p: in_mesh(p, "Explicit", lambda:
    p.m.shard_map(lambda x: x, mesh=mesh(p), in_specs=p.P("x"), out_specs=p.P("x"))(host(8))),
    "should match the mesh passed")  # fmt: skip
row("a constraint in an explicit context", lambda p: in_mesh(p, "Explicit", lambda:
    p.m.jit(lambda x: p.lax.with_sharding_constraint(x, named(p, "x")))(host(8))),
    "acts as an assert")  # fmt: skip


row("rows of an array on a device", lambda p: [
    str(x.sharding) for x in p.m.device_put(host(3, 2), p.m.devices()[1])])  # fmt: skip
for title, run, words in (
    ("an argument of too small a rank", lambda p: p.m.jit(
        lambda a: a, in_shardings=named(p, "x", "y"))(host(8)),
        "One of pjit arguments with pytree key path a is incompatible with its sharding annot"),
    ("a result of too small a rank", lambda p: p.m.jit(
        lambda a: (a, a), out_shardings=(None, named(p, "x", "y")))(host(8)),
        r"One of pjit outputs with pytree key path result\[1\] is incompatible with its sharding"),
    ("an array of too small a rank", lambda p: p.m.device_put(host(6), named(p, "x", "y")),
        "One of device_put args is incompatible with its sharding annotation NamedSharding"),
    ("a spec without a mesh", lambda p: p.m.device_put(host(8), p.P("x")), "Please set a mesh via"),
    ("no place", lambda p: p.m.device_put(host(8), "x"), "only accepts `None`, .* value: x"),
    ("no constraint", lambda p: p.lax.with_sharding_constraint(host(8), "x"),
        "shardings leaf specifications are expected to be PartitionSpec instances or None, but"),
    ("parts of one device", lambda p: p.m.make_array_from_single_device_arrays(
        (8,), named(p, "x"), [p.np.ones(4)] * 8),
        r"from distinct devices, but got device IDs \[0, 0, 0, 0, 0, 0, 0, 0\]"),
    ("parts of several devices", lambda p: p.m.make_array_from_single_device_arrays(
        (8, 2), named(p, "x"), [put(p, "x")] * 8), r"An argument array had 8 shard\(s\)"),
    ("parts that are not arrays", lambda p: p.m.make_array_from_single_device_arrays(
        (8,), named(p, "x"), [host(4)] * 8), "Unsupported type for elements in `arrays`"),
    ("no parts", lambda p: p.m.make_array_from_single_device_arrays((8,), named(p, "x"), []),
        "If the Array has no addressable shards, `dtype` must be provided via the `dtype`"),
    ("a context in a program", lambda p: p.m.jit(lambda x: (p.sharding.get_mesh(), x)[1])(host(8)),
        "`get_mesh` can only be used outside of `jax.jit`. Maybe you want"),
    ("an axis of vmap in a constraint", lambda p: p.m.vmap(
        lambda x: p.lax.with_sharding_constraint(x, named(p, "x")), spmd_axis_name="x")(host(8, 8)),
        r"vmap spmd_axis_name \('x',\) cannot appear in with_sharding_constraint spec, but got"),
    ("a static argument that pmap lacks", lambda p: p.m.pmap(
        lambda x, n: x, static_broadcasted_argnums=1)(host(8)),
        r"static_broadcasted_argnums=\(1,\) but was called with only 1 positional argument\."),
    ("a static argument after the last one", lambda p: p.m.pmap(
        lambda x: x, static_broadcasted_argnums=3)(host(8)),
        r"static_broadcasted_argnums=\(3,\) but was called with only 1 positional argument\."),
    ("an unknown axis in in_specs", lambda p: p.m.shard_map(
        lambda x: x, mesh=mesh(p), in_specs=p.P("z"), out_specs=p.P())(host(8)),
        r"in_specs argument must refer to an axis marked as manual .*, but:\s+in_specs ref"),
    ("a string as a spec", lambda p: p.m.shard_map(
        lambda x: x, mesh=mesh(p), in_specs="x", out_specs=p.P())(host(8)),
        r"must be a pytree of `jax.sharding.PartitionSpec` instances, but:\s+in_specs is x of"),
    ("specs to infer", lambda p: p.m.shard_map(
        lambda x: x, mesh=mesh(p), out_specs=p.P("x"))(host(8)),
        "instances, but it was `None` when axis_names="),
    ("no mesh of a shard_map", lambda p: p.m.shard_map(
        lambda x: x, in_specs=p.P(), out_specs=p.P())(host(8)), "The context mesh cannot be empty"),
    ("an unbound axis", lambda p: p.m.vmap(lambda x: p.lax.psum(x, "j"), axis_name="i")(host(8)),
        "unbound axis name: j. To fix this, please call psum under `jax.shard_map`"),
):  # fmt: skip
    row(title, run, words)
row("parts of a wider dtype", lambda p: p.m.make_array_from_callback(
    (8,), named(p, "x"), lambda i: np.arange(8.0)[i], dtype="float32"))  # fmt: skip
row("lists as parts", lambda p: p.m.make_array_from_callback(
    (8,), named(p, "x"), lambda i: [1.0] * 4), "is not a valid JAX type")  # fmt: skip
row("parts of other devices", lambda p: p.m.make_array_from_single_device_arrays(
    (8,), p.sharding.NamedSharding(p.sharding.Mesh(np.array(p.m.devices()[:2]), "x"), p.P("x")),
    [p.m.device_put(host(4), p.m.devices()[i]) for i in (0, 3)]),
    r"Sharding contains devices \{1\} that are not present in per-device arrays")  # fmt: skip
row("zeros of another shape", lambda p: str(p.np.zeros_like(put(p, "x"), shape=(4,)).sharding))
row("an argument from outside of a shard_map", lambda p: in_mesh(p, "Explicit", lambda:
    p.m.jit(lambda w: p.m.shard_map(lambda x: x * w, out_specs=p.P("x"))(
        p.m.device_put(host(8), p.P("x"))))(p.m.device_put(host(4), p.P("x")))),
    "Closing over inputs to shard_map where the input is sharded on `Explicit` axes")  # fmt: skip
row("resharded to another mesh", lambda p: in_mesh(p, "Explicit", lambda: p.m.jit(
    lambda x: p.sharding.reshard(x, p.sharding.NamedSharding(p.sharding.Mesh(
        np.array(p.m.devices()), ("q",), axis_types=(p.sharding.AxisType.Explicit,)), p.P("q"))))(
    p.m.device_put(host(8), p.P("x")))))  # fmt: skip
row("a list of in_specs", lambda p: p.m.shard_map(
    lambda x: x, mesh=mesh(p), in_specs=[p.P("x")], out_specs=p.P("x"))(host(8)),
    "different types at key path\\s+shard_map in_specs")  # fmt: skip
row("axes in smap", lambda p: in_mesh(p, "Auto", lambda: p.m.smap(
    lambda x: x, in_axes=0, out_axes=0, axis_name=("x", "y"))(host(8))),
    r"should be a `str` or a `Hashable`, but got \('x', 'y'\)")  # fmt: skip
row("parts of a generator", lambda p: p.m.make_array_from_single_device_arrays(
    (8,), named(p, "x"), (p.np.ones(4) for _ in range(8))),
    "`arrays` argument must be a list or tuple, but got")  # fmt: skip
row("a carry that varies", lambda p: p.m.shard_map(
    lambda x: p.lax.scan(lambda c, _: (c + x, None), p.np.zeros(4), None, length=2)[0],
    mesh=mesh(p), in_specs=p.P("x"), out_specs=p.P("x"))(host(8)),
    r"the manual axis types do not match.*by applying `jax.lax.pcast\(\.\.\., \('x',")  # fmt: skip
row("branches that vary", lambda p: p.m.shard_map(
    lambda x: p.lax.cond(x.sum() > 3, lambda x: p.np.zeros(4), lambda x: x, x),
    mesh=mesh(p), in_specs=p.P("x"), out_specs=p.P("x"))(host(8)),
    "the manual axis types do not match")  # fmt: skip
row("constraints of None", lambda p: in_mesh(p, "Auto", lambda: [
    p.m.jit(lambda x: p.lax.with_sharding_constraint((2 * x, x), (None, p.P("y"))))(auto(p, "x")),
    p.lax.with_sharding_constraint((auto(p, "x"), auto(p)), (None, p.P("y")))]))  # fmt: skip
row("a constraint of an array elsewhere", lambda p: p.lax.with_sharding_constraint(
    p.m.device_put(host(8), p.m.devices()[1]), named(p, "x")),
    r"Got argument x of \w+ with shape float32\[8\] and with device ids \[1\] on platform CPU and "
    r"explicit output sharding with device ids \[0, 1, 2, 3, 4, 5, 6, 7\]")  # fmt: skip
row("a constraint of another order", lambda p: p.lax.with_sharding_constraint(
    auto(p, "x"), named(p, "y", "x")))  # fmt: skip
for kind in ("Auto", "Explicit"):
    row(f"one value on axes of the type {kind}", lambda p, kind=kind: filled(
        p, p.sharding.NamedSharding(p.mesh((kind, kind)), p.P("x"))))  # fmt: skip
row("one value on a device", lambda p: filled(
    p, p.sharding.SingleDeviceSharding(p.m.devices()[1])))  # fmt: skip
row("one value on axes in a program", lambda p: p.m.jit(lambda x: [
    p.lax.full((8,), 2, sharding=named(p, "x")), p.lax.full_like(x, 2, sharding=named(p, "x"))
])(host(8)))  # fmt: skip


def explicit_type(p: Any, *entries: Any, shape: tuple[int, ...] = (8, 4)) -> Any:
    """Return the type of arrays on axes of the type `Explicit`."""
    own = p.mesh(("Explicit", "Explicit")).abstract_mesh
    return p.m.core.ShapedArray(
        shape, "float32", sharding=p.sharding.NamedSharding(own, p.P(*entries))
    )


def abstract(p: Any, size: int = 8) -> Any:
    return p.sharding.AbstractMesh((size,), ("x",))


def within(context: Any, run: Callable[[], Any]) -> Any:
    with context:
        return run()


def on_explicit(p: Any, fun: Callable[[Any], Any]) -> Any:
    """Return a function's result for an array whose rows are split in its type."""
    return in_mesh(p, "Explicit", lambda: fun(p.m.device_put(host(8, 4), p.P("x"))))


def mapped(p: Any, fun: Any, ins: Any, outs: Any, *arguments: Any) -> Any:
    return p.m.shard_map(fun, mesh=mesh(p), in_specs=ins, out_specs=outs)(*arguments)


row("a type with a sharding", lambda p: [str(explicit_type(p, "x")), str(explicit_type(p))])
row("a type with the types of axes", lambda p: explicit_type(p, "x").str_short(True, True))
row("an uneven type", lambda p: explicit_type(p, "y", shape=(6,)),
    r"Sharding spec \('y',\) implies that array axis 0 is partitioned 4 times")  # fmt: skip
row("copies of a mesh", lambda p: [f(mesh(p)) is mesh(p) for f in (copy.copy, copy.deepcopy)])
row("an abstract mesh as a context", lambda p: within(abstract(p), int), "implement __enter__")
row("processes of an abstract mesh", lambda p: abstract(p).is_multi_process, "does not implement")
row("another size of the mesh", lambda p: in_mesh(p, "Auto", lambda: within(
    p.sharding.use_abstract_mesh(abstract(p, 2)), int)), "cannot change the size of")  # fmt: skip
row("types of a mesh",
    lambda p: p.sharding.Mesh(np.array(p.m.devices()), "x", axis_types=("Auto",)),
    "axis_types passed to Mesh must be of type")  # fmt: skip
row("names of a mesh", lambda p: p.sharding.Mesh(np.array(p.m.devices()), ("x", "y")),
    r"got devices.ndim == 1 and len\(axis_names\) == 2")  # fmt: skip
row("an empty mesh of shard_map", lambda p: p.m.shard_map(
    abs, mesh=p.sharding.Mesh(np.empty((), object), ()), in_specs=p.P(), out_specs=p.P())(1.0),
    "requires a non-empty mesh. Got Mesh")  # fmt: skip
row("a long spec of an argument", lambda p: mapped(
    p, lambda a, foo: a, (p.P(), p.P("x", "y")), p.P(), 1.0, {"b": host(8)}),
    r"in_specs\[1\] is P\('x', 'y'\) which has length 2, but the passed args\[1\]\['b'\], where "
    r"args\[1\] is bound to <lambda>'s parameter 'foo', has shape float32\[8\], which has rank 1 "
    r"\(and 1 < 2\)")  # fmt: skip
row("a long spec of a result", lambda p: mapped(
    p, lambda x: {"b": x.sum()}, p.P("x"), p.P("x"), host(8)),
    r"out_specs is P\('x',\) which has length 1, but <lambda>\(\*args\)\['b'\]")  # fmt: skip
row("an uneven part", lambda p: mapped(p, lambda *xs: xs[0], p.P("y"), p.P("y"), host(8), host(6)),
    r"the passed args\[1\] of shape float32\[6\].* corresponds to in_specs of value P\('y',\), "
    r"which maps array axis 0 \(of size 6\) to mesh axis 'y' \(of size 4\), but")  # fmt: skip
row("a varying result", lambda p: mapped(p, lambda x: x, p.P("x"), p.P(), host(8)),
    r"out_specs is P\(\) which implies that the corresponding output value is only varying across "
    r"mesh axes \{\} and not \{x\}, but it was inferred to be possibly")  # fmt: skip
row("a nested map", lambda p: mapped(
    p, lambda x: mapped(p, abs, p.P("x"), p.P("x"), x), p.P("x"), p.P("x"), host(8)),
    "The context mesh AbstractMesh.*Manual, Manual.* should match the mesh passed")  # fmt: skip
row("text of a shard_map", lambda p: str(p.m.make_jaxpr(lambda x: mapped(
    p, lambda x: x * p.lax.axis_index("x"), p.P("x"), p.P("x"), x))(host(8))))  # fmt: skip
row("literals in a shard_map", lambda p: str(p.m.make_jaxpr(lambda x: mapped(
    p, lambda y: p.lax.cond(
        y[0, 0] > np.float32(0), lambda z: z * np.float32(2), lambda z: z - np.float32(1), y
    ), p.P("x"), p.P("x"), x))(host(8, 2))))  # fmt: skip
row("text of a constraint", lambda p: str(p.m.make_jaxpr(
    lambda x: p.lax.with_sharding_constraint(x, named(p, None, "x")))(auto(p))))  # fmt: skip
row("text of a reshard", lambda p: on_explicit(p, lambda x: str(
    p.m.make_jaxpr(lambda x: p.sharding.reshard(x, p.P("y")))(x))))  # fmt: skip
row("gradient of a set column", lambda p: on_explicit(
    p, p.m.grad(lambda x: (x.at[:, 0].set(1.0) ** 2).sum())))  # fmt: skip
row("unconstrained entries", lambda p: on_explicit(
    p, lambda x: p.sharding.reshard(x, p.P(p.P.UNCONSTRAINED))),
    "cannot contain `P.UNCONSTRAINED` when no mesh axis_types are `Auto`")  # fmt: skip
row("unconstrained in an assertion", lambda p: on_explicit(
    p, lambda x: p.lax.with_sharding_constraint(x, p.P(p.P.UNCONSTRAINED, None))),
    "cannot contain `P.UNCONSTRAINED` when no mesh axis_types are `Auto`")  # fmt: skip
row("sorted along a split axis", lambda p: on_explicit(p, lambda x: p.np.sort(x, 0)),
    r"Got arg sharding=NamedSharding\(.*, spec=P\('x', None\)\) and sorting dim")  # fmt: skip
row("summed along a split axis", lambda p: on_explicit(p, lambda x: p.np.cumsum(x, 0)),
    r"Got input type=float32\[8@x,\d\] and axis=0")  # fmt: skip
row("a part of a split axis", lambda p: on_explicit(p, lambda x: p.lax.slice_in_dim(x, 0, 3)),
    r"Got input type=f32\[8@x,\d\] and output shape=\(3, \d\)")  # fmt: skip
row("resharded to None", lambda p: on_explicit(p, lambda x: p.sharding.reshard(x, None)),
    "Reshard should only be used with out_shardings which are non-None")  # fmt: skip
row("resharded along auto axes", lambda p: in_mesh(p, "Auto", lambda: p.sharding.reshard(
    host(8), p.P("x"))), "passed to reshard cannot contain axis names")  # fmt: skip
row("another assertion", lambda p: on_explicit(
    p, lambda x: p.lax.with_sharding_constraint(x, p.P("y"))),
    r"all axes of mesh are of type `Explicit`. The array sharding: P\('x', None\) did not match "
    r"the sharding provided: P\('y', None\)")  # fmt: skip
row("contracted along two axes", lambda p: on_explicit(
    p, lambda x: p.np.dot(x.T, p.m.device_put(host(8, 4), p.P("y")))),
    "ontracting dimensions")  # fmt: skip
row("unstacked along a split axis", lambda p: on_explicit(p, lambda x: p.np.unstack(x)),
    "operand cannot be sharded on the unstacking axis 0")  # fmt: skip
row("arrays of no list", lambda p: p.m.make_array_from_single_device_arrays(
    (8,), named(p, "x"), p.np.ones(4)), "`arrays` argument must be a list or tuple")  # fmt: skip
row("a choice with a scalar", lambda p: on_explicit(p, lambda x: p.np.where(
    p.m.device_put(host(4), p.P("y")) > 1, x, 0.0)))  # fmt: skip
row("two meshes in a program", lambda p: p.m.jit(lambda x, y: x * y)(explicit(p), p.m.device_put(
    host(8, 8), p.sharding.NamedSharding(p.m.make_mesh((8,), ("a",)), p.P("a")))),
    "Mesh for all inputs should be equal")  # fmt: skip
row("like a description", lambda p: p.np.zeros_like(
    p.m.ShapeDtypeStruct((8, 2), "float32", sharding=named(p, "x"))))  # fmt: skip
row("like an array in parts", lambda p: p.lax.full_like(put(p, "x"), 3))
row("wait for a deleted array", lambda p: deleted(p).block_until_ready(),
    r"BlockHostUntilReady\(\) called on deleted or donated buffer")  # fmt: skip
row("address of parts", lambda p: put(p, "x").unsafe_buffer_pointer(),
    r"UnsafeBufferPointer\(\) is supported only for unsharded arrays")  # fmt: skip
row("a name as a sharding", lambda p: p.m.ShapeDtypeStruct((8,), "float32", sharding="x"),
    "sharding should be an instance of")  # fmt: skip
row(
    "a name as an axis of pmap", lambda p: p.m.pmap(abs, in_axes="0"), "pmap in_axes must be an int"
)
row("normal vectors in parts", lambda p: in_mesh(p, "Explicit", lambda: str(
    p.m.random.multivariate_normal(p.m.random.key(0), p.np.zeros(2), p.np.eye(2), (8,),
    out_sharding=p.P("x")).sharding)))  # fmt: skip
row("an argument in a layout of three axes", lambda p: p.m.jit(
    abs, in_shardings=layouts(p).Format(layouts(p).Layout((0, 1, 2)), named(p)))(host(8, 2)),
    "One of jit arguments with pytree key path x is incompatible with its")  # fmt: skip


def without_ones(p: Any) -> list[str]:
    """Return the types of arrays on a mesh with an axis of size 1, which they leave out."""
    types = (p.sharding.AxisType.Explicit,) * 2
    one = p.m.make_mesh((8, 1), ("x", "y"), axis_types=types)
    with p.m.remove_size_one_mesh_axis_from_type(True), p.m.set_mesh(one):
        x, y = (p.m.device_put(host(8, 8), p.P(*e)) for e in (("x", "y"), ("x",)))
        return [str(p.m.typeof(z)) for z in (x, y, x + y, p.m.jit(lambda x: x.T)(x))]


row("types without axes of size 1", without_ones)
