"""Numbers, names and files that no command can use are a user's mistake, reported immediately."""

from __future__ import annotations

import importlib
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import NoReturn

import click
import pytest
from click.testing import Result

from olympus_cli.main import COMMANDS

Invoke = Callable[..., Result]

LONG = "n" * 300
DIGITS = "9" * 400
_SECONDS = 240  # the alarm ends a command that waits for a pipe or reads a device without end


def _end(_number: int, _frame: FrameType | None) -> NoReturn:
    raise TimeoutError


@pytest.fixture(autouse=True)
def _ends() -> Iterator[None]:
    previous = signal.signal(signal.SIGALRM, _end)
    signal.alarm(_SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, previous)


@pytest.fixture
def work(project: Path) -> Path:
    """The project, with paths that are no regular files."""
    os.mkfifo("pipe")
    for suffix in ("json", "olympus", "mlir", "npy", "safetensors"):
        Path(f"pipe.{suffix}").symlink_to("pipe")
    Path("loop").symlink_to("loop")
    Path("folder").mkdir()
    Path("text").write_text("text")
    return project


def numeric_options() -> Iterator[tuple[str, str]]:
    """The command and the name of each option that takes a number."""
    for name in COMMANDS:
        command = importlib.import_module(f"olympus_cli.commands.{name}").command
        for option in command.params:
            is_number = option.metavar in ("N", "SECONDS", "RATIO", "PERCENT")
            if isinstance(option, click.Option) and is_number:
                yield name, option.opts[-1]


NUMERIC = tuple(numeric_options())


def test_the_list_of_numeric_options_is_not_empty() -> None:
    assert {("bench", "--rounds"), ("build", "--jobs"), ("run", "--seed")} <= set(NUMERIC)
    assert {("bench", "--precision"), ("bench", "--threshold"), ("bench", "--give-up")} <= {
        *NUMERIC
    }


@pytest.mark.parametrize(("command", "option"), NUMERIC)
def test_a_number_out_of_range_of_an_option(
    project: Path, invoke: Invoke, command: str, option: str
) -> None:
    values = ("nan", "inf", "-inf", "-1", "1e400", "", "\uff11", "5\uff11", DIGITS, "9" * 5000)
    needed = {"diff": ("add", "add"), "sign": ("text",)}.get(command, ())
    for value in values:
        result = invoke(command, *needed, f"{option}={value}")
        assert result.exit_code == 2, (value, result.output)
        assert option in result.stderr
        assert max(map(len, result.stderr.splitlines())) < 400


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "add", "--int-range", f"0:{DIGITS}"),
        ("run", "add", "--int-range", "0:" + "9" * 5000),
        ("run", "add", "--int-range", "\uff10:\uff18"),
        ("run", "add", "--int-range", "nan:inf"),
        ("cost", "add", "--trips", f"model.py:1={DIGITS}"),
        ("cost", "add", "--trips", "model.py:1=\uff11"),
        ("lower", "model:add", "--shapes", "f32[\uff11], f32[1]"),
        ("lower", "model:add", "--shapes", f"f32[{DIGITS}], f32[1]"),
        ("lower", "model:add", "--shapes", "f32[-1], f32[1]"),
        ("lower", "add", "--device", f"{DIGITS}xh200"),
        ("lower", "add", "--device", "h200", "--topology", f"{DIGITS}x8"),
        ("lower", "add", "--device", "h200", "--topology", "\uff11x8"),
        ("shard", "add", "--mesh", f"data={DIGITS}"),
        ("shard", "add", "--mesh", "data=\uff11"),
        ("history", "--since", "10000-01-01"),
        ("history", "--since", LONG),
    ],
)
def test_other_texts_with_numbers(
    project: Path, invoke: Invoke, arguments: tuple[str, ...]
) -> None:
    result = invoke(*arguments)
    assert result.exit_code == 2, result.output
    assert "error: " in result.stderr


