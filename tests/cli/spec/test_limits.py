"""Names, numbers and nesting beyond the limits are mistakes of the user, with their position."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from olympus.errors import SpecError
from olympus_cli.spec.project import load_project
from olympus_cli.spec.toml import load, parse_value

Invoke = Callable[..., Result]

LONG = "n" * 300
DIGITS = "9" * 5000
DEEP = "[" * 5000


@pytest.mark.parametrize(
    "arguments",
    [
        ("build", "--project", LONG),
        ("build", "--project", f"{LONG}/olympus.toml"),
        ("build", LONG),
        ("build", "--backend", LONG),
        ("trace", "model:add", "--project", LONG),
        ("trace", "forward", "--project", LONG),
        ("trace", f"{LONG}:f"),
        ("trace", f"{LONG}.py:f"),
        ("trace", f"model:{LONG}"),
        ("trace", "model:add", "--shapes", f"{LONG}=f32[2]"),
        ("trace", "model:add", "--shapes", LONG),
        ("trace", "model:add", "--shapes", f"f32[{DIGITS}], f32[]"),
        ("trace", "model:add", "--shapes", f"f32[{2**63 - 1},{2**63 - 1}], f32[]"),
        ("trace", "model:add", "--shapes", f"f32[0,{2**63 - 1}], f32[]"),
        ("trace", "model:add", "--shapes", DEEP),
        ("trace", "model:add", "--shapes", "{a=" * 5000),
        ("trace", "model:same", "--shapes", "x=f32[2]", "--static", f"m={DEEP}"),
        ("trace", "model:same", "--shapes", "x=f32[2]", "--static", f"m={'a.' * 5000}a"),
        ("trace", "add", "-o", LONG),
        ("compile", "add", "--project", LONG),
        ("compile", "add", "-o", LONG),
        ("compile", "add", "-o", f"{LONG}/{LONG}"),
        ("run", "add", "--inputs", LONG),
        ("run", "add", "-o", LONG),
        ("run", f"{LONG}.olympus"),
        ("init", LONG),
    ],
)
def test_a_command_line_beyond_limits_is_a_users_mistake(
    project: Path, invoke: Invoke, arguments: tuple[str, ...]
) -> None:
    files = sorted(path.name for path in project.iterdir() if path.name != "__pycache__")
    result = invoke(*arguments)
    assert result.exit_code == 2, result.output
    assert "error: " in result.stderr
    files_after = sorted(path.name for path in project.iterdir() if path.name != "__pycache__")
    assert [name for name in files_after if name not in files] in ([], ["build"])


def test_the_outputs_of_a_name_of_the_maximal_length_are_written(
    project: Path, invoke: Invoke
) -> None:
    name = "n" * 255
    assert invoke("trace", "add", "-o", name).exit_code == 0
    assert (project / name).read_text().startswith("{ lambda")


@pytest.mark.parametrize("number", [DIGITS, f"-{DIGITS}", f"0x{DIGITS}", f"0b{'1' * 5000}"])
@pytest.mark.parametrize(
    ("prefix", "line", "column"),
    [
        ("[target.t]\nstatic.n = ", 2, 12),
        (f'# {DIGITS}\n[target.t]\nentry = "m:{DIGITS}"\nmatrix.n = [1, ', 4, 16),
    ],
)
def test_a_number_of_5000_digits_is_an_error_with_its_position(
    tmp_path: Path, number: str, prefix: str, line: int, column: int
) -> None:
    (tmp_path / "olympus.toml").write_text(f"{prefix}{number}]\n")
    with pytest.raises(SpecError) as error:
        load_project(tmp_path)
    message = "a number has at most 1000 digits"
    assert f"olympus.toml:{line}:{column}: {message}" in str(error.value)
    assert str(error.value).splitlines()[2] == " " * (column + 1) + "^"


def test_long_texts_names_and_floats_are_no_long_numbers(tmp_path: Path) -> None:
    text = f'{DIGITS} = "{DIGITS}"  # {DIGITS}\nx = 0.{DIGITS}\ny = {DIGITS}.0\nz = {"9" * 1000}\n'
    (tmp_path / "olympus.toml").write_text(text)
    data = load(tmp_path / "olympus.toml").data
    assert list(data) == [DIGITS, "x", "y", "z"]


def test_a_static_of_5000_digits_is_an_error(project: Path, invoke: Invoke) -> None:
    result = invoke("trace", "model:same", "--shapes", "f32[2]", "--static", f"m={DIGITS}")
    assert result.exit_code == 2
    assert (
        result.stderr == "error: static argument 'm' is invalid: a number has at most 1000 digits\n"
    )
    assert parse_value("9" * 1000) == int("9" * 1000)


@pytest.mark.parametrize(
    "text",
    [
        f"x = {DEEP}",
        "x = " + "{a = " * 5000,
        f"x = {'[' * 300}{']' * 300}",
        f"[project]\nbuild-dir{'.a' * 5000} = 1",
        f"[project{'.a' * 5000}]\n",
        f"[target.t]\nentry{'.a' * 300} = 1",
        f"[[target{'.a' * 300}]]",
    ],
)
def test_deep_nesting_is_a_users_mistake(tmp_path: Path, text: str) -> None:
    (tmp_path / "olympus.toml").write_text(text)
    with pytest.raises(SpecError, match="nested too deeply"):
        load_project(tmp_path)


def test_many_runs_of_digits_are_read_in_linear_time(tmp_path: Path) -> None:
    """A backtracking pattern takes quadratic time for these, and for a run of a million digits."""
    run = "f" * 1_000_000
    comments = "".join(f"# {DIGITS}\n" for _ in range(1000))
    (tmp_path / "olympus.toml").write_text(f'{comments}[target.t]\nentry = "{run}g"\n')
    with pytest.raises(SpecError, match="which names no function"):
        load_project(tmp_path)
    (tmp_path / "olympus.toml").write_text(f"{comments}x = {DIGITS}\ny = {DIGITS}\n")
    with pytest.raises(SpecError, match=r"olympus.toml:1001:5: a number"):
        load_project(tmp_path)


def test_a_bracket_and_many_spaces_are_read_in_linear_time(tmp_path: Path) -> None:
    """A pattern that tries all ways to split the spaces would not end."""
    (tmp_path / "olympus.toml").write_text(f'x = """\n[{" " * 50_000}\n"""\nwrong = 1\n')
    with pytest.raises(SpecError, match="has no key"):
        load_project(tmp_path)
