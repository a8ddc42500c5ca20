"""Programs of `pjit` and `jit` on several devices, whose result or error is that of JAX.

They are as in `device_programs`.
"""

from __future__ import annotations

import importlib
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.devices.device_programs import (
    Program,
    host,
    keys,
    mesh,
    named,
    put,
    reversed_rows,
    words,
)

__all__ = ["PJIT_PROGRAMS"]

PJIT_PROGRAMS: list[Program] = []


def row(name: str, run: Callable[[Any], Any], words: str | None = None) -> None:
    PJIT_PROGRAMS.append(Program(f"pjit: {name}", run, words))


def pjit(p: Any, fun: Callable[..., Any], *shardings: Any, **options: Any) -> Any:
    """Return `pjit` of a function with specs of entries: a name, a tuple of names, or None."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        module = importlib.import_module(f"{p.m.__name__}.experimental.pjit")
        return module.pjit(fun, *shardings, **options)


def inside(p: Any, run: Callable[[], Any], shape: tuple[int, int] = (2, 4)) -> Any:
    """Run in the context of a mesh of axes x and y."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        types = (p.sharding.AxisType.Auto,) * 2
        with p.m.make_mesh(shape, ("x", "y"), axis_types=types):
            return run()


def staged(p: Any, ins: Any, outs: Any, x: Any, **options: Any) -> Any:
    return inside(p, lambda: pjit(p, lambda x: x * 2, ins, outs, **options)(x))


def on_two_meshes(p: Any) -> list[str]:
    f = pjit(p, lambda x: x * 2, p.P("x"), None)
    return [str(inside(p, lambda: f(host(8)), s).sharding) for s in ((2, 4), (4, 2))]


def reverse_rule(p: Any) -> Any:
    f = pjit(p, lambda x: p.np.sin(x).sum(), p.P("x"), None)
    return inside(p, lambda: p.m.grad(f)(host(8)))


def constrained(p: Any, *entries: Any) -> Any:
    return pjit(p, lambda x: p.lax.with_sharding_constraint(x, p.P(*entries)), None, None)


def compiled(p: Any) -> list[str]:
    program = inside(p, lambda: pjit(p, lambda x: x, p.P("x"), None).lower(host(8)).compile())
    return [str(program.input_shardings), str(program.output_shardings)]


row("specs", lambda p: staged(p, p.P("x"), p.P("y"), host(8, 8)))
row("None in arguments", lambda p: staged(p, None, p.P("y"), host(8, 8)))
row("None in results", lambda p: staged(p, p.P("x"), None, host(8, 8)))
row("None without a mesh", lambda p: pjit(p, lambda x: x * 2, None, None)(host(8)))
row("no shardings", lambda p: inside(p, lambda: pjit(p, lambda x: x * 2)(host(8))))
row("no arguments", lambda p: inside(p, lambda: pjit(p, lambda: p.np.ones(8))()))
row("a placed array", lambda p: inside(p, lambda: pjit(p, lambda x: x * 2)(put(p, "x"))))
row("an array on one device", lambda p: inside(p, lambda: pjit(p, lambda x: x * 2)(
    p.m.device_put(host(8), p.m.devices()[2]))), "Received incompatible devices")  # fmt: skip
row("two meshes", on_two_meshes)
row("compiled", compiled)
row("constraint", lambda p: inside(p, lambda: constrained(p, "x", "y")(host(8, 8))))
row("inner pjit", lambda p: staged(p, p.P("x"), p.P("x"), pjit(p, np.abs)(host(8))))
row("pjit in jit", lambda p: inside(p, lambda: p.m.jit(
    pjit(p, lambda x: x * 2, p.P("y"), p.P("x")))(host(8))))  # fmt: skip
row("vmap", lambda p: inside(p, lambda: p.m.vmap(
    pjit(p, lambda x: x * 2, p.P("x"), p.P("y")))(host(3, 8))))  # fmt: skip
