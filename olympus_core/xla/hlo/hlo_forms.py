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


class ComputationForms(NamedTuple):
    """The number of each computation's form, and whether all ids in it are known to exist.

    Either all computations of one form are valid, or none of them.
    """

    forms: list[int]
    is_sound: list[bool]


def compare_computations(
    headers: Sequence[Header], begins: Sequence[int], instructions: Instructions
) -> ComputationForms:
    """Compare computations; the instructions of each are from one of `begins` to the next."""
    count, first = len(headers), np.array(begins, np.int64)
    owner = np.repeat(np.arange(count), np.diff(first))  # of each instruction
    reads = np.diff(instructions.rows.operands_at)
    reader = owner[np.repeat(np.arange(len(owner)), reads)]  # of each operand
    places = places_of(np.array(instructions.rows.operands, np.int64), instructions.rows.ids)
    roots = places_of(
        np.array([header.root_id for header in headers], np.int64), instructions.rows.ids
    )
    is_usual = (roots >= first[:-1]) & (roots < first[1:])
    is_usual[reader[(places < first[reader]) | (places >= first[reader + 1])]] = False
    is_usual[owner[instructions.rows.other]] = False
    is_sound = is_usual.copy()
    is_sound[owner[~_has_valid_calls(headers, instructions)]] = False
    is_sound[owner[~_has_valid_index(instructions, reads, places)]] = False
    contents = _Contents(instructions, places - first[reader], roots - first[:-1])
    forms = _forms(headers, begins, contents, is_usual.tolist())
    return ComputationForms(forms, is_sound.tolist())


def _has_valid_calls(headers: Sequence[Header], instructions: Instructions) -> _Bools:
    """Return True for each instruction that calls the required number of existing computations."""
    required_calls = np.array(
        [CALLS.get(form[_OPCODE], -1) for form in instructions.forms], np.int64
    )
    required_calls, calls = (
        required_calls[instructions.form_of],
        np.diff(instructions.rows.called_at),
    )
    is_valid: _Bools = (required_calls < 0) | (required_calls == calls)
    computation_ids = {header.id for header in headers}
    is_known = np.array([id in computation_ids for id in instructions.rows.called], np.bool_)
    is_valid[np.repeat(np.arange(len(calls)), calls)[~is_known]] = False
    return is_valid


def _has_valid_index(instructions: Instructions, reads: Ints, places: Ints) -> _Bools:
    """Return True for each instruction that is not a tuple access, or has a valid index."""
    takes = np.array(
        [form[_OPCODE] == "get-tuple-element" for form in instructions.forms], np.bool_
    )
    index = np.array([form[_INDEX] for form in instructions.forms], np.int64)[instructions.form_of]
    sizes = np.array([len(form[_SHAPE].elements) for form in instructions.forms], np.int64)[
        instructions.form_of
    ]
    is_valid: _Bools = ~takes[instructions.form_of]
    accesses = np.flatnonzero(~is_valid & (reads > 0))
    read = places[np.array(instructions.rows.operands_at, np.int64)[accesses]]
    is_valid[accesses] = (read >= 0) & (index[accesses] >= 0) & (index[accesses] < sizes[read])
    return is_valid


class _Contents:
    """The properties of a computation except its names and ids."""

    def __init__(self, instructions: Instructions, places: Ints, roots: Ints) -> None:
        self._rows, self._roots = instructions.rows, roots.tolist()
        self._form_of = np.array(instructions.form_of, np.int64).tobytes()
        self._places = places.tobytes()
        self._reads = np.diff(instructions.rows.operands_at).tobytes()
        self._calls = np.diff(instructions.rows.called_at).tobytes()

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
    headers: Sequence[Header], begins: Sequence[int], contents: _Contents, is_usual: Sequence[bool]
) -> list[int]:
    """Return the number of the form of each computation."""
    numbers: dict[object, int] = {}
    forms: dict[int, int] = {}  # by the ids of computations
    form_numbers = []
    for number, header in enumerate(headers):
        form: object = number  # like no other
        if is_usual[number]:
            form = contents.of(number, begins[number], begins[number + 1], forms)
        forms[header.id] = numbers.setdefault(form, len(numbers))
        form_numbers.append(forms[header.id])
    return form_numbers
