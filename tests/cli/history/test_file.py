"""The file of a history: concurrent writers, damage, versions, limits."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import zlib
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from olympus.errors import ArtifactError, OlympusError, UsageError
from olympus_cli.history import schema, store
from olympus_cli.history.points import StoredProgram, utc_text
from olympus_cli.history.store import append, read_points, read_programs
from tests.cli.conftest import Invoke
from tests.cli.history.runs import flops, history, run


def test_concurrent_writers_lose_no_run(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from olympus_cli.history.points import Figure, Run\n"
        "from olympus_cli.history.store import append\n"
        "for i in range(15):\n"
        "    run = Run(f'2026-01-01T00:00:{i:02}.000000Z', 'bench', branch=sys.argv[2])\n"
        "    append(Path(sys.argv[1]), [(run, [Figure('f', 'cpu', 'm', 's', 1.0)])])\n"
    )
    path = tmp_path / "history.sqlite"
    every = [
        subprocess.Popen([sys.executable, "-c", code, str(path), str(number)])
        for number in range(3)
    ]
    assert [process.wait() for process in every] == [0, 0, 0]
    assert len(read_points(path)) == 45


def test_a_killed_writer_leaves_a_valid_file(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    append(path, [(run(1), [flops(1)])])
    code = (
        "import os, signal, sys\nfrom pathlib import Path\n"
        "from olympus_cli.history import store\n"
        "from olympus_cli.history.points import Figure, Run, StoredProgram\n"
        "def killed(connection):\n"
        "    connection.execute('PRAGMA cache_spill = 1')\n"
        "    connection.execute('INSERT INTO program VALUES (1, ?, ?, NULL)',\n"
        "        ('x', os.urandom(8_000_000)))\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "store._drop_oldest = killed\n"
        "run = Run('2026-01-02T00:00:00.000000Z', 'bench')\n"
        "store.append(Path(sys.argv[1]), [(run, [Figure('f', 'cpu', 'm', 's', 1.0)])])\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.with_name(path.name + "-journal").exists()
    assert [point.figure.value for point in read_points(path)] == [1.0]
    append(path, [(run(3), [flops(2)])])
    assert len(read_points(path)) == 2


def foreign(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE run (id INTEGER)")
    connection.close()


def newer(path: Path) -> None:
    changed(path, "PRAGMA user_version = 99")


def with_a_trigger(path: Path) -> None:
    changed(path, "CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM run; END")


def changed(path: Path, statement: str) -> None:
    append(path, [(run(1), [flops(1)])])
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()


def torn(path: Path) -> None:
    append(path, [(run(day), [flops(day)]) for day in range(1, 29)])
    path.write_bytes(path.read_bytes()[:4096] + b"\xff" * 12288)


WRONG = {
    "no database": (lambda path: path.write_text("hello\n" * 1000), "is damaged"),
    "another's": (foreign, "is not a history of olympus"),
    "newer": (newer, "is a history of a newer olympus: it has version 99"),
    "with a trigger": (with_a_trigger, "does not have the tables of a history"),
    "torn": (torn, "is damaged"),
    "a wrong type": (lambda path: changed(path, "UPDATE figure SET value = 'x'"), "is damaged"),
    "no versions": (lambda path: changed(path, "UPDATE run SET versions = '{'"), "is damaged"),
    "no time": (
        lambda path: changed(path, "UPDATE run SET time = 'zzz'"),
        "is damaged: a run has the time 'zzz'",
    ),
    "no time of a commit": (
        lambda path: changed(path, "UPDATE run SET commit_time = '2026-01-01'"),
        "is damaged: a run has the time '2026-01-01', which is not in UTC to the microsecond",
    ),
    **{
        f"a long {column}": (
            partial(changed, statement=f"UPDATE {table} SET {column} = hex(zeroblob(1000000))"),
            f"is damaged: a {table} has a {column} of 2000000 letters, and {most} is the most",
        )
        for table, columns in store._LETTERS.items()
        for column, most in columns.items()
    },
    "no text": (
        lambda path: changed(path, "UPDATE run SET command = CAST(x'ff' AS TEXT)"),
        "is damaged",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_invalid_file_is_one_message_and_is_not_changed(
    work: Path, invoke: Invoke, name: str
) -> None:
    break_it, message = WRONG[name]
    history(work).parent.mkdir()
    break_it(history(work))
    content = history(work).read_bytes()
    result = invoke("history", "--metric", "flops")
    assert result.exit_code == 5, result.output
    assert message in result.stderr
    assert result.stderr.count("error:") == 1
    assert history(work).read_bytes() == content


def test_a_command_with_an_invalid_history_warns_and_continues(work: Path, invoke: Invoke) -> None:
    history(work).parent.mkdir()
    foreign(history(work))
    content = history(work).read_bytes()
    result = invoke("check")
    assert result.exit_code == 0, result.output
    assert "warning: the figures are not in the history: " in result.stderr
    assert "is not a history of olympus" in result.stderr
    assert history(work).read_bytes() == content


@pytest.mark.parametrize("kind", ["folder", "pipe", "nowhere"])
def test_only_a_regular_file_is_opened(work: Path, invoke: Invoke, kind: str) -> None:
    path = history(work)
    path.parent.mkdir()
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    result = invoke("history")
    assert result.exit_code == 2
    assert ("does not exist yet" if kind == "nowhere" else "it is not a file") in result.stderr


def test_a_path_that_cannot_be_written_is_a_mistake_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be created"):
        append(tmp_path / "file" / "history.sqlite", [(run(1), [])])
    for code, message in (
        (sqlite3.SQLITE_READONLY, "cannot be written"),
        (sqlite3.SQLITE_FULL, "cannot be written"),
        (sqlite3.SQLITE_BUSY, "in use by another process"),
    ):
        error = sqlite3.OperationalError("told")
        error.sqlite_errorcode = code
        raised = store._olympus_error(error, tmp_path / "h", write=True)
        assert isinstance(raised, UsageError)
        assert message in str(raised)


def test_a_writer_that_waits_too_long_gets_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "history.sqlite"
    append(path, [(run(1), [flops(1)])])
    monkeypatch.setattr(store, "_PATIENCE", 0.01)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(UsageError, match="has been in use by another process"):
        append(path, [(run(2), [flops(1)])])
    holder.close()


def test_an_older_file_is_converted_to_the_current_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "history.sqlite"
    append(path, [(run(1), [flops(1)])])
    longer = (*schema.MIGRATIONS, ("CREATE TABLE extra (id INTEGER)",))
    for module in (schema, store):
        monkeypatch.setattr(module, "MIGRATIONS", longer)
    assert len(read_points(path)) == 1
    append(path, [(run(2), [flops(1)])])
    assert len(read_points(path)) == 2
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA user_version").fetchone() == (len(longer),)
    connection.close()
    monkeypatch.undo()
    with pytest.raises(ArtifactError, match="newer olympus"):
        read_points(path)


def test_the_oldest_programs_are_removed_at_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "history.sqlite"
    programs = [StoredProgram.of(os.urandom(1000), None) for _ in range(4)]
    monkeypatch.setattr(store, "_MAX_PROGRAMS", 2500)
    append(path, [], programs)
    digests = [program.digest for program in programs]
    assert [*read_programs(path, digests)] == digests[2:]
    large = StoredProgram.of(os.urandom(1000), os.urandom(5000))
    monkeypatch.setattr(store, "_MAX_STORED", 4000)
    append(path, [], [large])
    assert read_programs(path, [large.digest]) == {}


@pytest.mark.parametrize(
    "content", [b"no zlib", zlib.compress(b"another program"), zlib.compress(b"x")[:-2]]
)
def test_a_changed_stored_program_is_damage(tmp_path: Path, content: bytes) -> None:
    path, program = tmp_path / "history.sqlite", StoredProgram.of(b"x", None)
    append(path, [], [program])
    connection = sqlite3.connect(path)
    connection.execute("UPDATE program SET stablehlo = ?", (content,))
    connection.commit()
    connection.close()
    with pytest.raises(ArtifactError, match="is damaged"):
        read_programs(path, [program.digest])


def test_errors_of_the_store_are_olympus_errors() -> None:
    for error in (sqlite3.DatabaseError("x"), sqlite3.OperationalError("x")):
        assert isinstance(store._olympus_error(error, Path("h"), write=False), OlympusError)


def test_a_figure_that_could_not_be_read_back_is_not_added(work: Path) -> None:
    long = flops(1, target="x" * 1001)
    with pytest.raises(UsageError, match=r"cannot be saved in the history: .* of more than 1000"):
        append(history(work), [(run(1), [flops(1)]), (run(2), [long])])
    assert not history(work).exists()


def test_times_before_the_year_1000_have_four_digits() -> None:
    assert utc_text(datetime(999, 1, 2, tzinfo=UTC)) == "0999-01-02T00:00:00.000000Z"
