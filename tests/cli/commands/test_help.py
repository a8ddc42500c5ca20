"""Help imports only click and matches the commands; tables and progress fit their stream."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
from collections.abc import Callable

import pytest
from click.testing import Result

from olympus_cli import commands
from olympus_cli.main import COMMANDS
from olympus_cli.terminal import console

Invoke = Callable[..., Result]


def test_help_lists_every_command(invoke: Invoke) -> None:
    result = invoke("--help")
    assert result.exit_code == 0
    for name, text in COMMANDS.items():
        assert f"  {name} " in result.stdout
        assert text in result.stdout


def test_help_imports_only_click() -> None:
    code = (
        "import sys\nfrom olympus_cli.main import main\n"
        "try: main()\nexcept SystemExit as leave: assert leave.code == 0\n"
        "heavy = {'rich', 'numpy', 'olympus', 'olympus_core', 'jaxlib', 'tomli'}\n"
        "assert not heavy & {name.partition('.')[0] for name in sys.modules}\n"
    )
    subprocess.run([sys.executable, "-c", code, "--help"], check=True, stdout=subprocess.DEVNULL)


def test_the_list_has_every_command() -> None:
    assert {module.name for module in pkgutil.iter_modules(commands.__path__)} == {*COMMANDS}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_and_the_common_options(name: str, invoke: Invoke) -> None:
    command = importlib.import_module(f"olympus_cli.commands.{name}").command
    assert command.name == name
    options = {option for parameter in command.params for option in parameter.opts}
    assert {"--json", "--verbose"} <= options
    result = invoke(name, "--help")
    assert result.exit_code == 0
    assert result.stdout.count(COMMANDS[name]) == 1
    assert f"\n  Examples:\n    olympus {name}" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("bench", "--time-limit", "nan"), "must be above 0 and at most 1000000; got nan"),
        (("build", "--time-limit", "x"), "must be a number; got 'x'"),
        (("build", "--jobs", "0"), "must be at least 1; got 0"),
        *(
            (
                ("build", "--memory-limit", text),
                f"must be a size of at least 1 B, such as 4GB or 512MiB; got {text!r}{hint}",
            )
            for text, hint in (
                ("", ""),
                ("0", ""),
                ("-1GB", ""),
                ("+1%", ""),
                ("nan", ""),
                ("1e999", ""),
                ("\uff14GB", ""),
                ("4gb", "; did you mean GB?"),
            )
        ),
        (("run", "m:f", "--seed", "1.5"), "must be a whole number; got '1.5'"),
    ],
)
def test_the_help_of_an_option_has_its_range(
    invoke: Invoke, arguments: tuple[str, ...], words: str
) -> None:
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert result.stderr.splitlines()[0].endswith(f": {words}")


def test_version_is_shown(invoke: Invoke) -> None:
    import olympus

    assert invoke("--version").stdout == f"olympus {olympus.__version__}\n"


def test_a_table_in_a_pipe_is_never_folded(capsys: pytest.CaptureFixture[str]) -> None:
    console.table(("name", "[note]"), [("a", "x" * 150), (None, "[b]")])
    assert capsys.readouterr().out.splitlines() == [
        "name  [note]",
        "a     " + "x" * 150,
        "      [b]",
    ]


@pytest.mark.parametrize("columns", [1, 50, 500])
def test_a_table_folds_to_the_width_of_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], columns: int
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    console.table(("name", "note"), [("a", "xyz " * 30)])
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= max(columns, 40) for line in lines)
    assert " ".join(lines).count("xyz") == 30


def test_an_error_is_red_on_a_terminal_with_colours(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from olympus.errors import UsageError

    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    console.error(UsageError("[bold]wrong", hint="right"))
    assert capsys.readouterr().err == "\033[1;31merror\033[0m: [bold]wrong\nhint: right\n"
    monkeypatch.setenv("NO_COLOR", "1")
    console.error(UsageError("wrong"))
    assert capsys.readouterr().err == "error: wrong\n"


def test_progress_is_shown_only_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with console.progress("work", 2) as bar:
        bar.advance()
        bar.describe("more")
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("CI", raising=False)
    with console.progress("work", 2) as bar:
        bar.advance()
        bar.describe("more")
    out, err = capsys.readouterr()
    assert out == ""
    assert "more" in err
