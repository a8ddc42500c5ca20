"""The file of a history: SQLite, with checks of its content, and one transaction for each run.

The journal is SQLite's rollback journal. The next process rolls back the file of a killed one, and
writers wait for each other, so that concurrent builds lose nothing. WAL would allow reads during
writes, but it leaves two more files beside this one, and does not work on network file systems
(https://www.sqlite.org/wal.html), on which build folders may be.
"""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import quote

from olympus.errors import ArtifactError, OlympusError, UsageError
from olympus.files import typed
from olympus_cli.history.exchange.records import check_figure, checked_run, read_time
from olympus_cli.history.points import MAX_LETTERS, Figure, Point, Run, Spread, StoredProgram
from olympus_cli.history.schema import APPLICATION, MIGRATIONS, is_ours, migrate
from olympus_cli.text.metrics import current_name
from olympus_cli.text.paths import display_path

_PATIENCE = 10.0  # seconds to wait for another process that writes
_MAX_TEXT = 64 * 2**20  # bytes of a program as text; a larger one is not stored
_MAX_STORED = 4 * 2**20  # bytes of a compressed program, with its sources
_MAX_LOOKED_AT = 50  # programs that are searched for a fingerprint
_NO_LIMIT = 2**31
_MAX_PROGRAMS = 64 * 2**20  # bytes of all programs in a file: the oldest are deleted

_SHOWN = 50  # letters of a name in a message
_MAX_JSON = 100_000  # letters of the versions of a run

#: The most letters of each text that is read, by table and column.
_LETTERS = {
    "run": {
        **dict.fromkeys(("time", "command", "commit_id", "commit_time", "branch"), MAX_LETTERS),
        **dict.fromkeys(("host", "source"), MAX_LETTERS),
        "versions": _MAX_JSON,
    },
    "figure": dict.fromkeys(
        ("target", "backend", "metric", "unit", "program", "fingerprint", "spread"), MAX_LETTERS
    ),
}

_FIGURE = "target, backend, metric, unit, value, low, high, count, program, fingerprint, spread"
_RUN = "time, command, commit_id, commit_time, dirty, branch, host, versions, source"


def append(
    path: Path,
    records: Sequence[tuple[Run, Sequence[Figure]]],
    programs: Sequence[StoredProgram] = (),
) -> tuple[int, int]:
    """Add runs with their figures, all or none; return the numbers of new runs and new figures.

    Raises:
        ArtifactError: the file is damaged, not a history, or from a newer olympus.
        UsageError: the file cannot be written, or a figure is not valid.
    """
    for run, its_figures in records:
        _check_added(run, its_figures)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"{display_path(path.parent)} cannot be created: {error.strerror}"
        ) from error
    with _opened(path, write=True) as connection:
        connection.execute("BEGIN IMMEDIATE")
        _check(connection, path, empty_is_good=True)
        migrate(connection)
        runs = figures = 0
        for run, its_figures in records:
            number, is_new = _run_number(connection, run)
            runs += is_new
            for figure in its_figures:
                figures += _add_figure(connection, number, figure)
        for program in programs:
            _add_program(connection, program)
        _drop_oldest(connection)
        connection.execute("COMMIT")
    return runs, figures


def read_points(
    path: Path, *, metrics: Sequence[str] = (), limit: int | None = None
) -> list[Point]:
    """Return the figures of `metrics`, or of all metrics if it is empty, in the order of commits.

    The order is by the commits' times, and by the runs' times without a commit or for equal ones.
    `limit` is the number of the latest figures of each target, backend and metric.

    Raises:
        ArtifactError: the file is damaged, not a history, or from a newer olympus.
        UsageError: the file cannot be read.
    """
    names = [metric for metric in metrics if _is_text(metric)]
    wanted = f"metric IN ({', '.join('?' * len(names))})" if metrics else "1"
    moment = "coalesce(commit_time, time)"
    figures = _FIGURE.replace("metric", "current_name(metric) AS metric")  # in a file of version 1
    query = f"""
        SELECT {_RUN}, {_FIGURE} FROM (
            SELECT *, row_number() OVER (
                PARTITION BY target, backend, metric ORDER BY {moment} DESC, time DESC, run DESC
            ) AS place
            FROM (SELECT run, {figures} FROM figure) AS figure JOIN run ON run.id = figure.run
            WHERE {wanted}
        ) WHERE place <= ? ORDER BY {moment}, time, run"""
    with _opened(path, write=False) as connection:
        _check(connection, path, empty_is_good=False)
        _check_lengths(connection, path)
        connection.create_function("current_name", 1, current_name, deterministic=True)
        rows = connection.execute(query, (*names, limit or _NO_LIMIT))
        try:
            return [_point(row) for row in rows]
        except (TypeError, ValueError, RecursionError) as error:
            raise _damaged(path, error) from error


