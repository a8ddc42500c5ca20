"""Programs of one expression on several devices, whose result or error is that of JAX.

A program is a function of a side, as in `test_explicit_shardings.side`. `ROWS` has the words that
both messages contain, for programs that raise an error.
"""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

__all__ = ["PROGRAMS", "Program"]


class Program(NamedTuple):
    """A program by its name, and a regular expression that both sides' error messages match."""

    name: str
    run: Callable[[Any], Any]
    words: str | None = None


PROGRAMS: list[Program] = []


def row(name: str, run: Callable[[Any], Any], words: str | None = None) -> None:
    PROGRAMS.append(Program(name, run, words))


def host(*shape: int) -> np.ndarray[Any, Any]:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def mesh(p: Any) -> Any:
    return p.mesh(("Auto", "Auto"))


def named(p: Any, *entries: Any) -> Any:
    return p.sharding.NamedSharding(mesh(p), p.P(*entries))


def put(p: Any, *entries: Any) -> Any:
    return p.m.device_put(host(8, 2), named(p, *entries))


def deleted(p: Any) -> Any:
    x = put(p, "x")
    x.delete()
    return x


def compiler(p: Any, *entries: Any) -> Any:
    """Return the compiler's form of a sharding of arrays of two dimensions."""
    return named(p, *entries)._to_xla_hlo_sharding(2)


def twice(p: Any) -> Any:
    """Return a mesh with one device at two places."""
    return p.sharding.Mesh(np.array([p.m.devices()[0]] * 2), ("x",))


def compiled(p: Any, **options: Any) -> Any:
    rows = named(p, "x")
    fun = p.m.jit(lambda x, y: x * 2, in_shardings=rows, **options)
    return fun.lower(host(8, 2), host(8, 2)).compile()


def mapped(p: Any, ins: Any, outs: Any, fun: Any = lambda x: x, **options: Any) -> Any:
    return p.m.shard_map(fun, mesh=mesh(p), in_specs=ins, out_specs=outs, **options)(host(8, 2))


# names of arrays and shardings
row("array value", lambda p: put(p, "x")._value)
row("array committed", lambda p: [put(p)._committed, p.np.ones(3)._committed])
row("arrays", lambda p: [x.sharding for x in put(p, "x")._arrays])
row("deleted arrays", lambda p: [deleted(p)._arrays, deleted(p)._npy_value])
row("check deleted", lambda p: deleted(p)._check_if_deleted(), "Array has been deleted with shape=")
row("device assignment", lambda p: [d.id for d in named(p, "y")._device_assignment])
row("no assignment", lambda p: abstract(p)._device_assignment, "not implemented for .*AbstractMesh")
row("no address", lambda p: abstract(p).is_fully_addressable, "not implemented for .*AbstractMesh")
row(
    "compiler's sharding", lambda p: named(p, "x")._to_xla_hlo_sharding(2).tile_assignment_devices()
)
row("compiler's whole", lambda p: str(compiler(p)))
row("rows of whole", lambda p: [x.sharding for x in put(p)])
row(
    "put twice",
    lambda p: p.m.device_put(host(4), donate=True, may_alias=True),
    "may_alias and donate",
)
row("shape", lambda p: [type(mesh(p).shape).__name__, [*mesh(p).shape.items()]])
row("normalized", lambda p: str(p.P("x")._normalized_spec_for_aval(3)))
row("pickled", lambda p: pickle.loads(pickle.dumps(p.P("x", None))) == p.P("x", None))


def abstract(p: Any) -> Any:
    return p.sharding.NamedSharding(p.sharding.AbstractMesh((2, 4), ("x", "y")), p.P("x"))


# specs and meshes
row("None in a tuple", lambda p: str(p.P(("x", None))))
row("None of a mesh", lambda p: named(p, ("x", None)), "not found in mesh")
row("open in a tuple", lambda p: named(p, (p.P.UNCONSTRAINED, "x")), "not found in mesh")
row("nested tuple", lambda p: p.P((("x",),)), "cannot contain a nested tuple")
row("list and spec", lambda p: ["x"] + p.P("y"))  # noqa: RUF005
row("spec and list", lambda p: p.P("y") + ["x"])  # noqa: RUF005
row("mesh of one device", lambda p: [str(twice(p)), twice(p).size])
row("sharding of one device", lambda p: p.sharding.NamedSharding(twice(p), p.P("x")).num_devices)
row("shard of one device", lambda p: p.sharding.NamedSharding(twice(p), p.P("x")).shard_shape((4,)))

