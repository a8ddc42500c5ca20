"""`olympus.example_libraries.stax`: layers of networks, as pairs of functions.

A layer is `(init_fun, apply_fun)`: `init_fun(key, input_shape)` returns the shape of the result and
the parameters, and `apply_fun(params, inputs, **kwargs)` the result.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_core.base.avals import as_sequence
from olympus_core.base.errors import ArgumentError
from olympus_core.library.lax.conv import (
    conv_general_dilated,
    conv_general_shape_tuple,
    conv_transpose,
    conv_transpose_shape_tuple,
)
from olympus_core.library.lax.elementwise import add as lax_add
from olympus_core.library.lax.elementwise import max as lax_max
from olympus_core.library.lax.window import (
    padtype_to_pads,
    reduce_window,
    reduce_window_shape_tuple,
)
from olympus_core.library.nn import initializers
from olympus_core.library.nn.activations import elu, gelu, leaky_relu, relu, selu, sigmoid, softplus
from olympus_core.library.nn.encoding import standardize
from olympus_core.library.nn.initializers import glorot_normal, normal
from olympus_core.library.numpy.creation.fills import ones
from olympus_core.library.numpy.elementwise.exponential import exp
from olympus_core.library.numpy.elementwise.trigonometric import tanh
from olympus_core.library.numpy.manipulation.joining import concatenate
from olympus_core.library.numpy.manipulation.shapes import reshape
from olympus_core.library.numpy.products.matmul import dot
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.random.discrete import bernoulli
from olympus_core.library.random.key_functions import split
from olympus_core.library.softmax import log_softmax, softmax

Shape = tuple[int, ...]
Layer = tuple[Callable[..., Any], Callable[..., Any]]


def Dense(out_dim: int, W_init: Any = None, b_init: Any = None) -> Layer:
    """Return a layer of an affine map to `out_dim` features, of the last axis.

    >>> Dense(3)[0](key(0), (2, 4))[0]
    (2, 3)
    """
    weights, bias = W_init or glorot_normal(), b_init or normal()

    def init_fun(rng: Any, input_shape: Shape) -> Any:
        k1, k2 = split(rng)
        return (
            (*input_shape[:-1], out_dim),
            (weights(k1, (input_shape[-1], out_dim)), bias(k2, (out_dim,))),
        )

    return init_fun, lambda params, inputs, **kwargs: dot(inputs, params[0]) + params[1]


def _conv_shapes(
    specs: Any, out_chan: int, filter_shape: Any, input_shape: Shape
) -> tuple[Shape, Shape]:
    """Return the shapes of the kernel and of the bias of a convolution."""
    lhs, rhs, out = specs
    lengths = iter(filter_shape)
    channels = {"O": out_chan, "I": input_shape[lhs.index("C")]}
    kernel = tuple(channels[c] if c in channels else next(lengths) for c in rhs)
    return kernel, tuple(out_chan if c == "C" else 1 for c in out)


def GeneralConv(
    dimension_numbers: Any,
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    W_init: Any = None,
    b_init: Any = None,
) -> Layer:
    """Return a layer of a convolution with a bias; the arguments are those of lax.conv.

    dimension_numbers: the layouts of inputs, kernels and results, such as ("NHWC", "HWIO", "NHWC").

    >>> GeneralConv(("NHWC", "HWIO", "NHWC"), 3, (2, 2))[0](key(0), (1, 4, 4, 2))[0]
    (1, 3, 3, 3)
    """
    steps = tuple(strides or (1,) * len(filter_shape))
    rhs = dimension_numbers[1]
    weights = W_init or glorot_normal(rhs.index("I"), rhs.index("O"))
    bias = b_init or normal(1e-6)

    def init_fun(rng: Any, input_shape: Shape) -> Any:
        kernel_shape, bias_shape = _conv_shapes(
            dimension_numbers, out_chan, filter_shape, input_shape
        )
        shape = conv_general_shape_tuple(
            input_shape, kernel_shape, steps, padding, dimension_numbers
        )
        k1, k2 = split(rng)
        return shape, (weights(k1, kernel_shape), bias(k2, bias_shape))

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        kernel, offset = params
        numbers = dimension_numbers
        return (
            conv_general_dilated(inputs, kernel, steps, padding, dimension_numbers=numbers) + offset
        )

    return init_fun, apply_fun


def GeneralConvTranspose(
    dimension_numbers: Any,
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    W_init: Any = None,
    b_init: Any = None,
) -> Layer:
    """Return a layer of a transposed convolution; the arguments are those of GeneralConv.

    >>> GeneralConvTranspose(("NHWC", "HWIO", "NHWC"), 3, (2, 2))[0](key(0), (1, 4, 4, 2))[0]
    (1, 5, 5, 3)
    """
    steps = tuple(strides or (1,) * len(filter_shape))
    rhs = dimension_numbers[1]
    weights = W_init or glorot_normal(rhs.index("I"), rhs.index("O"))
    bias = b_init or normal(1e-6)

    def init_fun(rng: Any, input_shape: Shape) -> Any:
        kernel_shape, bias_shape = _conv_shapes(
            dimension_numbers, out_chan, filter_shape, input_shape
        )
        shape = conv_transpose_shape_tuple(
            input_shape, kernel_shape, steps, padding, dimension_numbers
        )
        k1, k2 = split(rng)
        return shape, (weights(k1, kernel_shape), bias(k2, bias_shape))

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        kernel, offset = params
        numbers = dimension_numbers
        return conv_transpose(inputs, kernel, steps, padding, dimension_numbers=numbers) + offset

    return init_fun, apply_fun


Conv = functools.partial(GeneralConv, ("NHWC", "HWIO", "NHWC"))
ConvTranspose = functools.partial(GeneralConvTranspose, ("NHWC", "HWIO", "NHWC"))
Conv1DTranspose = functools.partial(GeneralConvTranspose, ("NHC", "HIO", "NHC"))


def BatchNorm(
    axis: int | Sequence[int] = (0, 1, 2),
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
    beta_init: Any = initializers.zeros,
    gamma_init: Any = initializers.ones,
) -> Layer:
    """Return a layer that normalizes by the mean and variance of the batch, along `axis`.

    center, scale: True for a parameter that is added, and one that multiplies.

    >>> BatchNorm(axis=(0,))[0](key(0), (4, 2))[0]
    (4, 2)
    """
    axes = as_sequence(axis)

    def init_fun(rng: Any, input_shape: Shape) -> Any:
        shape = tuple(n for i, n in enumerate(input_shape) if i not in axes)
        k1, k2 = split(rng)
        beta = beta_init(k1, shape) if center else ()
        return input_shape, (beta, gamma_init(k2, shape) if scale else ())

    def apply_fun(params: Any, x: Any, **kwargs: Any) -> Any:
        shape = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
        z = standardize(x, tuple(axes), epsilon=epsilon)
        if scale:
            z = reshape(params[1], shape) * z
        return z + reshape(params[0], shape) if center else z

    return init_fun, apply_fun


def elementwise(fun: Callable[..., Any], **fun_kwargs: Any) -> Layer:
    """Return the layer of a function of elements, with more arguments.

    >>> elementwise(sin)[1]((), array([0.0]))
    Array([0.], dtype=float32)
    """
    return (
        lambda rng, input_shape: (input_shape, ()),
        lambda params, inputs, **kwargs: fun(inputs, **fun_kwargs),
    )


Tanh = elementwise(tanh)
Relu = elementwise(relu)
Exp = elementwise(exp)
LogSoftmax = elementwise(log_softmax, axis=-1)
Softmax = elementwise(softmax, axis=-1)
Softplus = elementwise(softplus)
Sigmoid = elementwise(sigmoid)
Elu = elementwise(elu)
LeakyRelu = elementwise(leaky_relu)
Selu = elementwise(selu)
Gelu = elementwise(gelu)


def _pooling(reducer: Any, init_val: float, is_mean: bool = False) -> Callable[..., Layer]:
    """Return the function that makes a layer of a reduction over windows."""

    def pooling_layer(
        window_shape: Sequence[int],
        strides: Sequence[int] | None = None,
        padding: str = "VALID",
        spec: str | None = None,
    ) -> Layer:
        """Return a layer of a reduction over windows, of the axes other than N and C of `spec`.

        >>> MaxPool((2, 2))[0](key(0), (1, 4, 4, 2))[0]
        (1, 3, 3, 2)
        """
        layout = spec or "N" + "." * len(window_shape) + "C"
        window, steps = iter(window_shape), iter(strides or (1,) * len(window_shape))
        sizes = tuple(1 if c in "NC" else next(window) for c in layout)
        moves = tuple(1 if c in "NC" else next(steps) for c in layout)
        ones_ = (1,) * len(layout)

        def init_fun(rng: Any, input_shape: Shape) -> Any:
            pads = padtype_to_pads(input_shape, sizes, moves, padding)
            shape = reduce_window_shape_tuple(input_shape, sizes, moves, pads, ones_, ones_)
            return shape, ()

        def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
            out = reduce_window(inputs, init_val, reducer, sizes, moves, padding)
            if not is_mean:
                return out
            one = ones(inputs.shape, inputs.dtype)
            return out / reduce_window(one, 0.0, reducer, sizes, moves, padding)

        return init_fun, apply_fun

    return pooling_layer


MaxPool = _pooling(lax_max, -np.inf)
SumPool = _pooling(lax_add, 0.0)
AvgPool = _pooling(lax_add, 0.0, is_mean=True)

Flatten: Layer = (
    lambda rng, input_shape: ((input_shape[0], math.prod(input_shape[1:])), ()),
    lambda params, inputs, **kwargs: reshape(inputs, (inputs.shape[0], -1)),
)
Identity: Layer = (
    lambda rng, input_shape: (input_shape, ()),
    lambda params, inputs, **kwargs: inputs,
)


def FanOut(num: int) -> Layer:
    """Return the layer that returns its inputs `num` times.

    >>> FanOut(2)[0](key(0), (3,))[0]
    [(3,), (3,)]
    """
    return (
        lambda rng, input_shape: ([input_shape] * num, ()),
        lambda params, inputs, **kwargs: [inputs] * num,
    )


FanInSum: Layer = (
    lambda rng, input_shape: (input_shape[0], ()),
    lambda params, inputs, **kwargs: functools.reduce(operator.add, inputs),
)


def FanInConcat(axis: int = -1) -> Layer:
    """Return the layer that joins its inputs along an axis.

    >>> FanInConcat()[0](key(0), [(2, 3), (2, 4)])[0]
    (2, 7)
    """

    def init_fun(rng: Any, input_shape: Sequence[Shape]) -> Any:
        place = axis % len(input_shape[0])
        total = sum(shape[place] for shape in input_shape)
        first = input_shape[0]
        return (*first[:place], total, *first[place + 1 :]), ()

    return init_fun, lambda params, inputs, **kwargs: concatenate(inputs, axis)


def Dropout(rate: float, mode: str = "train") -> Layer:
    """Return a layer that keeps elements with probability `rate`, and divides them by it.

    mode: "train"; in any other mode, the inputs are returned. The key is the argument `rng` of
    apply_fun; ArgumentError without it.

    >>> Dropout(0.5, mode="test")[1]((), array([1.0]), rng=key(0))
    Array([1.], dtype=float32)
    """

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        rng = kwargs.get("rng")
        if rng is None:
            raise ArgumentError(
                "Dropout layer requires apply_fun to be called with a PRNG key argument",
                hint="write apply_fun(params, inputs, rng=key)",
            )
        if mode != "train":
            return inputs
        return where(bernoulli(rng, rate, inputs.shape), inputs / rate, 0)

    return lambda rng, input_shape: (input_shape, ()), apply_fun


def serial(*layers: Layer) -> Layer:
    """Return the layer of several layers, one after the other.

    >>> serial(Dense(3), Relu)[0](key(0), (2, 4))[0]
    (2, 3)
    """

    def init_fun(rng: Any, input_shape: Any) -> Any:
        params = []
        for init, _ in layers:
            rng, layer_rng = split(rng)
            input_shape, param = init(layer_rng, input_shape)
            params.append(param)
        return input_shape, params

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        rngs = _keys(kwargs.pop("rng", None), len(layers))
        for (_, apply), param, rng in zip(layers, params, rngs, strict=True):
            inputs = apply(param, inputs, rng=rng, **kwargs)
        return inputs

    return init_fun, apply_fun


def _keys(rng: Any, count: int) -> Any:
    return (None,) * count if rng is None else split(rng, count)


def parallel(*layers: Layer) -> Layer:
    """Return the layer that applies one layer to each of several inputs.

    >>> parallel(Dense(3), Relu)[0](key(0), [(2, 4), (5,)])[0]
    [(2, 3), (5,)]
    """

    def init_fun(rng: Any, input_shape: Any) -> Any:
        rngs = split(rng, len(layers))
        parts = [
            init(k, shape) for (init, _), k, shape in zip(layers, rngs, input_shape, strict=True)
        ]
        return [shape for shape, _ in parts], tuple(params for _, params in parts)

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        rngs = _keys(kwargs.pop("rng", None), len(layers))
        return [
            apply(p, x, rng=k, **kwargs)
            for (_, apply), p, x, k in zip(layers, params, inputs, rngs, strict=True)
        ]

    return init_fun, apply_fun


def shape_dependent(make_layer: Callable[[Any], Layer]) -> Layer:
    """Return the layer that a function makes of the shape of the inputs.

    >>> shape_dependent(lambda shape: Dense(shape[-1]))[0](key(0), (2, 4))[0]
    (2, 4)
    """
    return (
        lambda rng, input_shape: make_layer(input_shape)[0](rng, input_shape),
        lambda params, inputs, **kwargs: make_layer(inputs.shape)[1](params, inputs, **kwargs),
    )
