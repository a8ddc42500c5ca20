"""Source lines and name scopes of operations, under JAX's names."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from olympus_core.base import source
from olympus_core.base.context import state, switched
from olympus_core.base.source import Source, joined_scope, name_scope
from olympus_core.ir.jaxpr_text import source_summary


class NameStack(str):
    """A name scope, such as "outer/inner": a text to which names are added.

    >>> NameStack("outer").extend("inner"), NameStack("outer") + NameStack("inner")
    ('outer/inner', 'outer/inner')
    """

    __slots__ = ()

    @property
    def stack(self) -> tuple[str, ...]:
        """The names, the outermost first."""
        return tuple(self.split("/")) if self else ()

    def extend(self, name: str) -> NameStack:
        """Return the scope of one more name in this one."""
        return self + NameStack(name)

    def transform(self, transform_name: str) -> NameStack:
        """Return the scope in which a transformation wraps the next name: "outer/name(next)"."""
        return self + f"{transform_name}()"

    def __add__(self, other: str) -> NameStack:
        return NameStack(joined_scope(str(self), str(other)))

    def __radd__(self, other: str) -> NameStack:
        return NameStack(other) + self


def transform_name_stack(name: str) -> contextlib.AbstractContextManager[None]:
    """Within the context, wrap the names of the scopes in it as a transformation does.

    >>> with transform_name_stack("jvp"), ox.named_scope("inner"):
    ...     current_name_stack()
    'jvp(inner)'
    """
    return set_name_stack(current_name_stack().transform(name))


def current() -> Source:
    """Return the mark of the user's running line and of its name scope.

    >>> mark = current()
    """
    return source.current_location()


def new_source_info() -> Source:
    """Return the mark of no line.

    >>> mark = new_source_info()
    """
    return Source(None, 0, "")


def current_name_stack() -> NameStack:
    """Return the name scope around the call: "outer/inner".

    >>> with ox.named_scope("outer"):
    ...     current_name_stack()
    'outer'
    """
    return NameStack(state.scope)


def new_name_stack(name: str = "") -> NameStack:
    """Return a name scope of one name.

    >>> new_name_stack("outer")
    'outer'
    """
    return NameStack(name)


def extend_name_stack(name: str) -> contextlib.AbstractContextManager[None]:
    """Within the context, or as a decorator, put operations into a scope; see `named_scope`.

    >>> with extend_name_stack("outer"):
    ...     x = numpy.sqrt(16.0)
    """
    return name_scope(name)


@contextlib.contextmanager
def set_name_stack(name_stack: str) -> Iterator[None]:
    """Within the context, put operations into a scope, in place of the scope around it.

    >>> with set_name_stack("outer"):
    ...     x = numpy.sqrt(16.0)
    """
    with switched("scope", str(name_stack)):
        yield


def reset_name_stack() -> contextlib.AbstractContextManager[None]:
    """Within the context, put operations into no scope.

    >>> with reset_name_stack():
    ...     x = numpy.sqrt(16.0)
    """
    return set_name_stack("")


def summarize(source_info: Any, num_frames: int = 1) -> str:
    """Return the line of an operation as text: `file:line:column (function)`, if it is known.

    >>> summarize(make_jaxpr(lambda x: 2 * x)(1.0).eqns[0].source_info)
    '...:1:... (<lambda>)'
    """
    return source_summary(source_info)


@contextlib.contextmanager
def user_context(traceback: Any, *, name_stack: Any = None) -> Iterator[None]:
    """Within the context, give operations the line of a `Source`; None leaves their own.

    >>> with user_context(current()):
    ...     x = numpy.sqrt(16.0)
    """
    if not isinstance(traceback, Source):
        yield
        return
    with source.using_location(traceback):
        yield
