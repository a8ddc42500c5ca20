"""The C sources of a bundle's program: its header, the runtime, a command line and a build."""

from __future__ import annotations

import re
import tempfile
import zipfile
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

import olympus
from olympus.artifact import buckets_of, extract_program, load, stored_arrays
from olympus.errors import UsageError
from olympus_cli.export.c_program import CProgram, c_program
from olympus_cli.export.options import ExportOptions
from olympus_cli.program.buckets import is_for_several_sizes
from olympus_cli.terminal.output import write_file
from olympus_cli.text.paths import display_path

#: The parts of olympus_runtime.c, in the order of the file.
RUNTIME_PARTS = [
    *("prologue", "base", "digest", "bundle", "processor"),
    *("pjrt", "arrays", "model", "call", "rows"),
]
_HEADER = "olympus_runtime.h"


def write(path: Path, output: Path, options: ExportOptions) -> Path:
    """Write the C sources of the bundle at `path`, and a copy of it, to the folder `output`.

    The executable for the target of `options` is exported; without a target that for the CPU, or
    the first for a GPU. Only the result of an earlier export is replaced.

    Raises:
        ArtifactError: the bundle is damaged, or C cannot run its program.
        UsageError: `output` is another folder with files, or cannot be written.

    >>> write(Path("f.olympus"), Path("f-c"), ExportOptions())
    PosixPath('f-c')
    """
    with tempfile.TemporaryDirectory() as folder:
        program = _described(path, options.target, Path(folder))
    check_folder(output)
    contents: dict[str, str | bytes] = {
        _HEADER: runtime_header(),
        "olympus_runtime.c": runtime_source(),
        f"{program.name}.olympus": path.read_bytes(),
    }
    environment = _environment()
    for template in environment.list_templates():
        name = template.removesuffix(".jinja").replace("name.", f"{program.name}.")
        contents[name] = environment.get_template(template).render(p=program)
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{display_path(output)} cannot be made: {error.strerror}") from error
    for name, content in contents.items():
        write_file(output / name, content, quiet=True)
    return output


def runtime_header() -> str:
    """Return the content of `olympus_runtime.h`."""
    return _runtime_file(_HEADER)


def runtime_source() -> str:
    """Return the content of `olympus_runtime.c`: its parts, one after the other."""
    return "\n".join(_runtime_file(f"{part}.c") for part in RUNTIME_PARTS)


def _runtime_file(name: str) -> str:
    return (resources.files("olympus_cli.export") / "c_runtime" / name).read_text(encoding="utf-8")


def _described(path: Path, target: olympus.Target | None, folder: Path) -> CProgram:
    """Return the description of the program of a bundle; `folder` is for parts of it."""
    stored, program = stored_arrays(path), extract_program(path, folder)
    inner = None if program == path else program.name
    if not is_for_several_sizes(program):
        parts = [(inner, load(program, native=False))]
        return c_program(path, parts, stored=stored, target=target)
    rows = buckets_of(program)
    parts = []
    with zipfile.ZipFile(program) as archive:  # verified above
        for size in rows.sizes:
            name = rows.part(size)
            part = folder / f"{size}.olympus"
            part.write_bytes(archive.read(name))
            outer = name if inner is None else f"{inner}/{name}"
            parts.append((outer, load(part, native=False)))
    return c_program(path, parts, rows, stored=stored, target=target)


def check_folder(output: Path) -> None:
    """Raise UsageError unless the folder is missing, empty or of an earlier export."""
    try:
        names = {entry.name for entry in output.iterdir()}
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"{display_path(output)} cannot be written: {error.strerror}") from error
    if names and _HEADER not in names:
        raise UsageError(
            f"{display_path(output)} has files that are not of `olympus export --format c`",
            hint="name a new folder with --output",
        )


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("olympus_cli.export", "c_templates"),
        autoescape=False,  # the filters below escape names in C
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"comment": _comment, "literal": _literal}
    return environment


def _comment(value: Any) -> str:
    """Return text that cannot end a comment of C, continue its line or start another."""
    text = re.sub(r"[^\x20-\x7e]", "?", str(value))
    return text.replace("*/", "* /").replace("/*", "/ *").replace("\\", "/").replace("??", "? ?")


def _literal(value: Any) -> str:
    """Return a string literal of C with the UTF-8 bytes of a text."""
    return '"' + "".join(map(_escaped, str(value).encode("utf-8", "surrogatepass"))) + '"'


def _escaped(byte: int) -> str:
    """Return a byte in a string literal; an octal escape, of three digits, cannot run on."""
    character = chr(byte)
    if 0x20 <= byte < 0x7F and character not in '"\\?':
        return character
    return f"\\{byte:03o}"