row("grad", reverse_rule)
row("static argument", lambda p: inside(p, lambda: pjit(
    p, lambda n, x: x * n, (p.P("x"),), None, static_argnums=0)(3, host(8))))  # fmt: skip
row("spec without a mesh", lambda p: pjit(p, abs, p.P("x"))(host(8)),
    "^pjit requires a non-empty mesh in context .* `PartitionSpec`s to in_shardings")  # fmt: skip
row("unknown axis", lambda p: staged(p, p.P("z"), None, host(8)), "Resource axis: z of P")
row("axis twice", lambda p: staged(p, p.P("x", "x"), None, host(8, 8)),
    "A single in_shardings specification can map every mesh axis")  # fmt: skip
row("axis twice in results", lambda p: staged(p, None, p.P(("x", "x")), host(8, 8)),
    "A single out_shardings specification can map every mesh axis")  # fmt: skip
row("axis twice in a constraint",
    lambda p: inside(p, lambda: constrained(p, "x", "x")(host(8, 8))),
    "A single shardings specification can map every mesh axis")  # fmt: skip
row("uneven argument", lambda p: staged(p, p.P("y"), None, host(6)),
    "implies that array axis 0 is partitioned 4 times")  # fmt: skip
row("uneven result", lambda p: staged(p, None, p.P("y"), host(6)),
    "implies that array axis 0 is partitioned 4 times")  # fmt: skip
row("device", lambda p: with_device(p, lambda run: inside(p, run)), "Mesh context manager should")
row("jit for a device in set_mesh", lambda p: with_device(p, lambda run: in_mesh(p, run), False),
    "Mesh context manager should not be used with jit when backend or device")  # fmt: skip
row("path of an argument", lambda p: p.m.jit(
    lambda foo: foo["a"], in_shardings=({"a": named(p, "x", "y")},))({"a": host(8)}),
    r"One of pjit arguments with pytree key path foo\['a'\] is incompatible")  # fmt: skip
row("spec of jit without a mesh", lambda p: p.m.jit(abs, out_shardings=p.P("x"))(host(8)),
    "^jit requires a non-empty mesh in context .* `PartitionSpec`s to out_shardings")  # fmt: skip


def in_mesh(p: Any, run: Callable[[], Any]) -> Any:
    with p.m.set_mesh(mesh(p)):
        return run()


