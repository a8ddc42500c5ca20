"""The cost by stack: a row for each call of a helper, also in nested programs and backward."""

from __future__ import annotations

import pytest

import olympus as ox
import olympus.numpy as jnp
from olympus.analysis import Cost

DECODER = """\
import olympus as ox
jnp = ox.numpy

def qmatmul(p, x):
    return (x @ p["w"].astype(x.dtype)) * p["scale"]

def attention(p, x):
    q = qmatmul(p["q"], x)
    k = qmatmul(p["k"], x)
    v = qmatmul(p["v"], x)
    return ox.nn.softmax(q @ k.T) @ v

def decode(layers, x):
    for p in layers:
        x = attention(p, x)
        x = x * ox.nn.silu(qmatmul(p["gate"], x))
    return x
"""


def traced_stages(text: str, name: str, *args: object, recorded: bool = True, above: str = ""):
    """Return function `name` of a source text, lowered, and its calls recorded if `recorded`."""
    names: dict = {"__name__": "model"}
    exec(compile(above + text, "/project/model.py", "exec"), names)
    with ox.include_full_tracebacks_in_locations(recorded):
        return ox.jit(names[name]).lower(*args)


def decoder_arguments(layers: int = 3):
    matrix = {
        "w": ox.ShapeDtypeStruct((16, 16), "int8"),
        "scale": ox.ShapeDtypeStruct((16,), "float32"),
    }
    layer = dict.fromkeys(("q", "k", "v", "gate"), matrix)
    return [layer] * layers, ox.ShapeDtypeStruct((4, 16), "float32")


def calls(cost: Cost) -> dict[str, int]:
    """Return the flops of each stack, by the names and lines of its frames."""
    return {
        " > ".join(f"{frame.function}:{frame.line}" for frame in stack.frames): stack.row.flops
        for stack in cost.by_stack()
    }


def check_sums(figures: Cost, plain: Cost) -> None:
    """Check that the rows add up to the figures of the program counted without stacks."""
    for figure in ("flops", "bytes", "operations", "transcendentals"):
        total = sum(getattr(stack.row, figure) for stack in figures.by_stack())
        assert total == getattr(figures, figure) == getattr(plain, figure)
    assert sum(stack.row.share for stack in figures.by_stack()) == pytest.approx(1.0)


def test_calls_of_one_helper_have_separate_rows() -> None:
    lowered = traced_stages(DECODER, "decode", *decoder_arguments())
    figures = lowered.cost(stacks=True)
    check_sums(figures, lowered.cost())
    product, conversion, scaling = 2 * 4 * 16 * 16, 16 * 16, 4 * 16
    by_call = calls(figures)
    for caller in (*(f"decode:15 > attention:{line}" for line in (8, 9, 10)), "decode:16"):
        assert by_call.pop(f"{caller} > qmatmul:5") == 3 * (product + conversion + scaling)
    assert by_call.keys() == {"decode:15 > attention:11", "decode:16"}


def test_without_recording_a_stack_has_one_frame() -> None:
    lowered = traced_stages(DECODER, "decode", *decoder_arguments(), recorded=False)
    assert all(len(stack.frames) == 1 for stack in lowered.cost(stacks=True).by_stack())


@ox.jit
def product(w, x):
    return jnp.tanh(x @ w)


@ox.custom_vjp
def square(x):
    return x * x


def square_bwd(x, g):
    return (2 * x * g,)


square.defvjp(lambda x: (x * x, x), square_bwd)


def repeated(w, x):
    def body(carry, _):
        return product(w, carry), None

    y, _ = ox.lax.scan(body, x, None, length=5)
    return product(w, y)


def loss(w, x):
    y = ox.checkpoint(lambda z: ox.nn.silu(z @ w))(repeated(w, x))
    return jnp.sum(ox.vmap(square)(y))


def step(w, x):
    return w - 0.1 * ox.grad(loss)(w, x)


def functions(cost: Cost) -> set[str]:
    return {" > ".join(frame.function for frame in stack.frames) for stack in cost.by_stack()}


def test_operations_of_nested_programs_have_the_calls_around_them() -> None:
    arguments = ox.ShapeDtypeStruct((16, 16), "float32"), ox.ShapeDtypeStruct((4, 16), "float32")
    with ox.include_full_tracebacks_in_locations():
        lowered = ox.jit(step).lower(*arguments)
    figures = lowered.cost(stacks=True)
    check_sums(figures, lowered.cost())
    assert functions(figures) >= {
        "step > loss > repeated > repeated.<locals>.body > product",  # a loop, and a `jit` in it
        "step > loss > repeated > product",  # the same function of the module
        "step > loss > loss.<locals>.<lambda>",
        "step > square_bwd",
    }
    assert all(name.startswith("step") for name in functions(figures))
    (loop,) = (stack.row for stack in figures.by_stack() if len(stack.frames) == 5)
    assert loop.matmul_flops == 5 * 3 * (2 * 4 * 16 * 16)  # forward, and two products backward
    assert loop.direction == "both"


def test_recording_does_not_change_the_program() -> None:
    plain = traced_stages(DECODER, "decode", *decoder_arguments(), recorded=False)
    recorded = traced_stages(DECODER, "decode", *decoder_arguments())
    assert recorded.as_text(debug_info=True) == plain.as_text(debug_info=True)
    moved = traced_stages(DECODER, "decode", *decoder_arguments(), above="# a comment\n\n")
    assert moved.as_text() == recorded.as_text()
    lines = [stack.frames[-1].line for stack in moved.cost(stacks=True).by_stack()]
    assert lines == [stack.frames[-1].line + 2 for stack in recorded.cost(stacks=True).by_stack()]


def test_the_same_program_has_the_same_stacks() -> None:
    figures = [
        traced_stages(DECODER, "decode", *decoder_arguments()).cost(stacks=True).by_stack()
        for _ in range(2)
    ]
    assert figures[0] == figures[1]


def test_frames_outside_user_code_are_omitted() -> None:
    figures = traced_stages(DECODER, "decode", *decoder_arguments()).cost(stacks=True)
    files = {frame.file for stack in figures.by_stack() for frame in stack.frames}
    assert files == {"/project/model.py"}
