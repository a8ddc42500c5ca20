"""The example programs: the same numbers under olympus as the same file gives under jax."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType, ModuleType
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest

import olympus
from benchmarks.programs import EXAMPLES, load_source
from olympus_cli.spec.project import load_project

PROJECTS = {
    "mlp": {"forward"},
    "gpt": {"forward"},
    "decoder": {"step"},
    "lstm": {"forward"},
    "train_gpt": {"init", "train_step"},
    "gp": {"hessian", "newton", "predict"},
    "resnet": {"train_step", "predict"},
    "unet": {"forward", "train_step"},
    "kalman": {"smooth"},
    "diffusion": {"train_step"},
}


class Case(NamedTuple):
    """An example's `init` function, its inputs after the parameters, and its statics."""

    example: str
    init: str
    inputs: tuple[np.ndarray, ...]
    statics: Mapping[str, Any] = MappingProxyType({})


RNG = np.random.default_rng(0)
CASES = [
    Case("mlp", "init", (RNG.standard_normal((3, 784), np.float32),)),
    Case("gpt", "tiny", (RNG.integers(0, 256, (2, 17), np.int32),), {"n_head": 4}),
    Case("lstm", "init", (RNG.standard_normal((3, 11, 16), np.float32),)),
]
FRAMEWORKS = ("olympus", "jax")


@pytest.fixture(params=CASES, ids=lambda case: case.example)
def case(request: pytest.FixtureRequest) -> Case:
    return request.param


def module(case: Case, framework: str) -> ModuleType:
    return load_source(EXAMPLES / case.example / f"{case.example}.py", framework)


def runnable(function: Callable[..., Any], framework: str, **statics: Any) -> Callable[..., Any]:
    """Return a function of an example, compiled if it is JAX's: its eager operations are slow."""
    return jax.jit(function, static_argnames=tuple(statics)) if framework == "jax" else function


def arrays(tree: Any, framework: str) -> dict[str, np.ndarray]:
    """The leaves of a framework's tree by their path, fetched from the device."""
    ox = {"olympus": olympus, "jax": jax}[framework]
    return {
        ox.tree_util.keystr(path): np.asarray(leaf)
        for path, leaf in ox.tree.flatten_with_path(tree)[0]
    }


def test_init_gives_the_same_parameters(case: Case) -> None:
    ours, theirs = (
        arrays(ox.jit(getattr(module(case, name), case.init))(), name)
        for ox, name in zip((olympus, jax), FRAMEWORKS, strict=True)
    )
    assert ours.keys() == theirs.keys()
    for path, leaf in ours.items():
        assert leaf.dtype == theirs[path].dtype, path
        np.testing.assert_array_equal(leaf, theirs[path], err_msg=path)


def test_forward_gives_the_same_numbers(case: Case) -> None:
    outputs = []
    for name in FRAMEWORKS:
        program = module(case, name)
        params = runnable(getattr(program, case.init), name)()
        forward = runnable(program.forward, name, **case.statics)
        outputs.append(arrays(forward(params, *case.inputs, **case.statics), name))
    ours, theirs = outputs
    assert ours.keys() == theirs.keys()
    for path, leaf in ours.items():
        np.testing.assert_allclose(leaf, theirs[path], rtol=2e-5, atol=2e-5, err_msg=path)


def test_compiled_gives_the_same_numbers_as_the_eager_program(case: Case) -> None:
    program = module(case, "olympus")
    params = getattr(program, case.init)()
    jitted = olympus.jit(program.forward, static_argnames=tuple(case.statics))
    compiled = jitted.lower(params, *case.inputs, **case.statics).compile()
    built = arrays(compiled(params, *case.inputs), "olympus")
    eager = arrays(program.forward(params, *case.inputs, **case.statics), "olympus")
    assert built.keys() == eager.keys()
    for path, leaf in built.items():
        np.testing.assert_allclose(leaf, eager[path], rtol=2e-5, atol=2e-5, err_msg=path)