def with_device(p: Any, within: Callable[[Callable[[], Any]], Any], is_pjit: bool = True) -> Any:
    """Call a `pjit` or a `jit` for a device within a context."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        device = p.m.devices()[0]
        function = pjit(p, abs, device=device) if is_pjit else p.m.jit(abs, device=device)
    return within(lambda: function(host(8)))


def plain(name: str, run: Callable[[Any], Any], words: str | None = None) -> None:
    PJIT_PROGRAMS.append(Program(name, run, words))


def cached(p: Any, run: Any, *arguments: Any) -> Any:
    """Return the number of cached programs of a staged function after each call."""
    counts = []
    for argument in arguments:
        run(argument)
        counts.append(run._cache_size())
    return counts


def doubled(p: Any) -> Any:
    return p.m.jit(lambda x: x * 2)


plain("cache of shardings", lambda p: cached(p, doubled(p), *[
    put(p, *e) for e in (("x",), ("x",), ("y",), (), ("x", None))]))  # fmt: skip
plain("cache of devices", lambda p: cached(p, doubled(p), *[
    p.m.device_put(host(4), p.m.devices()[d]) for d in (0, 1, 0, 2)]))  # fmt: skip


plain("cache of scalars", lambda p: cached(
    p, doubled(p), 1.0, p.np.float32(1), np.float32(1), 1))  # fmt: skip
plain("cache of own results", lambda p: cached(
    p, doubled(p), host(4), doubled(p)(host(4)), doubled(p)(doubled(p)(host(4)))))  # fmt: skip


def cached_by_a_gradient(p: Any) -> Any:
    run = doubled(p)
    p.m.grad(run)(1.0)
    return [run._cache_size(), *cached(p, run, 1.0, 2.0)]


plain("cache of a gradient", cached_by_a_gradient)


def elsewhere(p: Any) -> Any:
    """Return the sum of an array on a mesh and one on device 3."""
    return closed_over(p, p.m.device_put(host(8, 2), p.m.devices()[3]))


def closed_over(p: Any, c: Any) -> Any:
    return p.m.jit(lambda x: x + c)(put(p, "x"))


def as_argument(p: Any) -> Any:
    return p.m.jit(lambda x: x, in_shardings=named(p, "x"))


def compiled_keys(p: Any) -> list[Any]:
    k = keys(p)
    rows = named(p, "x")
    program = p.m.jit(lambda k: (k, p.m.random.key_data(k)), in_shardings=rows).lower(k).compile()
    out, data = program(k)
    return [str(program.input_shardings), str(program.output_shardings), words(p, out), data]


def one_device(p: Any, fun: Callable[[Any], Any]) -> Any:
    """Map a function over a mesh of one device."""
    one = p.sharding.Mesh(np.array(p.m.devices()[:1]), ("a",))
    return p.m.jit(p.m.shard_map(fun, mesh=one, in_specs=p.P("a"), out_specs=p.P("a")))(host(2))


def unusable(p: Any, *entries: Any) -> list[str]:
    """Return the warnings of a donated array whose result has another sharding."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        p.m.jit(lambda x: x + 1, donate_argnums=0, out_shardings=named(p, *entries))(put(p, "x"))
    return [str(w.message)[:46] for w in seen if "donated" in str(w.message)]


def exchanged(p: Any) -> list[bool]:
    """Return which of two donated arrays each of two results with the other sharding takes."""
    step = p.m.jit(
        lambda x, y: (x + 1, y + 1),
        donate_argnums=(0, 1),
        out_shardings=(named(p, "y"), named(p, "x")),
    )
    text = step.lower(put(p, "x"), put(p, "y")).as_text()
    return [f"tf.aliasing_output = {i}" in text for i in (0, 1)]


plain("a constant on another device", lambda p: elsewhere(p))
plain("a constant from outside in another order", lambda p: closed_over(
    p, p.m.device_put(host(8, 2), reversed_rows(p))))  # fmt: skip
plain("a float0 argument", lambda p: as_argument(p)(np.zeros(8, p.m.dtypes.float0)).shape)
plain("keys of a compiled program", compiled_keys)
plain("a part of keys", lambda p: words(p, p.m.device_put(
    keys(p), named(p, "x")).addressable_data(5)))  # fmt: skip
plain("a call on a mesh of one device", lambda p: one_device(p, lambda x: p.m.pure_callback(
    lambda v: 2 * v, p.m.ShapeDtypeStruct((2,), "float32"), x)).addressable_data(0))  # fmt: skip
plain("donation to another sharding", lambda p: unusable(p, "y"))
plain("donation to the same sharding", lambda p: unusable(p, "x"))
plain("exchanged donations", exchanged)
plain("compiled for another device", lambda p: p.m.jit(abs).lower(host(2)).compile()(
    p.m.device_put(host(2), p.m.devices()[1])),
    "Computation was compiled for input shardings that disagree with")  # fmt: skip


def between(p: Any) -> Any:
    """Return a `jit` from rows of one split to rows of another."""
    return p.m.jit(p.np.sin, in_shardings=named(p, "x"), out_shardings=named(p, "y"))


def equations(p: Any, fun: Callable[..., Any], *shape: int) -> Any:
    return p.m.make_jaxpr(fun)(host(*shape)).jaxpr.eqns


def requested(p: Any, fun: Callable[..., Any], *shape: int) -> list[Any]:
    """Return the shardings of the calls in a function."""
    calls = [e for e in equations(p, fun, *shape) if e.primitive.name == "jit"]
    return [[str(e.params[k]) for k in ("in_shardings", "out_shardings")] for e in calls]