TARGET = '[target.add]\nentry = "model.py:add"\nargs = ["f32[2]", "f32[2]"]\n'
BUDGETS = ("flops", "bytes", "operations", "peak-memory", "estimated-time")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *((f"budget.{key}", value) for key in BUDGETS for value in (DIGITS, f"'{DIGITS}'")),
        *(
            ("budget.flops", value)
            for value in (
                *("nan", "inf", "-1", "1e400", f"-{DIGITS}", "'1e400 FLOP'", "'1e308 EFLOP'"),
                *("'nan'", "'-1'", "'\uff11'", "'1_0'", f"'+{DIGITS}%'", "'-101%'", "true", "[1]"),
            )
        ),
        *(
            ("bench.threshold", value)
            for value in (
                "nan",
                "inf",
                "0",
                "-0.1",
                DIGITS,
                f"-{DIGITS}",
                f"'{DIGITS}%'",
                "'\uff11%'",
            )
        ),
        *(
            (f"tolerance.{key}", value)
            for key in ("rtol", "atol", "ulps", "float32.rtol")
            for value in ("nan", "inf", "-1", DIGITS, "'1'")
        ),
        ("inputs.x.range", f"[0, {DIGITS}]"),
        ("inputs.x.range", "[nan, 1]"),
        ("inputs.x.normal", f"[0, {DIGITS}]"),
        ("inputs.x.normal", "[0, -1]"),
        ("mesh.data", DIGITS),
        ("mesh.data", "1.0"),
        ("trips.'model.py:1'", DIGITS),
        ("trips.'model.py:1'", "-1"),
        ("matrix.n", f"['{LONG}/']"),
        ("entry", '"model.py:\\u0000"'),
        ("entry", '"a\\u0000.py:add"'),
        ("inputs.x.file", '"\\u0000.npy"'),
        ("backends", f"['gpu:{DIGITS}xh200']"),
    ],
)
def test_a_key_of_a_target_that_is_out_of_bounds(
    project: Path, invoke: Invoke, key: str, value: str
) -> None:
    lines = [line for line in TARGET.splitlines() if not line.startswith(key)]
    lines.insert(1, f"{key} = {value}")
    (project / "olympus.toml").write_text("\n".join(lines) + "\n")
    result = invoke("lower", "add")
    assert result.exit_code == 2, result.output
    assert "olympus.toml:2: " in result.stderr or key == "entry"
    assert max(map(len, result.stderr.splitlines())) < 1000


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("build-dir", '"\\u0000"'),
        ("history", '"a\\u0000"'),
        ("python-path", '["\\u0000"]'),
        ("python-path", '["loop"]'),
        ("python-path", f'["{LONG}"]'),
    ],
)
def test_an_impossible_path_of_the_project(
    work: Path, invoke: Invoke, key: str, value: str
) -> None:
    (work / "olympus.toml").write_text(f"[project]\n{key} = {value}\n{TARGET}")
    result = invoke("build", "add")
    assert result.exit_code == 2, result.output
    assert f"olympus.toml:2: project.{key}" in result.stderr


@pytest.mark.parametrize("value", [LONG, "pipe", "loop", "text/x", "/dev/null"])
def test_an_unusable_build_folder(work: Path, invoke: Invoke, value: str) -> None:
    (work / "olympus.toml").write_text(f'[project]\nbuild-dir = "{value}"\n{TARGET}')
    result = invoke("build", "add")
    assert result.exit_code == 2, result.output


@pytest.mark.parametrize(
    "key", ["memory", "bandwidth", "cores", "clock_ghz", "l2_cache", "tflops.float32", "watts"]
)
@pytest.mark.parametrize("value", ["nan", "inf", "-1", "0", "1e400", "9" * 401, "'1'", "true"])
def test_a_figure_of_a_device_that_is_out_of_bounds(
    project: Path, invoke: Invoke, key: str, value: str
) -> None:
    Path("mine.toml").write_text(f'[device.mine]\nlike = "h200"\n{key} = {value}\n')
    result = invoke("devices", "--device-config", "mine.toml")
    assert result.exit_code == 2, result.output
    assert f"mine.toml:3: device.mine.{key} must be " in result.stderr


NOT_FILES = ("pipe", "/dev/zero", "folder", "loop", LONG, "none")


