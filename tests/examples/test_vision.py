"""The convolutional examples: the same steps of training as under jax, and a loss that falls."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import jax
import numpy as np
import pytest

import olympus
from benchmarks.programs import EXAMPLES, load_source
from olympus_cli.frontends.loading import load_target
from olympus_cli.spec.project import load_project

IMAGES = np.random.default_rng(0).standard_normal((4, 16, 16, 3), np.float32)
BRIGHT = IMAGES.mean(axis=-1) > 0
LABELS = {"resnet": np.arange(4, dtype="int32"), "unet": BRIGHT.astype("int32")}
SIZES = {"resnet": {"n_block": 2, "width": 8}, "unet": {"n_block": 1, "width": 8}}
EXAMPLES_HERE = pytest.mark.parametrize("example", SIZES)


def program(example: str, ox: Any) -> ModuleType:
    return load_source(EXAMPLES / example / f"{example}.py", ox.__name__)


def trained(example: str, ox: Any, steps: int) -> tuple[dict[str, np.ndarray], list[float]]:
    """The state by its paths after the first of `steps` steps, and the loss before each."""
    module = program(example, ox)
    step, state = ox.jit(module.train_step), module.init(**SIZES[example])
    first, losses = {}, []
    for _ in range(steps):
        state, loss = step(state, IMAGES, LABELS[example])
        if not first:
            leaves = ox.tree.flatten_with_path(state)[0]
            first = {ox.tree_util.keystr(path): np.asarray(leaf) for path, leaf in leaves}
        losses.append(float(loss))
    return first, losses


@pytest.mark.night
@EXAMPLES_HERE
def test_steps_are_those_under_jax(example: str) -> None:
    (ours, losses), (theirs, their_losses) = (trained(example, ox, 4) for ox in (olympus, jax))
    assert ours.keys() == theirs.keys()
    for path, leaf in ours.items():
        np.testing.assert_allclose(leaf, theirs[path], rtol=1e-3, atol=1e-4, err_msg=path)
    np.testing.assert_allclose(losses, their_losses, rtol=1e-3)


@EXAMPLES_HERE
def test_the_loss_falls(example: str) -> None:
    _, losses = trained(example, olympus, 10)
    assert losses[-1] < 0.98 * losses[0]


def test_labels_have_the_resolution_of_the_image() -> None:
    module = program("unet", olympus)
    params = olympus.eval_shape(module.init)
    image = olympus.ShapeDtypeStruct((2, 24, 40, 3), "float32")
    assert olympus.eval_shape(module.forward, params, image).shape == (2, 24, 40, 4)


def test_prediction_leaves_the_averages_alone() -> None:
    module = program("resnet", olympus)
    state = module.init(n_block=1, width=4)
    alone = module.predict(state, IMAGES[:1])
    # In training each image changes what the others are normalized by.
    np.testing.assert_allclose(alone, module.predict(state, IMAGES)[:1], rtol=1e-4, atol=1e-5)
    logits, averages = module.forward(state["params"], state["averages"], IMAGES, True)
    assert not np.allclose(logits[:1], alone, rtol=1e-2)
    assert not np.allclose(averages["norm"]["mean"], state["averages"]["norm"]["mean"])


@EXAMPLES_HERE
def test_a_built_step_takes_the_memory_of_what_it_replaces(example: str) -> None:
    project = load_project(EXAMPLES / example)
    traced = load_target(project.targets["step"]).trace()
    state = olympus.eval_shape(program(example, olympus).init)
    assert len(traced.donate_argnums) == len(olympus.tree.leaves(state))
    text = traced.lower().as_text()
    assert text.count("tf.aliasing_output") == len(traced.donate_argnums)
