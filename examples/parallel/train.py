"""Train the GPT of ../train_gpt on several devices: the same step, split by shardings.

OLYMPUS_NUM_CPU_DEVICES=8 python examples/parallel/train.py
"""

import sys
from pathlib import Path

import numpy as np

import olympus as ox

NamedSharding, P = ox.sharding.NamedSharding, ox.sharding.PartitionSpec
TRAIN_GPT = Path(__file__).resolve().parent.parent / "train_gpt"

# The matrices that are split along "model", as in Megatron-LM (Shoeybi et al., 2019): the first of
# two is split by columns, the second by rows. So the values between them need no communication,
# and one sum over the devices follows the second.
COLUMNS, ROWS = ("qkv", "fc"), ("proj", "out")


def spec(path):
    """The sharding of a leaf of the training state; Adam's averages have their parameters' one."""
    names = [getattr(key, "key", None) for key in path]
    if any(name in names for name in COLUMNS):
        return P(None, "model") if names[-1] == "w" else P("model")
    if any(name in names for name in ROWS) and names[-1] == "w":
        return P("model", None)
    return P()


def mesh_of(data, model):
    """The first `data` x `model` devices."""
    devices, types = ox.devices()[: data * model], (ox.sharding.AxisType.Auto,) * 2
    return ox.make_mesh((data, model), ("data", "model"), types, devices=devices)


def state_shardings(mesh, state):
    """The sharding of each leaf of a training state."""
    return ox.tree_util.tree_map_with_path(lambda path, _: NamedSharding(mesh, spec(path)), state)


def parallel_step(train_step, mesh, state, n_head):
    """`train_step` on a mesh: the state in its shardings, and the batch split by rows."""
    cut = state_shardings(mesh, state)
    rows, whole = NamedSharding(mesh, P("data", None)), NamedSharding(mesh, P())
    return ox.jit(
        lambda state, tokens: train_step(state, tokens, n_head=n_head),
        in_shardings=(cut, rows),
        out_shardings=(cut, whole),
    )


def losses(program, mesh, batches, n_head=4, **sizes):
    """The loss before each step, on a batch each: int32[batch, length + 1] in NumPy."""
    state = program.init(**sizes)
    step = parallel_step(program.train_step, mesh, state, n_head)
    state, found = ox.device_put(state, state_shardings(mesh, state)), []
    for tokens in batches:
        state, loss = step(state, tokens)
        found.append(float(loss))
    return found


def text_batches(steps, size=8, length=32):
    """Random pieces of the text, the same in each run."""
    text = np.frombuffer((TRAIN_GPT / "text.txt").read_bytes(), np.uint8).astype(np.int32)
    first = np.random.default_rng(0).integers(len(text) - length, size=(steps, size, 1))
    return text[first + np.arange(length)]


if __name__ == "__main__":
    sys.path.append(str(TRAIN_GPT))
    import train_gpt

    batches = text_batches(20)
    for data, model in [(1, 1), (8, 1), (1, 4), (2, 4)]:
        found = losses(train_gpt, mesh_of(data, model), batches, n_layer=1)
        print(f"data={data} model={model}: loss {found[0]:.4f} -> {found[-1]:.4f}")