def constraints_in(p: Any, fun: Callable[..., Any], *shape: int) -> list[int]:
    """Return the number of constraints in each function of the module of a program."""
    functions = p.m.jit(fun).lower(host(*shape)).as_text().split("func.func ")[1:]
    return [text.count("sdy.sharding_constraint") for text in functions]


def of_mapped(p: Any) -> list[list[int]]:
    """Return the numbers of operands and results of the maps of a gradient."""
    mesh = p.mesh(("Auto", "Auto"))
    square = p.m.shard_map(lambda x: x * x, mesh=mesh, in_specs=p.P("x"), out_specs=p.P("x"))
    eqns = equations(p, p.m.grad(lambda x: square(x).sum()), 8)
    return [[len(e.invars), len(e.outvars)] for e in eqns if e.primitive.name == "shard_map"]


plain("the equation of a call", lambda p: str(p.m.make_jaxpr(between(p))(host(8))))
plain("shardings of a call", lambda p: requested(p, lambda x: between(p)(x), 8))
plain("shardings of a gradient", lambda p: requested(
    p, p.m.grad(lambda x: between(p)(x).sum()), 8))  # fmt: skip
plain("shardings of a batch", lambda p: requested(p, p.m.vmap(between(p)), 3, 8))
plain("constraints in a callee", lambda p: constraints_in(p, lambda x: between(p)(x) * 2, 8))
plain("values of a call in a loop", lambda p: p.m.jit(lambda x: p.lax.fori_loop(
    0, 2, lambda _, c: between(p)(c), x))(host(8)))  # fmt: skip
plain("operands as residuals", of_mapped)


def constraint(p: Any, fun: Callable[..., Any], *shape: int) -> list[Any]:
    """Return the parameters of the constraint in a function."""
    params = equations(p, fun, *shape)[0].params
    return [str(params[k]) for k in ("sharding", "layout", "context_mesh")] + [
        sorted(params["unconstrained_dims"])
    ]


plain("a constraint", lambda p: constraint(p, lambda x: p.lax.with_sharding_constraint(
    x, named(p, "x")), 8, 8))  # fmt: skip
plain("a constraint of a batch", lambda p: constraint(p, p.m.vmap(
    lambda x: p.lax.with_sharding_constraint(x, named(p, "x"))), 3, 8, 8))  # fmt: skip
plain("a constraint of a batch along an axis", lambda p: constraint(p, p.m.vmap(
    lambda x: p.lax.with_sharding_constraint(x, named(p, "x")), spmd_axis_name="y"),
    4, 8, 8))  # fmt: skip


def placed_apart(p: Any, fun: Callable[[Any, Any], Any], **options: Any) -> Any:
    """Call a function of an array on a mesh and one on device 2."""
    other = p.m.device_put(host(8), p.m.devices()[2])
    return p.m.jit(fun, **options)(put(p, "x"), other)


plain("a result of the argument that is not placed", lambda p: p.m.jit(lambda x, y: y)(
    put(p, "x"), host(8)))  # fmt: skip
plain("a constant result", lambda p: p.m.jit(lambda x: p.np.arange(3))(put(p, "x")))
plain("an argument on other devices that is not read", lambda p: placed_apart(
    p, lambda x, y: y + 1))  # fmt: skip
plain("an argument on other devices that is kept", lambda p: placed_apart(
    p, lambda x, y: y + 1, keep_unused=True), "Received incompatible devices")  # fmt: skip


def of_pmap(p: Any, name: str | None = None) -> list[str]:
    """Return the attributes of the argument of a `pmap` that donates it, by the module's text."""
    text = p.m.pmap(lambda x: x * 2, axis_name=name, donate_argnums=0).lower(host(8)).as_text()
    return re.findall(r"sdy\.sharding = #[^>]*>|tf\.aliasing_output = \d", text)


