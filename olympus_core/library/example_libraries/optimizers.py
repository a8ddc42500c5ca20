"""`olympus.example_libraries.optimizers`: methods of descent, as triples of functions.

The methods are those of the cited papers: Adagrad (Duchi et al., 2011), RMSProp (Hinton, 2012),
Adam and Adamax (Kingma and Ba, 2014) and SM3 (Anil et al., 2019).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from olympus_core.base import tree
from olympus_core.base.avals import shape_of
from olympus_core.base.errors import DTypeError, ShapeError, TreeError
from olympus_core.library.numpy.creation.array import array, asarray
from olympus_core.library.numpy.creation.fills import zeros, zeros_like
from olympus_core.library.numpy.elementwise.arithmetic import abs as abs_
from olympus_core.library.numpy.elementwise.arithmetic import square
from olympus_core.library.numpy.elementwise.exponential import sqrt
from olympus_core.library.numpy.elementwise.rounding import floor
from olympus_core.library.numpy.manipulation.shapes import atleast_1d, reshape
from olympus_core.library.numpy.products.matmul import vdot
from olympus_core.library.numpy.reductions.sums import max as max_
from olympus_core.library.numpy.reductions.sums import sum as sum_
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.numpy.ufuncs import maximum, minimum

Schedule = Callable[[Any], Any]


class OptimizerState(NamedTuple):
    """The states of all parameters: flat leaves, the tree of parameters, a tree of each state."""

    packed_state: Any
    tree_def: Any
    subtree_defs: Any


class Optimizer(NamedTuple):
    """A method: `init_fn(params)`, `update_fn(step, grads, state)` and `params_fn(state)`."""

    init_fn: Callable[..., Any]
    update_fn: Callable[..., Any]
    params_fn: Callable[..., Any]


tree.register_node(
    OptimizerState,
    lambda state: ((state.packed_state,), (state.tree_def, state.subtree_defs)),
    lambda static, children: OptimizerState(children[0], *static),
)


def _packed(states: Sequence[Any], treedef: Any) -> OptimizerState:
    flat = [tree.flatten(state) for state in states]
    return OptimizerState([leaves for leaves, _ in flat], treedef, tuple(d for _, d in flat))


def _states(state: OptimizerState) -> list[Any]:
    packed, _, subtrees = state
    return [d.unflatten(leaves) for d, leaves in zip(subtrees, packed, strict=True)]


def optimizer(opt_maker: Callable[..., Any]) -> Callable[..., Optimizer]:
    """Decorate a maker of a method for one array, to return the method for trees of arrays.

    opt_maker: a function that returns `init(x)`, `update(step, gradient, state)` and
    `params(state)`. The method for trees raises TreeError for gradients of another structure than
    the parameters, or an update that changes the structure of a state.

    >>> @optimizer
    ... def descent(rate):
    ...     return (lambda x: x), (lambda i, g, x: x - rate * g), (lambda x: x)
    >>> init, update, params = descent(0.5)
    >>> params(update(0, [1.0], init([3.0])))
    [2.5]
    """

    @functools.wraps(opt_maker)
    def tree_opt_maker(*args: Any, **kwargs: Any) -> Optimizer:
        init, update, get_params = opt_maker(*args, **kwargs)

        @functools.wraps(init)
        def tree_init(x0_tree: Any) -> OptimizerState:
            leaves, treedef = tree.flatten(x0_tree)
            return _packed([init(x) for x in leaves], treedef)

        @functools.wraps(update)
        def tree_update(i: Any, grad_tree: Any, opt_state: OptimizerState) -> OptimizerState:
            grads, treedef = tree.flatten(grad_tree)
            if treedef != opt_state.tree_def:
                raise TreeError(
                    "optimizer update function was passed a gradient tree that did not match the "
                    "parameter tree structure with which it was initialized: parameter tree "
                    f"{opt_state.tree_def} and grad tree {treedef}."
                )
            states = zip(grads, _states(opt_state), strict=True)
            new = _packed([update(i, g, state) for g, state in states], treedef)
            if tuple(new.subtree_defs) != tuple(opt_state.subtree_defs):
                raise TreeError(
                    "optimizer update function produced an output structure that did not match its "
                    f"input structure: input {opt_state.subtree_defs} and output "
                    f"{new.subtree_defs}."
                )
            return new

        @functools.wraps(get_params)
        def tree_get_params(opt_state: OptimizerState) -> Any:
            return opt_state.tree_def.unflatten([get_params(s) for s in _states(opt_state)])

        return Optimizer(tree_init, tree_update, tree_get_params)

    return tree_opt_maker


def _first(state: Any) -> Any:
    return state[0]


@optimizer
def sgd(step_size: Any) -> Any:
    """Return stochastic gradient descent, with a step size or a schedule of step sizes.

    >>> init, update, params = sgd(0.5)
    >>> params(update(0, array(2.0), init(array(3.0))))
    Array(2., dtype=float32, weak_type=True)
    """
    rate = make_schedule(step_size)
    return Optimizer(lambda x: x, lambda i, g, x: x - rate(i) * g, lambda x: x)


@optimizer
def momentum(step_size: Any, mass: float) -> Any:
    """Return descent with momentum: the velocity is `mass` times the last one, plus the gradient.

    >>> init, update, params = momentum(0.5, 0.9)
    >>> params(update(0, array(2.0), init(array(3.0))))
    Array(2., dtype=float32, weak_type=True)
    """
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, velocity = state
        velocity = mass * velocity + g
        return x - rate(i) * velocity, velocity

    return (lambda x: (x, zeros_like(x))), update, _first


@optimizer
def nesterov(step_size: Any, mass: float) -> Any:
    """Return descent with Nesterov's momentum.

    >>> init, update, params = nesterov(0.5, 0.9)
    >>> params(update(0, array(2.0), init(array(3.0))))
    Array(1.1, dtype=float32, weak_type=True)
    """
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, velocity = state
        velocity = mass * velocity + g
        return x - rate(i) * (mass * velocity + g), velocity

    return (lambda x: (x, zeros_like(x))), update, _first


def _scaled(g: Any, total: Any) -> Any:
    """Return g over the square root of a total, 0 where the total is 0."""
    return g * where(total > 0, 1.0 / sqrt(total), 0.0)


@optimizer
def adagrad(step_size: Any, momentum: float = 0.9) -> Any:
    """Return Adagrad: steps over the square root of the sum of squared gradients.

    >>> init, update, params = adagrad(0.5)
    >>> params(update(0, array(2.0), init(array(3.0))))
    Array(2.95, dtype=float32, weak_type=True)
    """
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, total, m = state
        total = total + square(g)
        m = (1.0 - momentum) * _scaled(g, total) + momentum * m
        return x - rate(i) * m, total, m

    return (lambda x: (x, zeros_like(x), zeros_like(x))), update, _first


@optimizer
def rmsprop(step_size: Any, gamma: float = 0.9, eps: float = 1e-8) -> Any:
    """Return RMSProp: steps over the root of a moving mean of squared gradients.

    >>> init, update, params = rmsprop(0.5)
    >>> params(update(0, array(2.0), init(array(3.0))))
    Array(1.4188612, dtype=float32, weak_type=True)
    """
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, average = state
        average = average * gamma + square(g) * (1.0 - gamma)
        return x - rate(i) * g / sqrt(average + eps), average

    return (lambda x: (x, zeros_like(x))), update, _first


@optimizer
def rmsprop_momentum(
    step_size: Any, gamma: float = 0.9, eps: float = 1e-8, momentum: float = 0.9
) -> Any:
    """Return RMSProp with momentum.

    >>> init, update, params = rmsprop_momentum(0.5)
    >>> params(update(0, array(2.0), init(array(3.0))))
    Array(1.4188612, dtype=float32, weak_type=True)
    """
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, average, m = state
        average = average * gamma + square(g) * (1.0 - gamma)
        m = momentum * m + rate(i) * g / sqrt(average + eps)
        return x - m, average, m

    return (lambda x: (x, zeros_like(x), zeros_like(x))), update, _first


@optimizer
def adam(step_size: Any, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> Any:
    """Return Adam: moving means of gradients and of their squares, without their bias.

    >>> init, update, params = adam(0.5)
    >>> params(update(0, array(2.0), init(array(3.0))))
    Array(2.5000033, dtype=float32)
    """
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, m, v = state
        m = (1 - b1) * g + b1 * m
        v = (1 - b2) * square(g) + b2 * v
        mean = m / (1 - asarray(b1, m.dtype) ** (i + 1))
        variance = v / (1 - asarray(b2, m.dtype) ** (i + 1))
        return x - rate(i) * mean / (sqrt(variance) + eps), m, v

    return (lambda x: (x, zeros_like(x), zeros_like(x))), update, _first


@optimizer
def adamax(step_size: Any, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> Any:
    """Return Adamax: Adam with the greatest absolute gradient in place of the mean of squares.

    >>> init, update, params = adamax(0.5)
    >>> params(update(0, array(2.0), init(array(3.0))))
    Array(2.5, dtype=float32)
    """
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, m, u = state
        m = (1 - b1) * g + b1 * m
        u = maximum(b2 * u, abs_(g))
        return x - rate(i) / (1 - asarray(b1, m.dtype) ** (i + 1)) * m / (u + eps), m, u

    return (lambda x: (x, zeros_like(x), zeros_like(x))), update, _first


@optimizer
def sm3(step_size: Any, momentum: float = 0.9) -> Any:
    """Return SM3: Adagrad with one sum for each row, column and so on, which takes less memory.

    >>> init, update, params = sm3(0.5)
    >>> params(update(0, array([2.0]), init(array([3.0]))))
    Array([2.95], dtype=float32)
    """
    rate = make_schedule(step_size)

    def init(x0: Any) -> Any:
        x = atleast_1d(x0)
        return x, zeros_like(x), [zeros(n, x.dtype) for n in x.shape], shape_of(x0)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, m, sums, shape = state
        along = [
            reshape(v, tuple(-1 if k == j else 1 for k in range(x.ndim)))
            for j, v in enumerate(sums)
        ]
        total = functools.reduce(minimum, along) + square(g)
        m = (1.0 - momentum) * _scaled(g, total) + momentum * m
        axes = range(x.ndim)
        sums = [max_(total, axis=tuple(k for k in axes if k != j)) for j in axes]
        return x - rate(i) * m, m, sums, shape

    return init, update, lambda state: reshape(state[0], state[3])


def constant(step_size: Any) -> Schedule:
    """Return the schedule of one step size.

    >>> constant(0.5)(3)
    0.5
    """
    return lambda i: step_size


def exponential_decay(step_size: Any, decay_steps: Any, decay_rate: Any) -> Schedule:
    """Return the schedule step_size * decay_rate ** (i / decay_steps).

    >>> exponential_decay(1.0, 2, 0.25)(1)
    0.5
    """
    return lambda i: step_size * decay_rate ** (i / decay_steps)


def inverse_time_decay(
    step_size: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False
) -> Schedule:
    """Return the schedule step_size / (1 + decay_rate * i / decay_steps).

    staircase: True to round i / decay_steps down.

    >>> inverse_time_decay(1.0, 2, 0.5)(4)
    0.5
    """
    if staircase:
        return lambda i: step_size / (1 + decay_rate * floor(i / decay_steps))
    return lambda i: step_size / (1 + decay_rate * i / decay_steps)


def polynomial_decay(
    step_size: Any, decay_steps: Any, final_step_size: Any, power: float = 1.0
) -> Schedule:
    """Return the schedule from step_size to final_step_size in decay_steps, by a power.

    >>> polynomial_decay(1.0, 4, 0.0)(1)
    Array(0.75, dtype=float32, weak_type=True)
    """

    def schedule(i: Any) -> Any:
        share = (1 - minimum(i, decay_steps) / decay_steps) ** power
        return share * (step_size - final_step_size) + final_step_size

    return schedule


def piecewise_constant(boundaries: Any, values: Any) -> Schedule:
    """Return the schedule of `values`, one more than the `boundaries` between them.

    Raises ShapeError for other lengths.

    >>> piecewise_constant([2, 4], [1.0, 0.5, 0.25])(3)
    Array(0.5, dtype=float32)
    """
    ends, steps = array(boundaries), array(values)
    if not ends.ndim == steps.ndim == 1:
        raise ShapeError("boundaries and values must be sequences")
    if ends.shape[0] != steps.shape[0] - 1:
        raise ShapeError("boundaries length must be one shorter than values length")
    return lambda i: steps[sum_(i > ends)]


def make_schedule(scalar_or_schedule: Any) -> Schedule:
    """Return a schedule of a step size; a schedule is returned as it is.

    Raises DTypeError for an array that is no scalar.

    >>> make_schedule(0.5)(3)
    0.5
    """
    if callable(scalar_or_schedule):
        schedule: Schedule = scalar_or_schedule
        return schedule
    if shape_of(scalar_or_schedule) == ():
        return constant(scalar_or_schedule)
    raise DTypeError(f"a step size is a scalar or a function, not {type(scalar_or_schedule)}")


_leaves = tree.leaves


def l2_norm(tree: Any) -> Any:
    """Return the square root of the sum of squares of all elements of a tree.

    >>> l2_norm([array([3.0]), array(4.0)])
    Array(5., dtype=float32)
    """
    return sqrt(sum(vdot(x, x) for x in _leaves(tree)))


def clip_grads(grad_tree: Any, max_norm: Any) -> Any:
    """Return a tree scaled down so that its `l2_norm` is at most `max_norm`.

    >>> clip_grads(array([3.0, 4.0]), 1.0)
    Array([0.6, 0.8], dtype=float32)
    """
    norm = l2_norm(grad_tree)
    return tree.map(lambda g: where(norm < max_norm, g, g * (max_norm / norm)), grad_tree)


class JoinPoint:
    """A leaf of an unpacked state: the state of one parameter, `subtree`."""

    def __init__(self, subtree: Any) -> None:
        self.subtree = subtree

    def __iter__(self) -> Iterator[Any]:
        """Return an iterator over the subtree."""
        yield self.subtree


def unpack_optimizer_state(opt_state: OptimizerState) -> Any:
    """Return the tree of the parameters, with a JoinPoint of the state of each one.

    >>> unpack_optimizer_state(momentum(0.5, 0.9)[0](array(3.0))).subtree
    (Array(3., dtype=float32, weak_type=True), Array(0., dtype=float32, weak_type=True))
    """
    return opt_state.tree_def.unflatten([JoinPoint(s) for s in _states(opt_state)])


def pack_optimizer_state(marked_pytree: Any) -> OptimizerState:
    """Return the state of a tree of JoinPoints: the inverse of `unpack_optimizer_state`.

    >>> state = sgd(0.5)[0]([array(3.0)])
    >>> pack_optimizer_state(unpack_optimizer_state(state)).packed_state
    [[Array(3., dtype=float32, weak_type=True)]]
    """
    points, treedef = tree.flatten(marked_pytree)
    return _packed([point.subtree for point in points], treedef)
