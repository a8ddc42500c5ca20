"""Errors of a checked program: their kinds, and the value that has the first one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from olympus_core.arrays.device_array import array_to_numpy
from olympus_core.base import source, tree
from olympus_core.base.avals import ShapedArray, shape_of, shaped
from olympus_core.base.errors import ArgumentError, CheckError
from olympus_core.control.check import check_p
from olympus_core.transforms.vmapping import vmap

#: the type of the number of an error in a program; 0 is none
CODE = shaped((), np.dtype("int32"))


class CheckFailure(Exception):
    """The failure of a check; each kind of check has a class of its own."""


class NanFailure(CheckFailure):
    """An operation returned a NaN."""


class DivisionFailure(CheckFailure):
    """A divisor was zero."""


class IndexFailure(CheckFailure):
    """An index was out of bounds."""


class FailedCheck(CheckFailure):
    """A `check` of the user failed."""


ErrorCategory: TypeAlias = type[CheckFailure]

user_checks = frozenset[ErrorCategory]([FailedCheck])
nan_checks = frozenset[ErrorCategory]([NanFailure])
index_checks = frozenset[ErrorCategory]([IndexFailure])
div_checks = frozenset[ErrorCategory]([DivisionFailure])
float_checks = nan_checks | div_checks
automatic_checks = float_checks | index_checks
all_checks = automatic_checks | user_checks


class Site:
    """A place in a program that may fail: the kind of failure, its message and its arrays.

    `text` returns the message for the arrays of a failure, whose types are `avals`.  A site equals
    only itself.
    """

    __slots__ = ("avals", "category", "place", "text")

    def __init__(
        self,
        category: ErrorCategory,
        text: Callable[[Sequence[Any]], str],
        avals: Sequence[ShapedArray] = (),
        place: source.Source | None = None,
    ) -> None:
        self.category = category
        self.text = text
        self.avals = tuple(avals)
        self.place = source.current_location() if place is None else place

    def failure(self, arrays: Sequence[Any]) -> CheckFailure:
        """Return the failure with these arrays."""
        return self.category(self.text(arrays))


class DevicesSite(Site):
    """The places in a `shard_map` that may fail; its arrays are the code of each device, and the
    arrays of each place, one for each device.

    `codes` are the codes of the `sites`.
    """

    __slots__ = ("codes", "sites")

    def __init__(
        self, sites: Sequence[Site], codes: Sequence[int], avals: Sequence[ShapedArray]
    ) -> None:
        super().__init__(FailedCheck, lambda _: "", avals, sites[0].place)
        self.sites, self.codes = tuple(sites), tuple(codes)

    def failure(self, arrays: Sequence[Any]) -> CheckFailure:
        """Return the failure of the first device that has one; it names each such device."""
        devices, *payloads = arrays
        rows = zip(self.codes, self.sites, split(payloads, self.sites), strict=True)
        own = {code: (site, values) for code, site, values in rows}
        failures: list[tuple[int, CheckFailure]] = []
        for index in map(int, np.flatnonzero(devices)):
            site, values = own[int(devices[index])]
            failures.append((index, site.failure([x[index] for x in values])))
        text = "\n".join(f"at mapped index {index}: {failure}" for index, failure in failures)
        return type(failures[0][1])(text)


class Error:
    """The first error of a checked program, or none: a tree of arrays.

    Under `vmap` it has the error of each element.

    >>> error, result = checkify(f)(x)
    >>> error.get() is None
    True
    """

    def __init__(
        self, code: Any, payloads: Sequence[Sequence[Any]] = (), sites: tuple[Site, ...] = ()
    ) -> None:
        self._code = code
        self._payloads = tuple(map(tuple, payloads))
        self._sites = sites

    def get(self) -> str | None:
        """Return the message of the first error; None without one.

        The errors of the elements of a batch are one line each, with the index of the element.
        """
        failures = list(self._failures())
        if shape_of(self._code) == ():
            return str(failures[0][1]) if failures else None
        lines = [
            f"at mapped index {', '.join(map(str, index))}: {failure}"
            for index, failure, _ in failures
        ]
        return "\n".join(lines) or None

    def get_exception(self) -> CheckFailure | None:
        """Return the failure; that of the first element of a batch that has one."""
        return next((failure for _, failure, _ in self._failures()), None)

    def throw(self) -> None:
        """Raise CheckError (a ValueError) with the message and the line of the check, if it failed.

        In a function that is traced, it is a check of its own.
        """
        if shape_of(self._code) == ():
            bind_check(self._code, self._payloads, self._sites)
        else:
            vmap(Error.throw)(self)

    def raise_failure(self) -> None:
        """Raise CheckError if the arrays, which have values, have a failure."""
        message = self.get()
        if message is not None:
            place = next(site.place for _, _, site in self._failures())
            raise CheckError(f"{message}{place.place()}", location=str(place.position() or ""))

    def _failures(self) -> Iterator[tuple[tuple[int, ...], CheckFailure, Site]]:
        codes = array_to_numpy(self._code)
        for index in zip(*np.nonzero(codes), strict=True) if codes.ndim else [()] * bool(codes):
            number = int(codes[index]) - 1
            arrays = [array_to_numpy(x)[index] for x in self._payloads[number]]
            site = self._sites[number]
            yield tuple(map(int, index)), site.failure(arrays), site

    @property
    def sites(self) -> tuple[Site, ...]:
        """The places that may fail, by code from 1 on."""
        return self._sites

    @property
    def code(self) -> Any:
        """The number of the place that failed, from 1 on; 0 for none."""
        return self._code

    @property
    def payloads(self) -> tuple[tuple[Any, ...], ...]:
        """The arrays of the message of each place."""
        return self._payloads

    def __repr__(self) -> str:
        return f"Error({self.get()})"


tree.register_node(
    Error,
    lambda error: ((error.code, error.payloads), error.sites),
    lambda sites, children: Error(children[0], children[1], sites),
)


def no_error() -> Error:
    """Return the error of a program without checks."""
    return Error(np.int32(0))


def checked_categories(errors: Any) -> frozenset[ErrorCategory]:
    """Return a set of kinds of errors; raise ArgumentError for other values."""
    categories = frozenset(errors)
    if not all(isinstance(x, type) and issubclass(x, CheckFailure) for x in categories):
        raise ArgumentError(
            f"errors must be a set such as checkify.user_checks, and is {errors!r:.80}"
        )
    return categories


def bind_check(
    code: Any, payloads: Sequence[Sequence[Any]], sites: tuple[Site, ...], *, is_debug: bool = False
) -> None:
    """Bind the check of a code and the arrays of the sites."""
    arrays = [x for payload in payloads for x in payload]
    fail = functools.partial(raise_failure, sites)
    check_p.bind(code, *arrays, sites=sites, is_debug=is_debug, fail=fail)


def raise_failure(sites: tuple[Site, ...], operands: Sequence[Any]) -> None:
    """Raise CheckError for the operands of a failed check, which have values."""
    code, *arrays = operands
    Error(code, split(arrays, sites), sites).raise_failure()


def split(arrays: Sequence[Any], sites: Sequence[Site]) -> list[list[Any]]:
    """Return the arrays of each site, from those of all."""
    rest = iter(arrays)
    return [[next(rest) for _ in site.avals] for site in sites]
