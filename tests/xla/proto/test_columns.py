"""Messages that are read together have the same fields as messages that are read one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import olympus
import olympus.numpy as jnp
from olympus_core import xla
from olympus_core.analysis.hlo.estimate import estimate
from olympus_core.analysis.memory.memory import memory_of
from olympus_core.base.errors import ArtifactError
from olympus_core.xla.hlo.hlo_module import Computation, HloModule, Instruction
from olympus_core.xla.hlo.hlo_reader import read_hlo_module
from olympus_core.xla.proto import columns as columns_module
from olympus_core.xla.proto.columns import Columns, Ints, packed
from olympus_core.xla.proto.wire import BYTES, Message, field
from tests.marks import needs_gpu_compiler

Change = Callable[[list[tuple[int, bytes]]], bytes]
TARGETS = [
    pytest.param(xla.Target("cpu"), id="cpu"),
    pytest.param(xla.Target("gpu", "h200"), id="gpu", marks=needs_gpu_compiler),
]


def varint(value: int) -> bytes:
    """Return a number of 64 bits as a varint."""
    value &= (1 << 64) - 1
    groups = []
    while value > 0x7F:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*groups, value])


NUMBERS = st.one_of(st.integers(0, 300), st.integers(-(2**63), 2**63 - 1))
FIELDS = st.one_of(
    st.builds(lambda n, v: varint(n << 3) + varint(v), st.integers(1, 40), NUMBERS),
    st.builds(field, st.integers(1, 40), st.binary(max_size=200)),
    st.builds(lambda n: varint(n << 3 | 1) + bytes(range(8)), st.integers(1, 40)),
    st.builds(lambda n: varint(n << 3 | 5) + bytes(range(4)), st.integers(1, 40)),
)
MESSAGES = st.lists(st.builds(b"".join, st.lists(FIELDS, max_size=12)), max_size=8)


def read_one_by_one(messages: Sequence[bytes]) -> list[Message] | None:
    """Return each message read by `Message`, or None if one is damaged."""
    try:
        return [Message(message) for message in messages]
    except ArtifactError:
        return None


def places(parts: Sequence[bytes]) -> tuple[Ints, Ints]:
    """Return the begins and ends of consecutive parts."""
    lengths = np.array([*map(len, parts)], np.int64)
    ends = lengths.cumsum()
    return ends - lengths, ends


def check_columns(messages: Sequence[bytes]) -> None:
    """Check the columns of messages that are read one by one, and of those read together."""
    for few in (len(messages), 0):
        with patch.object(columns_module, "_FEW", few):
            check_columns_read_once(messages)


def check_columns_read_once(messages: Sequence[bytes]) -> None:
    single, data = read_one_by_one(messages), b"".join(messages)
    begins, ends = places(messages)
    if single is None:
        with pytest.raises(ArtifactError, match="damaged"):
            Columns(data, begins, ends, range(1, 41))
        return
    columns = Columns(data, begins, ends, range(1, 41))
    assert not len(columns.long)
    for number in range(1, 41):
        column = columns[number]
        for row, message in enumerate(single):
            values = message._fields.get(number, [])
            assert column.times[row] == len(values)
            if values and column.kind[row] == BYTES:
                assert data[column.begin[row] : column.end[row]] == values[-1]
            elif values and column.kind[row] == 0:
                assert column.value[row] == message.integer(number)


@given(MESSAGES)
def test_columns_have_the_fields_of_each_message(messages: list[bytes]) -> None:
    check_columns(messages)


@given(MESSAGES, st.data())
def test_columns_are_damaged_if_a_single_message_is(
    messages: list[bytes], draw: st.DataObject
) -> None:
    """A message is read only to its end, whatever bytes follow it."""
    if not any(messages):
        return
    row = draw.draw(st.sampled_from([i for i, message in enumerate(messages) if message]))
    at = draw.draw(st.integers(0, len(messages[row]) - 1))
    changed = bytearray(messages[row])
    changed[at] = draw.draw(st.integers(0, 255))
    length = draw.draw(st.sampled_from([len(changed), at]))
    check_columns([*messages[:row], bytes(changed[:length]), *messages[row + 1 :]])


def test_messages_of_many_fields_are_listed_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns_module, "_FEW", 0)
    columns = Columns(
        field(1, b"x") * 65 + field(1, b"y"), np.array([0, 65 * 3]), np.array([65 * 3, 66 * 3]), [1]
    )
    assert columns.long.tolist() == [0]
    assert columns[1].times.tolist()[1] == 1


@given(st.lists(st.lists(NUMBERS, max_size=5), max_size=6))
def test_packed_numbers_are_decoded(parts: list[list[int]]) -> None:
    encoded = [b"".join(map(varint, part)) for part in parts]
    values, at = packed(b"".join(encoded), *places(encoded))
    assert [values[a:b] for a, b in pairwise(at)] == parts


@pytest.mark.parametrize("data", [b"\x01\x80", b"\x80" * 10 + b"\x01"])
def test_damaged_packed_numbers_are_refused(data: bytes) -> None:
    with pytest.raises(ArtifactError, match=r"cut off|more than 64 bits"):
        packed(data, np.array([0]), np.array([len(data)]))


# Instructions


def network(ws: list[Any], x: Any) -> Any:
    for w in ws:
        x = jnp.tanh(x @ w) + jnp.sort(x, axis=1) * jnp.float32(0.5)
    return jnp.sum(x)


def proto(target: xla.Target) -> bytes:
    """Return the protobuf of a program with equal layers and a loop."""

    def step(ws: list[Any], x: Any) -> Any:
        loss, grads = olympus.value_and_grad(network)(ws, x)
        x = olympus.lax.fori_loop(0, 3, lambda _, x: x.at[0].set(jnp.cumsum(x[1])), x)
        return loss, grads, x

    w = olympus.ShapeDtypeStruct((16, 16), "float32")
    program = olympus.jit(step).trace([w] * 4, w).lower(target).compile()
    return bytes(program.executable._raw.hlo_modules()[0].as_serialized_hlo_module_proto())


@pytest.fixture(scope="module", params=TARGETS)
def target(request: pytest.FixtureRequest) -> xla.Target:
    target: xla.Target = request.param
    return target


@pytest.fixture(scope="module")
def data(target: xla.Target) -> bytes:
    return proto(target)


def fields_of(data: bytes) -> list[tuple[int, bytes]]:
    """Return the fields of a message in order: the number, and all bytes of the field."""
    fields, at = [], 0
    while at < len(data):
        tag, end = _number(data, at)
        length, end = _number(data, end) if tag & 7 in (0, BYTES) else ({1: 8, 5: 4}[tag & 7], end)
        end += 0 if tag & 7 == 0 else length
        fields.append((tag >> 3, data[at:end]))
        at = end
    return fields


def _number(data: bytes, at: int) -> tuple[int, int]:
    size = next(n for n, byte in enumerate(data[at:], 1) if byte < 0x80)
    return sum((byte & 0x7F) << 7 * n for n, byte in enumerate(data[at : at + size])), at + size


def rewritten(data: bytes, change: Change) -> bytes:
    """Return a module with `change` applied to the fields of each instruction."""
    module = b""
    for number, piece in fields_of(data):
        if number != 3:
            module += piece
            continue
        computation = b""
        for inner, part in fields_of(Message(piece).raw(3)):
            content = Message(part).raw(2) if inner == 2 else b""
            computation += field(2, change(fields_of(content))) if inner == 2 else part
        module += field(3, computation)
    return module


def without_forms(module: HloModule) -> object:
    computations = [
        (computation.id, computation.name, computation.root_id, computation.is_fusion,
         [tuple(i)[:-1] for i in computation.instructions.values()])
        for computation in module.computations.values()
    ]  # fmt: skip
    return module._replace(computations={}), computations


CHANGES: dict[str, Change] = {
    "backwards": lambda fields: b"".join(piece for _, piece in reversed(fields)),
    "two names": lambda fields: field(1, b"other") + b"".join(piece for _, piece in fields),
    "many fields": lambda fields: b"".join(p for _, p in fields) + field(999, b"?") * 80,
    "ids one by one": lambda fields: b"".join(
        b"".join(varint(36 << 3) + varint(id) for id in Message(piece).integers(36))
        if number == 36
        else piece
        for number, piece in fields
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_instructions_in_another_encoding_are_read(change: Change, data: bytes) -> None:
    rewritten_data = rewritten(data, change)
    assert rewritten_data != data
    assert without_forms(read_hlo_module(rewritten_data)) == without_forms(read_hlo_module(data))


def test_equal_layers_share_one_form(data: bytes) -> None:
    """Computations of one form differ only in names and ids."""
    module = read_hlo_module(data)
    first: dict[int, Computation] = {}
    shared = 0
    for computation in module.computations.values():
        representative = first.setdefault(computation.form, computation)
        shared += representative is not computation
        assert _pattern(computation) == _pattern(representative)
    assert shared >= 2


def _pattern(computation: Computation) -> list[tuple[object, ...]]:
    places = {id: place for place, id in enumerate(computation.instructions)}
    return [
        (*instruction[4:], [places[id] for id in instruction.operand_ids])
        for instruction in computation.instructions.values()
    ]


def test_figures_do_not_depend_on_forms(
    data: bytes, target: xla.Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Figures that are computed once per form equal those computed for each instruction."""
    module = read_hlo_module(data)
    separate = {
        id: Computation(id, c.name, partial(_with_own_forms, c), c.root_id, c.is_fusion, -id)
        for id, c in module.computations.items()
    }
    without_sharing = module._replace(computations=separate)
    assert estimate(without_sharing, target) == estimate(module, target)
    executable = olympus.jit(lambda x: x).trace(np.float32(1)).lower(target).compile().executable
    monkeypatch.setattr(type(executable), "buffer_assignment", lambda self: None)
    memories = []
    for program in (module, without_sharing):
        monkeypatch.setattr(type(executable), "hlo_module", lambda self, program=program: program)
        memories.append(memory_of(executable))
    assert memories[0] == memories[1]
    assert memories[0].timeline() == memories[1].timeline()


def _with_own_forms(computation: Computation) -> dict[int, Instruction]:
    return {
        id: instruction._replace(form=-id) for id, instruction in computation.instructions.items()
    }
