"""What `olympus verify` finds, as the report of a gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from olympus_cli.gates.trials import Trials
from olympus_cli.reports.gates import Case, GateReport, Table, Word, place_in
from olympus_cli.verifying.show import COLUMNS, finding_message, result_message, rows, unchecked

__all__ = ["verified_report", "verified_table"]

Document = Mapping[str, Any]
_FIGURES = ("ulps", "error", "mismatches", "size", "got", "expected", "allowed")


def verified_report(documents: Sequence[Document], trials: Trials, with_seed: bool) -> GateReport:
    """The report of what `verify_target` gave; `with_seed` if a target was verified on several."""
    cases = [case for each in documents for case in _cases(each, with_seed)]
    return GateReport(
        "verify",
        (*cases, *trials.cases),
        tuple(verified_table(each, with_seed) for each in documents),
        {"targets": list(documents), "failed": trials.failed},
        notes=tuple(note for each in documents for note in _notes(each)),
        seconds=trials.seconds,
    )


def verified_table(document: Document, with_seed: bool) -> Table:
    """The table of one target on the inputs of one seed."""
    seed = f", seed {document['seed']}" if with_seed else ""
    title = f"{document['target']}  ({document['entry']}, {document['backend']}{seed})"
    return title, COLUMNS, tuple(rows(document))


def _cases(document: Document, with_seed: bool) -> list[Case]:
    """A case for each comparison, each operation that is wrong and each that decides nothing."""
    seed = f", seed {document['seed']}" if with_seed else ""
    target = document["target"]
    cases = [_case(target, each, seed) for each in document["checks"]]
    words: tuple[tuple[Word, str], ...] = (("failed", "operations"), ("inconclusive", "notes"))
    for verdict, found in words:
        cases += [
            Case(
                target,
                "verify",
                f"operation {each['operation']}{seed}",
                verdict,
                finding_message(each),
                _places(each),
                {name: each["element"][name] for name in ("ulps", "error")}
                if each["element"]
                else {},
            )
            for each in document[found]
        ]
    return cases


def _case(target: str, check: Document, seed: str) -> Case:
    finding = check["finding"]
    message = "" if check["passed"] else result_message(check)
    return Case(
        target,
        "verify",
        f"{check['result']} against {check['against']}{seed}",
        "passed" if check["passed"] else "failed",
        "\n".join([message, finding_message(finding)]) if finding else message,
        _places(finding) if finding else (),
        {name: check[name] for name in _FIGURES if name in check},
    )


def _places(finding: Document) -> tuple[str, ...]:
    return place_in(Path(), finding["location"] or "")


def _notes(document: Document) -> list[str]:
    found = [finding_message(each) for each in document["notes"]]
    return found + unchecked(document)
