"""The trained example: the same steps as under jax, built ahead of time, and a loss that falls."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import numpy as np
import pytest

import olympus
from benchmarks.programs import EXAMPLES, ROOT, load_source

FOLDER = EXAMPLES / "train_gpt"
TOKENS = np.random.default_rng(0).integers(0, 128, (3, 17), np.int32)


def program(framework: str) -> ModuleType:
    return load_source(FOLDER / "train_gpt.py", framework)


def arrays(ox: Any, tree: Any) -> dict[str, np.ndarray]:
    """The leaves of a framework's tree by their path."""
    leaves = ox.tree.flatten_with_path(tree)[0]
    return {ox.tree_util.keystr(path): np.asarray(leaf) for path, leaf in leaves}


def trained(ox: Any, steps: int) -> tuple[dict[str, np.ndarray], list[float]]:
    """The state after the first of `steps` steps on the same batch, and the loss before each."""
    module = program(ox.__name__)
    step = ox.jit(module.train_step, static_argnames="n_head")
    state, first, losses = module.init(), {}, []
    for _ in range(steps):
        state, loss = step(state, TOKENS, n_head=4)
        first = first or arrays(ox, state)
        losses.append(float(loss))
    return first, losses


def test_training_starts_where_it_does_under_jax() -> None:
    ours, theirs = (arrays(ox, program(ox.__name__).init()) for ox in (olympus, jax))
    assert ours.keys() == theirs.keys()
    for path, leaf in ours.items():
        assert leaf.dtype == theirs[path].dtype, path
        np.testing.assert_array_equal(leaf, theirs[path], err_msg=path)


def test_steps_are_those_under_jax() -> None:
    (ours, losses), (theirs, their_losses) = (trained(ox, 5) for ox in (olympus, jax))
    assert ours.keys() == theirs.keys()
    for path, leaf in ours.items():
        # Adam's first step has the sign of a gradient, even of one that is zero but for rounding:
        # gradients are compared by their averages, and parameters by the losses they lead to.
        if not path.startswith("['params']"):
            np.testing.assert_allclose(leaf, theirs[path], rtol=1e-3, atol=1e-6, err_msg=path)
    np.testing.assert_allclose(losses, their_losses, rtol=1e-4)
    assert losses[0] == pytest.approx(np.log(128), rel=0.01)
    assert losses[-1] < losses[0] - 0.5


def test_a_step_takes_the_memory_of_the_state_it_is_given() -> None:
    module = program("olympus")
    state = olympus.eval_shape(module.init)
    step = olympus.jit(module.train_step, static_argnames="n_head", donate_argnames="state")
    text = step.lower(state, TOKENS, n_head=4).as_text()
    assert text.count("tf.aliasing_output") == len(olympus.tree.leaves(state))


def test_the_loop_is_short_and_neither_traces_nor_compiles() -> None:
    source = (FOLDER / "loop.py").read_text()
    assert len(source.splitlines()) <= 20
    assert re.findall(r"^(?:from|import) .*olympus.*$", source, re.MULTILINE) == [
        "from olympus import artifact"
    ]


@pytest.mark.night
def test_the_loss_falls_in_a_loop_over_what_was_built(tmp_path: Path) -> None:
    copy = tmp_path / "train_gpt"
    copy.mkdir()
    for name in ("olympus.toml", "text.txt", "train_gpt.py"):
        (copy / name).write_bytes((FOLDER / name).read_bytes())
    # The whole training takes a quarter of a minute; its start is enough.
    loop = (FOLDER / "loop.py").read_text().replace("range(1001)", "range(101)")
    assert "range(101)" in loop
    (copy / "loop.py").write_text(loop)
    run("-m", "olympus_cli", "build", "--project", str(copy))
    (copy / "train_gpt.py").unlink()
    losses = [float(x) for x in re.findall(r"loss ([\d.]+)", run(str(copy / "loop.py")))]
    assert losses[0] == pytest.approx(np.log(128), rel=0.01)
    assert losses[-1] < 3.2


def run(*command: str) -> str:
    """Return the output of a Python process in the repository's root."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    env = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
