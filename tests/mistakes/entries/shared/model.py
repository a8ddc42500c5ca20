import functools

import olympus
import olympus.numpy as np


def init(width=4):
    return {"w": np.zeros((3, width)), "b": np.zeros(width)}


def forward(params, x, scale=1, relu=False):
    y = x @ params["w"] + params["b"]
    y = y * scale
    return np.maximum(y, 0) if relu else y


def sized(width):
    return np.zeros((3, width))


def add(x, y, /):
    return x + y


def total(*xs, **named):
    return sum(xs) + sum(named.values())


def fails(x):
    print("on the way")
    raise ValueError("the width is odd")


def branches(x):
    if x > 0:
        return x
    return -x


def mismatched(x, y):
    return x @ y


def leaves(x):
    raise SystemExit(0)


class Net:
    bias = 3

    @staticmethod
    def apply(x):
        return x + Net.bias


net = Net()


def worded(x):
    return {"y": "hello"}


@functools.partial(olympus.jit, static_argnames="n")
def repeated(x, n):
    return x * n


def zeros(n=2, m=3, /):
    return np.zeros((n, m))


def same(x, m):
    return x


def nowhere(x):
    return olympus.target("nowhere")