# jit
row("unused argument", lambda p: compiled(p).input_shardings)
row("kept argument", lambda p: compiled(p, keep_unused=True).input_shardings)
row("unused format", lambda p: [f.sharding for f in compiled(p).input_formats[0]])
row(
    "unused on one device",
    lambda p: p.m.jit(lambda x, y: x).lower(host(2), host(2)).compile().input_shardings,
)
row(
    "open argument",
    lambda p: p.m.jit(lambda x: x, in_shardings=named(p, p.P.UNCONSTRAINED))(host(8)),
    "Unconstrained dims are not allowed",
)
row(
    "open result",
    lambda p: p.m.jit(lambda x: x, out_shardings=named(p, p.P.UNCONSTRAINED))(host(8)),
    "Unconstrained dims are not allowed",
)

# errors of trees and of devices
row(
    "too many shardings",
    lambda p: p.m.jit(lambda x: x, in_shardings=(named(p),) * 3)(host(8)),
    "is the wrong length: got a tuple or list of length 3 for an args tuple of length 1",
)
row(
    "not a tuple",
    lambda p: p.m.jit(lambda x: x, in_shardings={"a": named(p)})(host(8)),
    "pjit in_shardings is not a tuple: got <class 'dict'> instead",
)
row(
    "lists of other lengths",
    lambda p: p.m.jit(lambda x: [x], out_shardings=[named(p)] * 2)(host(8)),
    "pytree structure error: different lengths of list at key path\n    pjit out_shardings\n",
)
row(
    "trees of other types",
    lambda p: p.m.jit(lambda x: [{"a": x}], out_shardings=[{"a": [named(p)]}])(host(8)),
    r"different types at key path\n    pjit out_shardings\[0\]\['a'\]\n",
)
row(
    "other keys",
    lambda p: p.m.jit(lambda x: {"a": x}, out_shardings={"b": named(p)})(host(8)),
    "different pytree metadata at key path\n    pjit out_shardings\n",
)
row(
    "specs of other lengths",
    lambda p: mapped(p, (p.P(), p.P()), p.P()),
    "different lengths of tuple at key path\n    shard_map in_specs\n",
)
row(
    "too few keys",
    lambda p: p.m.shard_map(abs, mesh=mesh(p), in_specs=({"a": p.P()},), out_specs=p.P())({
        "a": host(2), "b": host(2)
    }),
    r"different numbers of pytree children at key path\n    shard_map in_specs\[0\]\n",
)  # fmt: skip
row(
    "devices of arguments",
    lambda p: p.m.jit(lambda x, y: x + y)(put(p, "x"), p.m.device_put(host(2), p.m.devices()[1])),
    r"Got argument x of .*<lambda> with shape float32\[8,2\] and with device ids .* on platform "
    r"CPU and argument y of .*<lambda> with shape float32\[2\] and with device ids \[1\]",
)
row(
    "devices of a constraint",
    lambda p: p.m.jit(lambda x: p.lax.with_sharding_constraint(x, reversed_rows(p)))(put(p, "x")),
    r"argument x of .* and sharding_constraint inside jit with device ids \[7, 6, .* platform CPU",
)


def reversed_rows(p: Any) -> Any:
    grid = np.array(p.m.devices()[::-1])
    return p.sharding.NamedSharding(p.sharding.Mesh(grid, ("a",)), p.P("a"))


# shard_map
row("no spec", lambda p: mapped(p, None, p.P()))
row("list of axes", lambda p: mapped(p, p.P("x"), p.P("x"), axis_names=["x"]), "`axis_names` arg")
row(
    "no mesh",
    lambda p: p.m.shard_map(abs, in_specs=p.P(), out_specs=p.P())(host(8)),
    "context mesh",
)


def negated(p: Any, x: Any) -> Any:
    return x if p.lax.psum(x.sum(), ("x", "y")) < 0 else -x


def unchanged(x: Any) -> Any:
    """Return a part, after a choice that would differ between devices."""
    return x if x.sum() < 9 else -x


