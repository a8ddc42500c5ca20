"""Axes of a mesh are assigned to physical axes of a torus."""

from __future__ import annotations

import math

import numpy as np
import pytest

from olympus_core.placement.physical_axes import assign_axes, device_order


@pytest.mark.parametrize(
    ("mesh", "physical", "assignment"),
    [
        ((4, 4), (4, 4), (((0, 4),), ((1, 4),))),
        ((16,), (4, 4), (((0, 4), (1, 4)),)),
        ((1, 16), (4, 4, 1), ((), ((0, 4), (1, 4)))),
        ((4, 16), (4, 4, 4), (((0, 4),), ((1, 4), (2, 4)))),
        ((16, 4), (4, 4, 4), (((0, 4), (1, 4)), ((2, 4),))),
        # an axis that no whole axes have is a part of some
        ((2, 8), (4, 4), (((0, 2),), ((0, 2), (1, 4)))),
        ((8, 2), (4, 4), (((0, 4), (1, 2)), ((1, 2),))),
        # the last axis comes first: it has the most traffic
        ((8, 4), (4, 8), (((1, 8),), ((0, 4),))),
        ((4, 2), (2, 2, 2), (((0, 2), (1, 2)), ((2, 2),))),
        ((3, 5), (4, 4), None),
        ((2, 2), (4, 4), None),
    ],
)
def test_the_last_axis_gets_whole_physical_axes(mesh, physical, assignment):
    assert assign_axes(mesh, physical) == assignment


@pytest.mark.parametrize(
    ("mesh", "physical"),
    [((4, 4), (4, 4)), ((2, 8), (4, 4)), ((8, 2), (4, 4)), ((8, 4), (4, 8)), ((4, 4, 8), (8, 16))],
)
def test_each_mesh_axis_goes_along_its_physical_axes(mesh, physical):
    order = device_order(mesh, physical)
    assert sorted(order.tolist()) == [*range(math.prod(physical))]
    grid = order.reshape(mesh)
    assignment = assign_axes(mesh, physical)
    for axis, parts in enumerate(assignment):
        line = np.moveaxis(grid, axis, -1).reshape(-1, mesh[axis])
        for row in line:
            places = np.array(np.unravel_index(row, physical))
            moved = {i for i in range(len(physical)) if len({*places[i].tolist()}) > 1}
            assert moved == {i for i, _ in parts}


def test_a_mesh_that_cannot_be_assigned_keeps_the_order():
    assert device_order((3,), (2, 2)).tolist() == [0, 1, 2]
