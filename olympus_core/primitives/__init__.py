"""The primitives, a module a family; `ALL` is every one there is."""

from olympus_core.primitive import Primitive
from olympus_core.primitives import call, control, elementwise, shape

ALL: tuple[Primitive, ...] = (
    *elementwise.PRIMITIVES,
    *shape.PRIMITIVES,
    *control.PRIMITIVES,
    *call.PRIMITIVES,
)