def texts(p: Any, twice: bool = False, **options: Any) -> list[str]:
    found = []

    def body(x: Any) -> Any:
        found.extend([str(x), repr(p.lax.psum(x + 1, "x")), f"{p.lax.axis_index('y')}"])
        return x

    for _ in range(1 + twice):
        mapped(p, p.P("x"), p.P("x"), body, **options)
    return found


row("branch", lambda p: mapped(p, p.P(), p.P(), lambda x: negated(p, x)))
row("branch of a part", lambda p: mapped(p, p.P("x"), p.P("x"), unchanged), "boolean conversion")
row(
    "branch in jit",
    lambda p: p.m.jit(lambda: mapped(p, p.P(), p.P(), lambda x: negated(p, x)))(),
    "boolean conversion",
)
row("element", lambda p: mapped(p, p.P(), p.P(), lambda x: x * p.lax.psum(x.sum(), "x").item()))
row("texts", texts)
row("texts of two calls", lambda p: texts(p, twice=True))
row("sum of parts", lambda p: mapped(p, p.P("x"), p.P(), lambda x: p.lax.psum(x, "x")))


# the default device
def on_fourth(p: Any, run: Callable[[], Any]) -> Any:
    with p.m.default_device(p.m.devices()[3]):
        return run()


def placed(x: Any) -> list[Any]:
    return [x, x.committed]


row("default ones", lambda p: on_fourth(p, lambda: placed(p.np.ones(3))))
row("default array", lambda p: on_fourth(p, lambda: placed(p.np.array([1.0, 2.0]))))
row("default asarray", lambda p: on_fourth(p, lambda: placed(p.np.asarray(host(2)))))
row("default put", lambda p: on_fourth(p, lambda: placed(p.m.device_put(host(2)))))
row("default jit", lambda p: on_fourth(p, lambda: placed(p.m.jit(lambda x: x * 2)(host(2)))))
row("default creation", lambda p: on_fourth(p, lambda: placed(p.m.jit(lambda: p.np.ones(2))())))
row("default grad", lambda p: on_fourth(p, lambda: placed(p.m.grad(p.np.sum)(host(2)))))
row("default random", lambda p: on_fourth(p, lambda: placed(p.m.random.normal(p.m.random.key(0)))))
row("default after", lambda p: [placed(f(on_fourth(p, lambda: p.np.ones(3)))) for f in later(p)])
row("default of no other", lambda p: on_fourth(p, lambda: placed(put(p, "x") * 2)))
row("default of a mesh", lambda p: on_fourth(p, lambda: mapped(p, p.P("x"), p.P("x"))))
row(
    "default of another device",
    lambda p: on_fourth(p, lambda: placed(p.m.device_put(host(2), p.m.devices()[2]) + 1)),
)
row("default None", lambda p: on_fourth(p, lambda: first(p, lambda: placed(p.np.ones(2)))))
row("default of a name", lambda p: named_default(p, "foo"), "must be passed either a Device object")
row("default of an option", lambda p: optional(p))


def first(p: Any, run: Callable[[], Any]) -> Any:
    with p.m.default_device(None):
        return run()


def named_default(p: Any, name: str) -> Any:
    with p.m.default_device(name):
        return p.np.ones(2)


def optional(p: Any) -> Any:
    p.m.config.update("jax_default_device", p.m.devices()[2])
    try:
        return [*placed(p.np.ones(2)), str(p.m.config.jax_default_device)]
    finally:
        p.m.config.update("jax_default_device", None)


def later(p: Any) -> list[Callable[[Any], Any]]:
    """Return operations on an array that was made with another default device."""
    other = p.m.device_put(host(3), p.m.devices()[2])
    return [
        lambda x: x,
        lambda x: x + 1,
        lambda x: x + other,
        lambda x: x[0],
        p.m.jit(lambda x: x + 1),
        lambda x: p.m.jit(lambda x: x + 1).lower(x).compile()(x),
    ]


# derivative rules in a shard_map
def with_rule(p: Any, bwd: Callable[[Any, Any], Any]) -> Any:
    """Return the gradients of a product whose rule is `bwd(residuals, cotangent)`."""

    @p.m.custom_vjp
    def product(w: Any, x: Any) -> Any:
        return w * x

    product.defvjp(lambda w, x: (w * x, (w, x)), bwd)
    specs = {"in_specs": (p.P(), p.P("x")), "out_specs": p.P("x")}
    run = p.m.shard_map(product, mesh=mesh(p), **specs)
    return p.m.grad(lambda w, x: run(w, x).sum(), (0, 1))(host(2), host(8, 2))