def test_the_decoder_gives_the_same_tokens_step_by_step() -> None:
    outputs = []
    for name in FRAMEWORKS:
        program = load_source(EXAMPLES / "decoder" / "decoder.py", name)
        params, cache = runnable(program.tiny, name)(), program.tiny_cache()
        step = runnable(program.step, name)
        assert arrays(params["layers"][0]["q"], name)["['w']"].dtype == np.int8
        logits = []
        for tokens in ([3, 250], [17, 0], [99, 5]):
            output, cache = step(params, cache, np.array(tokens, np.int32))
            logits.append(np.asarray(output))
        assert int(cache["length"]) == 3
        outputs.append((np.stack(logits), np.asarray(cache["layers"][1]["k"])))
    for ours, theirs in zip(*outputs, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-5)
    keys = outputs[0][1]
    assert np.any(keys[:, 2]) and not np.any(keys[:, 3:])


def test_the_smoother_gives_the_same_states() -> None:
    y = np.cumsum(RNG.standard_normal((30, 2)), axis=0).astype(np.float32)
    outputs = []
    for name in FRAMEWORKS:
        program = load_source(EXAMPLES / "kalman" / "kalman.py", name)
        outputs.append(arrays(program.smooth(program.model(), y), name))
    ours, theirs = outputs
    for path, leaf in ours.items():
        np.testing.assert_allclose(leaf, theirs[path], rtol=1e-4, atol=1e-4, err_msg=path)
    means, covariances = ours["[0]"], ours["[1]"]
    assert np.abs(means[:, :2] - y).mean() < np.abs(y).mean() / 2  # it follows the observations
    assert (np.linalg.eigvalsh(covariances) > 0).all()


@pytest.mark.night
def test_the_diffusion_model_learns_as_under_jax() -> None:
    images, noise = (RNG.standard_normal((2, 16, 16, 3), np.float32) for _ in range(2))
    time = np.array([0.2, 0.7], np.float32)
    losses = []
    for name in FRAMEWORKS:
        program = load_source(EXAMPLES / "diffusion" / "diffusion.py", name)
        jit = {"olympus": olympus, "jax": jax}[name].jit
        state, step, found = jit(program.init_state)(), jit(program.train_step), []
        for _ in range(4):
            state, value = step(state, images, noise, time)
            found.append(float(value))
        assert int(state["step"]) == 4
        losses.append(found)
    np.testing.assert_allclose(*losses, rtol=1e-3)
    assert losses[0][-1] < losses[0][0]


def test_gpt2_small_lowers_from_shapes_alone() -> None:
    program = load_source(EXAMPLES / "gpt" / "gpt.py", "olympus")
    params = olympus.eval_shape(program.small)
    sizes = [int(np.prod(leaf.shape)) for leaf in olympus.tree.leaves(params)]
    assert sum(sizes) == 124_439_808  # GPT-2 small's published number of parameters
    tokens = olympus.ShapeDtypeStruct((1, 256), np.int32)
    lowered = olympus.jit(program.forward, static_argnames="n_head").lower(
        params, tokens, n_head=12
    )
    assert lowered.out_info.shape == (1, 256, 50257)
    # Each layer multiplies six times: qkv, scores, values, and the three other dense layers. One
    # function is called for all layers.
    (layer,) = lowered.blocks
    assert layer.occurrences == 12
    assert lowered.as_text().count("stablehlo.dot_general") == 6 + 1


@pytest.mark.parametrize("example", PROJECTS)
def test_the_project_file_loads(example: str) -> None:
    project = load_project(EXAMPLES / example)
    assert project.select()
    entries = {target.entry for target in project.targets.values()}
    assert entries == {f"{example}:{function}" for function in PROJECTS[example]}
    assert {target.root for target in project.targets.values()} == {EXAMPLES / example}
