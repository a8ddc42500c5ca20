"""`olympus sign`, `olympus run --trust` and the keys in the user's settings."""

from __future__ import annotations

import json
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from olympus_cli.spec.settings import Settings, read_settings

Invoke = Callable[..., Result]


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of the user's settings, which do not exist yet; their folder exists."""
    folder = tmp_path_factory.mktemp("config")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
    (folder / "olympus").mkdir()
    return folder / "olympus" / "config.toml"


@pytest.fixture
def work(project: Path, settings: Path, invoke: Invoke) -> Path:
    """A folder with two keys and a bundle that the key `team` signed."""
    built = invoke("compile", "model:add", "--shapes", "f32[2], f32[2]", "-o", "out")
    assert built.exit_code == 0, built.output
    (project / "out" / "add.olympus").rename(project / "plain.olympus")
    for name in ("team", "other"):
        assert invoke("sign", "--new-key", name).exit_code == 0
    done = invoke("sign", "plain.olympus", "--key", "team.key", "-o", "add.olympus", "--json")
    assert json.loads(done.stdout) == {"written": [str(project / "add.olympus")]}
    return project


def run(invoke: Invoke, *args: str) -> tuple[int, str]:
    result = invoke("run", *args)
    return result.exit_code, result.stderr


def test_a_new_key_is_secret_and_never_overwritten(work: Path, invoke: Invoke) -> None:
    assert stat.S_IMODE((work / "team.key").stat().st_mode) == 0o600
    again = invoke("sign", "--new-key", "team")
    assert again.exit_code == 2
    assert "team.key exists already, and a key is never overwritten" in again.stderr
    assert invoke("sign", "--new-key", "none/team").exit_code == 2


def test_a_dash_writes_to_stdout_and_not_to_the_bundle(work: Path, invoke: Invoke) -> None:
    plain = (work / "plain.olympus").read_bytes()
    signed = ("sign", "plain.olympus", "--key", "team.key", "-o", "-")
    result = invoke(*signed)
    assert result.exit_code == 0, result.stderr
    assert result.stdout_bytes == (work / "add.olympus").read_bytes()
    assert result.stderr == ""
    assert (work / "plain.olympus").read_bytes() == plain
    result = invoke(*signed, "--json")
    assert result.exit_code == 2 and "`-o -` cannot be combined with --json" in result.stderr
    assert invoke("sign", "--new-key", "k", "-o", "-").exit_code == 2


@pytest.mark.parametrize("args", [(), ("plain.olympus",), ("a", "--new-key", "b")])
def test_sign_requires_a_bundle_and_a_key(
    work: Path, invoke: Invoke, args: tuple[str, ...]
) -> None:
    assert invoke("sign", *args).exit_code == 2


def test_run_accepts_only_bundles_signed_by_trusted_keys(work: Path, invoke: Invoke) -> None:
    assert run(invoke, "add.olympus")[0] == 0
    assert run(invoke, "add.olympus", "--trust", "team.pub")[0] == 0
    assert run(invoke, "add.olympus", "--trust", "other.pub", "--trust", "team.pub")[0] == 0
    code, stderr = run(invoke, "add.olympus", "--trust", "other.pub")
    assert code == 5 and "which is not trusted" in stderr
    code, stderr = run(invoke, "plain.olympus", "--trust", "team.pub")
    assert code == 5 and "it is not signed, and a signature is required" in stderr
    code, stderr = run(invoke, "model:add", "--shapes", "f32[2], f32[2]", "--trust", "team.pub")
    assert code == 2 and "--trust is for a FILE.olympus, and 'model:add' is not one" in stderr


def test_a_key_in_the_settings_is_always_required(
    work: Path, settings: Path, invoke: Invoke
) -> None:
    (settings.parent / "team.pub").write_bytes((work / "team.pub").read_bytes())
    text = (work / "team.pub").read_text()
    for value in ('"team.pub"', '["team.pub"]', f"'''{text}'''", json.dumps([text])):
        settings.write_text(f"[bundles]\ntrust = {value}\n")
        assert run(invoke, "add.olympus") == (0, "")
        code, stderr = run(invoke, "plain.olympus")
        assert code == 5 and "it is not signed" in stderr
    code, _ = run(invoke, "add.olympus", "--trust", "other.pub")  # instead of the settings' keys
    assert code == 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[bundles]\ntrust = []\n", "config.toml:2: bundles.trust names no key"),
        ("[bundles]\ntrust = 3\n", "bundles.trust must be an array of strings; got the value 3"),
        ("[bundles]\ntrusts = []\n", "[bundles] has no key 'trusts'"),
        ("[bundle]\n", "config.toml has no key 'bundle'"),
        ("[bundles\n", "not TOML"),
        ('[bundles]\ntrust = "none.pub"\n', "none.pub cannot be read: No such file"),
    ],
)
def test_no_bundle_runs_with_wrong_settings(
    work: Path, settings: Path, invoke: Invoke, text: str, message: str
) -> None:
    settings.write_text(text)
    code, stderr = run(invoke, "add.olympus")
    assert code == 2 and message in stderr


def test_no_native_compiles_the_program_of_the_bundle(work: Path, invoke: Invoke) -> None:
    plain = invoke("run", "plain.olympus", "--json")
    compiled = invoke("run", "plain.olympus", "--no-native", "--json")
    assert compiled.exit_code == 0, compiled.output
    assert compiled.stdout == plain.stdout
    code, stderr = run(invoke, "plain.olympus", "--no-native", "--no-recompile")
    assert code == 2 and "--no-recompile forbids" in stderr


def test_native_code_is_a_note_on_a_terminal(
    work: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    from olympus_cli.terminal import console

    notes: list[str] = []
    monkeypatch.setattr(console, "note", notes.append)
    for args in ((), ("--no-native",), ("--trust", "team.pub")):
        assert run(invoke, "add.olympus", *args)[0] == 0
    assert notes == ["add.olympus holds native code of its author; --no-native runs none of it"]


def test_a_note_is_shown_only_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from olympus_cli.terminal import console

    console.note("hello")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    console.note("hello")
    assert capsys.readouterr().err == "note: hello\n"


def test_a_user_without_a_home_has_no_settings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setattr("os.path.expanduser", lambda path: path)  # as for a user without a home
    (tmp_path / "~/.config/olympus").mkdir(parents=True)
    (tmp_path / "~/.config/olympus/config.toml").write_text("[bundles]\ntrust = 'any.pub'\n")
    monkeypatch.chdir(tmp_path)
    assert read_settings() == Settings()