def _is_text(name: str) -> bool:
    """Return True if SQLite can represent a name: an argument may be invalid UTF-8."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def program_digests(path: Path, target: str, backend: str) -> list[str]:
    """Return the digests of the latest stored programs of a target on a backend.

    Raises:
        ArtifactError: the file is damaged, not a history, or from a newer olympus.
        UsageError: the file cannot be read.
    """
    with _opened(path, write=False) as connection:
        _check(connection, path, empty_is_good=False)
        _check_lengths(connection, path)
        rows = connection.execute(
            """SELECT DISTINCT program.digest FROM figure
            JOIN program ON program.digest = figure.program
            WHERE target = ? AND backend = ? ORDER BY program.id DESC LIMIT ?""",
            (target, backend, _MAX_LOOKED_AT),
        )
        return [digest for (digest,) in rows if isinstance(digest, str)]


def read_programs(path: Path, digests: Sequence[str]) -> dict[str, StoredProgram]:
    """Return the stored programs among `digests`, by digest.

    Raises:
        ArtifactError: the file is damaged, not a history, or from a newer olympus.
        UsageError: the file cannot be read.
    """
    programs = {}
    with _opened(path, write=False) as connection:
        _check(connection, path, empty_is_good=False)
        for digest in dict.fromkeys(digests):
            row = connection.execute(
                "SELECT stablehlo, sources FROM program WHERE digest = ?", (digest,)
            ).fetchone()
            if row is None:
                continue
            try:
                texts = [None if content is None else _expanded(content) for content in row]
                program = StoredProgram.of(texts[0] or b"", texts[1])
                if program.digest != digest:
                    raise ValueError(f"the program {digest[:12]} is not what it was")
            except (zlib.error, TypeError, ValueError) as error:
                raise _damaged(path, error) from error
            programs[digest] = program
    return programs


@contextmanager
def _opened(path: Path, *, write: bool) -> Iterator[sqlite3.Connection]:
    """Open a connection, and convert errors of SQLite within to errors for the user."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        if not write:
            raise UsageError(f"file {display_path(path)} does not exist") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{display_path(path)} cannot be read: {error}") from error
    else:
        if not stat.S_ISREG(mode):
            raise UsageError(f"{display_path(path)} cannot be read: it is not a file")
    try:
        with closing(_connected(path, write=write)) as connection:
            yield connection
    except sqlite3.Error as error:
        raise _olympus_error(error, path, write=write) from error


def _olympus_error(error: sqlite3.Error, path: Path, *, write: bool) -> OlympusError:
    """Return the error for one of SQLite: about access to the file, or about its content."""
    code = getattr(error, "sqlite_errorcode", None)
    kind = None if code is None else code & 0xFF  # the rest of an extended code is a detail
    if kind in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return UsageError(
            f"{display_path(path)} has been in use by another process for {_PATIENCE:g} seconds"
        )
    if kind in _OF_THE_PLACE:
        return UsageError(
            f"{display_path(path)} cannot be {'written' if write else 'read'}: {error}"
        )
    return _damaged(path, error)


_OF_THE_PLACE = (
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_PERM,
)


def _connected(path: Path, *, write: bool) -> sqlite3.Connection:
    # a reader may have to roll back the incomplete transaction of a killed process
    is_writable = write or (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))
    mode = "rwc" if write else "rw" if is_writable else "ro"
    name = f"file:{quote(os.fsencode(path.absolute()))}?mode={mode}"
    connection = sqlite3.connect(name, timeout=_PATIENCE, isolation_level=None, uri=True)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    return connection


