"""`ufunc`, an elementwise function with NumPy's methods, and `frompyfunc`, which creates one."""

from __future__ import annotations

import importlib
import inspect
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from olympus_core.base.errors import ArgumentError, UnsupportedError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike
from olympus_core.library.axes import Axis
from olympus_core.library.operands import bool_operand, reject_out
from olympus_core.library.promotion import check_arrays

if TYPE_CHECKING:
    from olympus_core.ir.typing import IndexLike


class _Definition(NamedTuple):
    """The parts of a ufunc that decide whether it equals another."""

    function: Callable[..., Any]
    name: str
    nin: int
    nout: int
    nargs: int
    identity: Any


class _Signature:
    """The signature of a ufunc, that of its function; the class itself has none."""

    def __get__(self, instance: ufunc | None, owner: type) -> inspect.Signature | None:
        if instance is None or not instance.is_elementwise:
            return None
        return inspect.signature(instance._definition.function)


class ufunc:
    """An elementwise function of arrays that broadcast, with methods for reductions and updates.

    function: of `nin` scalars, with `nout` results.  name: by default that of `function`.  nargs:
    by default `nin`.  identity: the value `e` with f(e, x) = x, or None.  `elementwise` is True if
    `function` takes arrays.  `loops` are the methods that have a special form, by name:
    a function of `olympus_core.library.numpy.ufunc_loops`.

    >>> maximum.accumulate(asarray([1, 3, 2]))
    Array([1, 3, 3], dtype=int32)
    """

    __signature__ = _Signature()

    def __init__(
        self,
        function: Callable[..., Any],
        /,
        nin: int,
        nout: int,
        *,
        name: str | None = None,
        nargs: int | None = None,
        identity: Any = None,
        elementwise: bool = False,
        loops: dict[str, str] | None = None,
    ) -> None:
        self.__name__ = name or function.__name__
        self.__doc__ = function.__doc__
        self._definition = _Definition(
            function,
            self.__name__,
            operator.index(nin),
            operator.index(nout),
            operator.index(nargs or nin),
            identity,
        )
        self.is_elementwise = elementwise
        self._call = function if elementwise else self._vectorized
        self._loops = loops or {}

    @property
    def nin(self) -> int:
        """The number of inputs."""
        return self._definition.nin

    @property
    def nout(self) -> int:
        """The number of results."""
        return self._definition.nout

    @property
    def nargs(self) -> int:
        """The number of arguments."""
        return self._definition.nargs

    @property
    def identity(self) -> Any:
        """The value that leaves the other operand unchanged, or None."""
        return self._definition.identity

    def __hash__(self) -> int:
        return hash(self._definition)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ufunc) and self._definition == other._definition

    def __repr__(self) -> str:
        return f"<jnp.ufunc '{self.__name__}'>"

    def __call__(self, *args: ArrayLike, out: None = None, where: None = None) -> Array:
        """Return the function of the elements of `args`, a tuple if `nout` is not 1.

        Raises DTypeError for values that are not arrays, and UnsupportedError for `out` and
        `where`.
        """
        for name, option in (("out", out), ("where", where)):
            if option is not None:
                raise UnsupportedError(
                    f"{name} argument of {self}: arrays cannot be written to",
                    hint="use the result, or where()",
                )
        result: Array = self._call(*args)
        return result

    def reduce(
        self,
        a: ArrayLike,
        axis: Axis = 0,
        dtype: DTypeLike | None = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> Array:
        """Fold the function over `axis` of `a` (None: over all elements), from the first element.

        initial: the value to start from, by default `identity` for an axis without elements.
        where: a bool array, the elements that count; it needs `initial` or an identity.

        Raises ArgumentError unless the function has two inputs and one result, ShapeError for an
        axis that `a` does not have, and UnsupportedError for `out`.

        >>> add.reduce(asarray([[1, 2, 3], [4, 5, 6]]))
        Array([5, 7, 9], dtype=int32)
        """
        self._check_binary("reduce", a)
        reject_out(f"{self.__name__}.reduce", out)
        if initial is not None:
            check_arrays(f"{self.__name__}.reduce", initial)
        if where is not None:
            if self.identity is None and initial is None:
                raise ArgumentError(
                    f"reduction operation {self.__name__!r} does not have an identity, so to use a "
                    "where mask one has to specify 'initial'."
                )
            where = bool_operand(f"{self.__name__}.reduce", where)
        loop = self._loop("reduce")
        result: Array = loop(
            self, a, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where
        )
        return result

    def accumulate(
        self, a: ArrayLike, axis: int = 0, dtype: DTypeLike | None = None, out: None = None
    ) -> Array:
        """Return the results of `reduce` for the elements up to each one along `axis`.

        Raises ArgumentError unless the function has two inputs and one result, ShapeError for an
        axis that `a` does not have, and UnsupportedError for `out`.

        >>> multiply.accumulate(asarray([1, 2, 3, 4]))
        Array([ 1,  2,  6, 24], dtype=int32)
        """
        self._check_binary("accumulate", a)
        reject_out(f"{self.__name__}.accumulate", out)
        result: Array = self._loop("accumulate")(self, a, axis=axis, dtype=dtype)
        return result

    def reduceat(
        self,
        a: ArrayLike,
        indices: ArrayLike,
        axis: int = 0,
        dtype: DTypeLike | None = None,
        out: None = None,
    ) -> Array:
        """Return the reduction of each segment of `a`, from one of `indices` to the next.

        indices: an integer array of rank 1.  A segment that ends before it starts has the value of
        its first element.

        Raises ArgumentError unless the function has two inputs and one result, and for several
        axes, ShapeError for other ranks, and UnsupportedError for `out`.

        >>> add.reduceat(asarray([1, 2, 3, 4, 5]), asarray([0, 2]))
        Array([ 3, 12], dtype=int32)
        """
        self._check_binary("reduceat", a, indices)
        reject_out(f"{self.__name__}.reduceat", out)
        result: Array = self._loop("reduceat")(self, a, indices, axis=axis, dtype=dtype)
        return result

    def outer(self, A: ArrayLike, B: ArrayLike, /) -> Array:
        """Return the function of all pairs of elements, of the shape `A.shape + B.shape`.

        Raises ArgumentError unless the function has two inputs and one result.

        >>> multiply.outer(asarray([1, 2]), asarray([1, 2, 3]))
        Array([[1, 2, 3],
               [2, 4, 6]], dtype=int32)
        """
        self._check_binary("outer", A, B)
        result: Array = self._loop("outer")(self, A, B)
        return result

    def at(
        self,
        a: ArrayLike,
        indices: IndexLike,
        b: ArrayLike | None = None,
        /,
        *,
        inplace: bool = True,
    ) -> Array:
        """Return `a` with f(element, b) in place of each element at `indices`, one after another.

        An element that occurs twice in `indices` is updated twice.  `inplace` has to be False:
        arrays are immutable.

        Raises UnsupportedError for `inplace`.

        >>> add.at(asarray([1, 2, 3]), asarray([0, 0, 2]), 10, inplace=False)
        Array([21,  2, 13], dtype=int32)
        """
        if inplace:
            raise UnsupportedError(
                "Because JAX arrays are immutable, jnp.ufunc.at() cannot operate inplace like "
                f"np.ufunc.at(), in {self.__name__}.at",
                hint="pass inplace=False, and use the result",
            )
        check_arrays(f"{self.__name__}.at", a, *(() if b is None else (b,)))
        result: Array = self._loop("at")(self, a, indices, *(() if b is None else (b,)))
        return result

    def _check_binary(self, method: str, *arrays: Any) -> None:
        check_arrays(f"{self.__name__}.{method}", *arrays)
        if self.nin != 2:
            raise ArgumentError(
                f"{method} is only supported for binary ufuncs, and {self.__name__} has {self.nin} "
                "inputs"
            )
        if self.nout != 1:
            raise ArgumentError(
                f"{method} is only supported for functions returning a single value, and "
                f"{self.__name__} returns {self.nout}"
            )

    def _loop(self, method: str) -> Callable[..., Any]:
        """Return the function for a method; few programs need the module, which is imported now."""
        module = importlib.import_module("olympus_core.library.numpy.ufunc_loops")
        found: Callable[..., Any] = getattr(module, self._loops.get(method, method))
        return found

    def _vectorized(self, *args: ArrayLike) -> Any:
        check_arrays(self.__name__, *args)
        return self._loop("vectorized")(self._definition.function, *args)


def frompyfunc(
    func: Callable[..., Any], /, nin: int, nout: int, *, identity: ArrayLike | None = None
) -> ufunc:
    """Return the ufunc of a function of `nin` scalars with `nout` results.

    identity: the value `e` with func(e, x) = x, or None.  Arrays are passed to `func` by `vmap`.

    >>> import operator
    >>> frompyfunc(operator.add, nin=2, nout=1, identity=0).reduce(arange(4))
    Array(6, dtype=int32)
    """
    return ufunc(func, nin, nout, identity=identity)
