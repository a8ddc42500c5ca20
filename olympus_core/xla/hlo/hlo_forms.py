"""The forms of the computations of a module: equal ones, and ones that are known to be valid.

All computations are processed together: a deep program has thousands that differ only in names and
ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from olympus_core.xla.hlo.hlo_instructions import Instructions
from olympus_core.xla.hlo.hlo_module import Instruction
from olympus_core.xla.hlo.hlo_rows import Header, places_of
from olympus_core.xla.proto.columns import Ints

#: The number of computations that an operation calls, for operations on which others rely.
CALLS = {"fusion": 1, "while": 2, "call": 1}

_Bools = npt.NDArray[np.bool_]
# places in a form, which is an instruction without its name and ids
_OPCODE, _SHAPE, _INDEX = (
    Instruction._fields.index(name) - 4 for name in ("opcode", "shape", "tuple_index")
)


class Alike(NamedTuple):
    """The number of each computation's form, and whether all ids in it are known to exist.

    Either all computations of one form are valid, or none of them.
    """

    forms: list[int]
    is_sound: list[bool]


def compare_computations(
    headers: Sequence[Header], begins: Sequence[int], made: Instructions
) -> Alike:
    """Compare computations; the instructions of each are from one of `begins` to the next."""
    count, first = len(headers), np.array(begins, np.int64)
    owner = np.repeat(np.arange(count), np.diff(first))  # of each instruction
    reads = np.diff(made.rows.operands_at)
    reader = owner[np.repeat(np.arange(len(owner)), reads)]  # of each operand
    places = places_of(np.array(made.rows.operands, np.int64), made.rows.ids)
    roots = places_of(np.array([each.root_id for each in headers], np.int64), made.rows.ids)
    is_usual = (roots >= first[:-1]) & (roots < first[1:])
    is_usual[reader[(places < first[reader]) | (places >= first[reader + 1])]] = False
    is_usual[owner[made.rows.other]] = False
    is_sound = is_usual.copy()
    is_sound[owner[~_calls_are_right(headers, made)]] = False
    is_sound[owner[~_elements_are_there(made, reads, places)]] = False
    parts = _Parts(made, places - first[reader], roots - first[:-1])
    forms = _forms(headers, begins, parts, is_usual.tolist())
    return Alike(forms, is_sound.tolist())


def _calls_are_right(headers: Sequence[Header], made: Instructions) -> _Bools:
    """Return True for each instruction that calls the required number of existing computations."""
    wanted = np.array([CALLS.get(form[_OPCODE], -1) for form in made.forms], np.int64)
    wanted, calls = wanted[made.form_of], np.diff(made.rows.called_at)
    right: _Bools = (wanted < 0) | (wanted == calls)
    known = {header.id for header in headers}
    is_known = np.array([id in known for id in made.rows.called], np.bool_)
    right[np.repeat(np.arange(len(calls)), calls)[~is_known]] = False
    return right


def _elements_are_there(made: Instructions, reads: Ints, places: Ints) -> _Bools:
    """Return True for each instruction that is not a tuple access, or has a valid index."""
    takes = np.array([form[_OPCODE] == "get-tuple-element" for form in made.forms], np.bool_)
    index = np.array([form[_INDEX] for form in made.forms], np.int64)[made.form_of]
    sizes = np.array([len(form[_SHAPE].elements) for form in made.forms], np.int64)[made.form_of]
    right: _Bools = ~takes[made.form_of]
    there = np.flatnonzero(~right & (reads > 0))
    read = places[np.array(made.rows.operands_at, np.int64)[there]]
    right[there] = (read >= 0) & (index[there] >= 0) & (index[there] < sizes[read])
    return right


class _Parts:
    """The properties of a computation except its names and ids."""

    def __init__(self, made: Instructions, places: Ints, roots: Ints) -> None:
        self._rows, self._roots = made.rows, roots.tolist()
        self._form_of = np.array(made.form_of, np.int64).tobytes()
        self._places = places.tobytes()
        self._reads = np.diff(made.rows.operands_at).tobytes()
        self._calls = np.diff(made.rows.called_at).tobytes()

    def of(self, number: int, begin: int, end: int, forms: dict[int, int]) -> object:
        """Return the parts of a computation; `forms` has those of earlier ones by id."""
        reads, calls = self._rows.operands_at, self._rows.called_at
        called = self._rows.called[calls[begin] : calls[end]]
        return (
            self._form_of[8 * begin : 8 * end],
            self._places[8 * reads[begin] : 8 * reads[end]],
            self._reads[8 * begin : 8 * end],
            self._calls[8 * begin : 8 * end] if called else b"",
            tuple([(forms.get(id), None if id in forms else id) for id in called]),
            self._roots[number],
        )


def _forms(
    headers: Sequence[Header], begins: Sequence[int], parts: _Parts, is_usual: Sequence[bool]
) -> list[int]:
    """Return the number of the form of each computation."""
    numbers: dict[object, int] = {}
    forms: dict[int, int] = {}  # by the ids of computations
    found = []
    for number, header in enumerate(headers):
        form: object = number  # like no other
        if is_usual[number]:
            form = parts.of(number, begins[number], begins[number + 1], forms)
        forms[header.id] = numbers.setdefault(form, len(numbers))
        found.append(forms[header.id])
    return found