plain("attributes of a pmap", lambda p: of_pmap(p, "i"))
plain("attributes of a pmap without a name", lambda p: of_pmap(p))


def mapped_on(p: Any, *devices: slice) -> Any:
    """Return the result of `pmap`s on parts of the devices, each of the result before."""
    x = host(4)
    for part in devices:
        x = p.m.pmap(lambda x: x + 1, devices=p.m.devices()[part])(x)
    return x


def counted(p: Any, k: Any) -> Any:
    return p.m.pmap(lambda x, k: x * k, static_broadcasted_argnums=1)(host(8), k)


def on_last_devices(p: Any, spec: Any, wanted: Any) -> Any:
    """Return the devices of twice an array on the first four, by `in_shardings` on the others."""
    first, last = [
        p.sharding.NamedSharding(p.sharding.Mesh(np.array(some), ("x",)), s)
        for some, s in ((p.m.devices()[:4], spec), (p.m.devices()[4:], wanted))
    ]
    double = p.m.jit(lambda x: x * 2, in_shardings=last)
    return sorted(d.id for d in double(p.m.device_put(host(8), first)).sharding.device_set)


plain("pmap on other devices", lambda p: mapped_on(p, slice(4), slice(4, 8)))
plain(
    "pmap on the same devices in another order",
    lambda p: mapped_on(p, slice(4), slice(3, None, -1)),
)
plain("pmap of a list as a static argument", lambda p: counted(p, [3]),
      r"unexpected cache-misses. Static argument \(index 1\) of type <class 'list'>")  # fmt: skip
plain("pmap of lengths that differ", lambda p: p.m.pmap(lambda x, y: x)(host(8), host(4)),
      "array axis 0 is partitioned 8 times, but the dimension size is 4 .full shape: ")  # fmt: skip
plain("pmap that donates an argument it lacks", lambda p: p.m.pmap(
    lambda x: x + 1, donate_argnums=1)(host(8)))  # fmt: skip
plain("name of the module of a pmap",
      lambda p: "module @jit__fun " in p.m.pmap(lambda x: x).lower(host(8)).as_text())  # fmt: skip
plain("results with a spec but no mesh", lambda p: p.m.jit(lambda x: x, out_shardings=p.P("x"))(1),
      r"You can define a context mesh via `jax.set_mesh\(mesh\)`. Alternatively")  # fmt: skip
plain("shardings of a dict with other keys", lambda p: p.lax.with_sharding_constraint(
    {"a": host(8), "b": host(8)}, {"a": named(p, "x")}),
    "with 1 child keys\n.*but at the same key path the full pytree has")  # fmt: skip
plain("compiled with two arguments", lambda p: p.m.jit(lambda x, y: x).lower(1, 2).compile()(1),
      "There are 1 mismatches, including:\n    \\* at args, seen tuple of length 2 but now given "
      "tuple of length 1, so the lengths do not match")  # fmt: skip
plain("pmap of in_axes for another tree", lambda p: p.m.pmap(
    lambda x: x, in_axes=({"a": 0},))({"b": host(8)}),
    "the value of `in_axes` must be a tree prefix of that tuple")  # fmt: skip
plain("in_shardings on the same devices in another order", lambda p: p.m.jit(
    lambda x: x * 2, in_shardings=named(p, "x"))(
    p.m.device_put(host(8, 2), reversed_rows(p))))  # fmt: skip
plain("in_shardings on other devices", lambda p: on_last_devices(p, p.P("x"), p.P("x")))
plain(
    "in_shardings of another split on other devices",
    lambda p: on_last_devices(p, p.P("x"), p.P()),
    "Sharding passed to jit does not match",
)
plain("put in a program", lambda p: p.m.jit(
    lambda x: p.m.device_put(x * 2, named(p, "y")))(put(p, "x")).sharding.spec)  # fmt: skip
