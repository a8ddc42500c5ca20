"""Staged functions that use mutable references, as functions of the values of these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from olympus_core.base.errors import SignatureError
from olympus_core.base.source import wraps
from olympus_core.transforms import references

if TYPE_CHECKING:
    from olympus_core.jit.calling import StagedFunction
    from olympus_core.transforms.references import Reference, Threaded

#: The keyword of the values of the references that a function closes over.
VALUES = "references"


class ReferenceProgram(NamedTuple):
    """A staged function whose references are arguments and results.

    `places` are the numbers of the leaves of the arguments that are references, and `used` has
    the references that the function `name` closes over, if it has any.
    """

    function: StagedFunction[..., Any]
    name: str
    places: tuple[int, ...]
    used: Threaded | None

    def with_values(self, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return keyword arguments with the values of the references that are closed over."""
        return {**kwargs} if self.used is None else {**kwargs, VALUES: self.used.values}

    def run(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        passed: Mapping[int, Reference],
    ) -> Any:
        """Call a form of the function, write the references, and return the result.

        `passed` are the references among the arguments by leaf, and `args` and `kwargs` have their
        values.  Raises SignatureError for one in the place of an array.
        """
        extra = [x for place, x in passed.items() if place not in self.places]
        if extra:
            raise SignatureError(
                f"'{self.name}' was compiled for an array, and called with {extra[0].aval}",
                hint="pass the value of the reference, as by ref[...]",
            )
        written, result = function(*args, **self.with_values(kwargs))
        closed, last = written
        if self.used is not None:
            self.used.write(closed)
        for place, value in zip(self.places, last, strict=True):
            if place in passed:
                passed[place].set_value(value)
        return result

    def own_arguments(self, arguments: Any) -> Any:
        """Return a pair of args and kwargs without the values of closed references."""
        args, kwargs = arguments
        return args, {key: x for key, x in kwargs.items() if key != VALUES}


def with_values_of(
    boxed: references.Boxed, used: Threaded | None, fun: Callable[..., Any]
) -> Callable[..., Any]:
    """Return `fun` as a function of the values of its references.

    Its result is a pair of the last values, of the closed references and of the arguments, and the
    result of `fun`.
    """

    @wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        if used is None:
            last, result = boxed(*args, **kwargs)
            return ([], last), result
        values = kwargs.pop(VALUES)
        written, (last, result) = used(values, *args, **kwargs)
        return (written, last), result

    return call
