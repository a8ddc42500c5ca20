from dataclasses import dataclass

import olympus
import olympus.numpy as jnp


@dataclass(frozen=True)
class Config:
    rate: float


def needs(x):
    return x * 2


def size(n):
    return jnp.zeros(n)


def index(n):
    return [1.0, 2.0][n]


@olympus.jit
def plain(x):
    return x


fixed = olympus.jit(lambda n: jnp.zeros(n), static_argnames="n")


def configured(x, config: Config):
    return x * config.rate


def search(x):
    return olympus.lax.while_loop(lambda c: c[0] < 9, lambda c: c * c, x)
