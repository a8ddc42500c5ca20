"""Each mistake gives its exit code and its message: see `mistake.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mistakes.mistake import FILES, HERE, Invoke, internal_name, matches, outcomes, parts


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(HERE).as_posix())
def test_a_mistake_gives_its_message(
    path: Path, folder: Path, invoke: Invoke, request: pytest.FixtureRequest
) -> None:
    expected = parts(path)
    results = list(outcomes(path, folder, invoke))
    if request.config.getoption("--update-golden"):
        pairs = zip(expected, results, strict=True)
        path.write_text("".join(part.written(result) for part, result in pairs), encoding="utf-8")
        expected = parts(path)
    for part, result in zip(expected, results, strict=True):
        assert matches(part.expected, result), f"{path.name} gives:\n{result}"
        assert "exit 0" not in part.expected[0] and "exit 70" not in part.expected[0]
        assert internal_name(result) is None


@pytest.mark.parametrize(
    ("expected", "outcome"),
    [
        (("exit 2", "error: x"), "exit 2\nerror: x"),
        (("exit 2", "error: ... is absent"), "exit 2\nerror: /tmp/a is absent"),
        (("exit 2", "...", "hint: y"), "exit 2\nerror: x\n  a line\nhint: y"),
        (("exit 2", "..."), "exit 2\nerror: x"),
    ],
)
def test_an_elision_matches(expected: tuple[str, ...], outcome: str) -> None:
    assert matches(expected, outcome)


@pytest.mark.parametrize(
    ("expected", "outcome"),
    [
        (("exit 2", "error: x"), "exit 3\nerror: x"),
        (("exit 2", "error: x"), "exit 2\nerror: x\nhint: y"),
        (("exit 2", "error: ..."), "exit 2\nerror: x\nhint: y"),
        (("exit 2", "...", "hint: y"), "exit 2\nerror: x\nhint: z"),
    ],
)
def test_an_elision_does_not_match_more(expected: tuple[str, ...], outcome: str) -> None:
    assert not matches(expected, outcome)
