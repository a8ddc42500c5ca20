"""Text that a terminal shows and does not obey.

Anybody may have chosen the names in it: in a bundle, a program, a file's path.  Each character that
would move the cursor, change colours, end a line or turn the direction of writing is shown as its
escape.
"""

from __future__ import annotations

import re

__all__ = ["one_line", "visible"]

# The controls of ASCII, of Latin-1 and of Unicode's two separators, and the marks, embeddings,
# overrides and isolates of the Unicode Bidirectional Algorithm (UAX #9, section 2).  Last come the
# halves of surrogate pairs, which a name may hold and no stream can write.
_MARKS = "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
_OBEYED = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_MARKS}]")
_OBEYED_IN_A_LINE = re.compile(f"[\x00-\x1f\x7f-\x9f{_MARKS}]")


def visible(text: str) -> str:
    r"""The text with its own ends of lines and tabs, and everything else escaped.

    What is escaped in a JSON document is an escape of JSON.

    >>> visible("a\x1b[31mb\n")
    'a\\u001b[31mb\n'
    """
    return _OBEYED.sub(_escape, text)


def one_line(text: str) -> str:
    r"""The text with ends of lines and tabs escaped too: a cell, or a name.

    >>> one_line("a\nb")
    'a\\u000ab'
    """
    return _OBEYED_IN_A_LINE.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