def summed(p: Any, g: Any, x: Any) -> Any:
    return p.lax.psum((g * x).sum(0), "x")


TYPES = "the manual axis types do not match"
row("rule of sums", lambda p: with_rule(p, lambda r, g: (summed(p, g, r[1]), g * r[0])))
row("rule of None", lambda p: with_rule(p, lambda r, g: (None, g * r[0])))
row("rule of zeros", lambda p: with_rule(p, lambda r, g: (r[0] * 0, p.np.zeros_like(r[1]))))
row("rule without sums", lambda p: with_rule(p, lambda r, g: ((g * r[1]).sum(0), g * r[0])), TYPES)
row(
    "rule of more sums",
    lambda p: with_rule(p, lambda r, g: (summed(p, g, r[1]), p.lax.psum(g, "x"))),
    TYPES,
)


# meshes of results, and donation
def on_line(p: Any) -> Any:
    """Return an array on a mesh of one axis of eight devices."""
    line = p.sharding.Mesh(np.array(p.m.devices()), ("a",))
    return p.m.device_put(host(8, 2), p.sharding.NamedSharding(line, p.P("a")))


def in_context(p: Any, run: Callable[[Any], Any]) -> Any:
    x = on_line(p)
    with p.m.set_mesh(mesh(p)):
        return run(x)


def in_rows(p: Any) -> Any:
    return p.m.shard_map(lambda x: x, mesh=mesh(p), in_specs=p.P("x"), out_specs=p.P("x"))


def lowered(p: Any, **options: Any) -> list[bool]:
    text = p.m.jit(lambda x: x * 2, donate_argnums=0, **options).lower(put(p, "x")).as_text()
    return [word in text for word in ("tf.aliasing_output", "jax.buffer_donor")]


def donated(p: Any) -> list[Any]:
    x = put(p, "x")
    rows = named(p, "x")
    y = p.m.jit(lambda x: x * 2, donate_argnums=0, in_shardings=rows, out_shardings=rows)(x)
    return [y, x.is_deleted()]


row("other mesh", lambda p: p.m.jit(in_rows(p))(on_line(p)))
row("context of another mesh", lambda p: in_context(p, lambda x: x * 2))
row("lowered donation", lambda p: lowered(p, out_shardings=named(p, "x")))
row("lowered donation of a choice", lowered)
row("donation", donated)
row("no results", lambda p: mapped(p, p.P("x"), None, lambda x: None))
row("pmap", lambda p: p.m.pmap(lambda x: x * 2, out_axes=1)(on_line(p)))
row("pmap of parts", lambda p: p.m.pmap(lambda x: (x, x.sum()), out_axes=(0, None))(host(8, 2)))


def kinds(p: Any, x: Any) -> Any:
    """Return the kinds of memory of an array and of its first part, and its elements."""
    part = x.addressable_shards[0].data
    return x.sharding.memory_kind, part.sharding.memory_kind, np.asarray(x), str(x.sharding)


def in_memory(p: Any, kind: str | None, *entries: Any) -> Any:
    return p.sharding.NamedSharding(mesh(p), p.P(*entries), memory_kind=kind)


def single(p: Any, kind: str | None, index: int = 1) -> Any:
    return p.sharding.SingleDeviceSharding(p.m.devices()[index], memory_kind=kind)


def compared(a: Any, b: Any) -> Any:
    return a == b, hash(a) == hash(b), a.is_equivalent_to(b, 2)


def layouts(p: Any) -> Any:
    return importlib.import_module(f"{p.m.__name__}.experimental.layout")


def row_major(p: Any, *entries: Any) -> Any:
    return layouts(p).Format(layouts(p).Layout((0, 1)), named(p, *entries))


def keys(p: Any) -> Any:
    return p.m.random.split(p.m.random.key(0), 8)


KINDS = (None, "device", "pinned_host", "unpinned_host")
row("kinds", lambda p: [in_memory(p, k, "x").memory_kind for k in KINDS])
row("kinds of one device", lambda p: [str(single(p, k)) for k in KINDS])
row("shardings in memories", lambda p: [str(in_memory(p, k, "x")) for k in KINDS])
row("no kind", lambda p: in_memory(p, "disk"), "Could not find memory addressable by device cpu. .*"
    "kinds: device, pinned_host, unpinned_host. Got memory kind: disk")  # fmt: skip