@pytest.mark.parametrize("path", NOT_FILES)
@pytest.mark.parametrize(
    "arguments",
    [
        ("cost", "add", "--device-config"),
        ("run", "add", "--inputs"),
        ("bench", "add", "--inputs"),
        ("history", "--import"),
        ("run", "text.olympus", "--trust"),
        ("lower", "add", "--project"),
        ("check", "--project"),
        ("diff", "add"),
    ],
)
def test_an_input_that_is_not_a_file(
    work: Path, invoke: Invoke, arguments: tuple[str, ...], path: str
) -> None:
    result = invoke(*arguments, path)
    assert result.exit_code == 2, result.output
    assert "error: " in result.stderr


@pytest.mark.parametrize(
    ("arguments", "exit_code"),
    [
        (("run", "pipe.olympus"), 2),
        (("inspect", "pipe.olympus"), 2),
        (("sign", "pipe.olympus", "--key", "text"), 2),
        (("diff", "pipe.mlir", "add"), 2),
        (("verify", "add", "--against", "pipe.olympus"), 2),
        (("bench", "add", "--baseline", "pipe.json"), 5),
        (("bench", "add", "--baseline", LONG), 2),
        (("bench", "add", "--baseline", f"{LONG}.json"), 2),
        (("bench", "add", "--baseline", f"{LONG}.olympus"), 2),
        (("bench", "add", "--save-baseline", LONG), 2),
        (("diff", LONG, "add"), 2),
        (("diff", f"{LONG}/{LONG}", "add"), 2),
        (("diff", f"git:HEAD:{LONG}", "add"), 2),
        (("check", LONG), 2),
        (("run", "add", "--inputs", "pipe.npy"), 2),
        (("run", "add", "--inputs", "pipe.safetensors"), 2),
    ],
)
def test_an_argument_that_names_no_regular_file(
    work: Path, invoke: Invoke, arguments: tuple[str, ...], exit_code: int
) -> None:
    result = invoke(*arguments)
    assert result.exit_code == exit_code, result.output


def test_arguments_that_are_not_utf_8(work: Path, invoke: Invoke) -> None:
    assert invoke("build", "add").exit_code == 0
    name = "none\udcff"
    for arguments in (
        ("history", "--metric", name),
        ("history", name),
        ("history", "--since", name),
        ("check", name),
        ("check", "--project", name),
        ("lower", f"{name}:f"),
        ("lower", f"{name}.py:f"),
        ("lower", "add", "--shapes", name),
        ("lower", "add", "--static", name),
        ("diff", name, "add"),
        ("diff", f"git:{name}", "add"),
        ("bench", "add", "--baseline", name),
        ("run", "add", "--inputs", name),
    ):
        result = invoke(*arguments)
        assert result.exit_code == 2, (arguments, result.output)
    assert invoke("lower", "add", "-o", name).exit_code == 0
    assert os.path.exists(os.fsencode(name))


def test_files_of_the_project_that_are_pipes(work: Path, invoke: Invoke) -> None:
    (work / "goldens").mkdir()
    for name in ("add.figures.json", "add.cpu.mlir"):
        os.mkfifo(work / "goldens" / name)
    (work / "olympus.toml").write_text(TARGET + 'golden = true\nbudget.flops = "1 k"\n')
    assert invoke("check").exit_code == 5
    assert invoke("check", "--update").exit_code == 2
    (work / "goldens/add.figures.json").unlink()
    assert invoke("check").exit_code == 5
    assert invoke("check", "--update").exit_code == 2
    (work / "goldens/add.cpu.mlir").unlink()
    (work / "goldens/add.cpu.mlir").write_bytes(b"\xff")
    assert invoke("check").exit_code == 5
    assert invoke("check", "--update").exit_code == 0
    for name in ("pipe", "pipe.safetensors"):
        (work / "olympus.toml").write_text(TARGET + f'inputs.x.file = "{name}"\n')
        result = invoke("run", "add")
        assert result.exit_code == 2
        assert f"{name} cannot be read: it is not a regular file" in result.stderr


