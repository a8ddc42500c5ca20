"""Optimized programs for TPUs, from the bytes of executables to modules of jaxlib."""

from __future__ import annotations

import re
from typing import Any

from olympus_core.xla.bindings import JAXLIB_RELEASE, _hlo
from olympus_core.xla.proto.tpu_executable import (
    optimized_module,
    relocated_module,
    without_update_operands,
)

# These versions refuse an `async-update` with several operands, and log the stack of the failure.
_IS_OLD = JAXLIB_RELEASE < (0, 12)
_FILE = re.compile(r'^(\d+) "(.*)"$', re.MULTILINE)
_LINE = re.compile(r"^\d+ \{file_name_id=(\d+) function_name_id=\d+ line=(\d+) ", re.MULTILINE)


def readable_module(module: bytes) -> Any:
    """Return jaxlib's module of an `HloModuleProto`, in the form that this version can read.

    Raises:
      JaxRuntimeError: jaxlib cannot read the module.
    """
    content = without_update_operands(module) if _IS_OLD else module
    return _hlo.HloModule.from_serialized_hlo_module_proto(content)


def saved_tpu_module(text: str, serialized: bytes) -> bytes | None:
    """Return the `HloModuleProto` of a saved executable, with the source lines of its text.

    jaxlib cannot parse the text of some programs for TPUs, although it wrote it.  The bytes have
    the program; the text has the lines of the last build, which may have changed since the
    compilation.  Return None if the bytes have another form.

    Raises:
      JaxRuntimeError: jaxlib cannot read the module.
    """
    module = optimized_module(serialized)
    if module is None:
        return None
    options = _hlo.HloPrintOptions()
    options.print_metadata = True
    before, now = _tables(readable_module(module).to_string(options)), _tables(text)
    old_files, new_files = _files(before), _files(now)
    old_lines, new_lines = _LINE.findall(before), _LINE.findall(now)
    if before == now or old_files.keys() != new_files.keys() or len(old_lines) != len(new_lines):
        return module  # in the last case another version of jaxlib wrote the text
    moved = {(old_files[number], 0): (path, 0) for number, path in new_files.items()}
    for (old_file, old_line), (new_file, new_line) in zip(old_lines, new_lines, strict=True):
        moved[old_files[old_file], int(old_line)] = (new_files[new_file], int(new_line))
    return relocated_module(module, lambda path, line: moved.get((path, line), (path, line)))


def _files(tables: str) -> dict[str, str]:
    """Return the files in the first table, by number."""
    return dict(_FILE.findall(tables[: tables.find("\nFunctionNames\n")]))


def _tables(text: str) -> str:
    """Return the tables of files, functions and lines at the head of a module's text."""
    begin = text.find("\nFileNames\n")
    return text[begin : text.find("\nStackFrames\n", begin)] if begin >= 0 else ""
