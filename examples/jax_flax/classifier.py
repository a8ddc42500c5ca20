"""The training step of an image classifier in Flax, with the optimizer AdamW of Optax."""

import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Classifier(nnx.Module):
    """Two convolutions with batch normalization, and a dense layer."""

    def __init__(self, rngs, width=16):
        self.conv1 = nnx.Conv(1, width, (3, 3), strides=2, use_bias=False, rngs=rngs)
        self.norm = nnx.BatchNorm(width, rngs=rngs)
        self.conv2 = nnx.Conv(width, width, (3, 3), strides=2, rngs=rngs)
        self.out = nnx.Linear(7 * 7 * width, 10, rngs=rngs)

    def __call__(self, images):
        x = nnx.relu(self.norm(self.conv1(images[..., None])))
        x = nnx.relu(self.conv2(x))
        return self.out(x.reshape(x.shape[0], -1))


def create():
    model = Classifier(nnx.Rngs(0))
    return model, nnx.Optimizer(model, optax.adamw(1e-3), wrt=nnx.Param)


def init():
    """Return the parameters, the averages and the state of the optimizer."""
    return nnx.split(create())[1]


GRAPH = nnx.split(nnx.eval_shape(create))[0]  # the modules, without arrays


def loss(model, images, labels):
    logits = model(images)
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


@jax.jit
def step(state, images, labels):
    model, optimizer = nnx.merge(GRAPH, state)
    error, grads = nnx.value_and_grad(loss)(model, images, labels)
    optimizer.update(model, grads)
    return nnx.split((model, optimizer))[1], error


@jax.jit
def predict(state, images):
    model, _ = nnx.merge(GRAPH, state)
    model.eval()
    return jnp.argmax(model(images), axis=-1)
