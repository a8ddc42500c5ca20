"""The key of one compilation: equal keys mean equal results, apart from source lines.

The key covers the program with the names and scopes of its operations, the options and everything
in `compiler_facts`. It covers neither the target, the entry, argument names nor files and lines:
two targets, checkouts or branches with equal programs have equal keys. Files and lines are numbered
in the order of their first occurrence, and the key covers the numbers. Two programs with equal keys
therefore have corresponding lists of lines, and the result of one can be relocated to the other.
The values of large constants are not covered: they are arguments of the executable.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from olympus.stages import driver_digest
from olympus_cli.builder.key import compiler_facts, digest_of, inspections_of, profile_options
from olympus_cli.program.stages import Unit
from olympus_cli.spec.model import TargetSpec

Line = tuple[str, int]  # a file as in the program's locations, and a line

#: The definition of a place in the text of a module. A name with an escape or a range of lines
#: does not match: it is in the key as it is.
_PLACE = re.compile(r'^(#loc\d* = loc\(")([^"\\]*)":(\d+):(\d+\))$', re.MULTILINE)


#: The SHA-256 of a large constant, in the attributes of an argument.
_CONSTANT = re.compile(r'olympus\.constant = "[0-9a-f]{64}"')


class CompileKey(NamedTuple):
    """The key of a compilation, as 64 hexadecimal digits, and the source lines of its program."""

    digest: str
    lines: tuple[Line, ...]


def compile_key(spec: TargetSpec, unit: Unit) -> CompileKey:
    """Return the key of the compilation of a lowered program of `spec`.

    >>> len(compile_key(program.spec, program.units[0]).digest)
    64
    """
    program, lines = numbered_lines(unit.lowered.as_text(debug_info=True))
    facts = {
        "program": digest_of(program),
        "options": [
            *profile_options(spec, unit),
            unit.lowered.signature.compiler_options,
            dict(spec.compiler_options),
        ],
        "inspections": inspections_of(unit),
        "devices": [unit.lowered.num_devices, *unit.lowered.device_order()],
        "driver": driver_digest(),  # of two checkouts of OLYMPUS with one version
        **compiler_facts(unit.backend),
    }
    return CompileKey(digest_of(json.dumps(facts, sort_keys=True)), lines)


def numbered_lines(text: str) -> tuple[str, tuple[Line, ...]]:
    """Return the text of a module with numbers for its files and lines, and the lines.

    >>> numbered_lines('#loc1 = loc("/home/me/model.py":41:4)')
    ('#loc1 = loc("0":0:4)', (('/home/me/model.py', 41),))
    """
    files: dict[str, int] = {}
    lines: dict[Line, int] = {}

    def numbered(match: re.Match[str]) -> str:
        begin, file, line, end = match.groups()
        number = lines.setdefault((file, int(line)), len(lines))
        return f'{begin}{files.setdefault(file, len(files))}":{number}:{end}'

    return _PLACE.sub(numbered, _CONSTANT.sub("", text)), tuple(lines)
