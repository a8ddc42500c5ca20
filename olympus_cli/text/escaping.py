"""Text without commands to a terminal or to the log of a CI system.

Names in the text may come from anyone: in a bundle, a program, a file's path.  Each character that
would move the cursor, change colours, end a line or change the direction of writing is replaced by
its escape.  GitHub Actions executes commands in the output of a step: `::error::no` at the
beginning of a line, also after blanks, and `##[error]no` anywhere (`ActionCommand.cs` of GitHub's
runner).
"""

from __future__ import annotations

import re

# The controls of ASCII and Latin-1, Unicode's two separators, and the marks, embeddings, overrides
# and isolates of the Unicode Bidirectional Algorithm (UAX #9, section 2).  The last are the halves
# of surrogate pairs, which a name may contain and no stream can write.
_MARKS = "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
_OBEYED = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_MARKS}]")
_COMMAND = re.compile(r"(?m)^(?P<blanks>[^\S\n]*):(?=:)|#(?=#\[)")
_OBEYED_IN_A_LINE = re.compile(f"[\x00-\x1f\x7f-\x9f{_MARKS}]")


def visible(text: str) -> str:
    r"""Return the text with commands and control characters escaped, except newlines and tabs.

    The escapes are also valid in a JSON document.

    >>> visible("a\x1b[31mb\n")
    'a\\u001b[31mb\n'
    """
    return no_commands(_OBEYED.sub(_escape, text))


def no_commands(text: str) -> str:
    r"""Return the text with every command of GitHub Actions escaped.

    >>> no_commands("boom\n ::error::no ##[error]no a::b")
    'boom\n \\u003a:error::no \\u0023#[error]no a::b'
    """
    return _COMMAND.sub(_escape_command, text)


def one_line(text: str) -> str:
    r"""Return the text with newlines and tabs escaped too, for a table cell or a name.

    >>> one_line("a\nb")
    'a\\u000ab'
    """
    return no_commands(_OBEYED_IN_A_LINE.sub(_escape, text))


def _escape_command(match: re.Match[str]) -> str:
    return f"{match['blanks'] or ''}\\u{ord(match[0][-1]):04x}"


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"