def test_programs_and_projects_that_are_pipes(
    folder: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo("piped.py")
    result = invoke("lower", "piped.py:f", "--shapes", "f32[2]")
    assert result.exit_code == 2
    assert "piped.py cannot be imported: it is not a regular file" in result.stderr
    (folder / "inner").mkdir()
    os.mkfifo("olympus.toml")
    for path in (".", "inner"):
        monkeypatch.chdir(folder / path)
        for arguments in (("check",), ("history",), ("lower", "add"), ("lower", "math:sin")):
            for option in ((), ("--project", folder / "olympus.toml"), ("--project", folder)):
                result = invoke(*arguments, *map(str, option))
                assert result.exit_code == 2
                assert "olympus.toml cannot be read: it is not a regular file" in result.stderr


def test_the_users_own_files_that_are_pipes(
    work: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(work / "config"))
    assert invoke("build", "add").exit_code == 0
    bundle = "build/add/add.olympus"
    for arguments in (("sign", bundle, "--key"), ("run", bundle, "--trust")):
        result = invoke(*arguments, "pipe")
        assert result.exit_code == 2
    (work / "config/olympus").mkdir(parents=True)
    os.mkfifo(work / "config/olympus/config.toml")
    result = invoke("run", bundle)
    assert result.exit_code == 2
    assert "config.toml cannot be read: it is not a regular file" in result.stderr


def test_a_file_that_is_too_large_is_not_read(project: Path, invoke: Invoke) -> None:
    with Path("large.toml").open("wb") as file:
        file.truncate(2**40)  # a sparse file, which uses no disk
    for arguments in (("devices", "--device-config"), ("check", "--project")):
        result = invoke(*arguments, "large.toml")
        assert result.exit_code == 2
        assert "large.toml cannot be read: it is larger than 16777216 bytes" in result.stderr


@pytest.mark.parametrize("path", ["pipe", "folder", "loop", "none/x", "text/x", LONG])
@pytest.mark.parametrize(
    "arguments",
    [
        *(("trace", "model:fails", "-o"), ("lower", "model:fails", "-o")),
        *(("run", "model:fails", "-o"), ("report", "model:fails", "-o")),
        *(("diff", "add", "add", "--html"), ("bench", "add", "--plot")),
        *(("profile", "add", "--html"), ("profile", "add", "--trace")),
        *(("history", "--plot"), ("history", "--export")),
        *(("check", "--output", "junit="), ("verify", "--output", "json=")),
        ("sign", "text", "--key", "text", "-o"),
    ],
)
def test_an_output_that_cannot_be_written_is_an_error_before_the_work(
    work: Path, invoke: Invoke, arguments: tuple[str, ...], path: str
) -> None:
    *leading, option = arguments
    joined = (f"{option}{path}",) if option.endswith("=") else (option, path)
    result = invoke(*leading, *joined)
    assert result.exit_code == 2, result.output
    assert "cannot be written: " in result.stderr


def test_a_pipe_is_not_overwritten(work: Path, invoke: Invoke) -> None:
    (work / "new").mkdir()
    os.mkfifo(work / "new/olympus.toml")
    result = invoke("init", "new", "--force")
    assert result.exit_code == 2
    assert "new/olympus.toml cannot be written: it is not a regular file" in result.stderr
    (work / "goldens").mkdir()
    os.mkfifo(work / "goldens/add.npz")
    (work / "olympus.toml").write_text(TARGET)
    assert invoke("verify", "add", "--update").exit_code == 2


def test_a_program_that_names_a_device_as_its_source_file(work: Path, invoke: Invoke) -> None:
    for name, operation in (("one", "tanh"), ("other", "cosine")):
        (work / f"{name}.mlir").write_text(
            "func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
            f'  %y = stablehlo.{operation} %x : tensor<4xf32> loc("/dev/zero":1:1)\n'
            "  return %y : tensor<4xf32>\n}\n"
        )
    result = invoke("diff", "one.mlir", "other.mlir", "--output", "text=diff.txt")
    assert result.exit_code == 1
    assert "/dev/zero:1" in (work / "diff.txt").read_text()
