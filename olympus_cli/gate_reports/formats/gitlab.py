"""A gate's report as GitLab's code quality: a JSON list of problems at lines of the program.

The keys are those in GitLab's manual for a custom tool ("Code Quality report format").  An entry
needs a line; cases without a line are only in the other formats.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from olympus_cli.gate_reports.formats.workspace import first_in_workspace
from olympus_cli.gate_reports.gate_report import Case, GateReport, Word
from olympus_cli.terminal import console

_SEVERITIES: Mapping[Word, str] = {
    "error": "critical",
    "failed": "major",
    "not judged": "critical",
    "inconclusive": "info",
}


def render_gitlab(report: GateReport) -> str:
    """Return the JSON text; a fingerprint depends only on the file, the gate and its target."""
    entries = [
        entry
        for case in report.cases
        if case.verdict in _SEVERITIES and (entry := _entry(case)) is not None
    ]
    return console.json_text(entries)


def _entry(case: Case) -> dict[str, Any] | None:
    place = first_in_workspace(case.places)
    if place is None:
        return None
    identity = "\0".join([place[0], case.target, case.gate, case.name])
    return {
        "description": f"{case.target}: {case.message}",
        "check_name": f"olympus {case.gate} {case.name}",
        "fingerprint": hashlib.sha256(identity.encode("utf-8", "backslashreplace")).hexdigest(),
        "severity": _SEVERITIES[case.verdict],
        "location": {"path": place[0], "lines": {"begin": place[1]}},
    }
