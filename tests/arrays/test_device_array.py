"""The memory of arrays: its address, its size, and fetching it ahead of time."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import olympus as ox
from olympus.errors import DeletedArrayError

X = np.arange(3, dtype=np.float32)


def test_an_array_has_an_address_and_a_size() -> None:
    array = ox.device_put(X).block_until_ready()
    assert array.is_ready()
    assert array.on_device_size_in_bytes() == 12
    array.copy_to_host_async()
    memory = np.ctypeslib.as_array(
        (np.ctypeslib.ctypes.c_float * 3).from_address(array.unsafe_buffer_pointer())
    )
    np.testing.assert_array_equal(memory, X)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the protocol is Python's from 3.12 on")
def test_an_array_is_a_buffer() -> None:
    np.testing.assert_array_equal(np.frombuffer(memoryview(ox.device_put(X)), np.float32), X)


def test_the_memory_of_an_array_as_a_view() -> None:
    view = ox.device_put(X).__buffer__(0)
    assert (view.format, view.shape, view.readonly) == ("f", (3,), True)


def test_a_deleted_array_has_no_memory() -> None:
    array = ox.device_put(X)
    array.delete()
    for call in (array.is_ready, array.copy_to_host_async, array.unsafe_buffer_pointer,
                 array.on_device_size_in_bytes):  # fmt: skip
        with pytest.raises(DeletedArrayError):
            call()


def test_a_description_with_other_attributes() -> None:
    spec = ox.ShapeDtypeStruct((2, 3), "float32", weak_type=True)
    changed = spec.update(shape=(4,), dtype="int32")
    assert (changed.shape, changed.dtype, changed.weak_type) == ((4,), np.dtype("int32"), True)
    assert spec.update() == spec
    assert not spec.update(weak_type=False).weak_type


def test_there_is_one_process() -> None:
    assert (ox.process_count(), ox.process_index(), ox.process_indices()) == (1, 0, [0])
    assert (ox.host_count(), ox.host_id(), ox.host_ids()) == (1, 0, [0])