plain("reshard with a list", lambda p: p.sharding.reshard((host(8),), [named(p, "x")]),
      "reshard out_shardings is not a tuple: got <class 'list'>")  # fmt: skip
plain("committed keys", lambda p: p.m.device_put(keys(p), named(p, "x"))._committed)
plain("text of a type on a mesh of Auto axes", lambda p: put(p, "x").aval.str_short(True, True))
plain("parts of another shape", lambda p: p.m.make_array_from_callback(
    (8, 2), named(p, "x"), lambda index: host(8, 2)),
    r"Shape of Array is float32\[8,2\] with sharding NamedSharding")  # fmt: skip


def typed(p: Any, arguments: list[Any]) -> list[str]:
    """Return the shardings in the types of a sum in a function, as the function sees them."""
    seen = []

    def f(x: Any) -> Any:
        seen.append(str(p.m.typeof(x + 1).sharding))
        return p.m.jit(lambda y: (seen.append(str(p.m.typeof(y * 2).sharding)), y)[1])(x)

    for x in arguments:
        p.m.jit(lambda x: f(x)).lower(x)
    return seen


plain("types on the mesh of an argument", lambda p: typed(p, [
    put(p, "x"), p.m.ShapeDtypeStruct((8,), "float32", sharding=named(p, "y")), host(8)
]))  # fmt: skip


def traces(p: Any) -> int:
    """Return the number of traces of calls on no mesh and on one, repeated."""
    seen: list[Any] = []
    run = p.m.jit(lambda x: (seen.append(x), x * 2)[1])
    for x in (host(8, 2), put(p, "x"), put(p, "y"), host(8, 2), put(p, "x")):
        run(x)
    return len(seen)


plain("traces on meshes", traces)


def given_up(p: Any, fun: Callable[[Any], Any]) -> list[Any]:
    """Return the attributes of a donated argument, if the call deletes it, and the warnings."""
    run, x = p.m.jit(fun, donate_argnums=0), p.np.arange(8.0)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        text = run.lower(x).as_text()
        run(x)
    found = re.findall(r"jax.buffer_donor = true|tf.aliasing_output = \d", text)
    return [found, x.is_deleted(), {str(w.message)[:46] for w in seen}]


plain("donation to a result of another shape", lambda p: given_up(p, lambda x: x.reshape(4, 2)))
plain("donation to a result of another dtype", lambda p: given_up(p, lambda x: x.astype("int32")))
plain("donation without a result of the size", lambda p: given_up(p, lambda x: x[:3]))


def explicit(p: Any, run: Callable[[Any], Any], kind: str = "Explicit") -> Any:
    """Call a function of an array that is split along an explicit axis."""
    typed_mesh = p.mesh((kind, kind))
    with p.m.set_mesh(typed_mesh):
        sharding = p.sharding.NamedSharding(typed_mesh, p.P("x", None))
        return run(p.m.device_put(host(8, 4), sharding))


MANY = "output PartitionSpec for the gather indexing as out sharding could not be resolved"
for name, index in {
    "a slice of columns": (slice(None), slice(1, 3)),
    "columns from the last to the first": (slice(None), slice(None, None, -1)),
    "every second column": (slice(None), slice(None, None, 2)),
    "a column": (slice(None), 1),
    "a column and a new axis": (None, slice(None), -1),
    "columns by an array": (slice(None), np.array([0, 3])),
    "no rows": slice(0, 0),
}.items():
    plain(f"explicit: {name}", lambda p, index=index: explicit(p, lambda x: x[index]))
for name, index in {
    "a slice of rows": slice(0, 4),
    "every second row": slice(None, None, 2),
    "a row": 0,
    "an element": (0, np.array([1, 2])),
}.items():
    row(f"explicit: {name}", lambda p, index=index: explicit(p, lambda x: x[index]), MANY)
