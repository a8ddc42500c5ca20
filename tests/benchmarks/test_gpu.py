"""The benchmark of programs for GPUs, with small programs on the CPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import gpu


def test_the_table_has_both_sides(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = {
        "product, float32": (gpu.product, [("float32", (8, 8))] * 2),
        "training step": (gpu.training, [("float32", (2, 8, 8)), ("float32", (4, 8))]),
        "recurrent network": (gpu.recurrent, [("float32", (8, 8)), ("float32", (3, 4, 8))]),
        "convolution": (
            gpu.convolution,
            [("float32", (2, 8, 8, 4)), ("float32", (3, 3, 4, 4))],
        ),
        "attention": (gpu.attention, [("bfloat16", (1, 2, 16, 8))] * 3),
    }
    assert small.keys() < gpu.PROGRAMS.keys()
    monkeypatch.setattr(gpu, "PROGRAMS", small)
    monkeypatch.setattr(gpu, "ROUNDS", 2)
    assert gpu.main(["build", str(tmp_path), "--device", "cpu"]) == 0
    assert gpu.main(["run", str(tmp_path), "--device", "cpu"]) == 0
    rows = [line.split("|") for line in capsys.readouterr().out.splitlines() if "|" in line]
    assert [row[1].strip() for row in rows[2:]] == list(small)
    for row in rows[2:]:
        assert float(row[4]) > 0
        assert float(row[6]) < 1e-2
