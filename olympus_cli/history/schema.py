"""The tables of a history file, and the migrations from each version to the next."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from olympus_cli.text.metrics import OLD_NAMES

#: SQLite's `application_id` of a history: "OLYH" in ASCII.
APPLICATION = 0x4F4C5948


def _renaming(old: str, new: str) -> tuple[str, str]:
    """Return the statements that rename a metric; if a run has both names, the new one remains."""
    return (
        f"UPDATE OR IGNORE figure SET metric = '{new}' WHERE metric = '{old}'",
        f"DELETE FROM figure WHERE metric = '{old}'",
    )


#: The statements that migrate version i, which is the file's `user_version`, to version i + 1. A
#: released step is never changed: a new version adds a step.
MIGRATIONS: Sequence[Sequence[str]] = (
    (
        """CREATE TABLE run (
            id INTEGER PRIMARY KEY,
            key TEXT NOT NULL UNIQUE,
            time TEXT NOT NULL,
            command TEXT NOT NULL,
            commit_id TEXT,
            commit_time TEXT,
            dirty INTEGER,
            branch TEXT,
            host TEXT,
            versions TEXT NOT NULL,
            source TEXT
        )""",
        """CREATE TABLE figure (
            run INTEGER NOT NULL REFERENCES run (id),
            target TEXT NOT NULL,
            backend TEXT NOT NULL,
            metric TEXT NOT NULL,
            unit TEXT NOT NULL,
            value REAL NOT NULL,
            low REAL,
            high REAL,
            count INTEGER,
            program TEXT,
            fingerprint TEXT,
            spread TEXT,
            PRIMARY KEY (target, backend, metric, run)
        ) WITHOUT ROWID""",
        """CREATE TABLE program (
            id INTEGER PRIMARY KEY,
            digest TEXT NOT NULL UNIQUE,
            stablehlo BLOB NOT NULL,
            sources BLOB
        )""",
    ),
    # `OLD_NAMES` as it is: names that a later version changes need a separate step
    tuple(each for names in OLD_NAMES.items() for each in _renaming(*names)),
)


def migrate(connection: sqlite3.Connection) -> None:
    """Migrate the tables to the newest version, in the open transaction."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    for number, statements in enumerate(MIGRATIONS[version:], version + 1):
        for statement in statements:
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {number}")
    connection.execute(f"PRAGMA application_id = {APPLICATION}")


def is_ours(connection: sqlite3.Connection, version: int) -> bool:
    """Return True if a file has the tables of a version and no others, no triggers and no views."""
    expected = sqlite3.connect(":memory:")
    try:
        for statement in (statement for step in MIGRATIONS[:version] for statement in step):
            expected.execute(statement)
        return _objects(connection) == _objects(expected)
    finally:
        expected.close()


def _objects(connection: sqlite3.Connection) -> set[tuple[object, ...]]:
    return set(connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master"))