row("no kind of one device", lambda p: single(p, "disk"), "Got memory kind: disk")
row("another kind", lambda p: str(named(p, "x").with_memory_kind("pinned_host")))
row("kind of update", lambda p: str(in_memory(p, "pinned_host", "x").update(spec=p.P("y"))))
row("update of a kind", lambda p: str(named(p, "x").update(memory_kind="pinned_host")))
row("another kind of one device", lambda p: str(single(p, None).with_memory_kind("pinned_host")))
row("equal kinds", lambda p: compared(in_memory(p, "device", "x"), named(p, "x")))
row("other kinds", lambda p: compared(in_memory(p, "pinned_host", "x"), named(p, "x"))[::2])
row("equal kinds of one device", lambda p: compared(single(p, None), single(p, "device")))
row("other kinds of one device", lambda p: compared(single(p, None), single(p, "pinned_host"))[::2])
row(
    "put in a host",
    lambda p: kinds(p, p.m.device_put(host(8, 2), in_memory(p, "pinned_host", "x"))),
)
row("put in one host", lambda p: kinds(p, p.m.device_put(host(4), single(p, "pinned_host", 0))))
row("put back", lambda p: kinds(p, p.m.device_put(
    p.m.device_put(host(8, 2), in_memory(p, "pinned_host", "x")), named(p, "x"))))  # fmt: skip
row("put in a space", lambda p: kinds(p, p.m.device_put(put(p, "x"), p.m.memory.Space.Host)))
row("put back in a space", lambda p: kinds(p, p.m.device_put(
    p.m.device_put(host(4), p.m.memory.Space.Host), p.m.memory.Space.Device)))  # fmt: skip
row("results in a host", lambda p: kinds(p, p.m.jit(
    lambda x: x * 2, out_shardings=in_memory(p, "pinned_host", "x"))(host(8, 2))))  # fmt: skip
row("results in one host", lambda p: kinds(p, p.m.jit(
    lambda x: x * 2, out_shardings=single(p, "pinned_host", 0))(host(4))))  # fmt: skip
row("compiled results in a host", lambda p: kinds(p, p.m.jit(
    lambda x: x * 2, out_shardings=in_memory(p, "pinned_host", "x")
).lower(host(8, 2)).compile()(host(8, 2))))  # fmt: skip


def in_order(p: Any, wrapped: Callable[[Any, Callable[[Any], Any]], Any], seen: Any = None) -> Any:
    """Return the calls of two ordered effects in a program of eight devices, and its result."""
    calls: list[float] = []
    io = importlib.import_module(f"{p.m.__name__}.experimental").io_callback

    def both(x: Any) -> Any:
        io(lambda v: calls.append(float(v.sum())), None, x, ordered=True)
        y = io(lambda v: np.asarray(2 * v), p.m.ShapeDtypeStruct(x.shape, x.dtype), x, ordered=True)
        io(lambda v: calls.append(float(v.sum())), None, x + 1, ordered=True)
        return y

    result = p.m.jit(lambda x: wrapped(x, both))(p.m.device_put(host(8, 8), named(p, "x", "y")))
    result.block_until_ready()
    p.m.effects_barrier()
    return [np.asarray(result), calls if seen is None else seen(calls)]


def two_from_host(p: Any, name: str, **options: Any) -> Any:
    """Return the elements of two results of a call, and of what a program computes from them."""
    module = (
        p.m if name == "pure_callback" else importlib.import_module(f"{p.m.__name__}.experimental")
    )

    def program(x: Any) -> Any:
        types = (p.m.ShapeDtypeStruct(x.shape, x.dtype), p.m.ShapeDtypeStruct((), x.dtype))
        double, total = getattr(module, name)(lambda v: (2 * v, v.sum()), types, x, **options)
        return double, total, double + total

    return [np.asarray(y) for y in p.m.jit(program)(put(p, "x", "y"))]


row("ordered effects", lambda p: in_order(p, lambda x, f: f(x)))
row("ordered effects in a scan", lambda p: in_order(p, lambda x, f: p.m.lax.scan(
    lambda c, _: (f(c), None), x, None, length=3)[0]))  # fmt: skip