plain("explicit: jacrev", lambda p: explicit(p, lambda x: p.m.jacrev(lambda r: r * r)(x)))
plain("explicit: jacrev of two", lambda p: explicit(p, lambda x: p.m.jacrev(
    lambda d: {"s": d["a"].sum(0), "p": d["b"] * d["a"]})({"a": x, "b": x + 1})))  # fmt: skip
plain("explicit: hessian", lambda p: explicit(p, lambda x: p.m.hessian(
    lambda r: (r**3).sum())(x[:, 0])))  # fmt: skip
row("explicit_axes of an Auto axis", lambda p: explicit(p, p.sharding.explicit_axes(
    lambda x: x, axes="x", in_sharding=p.P("y")), "Auto"),
    "cannot contain axis names that are of type Auto or Manual")  # fmt: skip


def on_device(p: Any, place: int) -> Any:
    return p.sharding.SingleDeviceSharding(p.m.devices()[place])


def constrained_to(p: Any, x: Any, *places: int) -> Any:
    """Constrain an array in a program to devices, one after another."""

    def run(x: Any) -> Any:
        for place in places:
            x = p.lax.with_sharding_constraint(x * 2, on_device(p, place))
        return x

    return p.m.jit(run)(x)


plain("a constraint to a device", lambda p: constrained_to(p, host(4), 1))
plain("a constraint to the first device", lambda p: constrained_to(p, host(4), 0))
row(
    "constraints to two devices", lambda p: constrained_to(p, host(4), 0, 1), "incompatible devices"
)
row("a constraint of an array on a mesh to a device", lambda p: constrained_to(p, put(p, "x"), 1),
    "incompatible devices")  # fmt: skip


def mapped_along(p: Any, body: Callable[..., Any], *values: Any, **options: Any) -> Any:
    """Return the sum of a `vmap` along `y` of a map over `x`."""
    split = (p.P("x"), *[p.P()] * (len(values) - 1))
    fun = p.m.shard_map(body, mesh=mesh(p), in_specs=split, out_specs=p.P("x"), **options)
    axes = (0, *[None] * (len(values) - 1))
    return p.m.jit(p.m.vmap(fun, axes, spmd_axis_name="y"))(*values)


for name, body in {
    "product": lambda p, x, c: p.np.sin(x) * c,
    "call": lambda p, x, c: p.m.jit(lambda v: p.np.sin(v) * c)(x),
    "scan": lambda p, x, c: p.lax.scan(lambda s, r: (s + r * c, s * r), x[0] * c, x)[1],
    "loop": lambda p, x, c: p.lax.while_loop(
        lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * x), (0, x)
    )[1],
    "branch": lambda p, x, c: p.lax.cond(c > 2, lambda v: v * c, lambda v: v * 2, x),
    "sum": lambda p, x, c: x * p.lax.psum(x * c, "x"),
}.items():
    plain(f"spmd_axis_name: {name}", lambda p, body=body: mapped_along(
        p, lambda x, c: body(p, x, c), host(4, 8), 3.0))  # fmt: skip
    if name not in ("scan", "loop", "branch"):  # JAX refuses them
        plain(f"spmd_axis_name: gradient of a {name}", lambda p, body=body: p.m.grad(
            lambda x, c: mapped_along(p, lambda x, c: body(p, x, c), x, c).sum(), (0, 1))(
            host(4, 8) / 9, 3.0))  # fmt: skip


def in_auto_axes(p: Any, fun: Callable[[Any], Any], out: Any) -> Callable[[Any], Any]:
    return lambda x: p.sharding.auto_axes(fun, out_sharding=out)(x)


plain("explicit: grad of auto_axes", lambda p: explicit(p, p.m.grad(
    lambda x: in_auto_axes(p, p.np.sin, p.P("y"))(x).sum())))  # fmt: skip
plain("explicit: linearize of auto_axes", lambda p: explicit(p, lambda x: p.m.linearize(
    in_auto_axes(p, p.np.sin, p.P("y")), x)[1](x)))  # fmt: skip
