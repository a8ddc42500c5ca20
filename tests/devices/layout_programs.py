"""Programs on arrays in other layouts, whose result or error is that of JAX.

They are as in `device_programs`.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.devices.device_programs import Program, host, layouts, named

__all__ = ["LAYOUT_PROGRAMS"]

LAYOUT_PROGRAMS: list[Program] = []


def row(name: str, run: Callable[[Any], Any], words: str | None = None) -> None:
    LAYOUT_PROGRAMS.append(Program(name, run, words))


def laid(p: Any, *entries: Any, order: Any = (1, 0)) -> Any:
    """Return the format of arrays in another order, on one device or with a spec."""
    return layouts(p).Format(layouts(p).Layout(order), named(p, *entries) if entries else single(p))


def single(p: Any) -> Any:
    return p.sharding.SingleDeviceSharding(p.m.devices()[0])


def put(p: Any, *entries: Any) -> Any:
    return p.m.device_put(host(8, 4), laid(p, *entries))


def shown(p: Any, x: Any) -> Any:
    return [str(x.format), x]


def doubled(p: Any, **options: Any) -> Any:
    return p.m.jit(lambda x: x * 2, **options)


def auto(p: Any, sharding: Any = None) -> Any:
    return layouts(p).Format(layouts(p).Layout.AUTO, sharding)


def transposed(p: Any, place: Any) -> Any:
    struct = p.m.ShapeDtypeStruct((8, 4), "float32")
    f = p.m.jit(lambda x: x.T, in_shardings=place, out_shardings=place)
    return f.lower(struct).compile()


def formats(compiled: Any) -> list[str]:
    return [str(compiled.input_formats), str(compiled.output_formats)]


def called(p: Any) -> Any:
    compiled = transposed(p, auto(p))
    x = p.m.device_put(host(8, 4), compiled.input_formats[0][0])
    return shown(p, compiled(x))


def attributes(p: Any, x: Any, **options: Any) -> list[str]:
    """Return the layouts in the text of a program."""
    text = doubled(p, **options).lower(x).as_text()
    return [part.split('"')[1] for part in text.split("mhlo.layout_mode")[1:]]


def struct(p: Any, place: Any) -> Any:
    return p.m.ShapeDtypeStruct((8, 4), "float32", sharding=place)


CASES: dict[str, tuple[Any, ...]] = {"one device": (), "a mesh": ("x", "y")}
for title, e in CASES.items():
    row(f"put on {title}", lambda p, e=e: shown(p, put(p, *e)))
    row(f"an operation on {title}", lambda p, e=e: shown(p, put(p, *e) + put(p, *e)))
    row(f"an argument on {title}", lambda p, e=e: shown(p, doubled(p)(put(p, *e))))
    row(f"in_shardings on {title}", lambda p, e=e: doubled(p, in_shardings=laid(p, *e))(host(8, 4)))
    row(f"out_shardings on {title}", lambda p, e=e: shown(
        p, doubled(p, out_shardings=laid(p, *e))(host(8, 4))))  # fmt: skip
    row(f"another argument on {title}", lambda p, e=e: doubled(p, in_shardings=laid(p, *e))(
        p.m.device_put(host(8, 4), laid(p, *e, order=(0, 1)))),
        "Layout passed to jit does not match the layout on the respective arg")  # fmt: skip
    row(f"put back on {title}", lambda p, e=e: shown(
        p, p.m.device_put(put(p, *e), laid(p, *e, order=(0, 1)))))  # fmt: skip
    row(f"formats of a program on {title}", lambda p, e=e: formats(
        doubled(p, in_shardings=laid(p, *e)).lower(host(8, 4)).compile()))  # fmt: skip
    row(f"a described argument on {title}", lambda p, e=e: str(
        doubled(p).lower(struct(p, laid(p, *e))).compile().input_formats))  # fmt: skip
    row(f"texts on {title}", lambda p, e=e: [
        attributes(p, put(p, *e)),
        attributes(p, host(8, 4), out_shardings=laid(p, *e))])  # fmt: skip
    row(f"parts on {title}", lambda p, e=e: [
        str(s.data.format.layout) for s in put(p, *e).addressable_shards])  # fmt: skip
    row(f"the gradient on {title}", lambda p, e=e: p.m.grad(lambda x: (x * x).sum())(put(p, *e)))
    row(f"rows on {title}", lambda p, e=e: [put(p, *e)[1], list(put(p, *e))])
row("three axes", lambda p: shown(p, p.m.device_put(host(2, 3, 4), laid(p, order=(2, 0, 1)))))
row("moved to another device", lambda p: shown(
    p, p.m.device_put(put(p), p.sharding.SingleDeviceSharding(p.m.devices()[1]))))  # fmt: skip
row("moved to a mesh", lambda p: shown(p, p.m.device_put(put(p), named(p, "x"))))
row("put again", lambda p: shown(p, p.m.device_put(put(p), single(p))))
row("a tree", lambda p: [str(x.format) for x in p.m.device_put([host(8, 4)] * 2, laid(p))])
row("results in layouts", lambda p: [str(x.format) for x in p.m.jit(
    lambda x: (x, x), out_shardings=(laid(p), None))(host(8, 4))])  # fmt: skip
row("a copy", lambda p: [shown(p, put(p).copy()), shown(p, p.np.asarray(put(p)))])
row("a pickled array", lambda p: shown(p, pickle.loads(pickle.dumps(put(p)))))
row("from parts", lambda p: shown(p, p.m.make_array_from_callback(
    (8, 4), laid(p, "x", "y"), lambda i: host(8, 4)[i])))  # fmt: skip
row("the choice of the compiler", lambda p: str(
    (transposed(p, auto(p)).input_formats, transposed(p, auto(p)).output_formats)))  # fmt: skip
row("its choice on a mesh", lambda p: str(transposed(p, auto(p, named(p, "x"))).input_formats))
row("a call with its choice", called)
row("jit with its choice", lambda p: doubled(p, in_shardings=auto(p), out_shardings=auto(p))(
    host(8, 4)))  # fmt: skip
row("the text of a choice", lambda p: attributes(
    p, host(8, 4), in_shardings=auto(p), out_shardings=auto(p)))  # fmt: skip
row("a compiled program moves arrays", lambda p: doubled(p, in_shardings=laid(p)).lower(
    host(8, 4)).compile()(p.np.ones((8, 4))))  # fmt: skip
row("a compiled program and another layout", lambda p: doubled(p, in_shardings=laid(p)).lower(
    host(8, 4)).compile()(p.m.device_put(host(8, 4), single(p))),
    r"compiled for input layouts that disagree with the layouts of arguments.*with shape "
    r"float32\[8,4\]:\n  Passed layout: Layout.*\n  Required layout: ")  # fmt: skip
row("described layouts", lambda p: [str(struct(p, laid(p))), str(struct(p, laid(p)).format),
    str(struct(p, None).format), struct(p, laid(p)) == struct(p, single(p))])  # fmt: skip
row("a description of a choice", lambda p: struct(p, auto(p)), "Layout.AUTO` cannot be used")
row("a layout of another rank", lambda p: p.m.device_put(host(8), laid(p)),
    "Length of major_to_minor and the rank of the value should match")  # fmt: skip
row("layouts", lambda p: [str(layouts(p).Layout([1, 0])), str(layouts(p).Layout("x")),
    layouts(p).Layout((1, 0)) == layouts(p).Layout((1, 0)),
    layouts(p).Layout((1, 0)) == layouts(p).Layout((1, 0), ()),
    hash(layouts(p).Layout((1, 0))) == hash(layouts(p).Layout((1, 0)))])  # fmt: skip
row(
    "a constrained result",
    lambda p: shown(
        p,
        p.m.jit(lambda x: layouts(p).with_layout_constraint(x * 2, layouts(p).Layout((1, 0))))(
            host(8, 4)
        ),
    ),
)
row(
    "a constrained array",
    lambda p: shown(
        p, layouts(p).with_layout_constraint(p.np.ones((8, 4)), layouts(p).Layout((1, 0)))
    ),
)
row("a donated argument", lambda p: shown(
    p, doubled(p, donate_argnums=0, out_shardings=laid(p))(put(p))))  # fmt: skip
row("a donated argument in another layout", lambda p: doubled(
    p, donate_argnums=0, out_shardings=laid(p))(p.np.ones((8, 4))))  # fmt: skip
row("numbers of other dtypes", lambda p: [np.asarray(p.m.device_put(
    host(8, 4).astype(d), laid(p))).astype(float) for d in ("bool", "int8", "float16")]
)  # fmt: skip
row("its choice for results on a mesh", lambda p: str(p.m.jit(
    lambda x: x.T, in_shardings=auto(p, named(p, "x", "y")), out_shardings=auto(p)
).lower(struct(p, None)).compile().output_formats))  # fmt: skip