def _check(connection: sqlite3.Connection, path: Path, *, empty_is_good: bool) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (objects,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if not version and not application and not objects and empty_is_good:
        return
    if application != APPLICATION:
        raise ArtifactError(
            f"{display_path(path)} is not a history of olympus",
            hint='[project] history = "PATH" in olympus.toml names another file',
        )
    if version > len(MIGRATIONS):
        raise ArtifactError(
            f"{display_path(path)} is a history of a newer olympus: it has version "
            f"{version}, and this "
            f"one reads up to {len(MIGRATIONS)}"
        )
    if not is_ours(connection, version):
        raise ArtifactError(
            f"{display_path(path)} does not have the tables of a history of olympus"
        )


def _check_lengths(connection: sqlite3.Connection, path: Path) -> None:
    """Check, before reading, that no text is longer than the limit for added ones.

    Raises:
        ArtifactError: a text is longer.
    """
    for table, columns in _LETTERS.items():
        lengths = ", ".join(f"max(length({column}))" for column in columns)
        longest = connection.execute(f"SELECT {lengths} FROM {table}").fetchone()
        for (column, most), length in zip(columns.items(), longest, strict=True):
            if (length or 0) > most:
                why = f"a {table} has a {column} of {length} letters, and {most} is the most"
                raise _damaged(path, why)


def _damaged(path: Path, why: object) -> ArtifactError:
    return ArtifactError(
        f"the history {display_path(path)} is damaged: {why}",
        hint="move it away, and the next build begins a new one",
    )


def _check_added(run: Run, figures: Sequence[Figure]) -> None:
    """Raise UsageError for a figure that could not be read again."""
    try:
        for figure in figures:
            check_figure(figure, f"target {figure.target[:_SHOWN]!r}")
        checked_run(run, "the run")
    except ValueError as error:
        raise UsageError(f"a figure cannot be saved in the history: {error}") from error


def _run_number(connection: sqlite3.Connection, run: Run) -> tuple[int, int]:
    """Return the number of a run, which is added if it is new; and 1 if it is new, else 0."""
    values = (
        run.key, run.time, run.command, run.commit, run.commit_time, run.dirty, run.branch,
        run.host, json.dumps(dict(run.versions), sort_keys=True), run.source,
    )  # fmt: skip
    marks = ", ".join("?" * len(values))
    added = connection.execute(
        f"INSERT OR IGNORE INTO run (key, {_RUN}) VALUES ({marks})", values
    ).rowcount
    (number,) = connection.execute("SELECT id FROM run WHERE key = ?", (run.key,)).fetchone()
    return number, added


def _add_figure(connection: sqlite3.Connection, run: int, figure: Figure) -> int:
    """Add a figure if it is new; return 1 if it is, else 0."""
    spread = figure.spread and json.dumps(asdict(figure.spread))
    values = (
        run, figure.target, figure.backend, current_name(figure.metric), figure.unit,
        float(figure.value), figure.low, figure.high, figure.count, figure.program,
        figure.fingerprint, spread,
    )  # fmt: skip
    marks = ", ".join("?" * len(values))
    return connection.execute(
        f"INSERT OR IGNORE INTO figure (run, {_FIGURE}) VALUES ({marks})", values
    ).rowcount


def _add_program(connection: sqlite3.Connection, program: StoredProgram) -> None:
    """Add a program; one that is already stored gets the new source lines."""
    query = "SELECT length(stablehlo) FROM program WHERE digest = ?"
    known = connection.execute(query, (program.digest,)).fetchone()
    if len(program.stablehlo) > _MAX_TEXT:
        return
    stablehlo = b"" if known else zlib.compress(program.stablehlo)
    sources = None if program.sources is None else zlib.compress(program.sources)
    size = known[0] if known else len(stablehlo)
    if size + len(sources or b"") > _MAX_STORED:
        return
    if known:
        if sources is not None:
            connection.execute(
                "UPDATE program SET sources = ? WHERE digest = ?", (sources, program.digest)
            )
        return
    connection.execute(
        "INSERT INTO program (digest, stablehlo, sources) VALUES (?, ?, ?)",
        (program.digest, stablehlo, sources),
    )


def _drop_oldest(connection: sqlite3.Connection) -> None:
    """Delete the oldest programs if the total size exceeds `_MAX_PROGRAMS`."""
    size = "length(stablehlo) + coalesce(length(sources), 0)"
    connection.execute(
        f"""DELETE FROM program WHERE id IN (SELECT id FROM (
            SELECT id, sum({size}) OVER (ORDER BY id DESC) AS total FROM program
        ) WHERE total > ?)""",
        (_MAX_PROGRAMS,),
    )


def _expanded(content: bytes) -> bytes:
    """Return the decompressed content, with a limit on the memory of crafted content."""
    decoder = zlib.decompressobj()
    text = decoder.decompress(content, _MAX_TEXT + 1)
    if len(text) > _MAX_TEXT or not decoder.eof:
        raise ValueError("a program in it is not whole")
    return text


def _point(row: Sequence[Any]) -> Point:
    time, command, commit, commit_time, dirty, branch, host, versions, source, *rest = row
    *facts, spread = rest
    names = [name.strip() for name in _FIGURE.split(",")]
    run = Run(
        time, command, commit, commit_time, None if dirty is None else bool(dirty), branch, host,
        json.loads(versions), source,
    )  # fmt: skip
    figure = Figure(
        **dict(zip(names, facts, strict=False)),
        spread=None if spread is None else typed(json.loads(spread), Spread, "spread"),
    )
    point: Point = typed(asdict(Point(run, figure)), Point)
    for text in (point.run.time, point.run.commit_time):
        if text is not None and read_time(text, "a run") != text:
            raise ValueError(f"a run has the time {text!r}, which is not in UTC to the microsecond")
    return point
