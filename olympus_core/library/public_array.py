"""`olympus.Array` and `olympus.core.Tracer`: the classes that users compare values with.

The instances of `Array` are those of the tracer's `Array`, on a device or traced, and arrays of
random keys; those of `Tracer` are traced arrays and keys.  Inside, keys are neither: functions that
compute do not accept keys.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from olympus_core.arrays.device_array import DeviceArray
from olympus_core.base import tree
from olympus_core.base.errors import SignatureError
from olympus_core.ir import tracer


class _ArrayClass(type):
    """The class of `Array`, which has the attributes of the tracer's."""

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, tracer.Array) or x.__class__ is tree.key_class

    def __subclasscheck__(cls, subclass: type) -> bool:
        return subclass in (cls, tree.key_class) or issubclass(subclass, tracer.Array)

    def __getattr__(cls, name: str) -> Any:
        if hasattr(tracer.Array, name):
            return getattr(tracer.Array, name)
        return getattr(DeviceArray, name)  # such as `item`, which a traced array does not have

    def __subclasses__(cls) -> list[type]:
        return type.__subclasses__(tracer.Array)

    def __dir__(cls) -> list[str]:
        return dir(DeviceArray)


class _TracerClass(type):
    """The class of `Tracer`, which keys of traced words are instances of; not of its subclasses."""

    def __instancecheck__(cls, x: Any) -> bool:
        if cls is not AnyTracer:
            return super().__instancecheck__(x)
        keys: Any = x
        return isinstance(keys.data if x.__class__ is tree.key_class else x, tracer.Tracer)

    def __subclasscheck__(cls, subclass: type) -> bool:
        if cls is AnyTracer:
            return issubclass(subclass, tracer.Tracer)
        return super().__subclasscheck__(subclass)


if TYPE_CHECKING:
    from olympus_core.ir.tracer import Array, Tracer

    AnyArray = Array  # type checkers see its methods
    AnyTracer = Tracer
else:

    class AnyArray(metaclass=_ArrayClass):
        """The type of every array: on a device, traced, or of random keys.

        >>> isinstance(numpy.arange(3), Array), isinstance(random.key(0), Array)
        (True, True)
        """

        def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
            raise SignatureError("an Array is created by a function such as olympus.numpy.array")

    AnyArray.__name__ = AnyArray.__qualname__ = "Array"

    class AnyTracer(tracer.Tracer, metaclass=_TracerClass):
        """The type of every traced array, also of random keys."""

        __slots__ = ()

    AnyTracer.__name__ = AnyTracer.__qualname__ = "Tracer"
