"""The programs of the tasks that compile whole programs, each on several sides.

`olympus` and `jax` compile the same source, in which layers are a Python loop. `off` is olympus
without the search for repeated blocks. `scan` is the form in which users of JAX compile one layer
instead of many: parameters stacked over the layers, and a `lax.scan` over them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import ModuleType
from typing import Any

import olympus as ox
from benchmarks.programs import EXAMPLES, RUNS, Function, Program, load, sgd_step, values

# side -> (its framework, the title of its column)
SIDES = {
    "olympus": ("olympus", "olympus"),
    "off": ("olympus", "olympus, repeats off"),
    "jax": ("jax", "jax"),
    "scan": ("jax", "jax, layers by scan"),
}
BOTH_WAYS = ("olympus", "off")

LAYERS, SHORT_LAYERS = (2, 12), (4,)
WIDTHS, SHORT_WIDTHS = (256,), (32,)
TOKENS = (2, 128)

Values = Callable[[Any], tuple[tuple[Any, ...], dict[str, Any]]]


@dataclass(frozen=True)
class Deep:
    """A program to compile and run on each of `sides`.

    `prepare(framework, side)` returns a function that traces the program, and one that returns the
    arguments of the compiled program.
    """

    title: str
    sides: tuple[str, ...]
    prepare: Callable[[Any, str], tuple[Callable[[], Any], Values]]


def of_programs(title: str, programs: Mapping[str, Program]) -> Deep:
    """Return the Deep of a Program for each side; "off" compiles the program of "olympus"."""

    def prepare(ox: Any, side: str) -> tuple[Callable[[], Any], Values]:
        program = programs["olympus" if side == "off" else side]
        fresh, shapes = load(program, ox.__name__)

        def arguments(_compiled: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
            return tuple(map(ox.device_put, values(program, ox.__name__))), {}

        return lambda: ox.jit(fresh()).trace(*shapes), arguments

    return Deep(title, tuple(side for side in SIDES if side in programs or side == "off"), prepare)


def gpt_program(kind: str, width: int, layers: int) -> Program:
    """Return the GPT-2 over bytes of gpt.py; `kind` is "forward" or "step"."""
    step = kind == "step"
    return Program(
        title=f"GPT {'training step' if step else 'forward'}, {layers} layers of width {width}",
        source="gpt/gpt.py",
        function="forward",
        init=lambda gpt: gpt.init(
            gpt.ox.random.key(0), n_layer=layers, d_model=width, vocab=256, n_ctx=TOKENS[1]
        ),
        inputs=(((TOKENS[0], TOKENS[1] + step), "int32"),),
        statics={"n_head": max(1, width // 64)},
        wrap=sgd_step if step else Program.wrap,
    )


def gpt(kind: str, width: int, layers: int) -> Deep:
    """Return GPT-2 over bytes, on every side."""
    looped = gpt_program(kind, width, layers)
    scanned = replace(
        looped, function=scan_forward, init=lambda gpt: stacked(gpt, looped.params_of(gpt))
    )
    return of_programs(looped.title, {"olympus": looped, "jax": looped, "scan": scanned})


def nested(width: int, layers: int) -> Deep:
    """Return the training step of GPT-2 with the layer under `jit`, for olympus only."""
    program = replace(gpt_program("step", width, layers), function=nested_forward)
    return of_programs(f"{program.title}, the layer under jit", {"olympus": program})


def stacked(gpt: ModuleType, params: Any) -> Any:
    """Return `params` with the parameters of all layers stacked along a new first axis."""
    blocks = gpt.ox.tree.map(lambda *leaves: gpt.jnp.stack(leaves), *params["blocks"])
    return {**params, "blocks": blocks}


def scan_forward(gpt: ModuleType) -> Function:
    """Return the `forward` of gpt.py with a `lax.scan` over the `stacked` parameters of layers."""

    def forward(params: Any, tokens: Any, *, n_head: int) -> Any:
        layer = layer_of(gpt, n_head)
        x = embedded(params, tokens)
        x, _ = gpt.ox.lax.scan(lambda x, block: (layer(x, block), None), x, params["blocks"])
        return logits(gpt, params, x)

    return forward


def nested_forward(gpt: ModuleType) -> Function:
    """Return the `forward` of gpt.py with calls of one layer under `jit`."""

    def forward(params: Any, tokens: Any, *, n_head: int) -> Any:
        layer = gpt.ox.jit(layer_of(gpt, n_head))
        x = embedded(params, tokens)
        for block in params["blocks"]:
            x = layer(x, block)
        return logits(gpt, params, x)

    return forward


def layer_of(gpt: ModuleType, n_head: int) -> Function:
    """Return a layer, a function of its input and its parameters."""

    def layer(x: Any, block: Any) -> Any:
        x = x + gpt.attention(block["attn"], gpt.layer_norm(block["ln_1"], x), n_head)
        return x + gpt.mlp(block["mlp"], gpt.layer_norm(block["ln_2"], x))

    return layer


def embedded(params: Any, tokens: Any) -> Any:
    """Return the input of the first layer."""
    return params["wte"][tokens] + params["wpe"][: tokens.shape[1]]


def logits(gpt: ModuleType, params: Any, x: Any) -> Any:
    """Return the logits of the next token from the output of the last layer."""
    return gpt.layer_norm(params["ln_f"], x) @ params["wte"].T


def lstm_stack(lstm: ModuleType) -> Function:
    """Return a training step of layers of lstm.py with residual connections."""
    ox = lstm.ox

    def loss(layers: Any, x: Any) -> Any:
        for params in layers:
            x = x + lstm.forward(params, x)[0]
        return ox.numpy.mean(x**2)

    def step(layers: Any, x: Any) -> Any:
        value, grads = ox.value_and_grad(loss)(layers, x)
        return value, ox.tree.map(lambda p, g: p - 1e-3 * g, layers, grads)

    return step


def model(name: str, tiny: bool) -> Deep:
    """Return a model of MODELS; if `tiny`, with a few narrow layers."""
    program = MODELS[name](tiny)
    return of_programs(program.title, {"olympus": program, "jax": program})


def lstm_model(tiny: bool) -> Program:
    """A stack of LSTMs."""
    layers, width = (2, 8) if tiny else (6, 256)
    return Program(
        f"LSTM training step, {layers} layers of 32 steps",
        "lstm/lstm.py", lstm_stack,
        lambda lstm: [lstm.init(width, width, width, seed=i) for i in range(layers)],
        (((8, 32, width), "float32"),),
    )  # fmt: skip


def resnet_model(tiny: bool) -> Program:
    """A residual network."""
    blocks, width, batch = (1, 4, 2) if tiny else (6, 16, 16)
    return Program(
        f"ResNet-{6 * blocks + 2} training step",
        "resnet/resnet.py", "train_step",
        lambda resnet: resnet.init(n_block=blocks, width=width),
        (((batch, 32, 32, 3), "float32"), ((batch,), "int32")), most=10,
    )  # fmt: skip


def unet_model(tiny: bool) -> Program:
    """A U-Net."""
    levels, blocks, width, size = (1, 1, 4, 16) if tiny else (3, 4, 16, 32)
    return Program(
        f"U-Net training step, {levels} levels of 2 x {blocks} blocks",
        "unet/unet.py", "train_step",
        lambda unet: unet.init(n_level=levels, n_block=blocks, width=width),
        (((4, size, size, 3), "float32"), ((4, size, size), "int32")), most=4,
    )  # fmt: skip


MODELS = {"lstm": lstm_model, "resnet": resnet_model, "unet": unet_model}


def example(label: str) -> Deep:
    """Return a target of an example's olympus.toml, such as "gpt:small", on the CPU."""
    project, _, name = label.partition(":")

    def prepare(ox: Any, side: str) -> tuple[Callable[[], Any], Values]:
        from olympus_cli.frontends.loading import load_target
        from olympus_cli.program.inputs import seeded_inputs
        from olympus_cli.program.runnable import Runnable

        # a donated argument cannot be passed again
        source = load_target(replace(targets(project)[name], donate=()))

        def arguments(compiled: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
            leaves = compiled.arguments
            arrays = [ox.device_put(array) for array in seeded_inputs(leaves)]
            return Runnable(compiled, leaves, ()).bind(arrays)

        return source.trace, arguments

    return Deep(f"examples/{project}, {name}", BOTH_WAYS, prepare)


@cache
def targets(project: str) -> dict[str, Any]:
    """Return the targets of an example for the CPU, by name."""
    from olympus_cli.spec.project import load_project

    found = load_project(EXAMPLES / project).targets
    return {name: spec for name, spec in found.items() if spec.backends == (ox.Target("cpu"),)}


def of_task(task: str) -> Deep:
    """Return the program of a task, such as "step/256/12" (width, layers) or "example/gpt:tiny"."""
    kind, *rest = task.split("/")
    if kind in ("forward", "step"):
        return gpt(kind, *map(int, rest))
    if kind == "nested":
        return nested(*map(int, rest))
    if kind == "model":
        return model(rest[0], tiny=rest[1:] == ["tiny"])
    if kind == "own":
        program = RUNS[rest[0]]
        return of_programs(program.title, {"olympus": program})
    return example(rest[0])


def depth_tasks(layers: Sequence[int], widths: Sequence[int], short: bool) -> list[str]:
    """Return the tasks of GPT-2 by depth: forward and, unless `short`, training steps."""
    kinds = ("forward",) if short else ("forward", "step")
    return [
        f"{kind}/{width}/{count}" for kind in kinds for width in widths for count in sorted(layers)
    ]


def model_tasks(short: bool) -> list[str]:
    """Return the tasks of the models; one if `short`."""
    return ["model/lstm/tiny"] if short else [f"model/{name}" for name in MODELS]


def repeats_tasks(short: bool) -> list[str]:
    """Return the additional tasks that measure the effect of repeated blocks."""
    if short:
        return ["example/mlp:mlp@batch=1", "nested/32/4"]
    projects = sorted(path.parent.name for path in EXAMPLES.glob("*/olympus.toml"))
    examples = [f"example/{project}:{name}" for project in projects for name in targets(project)]
    return [*examples, *(f"own/{name}" for name in RUNS), "nested/256/12"]