plain("explicit: hessian of auto_axes", lambda p: explicit(p, lambda x: p.m.hessian(
    in_auto_axes(p, lambda r: (r**3).sum(), p.P()))(x[:, 0])))  # fmt: skip
plain("explicit: a tangent with another sharding", lambda p: explicit(p, lambda x: p.m.jvp(
    lambda v: v * v, (x,), (p.sharding.reshard(x, p.P("y")),))))  # fmt: skip
row("explicit: linearize and another sharding", lambda p: explicit(p, lambda x: p.m.linearize(
    lambda v: v * v, x)[1](p.sharding.reshard(x, p.P("y")))),
    "linearized function called on tangent values inconsistent")  # fmt: skip
row("explicit: vmap along the axis of another value", lambda p: explicit(p, lambda x: p.m.vmap(
    lambda v, w: v * 2, (0, None))(x, x[:, 0])),
    "Unmapped values passed to vmap cannot be sharded along the mesh axis")  # fmt: skip
plain("the platform of arrays", lambda p: [put(p, "x").platform(), p.np.ones(2).platform()])
for name, options in {
    "in_shardings": {"in_shardings": ("x", "y")},
    "out_shardings": {"out_shardings": ("x", "y")},
}.items():
    row(f"keys of one dimension: {name}", lambda p, options=options: p.m.jit(lambda k: k, **{
        what: named(p, *spec) for what, spec in options.items()})(
        p.m.random.split(p.m.random.key(0), 8)),
        "of rank at least 2, but was applied to a value of rank 1")  # fmt: skip
row("a layout in the place of a sharding", lambda p: p.m.jit(
    lambda x: x, out_shardings=importlib.import_module(
        f"{p.m.__name__}.experimental.layout").Layout((1, 0)))(host(8, 4)),
    "`jax.jit` does not accept device-local layouts directly. Create a `Format`")  # fmt: skip
plain("a dead constraint", lambda p: p.m.jit(lambda x: (
    p.lax.with_sharding_constraint(x, named(p, "x")), x * 2)[1])(host(8)))  # fmt: skip
plain("the gradient of a dead device_put", lambda p: p.m.jit(p.m.grad(
    lambda x: p.m.device_put(p.np.sin(x), named(p, "x")).sum()))(host(8)))  # fmt: skip


def constrained_abstractly(p: Any, x: Any) -> Any:
    """Constrain an array of this process to a sharding on an AbstractMesh."""
    sharding = p.sharding.NamedSharding(mesh(p).abstract_mesh, p.P("x"))
    return p.m.lax.with_sharding_constraint(x, sharding)


row("an abstract constraint", lambda p: constrained_abstractly(p, put(p, "y")))
row("an abstract constraint of a NumPy array", lambda p: constrained_abstractly(p, host(8, 8)),
    "requires the input passed should be a `jax.Array`")  # fmt: skip
row("an abstract constraint of one device", lambda p: constrained_abstractly(
    p, p.m.numpy.ones(8)), "must be a `NamedSharding` since the target sharding")  # fmt: skip
row("a constraint of another abstract mesh", lambda p: constrained_abstractly(
    p, p.m.device_put(host(8, 8), p.sharding.NamedSharding(p.m.make_mesh(
        (8,), ("x",), axis_types=(p.sharding.AxisType.Auto,)), p.P("x")))),
    "Mesh shape of the input .* does not match the mesh shape of the target")  # fmt: skip
row(
    "in_shardings of unread arguments",
    lambda p: p.m.jit(lambda x, y: x * 2, in_shardings=(None, named(p, "y")))(
        host(8, 8), host(8, 8)
    ),
)
row("in_shardings of unread arguments elsewhere", lambda p: p.m.jit(
    lambda x, y: x * 2, in_shardings=(named(p, "x"), p.sharding.SingleDeviceSharding(
        p.m.devices()[1])))(host(8, 8), host(8, 8)))  # fmt: skip
