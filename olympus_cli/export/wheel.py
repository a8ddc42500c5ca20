"""A Python wheel of a bundle: `pip install model.whl`, then `from model import forward`."""

from __future__ import annotations

import base64
import hashlib
import io
import re
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import olympus
from olympus.artifact import (
    BucketManifest,
    Bundle,
    Manifest,
    arguments_with_weights,
    buckets_of,
    extract_program,
    load,
)
from olympus.errors import ArtifactError, UsageError
from olympus_cli.export.options import ExportOptions
from olympus_cli.export.wheel_modules import WheelModule, check_name, module_source, stub_source
from olympus_cli.program.buckets import is_for_several_sizes
from olympus_cli.terminal.output import write_file
from olympus_cli.text.paths import display_path

_VERSION = re.compile(r"[0-9]+(\.[0-9]+)*((a|b|rc)[0-9]+)?(\.post[0-9]+)?(\.dev[0-9]+)?")
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest date that zip files have
_READABLE_FILE = 0o100644 << 16


def export_wheel(path: Path, output: Path, options: ExportOptions) -> Path:
    """Write a wheel of the bundle at `path` to the folder `output`, and return the wheel's path.

    The default module is named like the program, without the labels of a matrix, and the default
    function like the program's function.

    Raises:
        ArtifactError: the bundle is damaged, or its program has several devices.
        UsageError: a name cannot be that of a module or function, or the folder cannot be written.

    >>> export_wheel(Path("mlp.olympus"), Path("dist"), ExportOptions())
    PosixPath('dist/mlp-1.0-py3-none-any.whl')
    """
    with tempfile.TemporaryDirectory() as folder:
        program = extract_program(path, folder)
        manifest = _rows_of(program) or load(program, native=False).manifest
    if isinstance(manifest, Manifest) and manifest.callbacks:
        names = ", ".join(function.name for function in manifest.callbacks)
        raise UsageError(
            f"the program {manifest.name} calls the Python functions {names}, and a wheel has none",
            hint="load its bundle with callbacks={name: function}, or leave the calls out",
        )
    module = options.module or manifest.name.partition("@")[0].replace("-", "_")
    function = options.function or manifest.function
    version = options.wheel_version or "1.0"
    return write_wheel(path, output, module, function, version)


def write_wheel(
    bundle_path: Path, output_dir: Path, module_name: str, function_name: str, version: str
) -> Path:
    """Write a wheel with a module that has the program of a bundle as a function.

    The wheel is the same for the same bundle and arguments. It fits every machine: the loader
    compiles the program where the executable does not fit. An argument whose weights are in the
    bundle is no parameter of the function.

    Raises:
        ArtifactError: the bundle is damaged, or its program has several devices.
        UsageError: a name or the version is not valid, or the folder cannot be written.

    >>> write_wheel(Path("mlp.olympus"), Path("dist"), "mlp", "forward", "1.0")
    PosixPath('dist/mlp-1.0-py3-none-any.whl')
    """
    check_name("module", module_name)
    check_name("function", function_name)
    if _VERSION.fullmatch(version) is None:
        raise UsageError(
            f"{version!r:.80} is not the version of a package",
            hint="write numbers and dots, as in --wheel-version 1.2.0",
        )
    with tempfile.TemporaryDirectory() as folder:
        program = extract_program(bundle_path, folder)
        rows = _rows_of(program)
        bundle = load(program, native=False) if rows is None else _largest(program, rows)
    if bundle.num_devices > 1:
        raise ArtifactError(
            f"--format wheel is for programs of one device, and {bundle.manifest.name} is for "
            f"{bundle.num_devices} devices",
            hint="load its bundle with olympus.artifact.load",
        )
    names = module_name, function_name, version
    module = WheelModule.of(bundle, rows, arguments_with_weights(bundle_path), *names)
    info = f"{module_name}-{version}.dist-info"
    members = {
        f"{module_name}/__init__.py": module_source(module).encode(),
        f"{module_name}/__init__.pyi": stub_source(module).encode(),
        f"{module_name}/{module_name}.olympus": bundle_path.read_bytes(),
        f"{module_name}/py.typed": b"",
        f"{info}/METADATA": _metadata(module, bundle.manifest.versions).encode(),
        f"{info}/WHEEL": _WHEEL.encode(),
    }
    record = f"{info}/RECORD"
    members[record] = _record(members, record).encode()
    check_wheel_folder(output_dir)
    path = output_dir / f"{module_name}-{version}-py3-none-any.whl"
    try:
        output_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{display_path(output_dir)} cannot be made: {error.strerror}") from error
    write_file(path, _packed(members), quiet=True)
    return path


def _rows_of(path: Path) -> BucketManifest | None:
    """Return the manifest of a bundle for several numbers of rows; None for another file."""
    return buckets_of(path) if is_for_several_sizes(path) else None


def _largest(path: Path, rows: BucketManifest) -> Bundle:
    """Return the bundle of the largest number of rows, which has the types of all."""
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(path) as archive:
        return load(archive.extract(rows.part(rows.sizes[-1]), folder), native=False)


def check_wheel_folder(output: Path) -> None:
    """Raise UsageError if a wheel cannot be written to the folder, which may be missing."""
    if output.exists() and not output.is_dir():
        raise UsageError(
            f"{display_path(output)} is a file, and --format wheel writes to a folder",
            hint="the name of a wheel is its module, its version and its tags",
        )


_WHEEL = f"""\
Wheel-Version: 1.0
Generator: olympus {olympus.__version__}
Root-Is-Purelib: true
Tag: py3-none-any
"""


def _metadata(module: WheelModule, versions: Mapping[str, str]) -> str:
    """Return the wheel's metadata; the extra `native` has the jaxlib that the executable fits."""
    return f"""\
Metadata-Version: 2.1
Name: {module.name}
Version: {module.version}
Summary: {module.summary}
Requires-Python: >=3.11
Requires-Dist: olympus-runtime (>={olympus.__version__})
Provides-Extra: native
Requires-Dist: jaxlib (=={versions["jaxlib"]}) ; extra == 'native'
"""


def _record(members: Mapping[str, bytes], name: str) -> str:
    """Return the list of the files with their SHA-256 and sizes; that of the list is empty."""
    lines = []
    for member, content in sorted(members.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{member},sha256={digest},{len(content)}\n")
    return "".join([*lines, f"{name},,\n"])


def _packed(members: Mapping[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in sorted(
            members.items(), key=lambda item: (".dist-info" in item[0], item)
        ):
            info = zipfile.ZipInfo(name, _EPOCH)
            info.create_system, info.external_attr = 3, _READABLE_FILE
            archive.writestr(info, content, zipfile.ZIP_DEFLATED)
    return file.getvalue()
