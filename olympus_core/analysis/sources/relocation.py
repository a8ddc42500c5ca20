"""The source lines of a compiled program, updated without compiling it.

Two builds of one program differ in source lines if only comments or layout changed.  A
`Relocation` maps the lines of the earlier build to those of now, and rewrites what the compiler
wrote: the tables of lines in optimized HLO and in executables for the CPU.
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from olympus_core.analysis.sources.sources import SourceMap
from olympus_core.base.errors import ArtifactError
from olympus_core.xla.proto import serialized

Line = tuple[str, int]  # a file, relative to the project's folder if it is inside it, and a line

_FILE = re.compile(r'^(\d+) "(.*)"$')
_LOCATION = re.compile(
    r"^(\d+ \{file_name_id=)(\d+)( function_name_id=\d+ line=)(\d+)( end_line=)(\d+)( .*)$"
)


@dataclass(frozen=True)
class Relocation:
    """A map from the source lines of an earlier build to the lines of now.

    `root` is the project's folder, from which relative paths are resolved.  `lines` has the lines
    that moved.  `is_needed` is False if places, scopes and texts are all equal.  `is_exact` is
    False if operations of one line are now on several lines, or a name scope differs: then the
    lines that the compiler wrote have no single line of now.
    """

    root: str
    lines: Mapping[Line, Line]
    is_needed: bool
    is_exact: bool = True
    _files: Mapping[str, str] = field(default_factory=dict, repr=False)

    @staticmethod
    def between(old: SourceMap, new: SourceMap, root: str | os.PathLike[str]) -> Relocation:
        """Return the relocation from the places of `old` to `new`, two maps of one program.

        Raises:
          ArtifactError: the maps describe different programs.

        Example:
          >>> Relocation.between(old, new, "/home/me/project").lines
          {('model.py', 12): ('model.py', 14)}
        """
        if old.program != new.program or len(old.places) != len(new.places):
            raise ArtifactError("the two maps of source lines belong to different programs")
        votes: defaultdict[Line, Counter[Line]] = defaultdict(Counter)
        files: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for before, now in zip(old.places, new.places, strict=True):
            if before.file and now.file:
                votes[before.file, before.line][now.file, now.line] += 1
                files[before.file][now.file] += 1
        chosen = {line: counts.most_common(1)[0][0] for line, counts in votes.items()}
        same_scopes = all(a.scope == b.scope for a, b in zip(old.places, new.places, strict=True))
        return Relocation(
            os.path.abspath(root),
            {line: now for line, now in chosen.items() if line != now},
            (old.places, dict(old.texts)) != (new.places, dict(new.texts)),
            same_scopes and all(len(counts) == 1 for counts in votes.values()),
            {file: counts.most_common(1)[0][0] for file, counts in files.items()},
        )

    @staticmethod
    def of_lines(old: Sequence[Line], new: Sequence[Line]) -> Relocation:
        """Return the relocation of each line of `old`, with an absolute path, to that of `new`.

        Raises:
          ArtifactError: the lists have other lengths, or a file of `old` would be two files.

        Example:
          >>> Relocation.of_lines([("/a/model.py", 12)], [("/b/model.py", 14)]).lines
          {('/a/model.py', 12): ('/b/model.py', 14)}
        """
        files: dict[str, str] = {}
        if len(old) != len(new) or any(
            files.setdefault(before, now) != now
            for (before, _), (now, _) in zip(old, new, strict=True)
        ):
            raise ArtifactError("the two lists of source lines belong to different programs")
        moved = dict(zip(old, new, strict=True))
        return Relocation("", moved, list(old) != list(new), _files=files)

    def in_hlo(self, text: str) -> str:
        """Return optimized HLO as text, with its tables of files and lines replaced."""
        return "\n".join(self._hlo_lines(text.split("\n")))

    def in_executable(self, content: bytes) -> bytes:
        """Return the bytes of an executable for the CPU, with the lines of its program replaced.

        Bytes in an unknown form are returned unchanged.
        """
        return serialized.relocated(content, self._located)

    def _hlo_lines(self, lines: list[str]) -> Iterator[str]:
        files, section = dict[str, str](), ""
        for line in lines:
            if line in ("FileNames", "FunctionNames", "FileLocations", "StackFrames"):
                section = line
            elif section == "FileNames" and (match := _FILE.match(line)):
                files[match[1]] = match[2]
                line = f'{match[1]} "{self._located(match[2], 0)[0]}"'
            elif section == "FileLocations" and (match := _LOCATION.match(line)):
                begin = self._located(files.get(match[2], ""), int(match[4]))[1]
                end = begin + int(match[6]) - int(match[4])
                line = f"{match[1]}{match[2]}{match[3]}{begin}{match[5]}{end}{match[7]}"
            yield line

    def _located(self, path: str, line: int) -> Line:
        """Return the current path and line for a path and line of the compilation."""
        file = self._known(path)
        if file is None:
            return path, line
        now = self._files[file]
        line = self.lines.get((file, line), (now, line))[1]
        return (os.path.join(self.root, now) if os.path.isabs(path) else now), line

    def _known(self, path: str) -> str | None:
        """Return the file of the earlier build at a path, which may have been in another folder."""
        if path in self._files:
            return path
        matching = (
            f for f in self._files if not os.path.isabs(f) and path.endswith(f"{os.sep}{f}")
        )
        return max(matching, key=len, default=None)
