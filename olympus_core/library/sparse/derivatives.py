"""Derivatives of functions of sparse arrays: a derivative has the indices of its argument."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_core.base import tree
from olympus_core.base.source import wraps
from olympus_core.library.numpy.manipulation.shapes import broadcast_to
from olympus_core.library.sparse.base import JAXSparse
from olympus_core.transforms.autodiff import grad as dense_grad
from olympus_core.transforms.autodiff import value_and_grad as dense_value_and_grad
from olympus_core.transforms.jacobians import jacfwd as dense_jacfwd
from olympus_core.transforms.jacobians import jacrev as dense_jacrev


def is_sparse(x: Any) -> bool:
    """Return True for a sparse array.

    >>> is_sparse(array([1.0]))
    False
    """
    return isinstance(x, JAXSparse)


def _data(arg: Any) -> Any:
    """Return a tree with the data of sparse arrays in their places."""
    return tree.map(lambda x: x.data if is_sparse(x) else x, arg, is_leaf=is_sparse)


def _with(arg: Any, data: Any) -> Any:
    """Return a tree with other data in its sparse arrays, and other dense leaves."""
    leaves, treedef = tree.flatten(arg, is_leaf=is_sparse)
    new = treedef.flatten_up_to(data)
    return treedef.unflatten(
        [_replaced(x, v) if is_sparse(x) else v for x, v in zip(leaves, new, strict=True)]
    )


def _replaced(mat: Any, data: Any) -> Any:
    """Return a sparse array with other data, which may have more axes in front."""
    parts, treedef = tree.flatten(mat)
    front = data.shape[: data.ndim - parts[0].ndim]
    rest = [broadcast_to(x, (*front, *x.shape)) for x in parts[1:]] if front else parts[1:]
    replaced = treedef.unflatten([data, *rest])
    replaced.shape = (*front, *mat.shape)
    return replaced


def flatten_fun_for_sparse_ad(
    fun: Callable[..., Any], argnums: int | Sequence[int], args: Sequence[Any]
) -> tuple[Callable[..., Any], tuple[int, ...], list[Any], Callable[[Sequence[Any]], Any]]:
    """Return a function of sparse arrays as one of its buffers, to differentiate it by data.

    The results are the function of buffers, the positions of the buffers to differentiate by, the
    buffers of `args`, and the function from derivatives to the arrays of the arguments `argnums`:
    one, or a tuple. A derivative may have more axes in front.

    >>> mat = sparse.BCOO.fromdense(array([0.0, 2.0]))
    >>> flat, numbers, buffers, restored = flatten_fun_for_sparse_ad(
    ...     lambda m: (m.data**2).sum(), 0, (mat,))
    >>> restored(grad(flat, numbers)(*buffers)).todense()
    Array([0., 4.], dtype=float32)
    """
    wanted = {argnums} if isinstance(argnums, int) else {*argnums}
    arrays: list[Any] = []
    moving: list[int] = []
    for i, arg in enumerate(args):
        leaves = tree.leaves(arg, is_leaf=is_sparse)
        moving += range(len(arrays), len(arrays) + len(leaves)) if i in wanted else ()
        arrays += leaves
    treedef = tree.structure(tuple(args), is_leaf=is_sparse)
    buffers, structure = tree.flatten(arrays)
    starts = [0]
    for x in arrays:
        starts.append(starts[-1] + len(tree.leaves(x)))
    places = tuple(
        place
        for i in moving
        for place in range(starts[i], starts[i] + 1 if is_sparse(arrays[i]) else starts[i + 1])
    )

    def flat(*values: Any, **kwargs: Any) -> Any:
        return fun(*treedef.unflatten(structure.unflatten(values)), **kwargs)

    def restored(derivatives: Sequence[Any]) -> Any:
        found: list[Any] = [None] * len(arrays)
        for i, value in zip(moving, derivatives, strict=True):
            found[i] = _replaced(arrays[i], value) if is_sparse(arrays[i]) else value
        parts = tuple([part for part in treedef.unflatten(found) if tree.leaves(part)])
        return parts[0] if len(parts) == 1 else parts

    return flat, places, buffers, restored


def _of_data(
    transform: Callable[..., Any], is_value_first: bool = False
) -> Callable[..., Callable[..., Any]]:
    """Return a transformation for functions of sparse arrays, from one for dense arrays."""

    def transformation(
        fun: Callable[..., Any],
        argnums: int | Sequence[int] = 0,
        has_aux: bool = False,
        **options: Any,
    ) -> Callable[..., Any]:
        numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)

        def derived(*args: Any, **kwargs: Any) -> Any:
            def of_data(*data: Any) -> Any:
                every = list(args)
                for i, values in zip(numbers, data, strict=True):
                    every[i] = _with(args[i], values)
                return fun(*every, **kwargs)

            places = tuple(range(len(numbers)))
            raw = transform(of_data, argnums=places, has_aux=has_aux, **options)
            result = raw(*(_data(args[i]) for i in numbers))
            value, found = result if is_value_first else (None, result)
            aux = None
            if has_aux and not is_value_first:
                found, aux = found
            parts = tuple(_with(args[i], g) for i, g in zip(numbers, found, strict=True))
            out = parts[0] if isinstance(argnums, int) else parts
            if is_value_first:
                return value, out
            return (out, aux) if has_aux else out

        return wraps(fun)(derived)

    return transformation


_grad = _of_data(dense_grad)
_value_and_grad = _of_data(dense_value_and_grad, is_value_first=True)
_jacfwd = _of_data(dense_jacfwd)
_jacrev = _of_data(dense_jacrev)


def grad(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any
) -> Callable[..., Any]:
    """Return the gradient of a function of sparse arrays; see `olympus.grad`.

    The gradient of a sparse argument is a sparse array of the same indices.

    >>> from olympus.experimental import sparse
    >>> mat = sparse.BCOO.fromdense(array([0.0, 3.0]))
    >>> grad(lambda m: (m.data ** 2).sum())(mat).data
    Array([6.], dtype=float32)
    """
    return _grad(fun, argnums, has_aux, **kwargs)


def value_and_grad(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any
) -> Callable[..., tuple[Any, Any]]:
    """Return a function of the value and the gradient; see `grad`.

    >>> from olympus.experimental import sparse
    >>> mat = sparse.BCOO.fromdense(array([0.0, 3.0]))
    >>> value_and_grad(lambda m: (m.data ** 2).sum())(mat)[0]
    Array(9., dtype=float32)
    """
    return _value_and_grad(fun, argnums, has_aux, **kwargs)


def jacfwd(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any
) -> Callable[..., Any]:
    """Return the Jacobian of a function of sparse arrays, by forward derivatives.

    >>> from olympus.experimental import sparse
    >>> mat = sparse.BCOO.fromdense(array([0.0, 3.0]))
    >>> jacfwd(lambda m: m.data.sum())(mat).data
    Array([1.], dtype=float32)
    """
    return _jacfwd(fun, argnums, has_aux, **kwargs)


def jacrev(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any
) -> Callable[..., Any]:
    """Return the Jacobian of a function of sparse arrays, by reverse derivatives.

    >>> from olympus.experimental import sparse
    >>> mat = sparse.BCOO.fromdense(array([0.0, 3.0]))
    >>> jacrev(lambda m: m.data.sum())(mat).data
    Array([1.], dtype=float32)
    """
    return _jacrev(fun, argnums, has_aux, **kwargs)


jacobian = jacrev
