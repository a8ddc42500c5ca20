"""The drawing of a slice of TPUs, and of the axes of a mesh on it."""

from __future__ import annotations

from olympus_cli.reports.torus import TorusReport, torus_rows


def rows(*sizes, wraps=False, per_chip=1, axes=None):
    report = TorusReport("name", sizes, (wraps,) * len(sizes), per_chip, axes or {})
    return [*torus_rows(report)]


def test_a_mesh_and_its_axes():
    axes = {"data": {"x": 2}, "model": {"x": 2, "y": 2}, "one": {}}
    assert rows(4, 2, axes=axes) == [
        ("topology", "name, 4 x 2 chips, no wrap-around links"),
        ("mesh axis", "data along x (2)"),
        ("mesh axis", "model along x (2) and y (2)"),
        ("mesh axis", "one along no axis"),
        ("chips", " o-o "),
        ("", " | |"),
        ("", " o-o "),
        ("", " | |"),
        ("", " o-o "),
        ("", " | |"),
        ("", " o-o "),
        ("", " (x goes down, y to the right)"),
    ]


def test_a_large_torus_is_cut():
    shown = dict.fromkeys(line for _, line in rows(8, 20, 4, wraps=True, per_chip=2))
    assert "name, 8 x 20 x 4 chips, wrap-around links along x, y, z" in shown
    assert "~" + "-".join("o" * 16) + " ...~" in shown
    assert " ... 8 rows" in shown
    last = [*shown][-1]
    assert last == " (x goes down, y to the right; 4 such planes along z; 2 devices in a chip)"