row("ordered effects in a branch", lambda p: in_order(p, lambda x, f: p.m.lax.cond(
    x.sum() > 0, f, lambda x: x, x)))  # fmt: skip
# the devices have no order among them
row("ordered effects of parts", lambda p: in_order(p, lambda x, f: f(p.m.shard_map(
    f, mesh=mesh(p), in_specs=p.P("x", "y"), out_specs=p.P("x", "y"))(f(x))), sorted))  # fmt: skip
row("two results of a host call", lambda p: two_from_host(p, "pure_callback"))
row("two results of effects", lambda p: two_from_host(p, "io_callback"))
row("two results of ordered effects", lambda p: two_from_host(p, "io_callback", ordered=True))
row("ordered prints", lambda p: in_order(p, lambda x, f: [
    p.m.debug.print("{}", x, ordered=True), f(x)][1]),
    "The following ordered effects are not supported for more than 1 device")  # fmt: skip
row("parts in a host", lambda p: kinds(p, p.m.make_array_from_callback(
    (8, 2), in_memory(p, "pinned_host", "x"), host(8, 2).__getitem__)))  # fmt: skip
row("arguments in a host", lambda p: np.asarray(p.m.jit(lambda x: x * 2)(
    p.m.device_put(host(8, 2), in_memory(p, "pinned_host", "x")))))  # fmt: skip
row("arguments in another memory", lambda p: p.m.jit(lambda x: x, in_shardings=named(p, "x"))(
    p.m.device_put(host(8, 2), in_memory(p, "pinned_host", "x"))),
    "does not match")  # fmt: skip

row("format", lambda p: (str(put(p, "x").format), hash(put(p, "x").format) is not None))
row("formats are leaves", lambda p: len(p.m.tree.leaves([put(p, "x").format] * 2)))
row("equal formats", lambda p: (put(p, "x").format == put(p, "x").format, put(p).format == 1))
row("an open format", lambda p: str(layouts(p).Format(None)))
row("a format of any layout", lambda p: layouts(p).Format(layouts(p).Layout.AUTO).layout
    is layouts(p).Layout.AUTO)  # fmt: skip
row("no layout", lambda p: layouts(p).Format("row"), "Invalid value received for the layout arg")
row("a sharding as a layout", lambda p: layouts(p).Format(named(p)), "Expected values are `None`")
row("no sharding", lambda p: layouts(p).Format(None, "x"), "Invalid value received for the shardi")
row("a layout alone", lambda p: layouts(p).Format(layouts(p).Layout((0,))), "has to be concrete")
row("put by a format", lambda p: str(p.m.device_put(host(8, 2), row_major(p, "x")).format))
row("put by the format of an array", lambda p: p.m.device_put(host(8, 2), put(p, "y").format))
row("put by a choice", lambda p: p.m.device_put(
    host(8, 2), layouts(p).Format(layouts(p).Layout.AUTO, named(p, "x"))),
    "sharding and layout in `Layout` instance should be concrete")  # fmt: skip
row("formats of arguments", lambda p: p.m.jit(
    lambda d: d["a"] + d["b"], in_shardings=({"a": row_major(p, "x"), "b": named(p, "x")},)
)({"a": host(8, 2), "b": host(8, 2)}))  # fmt: skip
row("format of results", lambda p: p.m.jit(
    lambda x: (x, 2 * x), out_shardings=(row_major(p, "x"), None))(host(8, 2))[0])  # fmt: skip
row("chosen formats", lambda p: p.m.jit(
    lambda x: x * 2, in_shardings=layouts(p).Format(layouts(p).Layout.AUTO, named(p, "x"))
)(host(8, 2)))  # fmt: skip
row("format of a constraint", lambda p: p.m.jit(
    lambda x: p.m.lax.with_sharding_constraint(x, row_major(p, "x")))(host(8, 2)))  # fmt: skip
row("format of parts", lambda p: p.m.make_array_from_callback(
    (8, 2), row_major(p, "y"), host(8, 2).__getitem__))  # fmt: skip
row("sharding of a description", lambda p: str(
    p.m.ShapeDtypeStruct((8, 2), "float32", sharding=row_major(p, "x")).sharding))  # fmt: skip


def words(p: Any, x: Any) -> Any:
    return str(p.m.typeof(x)), str(x.sharding), np.asarray(p.m.random.key_data(x))


