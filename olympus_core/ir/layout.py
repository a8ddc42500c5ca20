"""Documents that are laid out on lines of a width: text, breaks, indentation and groups.

A group is one line if it fits into the rest of the line, and has its breaks as new lines
otherwise.  Notes are at the end of their lines, in one column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class Noted(NamedTuple):
    """A text with a note for the end of its line."""

    text: str
    note: str | None


class Break(NamedTuple):
    """A place where the line may end; `text` if it does not."""

    text: str = " "


class Nest(NamedTuple):
    """A document whose lines after the first are indented by `indent` more."""

    indent: int
    doc: Doc


class Group(NamedTuple):
    """A document that is on one line if it fits."""

    doc: Doc


Doc: TypeAlias = "str | Noted | Break | Nest | Group | list[Doc]"


def separated(separator: Doc, docs: Sequence[Doc]) -> list[Doc]:
    """Return the documents with a separator between each two.

    >>> separated(", ", ["a", "b"])
    ['a', ', ', 'b']
    """
    return [x for doc in docs for x in (separator, doc)][1:]


def _fits(doc: Doc, width: int) -> bool:
    """Return True if a document on one line has at most `width` characters."""
    rest = [doc]
    while rest and width >= 0:
        item = rest.pop()
        match item:
            case str():
                width -= len(item)
            case Noted(text) | Break(text):
                width -= len(text)
            case Nest(_, inner) | Group(inner):
                rest.append(inner)
            case list():
                rest.extend(reversed(item))
    return width >= 0


class _Lines:
    """The lines of a text, and the notes of each."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.column = 0
        self.notes: list[str] = []
        self.done: list[tuple[str, list[str]]] = []

    def write(self, text: str) -> None:
        self.parts.append(text)
        self.column += len(text)

    def end(self, indent: int = 0) -> None:
        self.done.append(("".join(self.parts), self.notes))
        self.parts, self.column, self.notes = [" " * indent], indent, []

    def text(self, prefix: str) -> str:
        """Return all lines; a note after the first of its line is on a line of its own."""
        width = max(len(line) for line, _ in self.done)
        lines = []
        for line, notes in self.done:
            if not notes:
                lines.append(line)
            for i, note in enumerate(notes):
                lines.append(f"{'' if i else line:{width}}{prefix}{note}")
        return "\n".join(lines)


def laid_out(doc: Doc, width: int = 80, note_prefix: str = " # ") -> str:
    """Return the text of a document on lines of `width` characters.

    >>> laid_out(Group(["(", Nest(2, [Break(""), "aaa", Break(), "bbb"]), ")"]), width=6)
    '(\\n  aaa\\n  bbb)'
    """
    lines = _Lines()
    rest: list[tuple[int, bool, Doc]] = [(0, False, doc)]  # indentation, on one line, document
    while rest:
        indent, flat, item = rest.pop()
        match item:
            case str():
                lines.write(item)
            case Noted(text, note):
                lines.write(text)
                if note is not None:
                    lines.notes.append(note)
            case Break(text):
                if flat:
                    lines.write(text)
                else:
                    lines.end(indent)
            case Nest(more, inner):
                rest.append((indent + more, flat, inner))
            case Group(inner):
                rest.append((indent, flat or _fits(inner, width - lines.column), inner))
            case list():
                rest.extend([(indent, flat, x) for x in reversed(item)])
    lines.end()
    return lines.text(note_prefix)