def parts(p: Any, sharding: Any, x: Any) -> Any:
    places = sharding.addressable_devices_indices_map(x.shape)
    return [p.m.device_put(x[i], device) for device, i in places.items()]


row("keys of a callback", lambda p: words(p, p.m.make_array_from_callback(
    (8,), named(p, "y"), keys(p).__getitem__)))  # fmt: skip
row("keys of arrays", lambda p: words(p, p.m.make_array_from_single_device_arrays(
    (8,), named(p, "x"), parts(p, named(p, "x"), keys(p)))))  # fmt: skip
row("keys of a wrong shape", lambda p: p.m.make_array_from_callback(
    (8,), named(p, "x"), lambda _: keys(p)), "Expected shard shape")  # fmt: skip
for _entries in (("x",), (None, "y"), (("y", "x"),), ("y", "x"), (None, ("x", "y")), ()):
    row(f"text of {_entries}", lambda p, e=_entries: str(compiler(p, *e)))
row("a constraint without devices", lambda p: p.m.lax.with_sharding_constraint(
    put(p, "x"), p.sharding.NamedSharding(mesh(p).abstract_mesh, p.P(None, None))))  # fmt: skip


def typed(p: Any) -> Any:
    """Return an array whose first dimension is split in its type."""
    where = p.sharding.NamedSharding(p.mesh(("Explicit", "Explicit")), p.P("x"))
    return p.m.device_put(host(8, 2), where)


row(
    "slice of a typed array",
    lambda p: p.m.jit(lambda x: x[:3])(typed(p)),
    "slicing on sharded dims",
)
row("sort of a typed array", lambda p: p.np.sort(typed(p), 0),
    "Arguments to sort must be unsharded over the sorting dimension")  # fmt: skip
row("cumsum of a typed array", lambda p: p.np.cumsum(typed(p), 0),
    "Input should be unsharded over the axis being reduced")  # fmt: skip
row("top_k of a typed array", lambda p: p.m.lax.top_k(typed(p).T, 1),
    "The input should be unsharded over the axis along which to compute the")  # fmt: skip
row("shape of a typed array", lambda p: str(p.m.eval_shape(lambda x: x * 2, typed(p))))


def described_on_a_mesh(p: Any, types: tuple[str, str] = ("Auto", "Auto")) -> Any:
    with p.m.set_mesh(p.mesh(types)):
        x = p.m.ShapeDtypeStruct((8, 2), "float32", sharding=p.P("x"))
        step = p.m.jit(lambda x: x * 2)
        return str(x), str(step.eval_shape(x)), str(step.lower(x).compile().input_shardings)


def compiled_for_the_default(p: Any) -> Any:
    device = p.m.devices()[3]
    with p.m.default_device(device):
        program = p.m.jit(lambda x: x * 2).lower(host(2)).compile()
        result = program(host(2))
        return str(program.input_shardings), str(program.output_shardings), result.committed, result


row("descriptions on a mesh", described_on_a_mesh)
row("typed descriptions", lambda p: described_on_a_mesh(p, ("Explicit", "Explicit")))
row("a description without a mesh", lambda p: p.m.ShapeDtypeStruct((8,), "int32", sharding=p.P()))
row("compiled for the default device", compiled_for_the_default)
row("a description of results", lambda p: str(p.m.jit(
    lambda x: x * 2, out_shardings=named(p, "x")).eval_shape(host(8, 2))))  # fmt: skip
row("a description of results of a placed array", lambda p: str(p.m.jit(
    lambda x: x * 2).eval_shape(put(p, "x"))))  # fmt: skip
row("index along no axis", lambda p: p.lax.axis_index(()))
row("capsule of several devices", lambda p: put(p, "x").__dlpack__(),
    "an array on a singular device, but an array with a Sharding over 8 devices")  # fmt: skip
row("place of several devices", lambda p: put(p, "x").__dlpack_device__(),
    "only supported for unsharded arrays")  # fmt: skip
row("map in a map of another mesh", lambda p: p.m.pmap(p.m.shard_map(
    lambda x: x, mesh=mesh(p), in_specs=p.P("x"), out_specs=p.P("x")))(host(8, 8)),
    "The context mesh .* should match the mesh passed to shard_map")  # fmt: skip
