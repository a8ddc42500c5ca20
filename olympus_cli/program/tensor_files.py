"""Arrays of .safetensors files, in which a tensor's name is a path such as `params.0.w`.

The files may be untrusted. The package `safetensors` checks the header against the size of the
file. Names, shapes and dtypes are checked against the program's before an array is made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes  # noqa: F401  (makes numpy know bfloat16 and the 8-bit floats by name)
import numpy as np

from olympus.artifact import WEIGHT_DTYPES, dotted_name
from olympus.errors import BackendError, UsageError
from olympus.files import open_regular, parse_json, read_regular
from olympus.stages import ArgInfo
from olympus_cli.process.memory import available_memory
from olympus_cli.text.nearest import renamed
from olympus_cli.text.paths import display_path
from olympus_cli.text.units import array_type

Array = np.ndarray[Any, Any]

SUFFIX = ".safetensors"
_INSTALL = "pip install 'olympus[safetensors]'"
_MAX_NAMES = 6  # in a message
_MAX_KNOWN = 12  # arguments in a hint
_MAX_BYTES = 2**40  # of a file
_MAX_HEADER = 10**8  # bytes, as the format limits it


def is_safetensors(path: Path) -> bool:
    """Return True if the name of a file has the suffix of the format."""
    return path.name.endswith(SUFFIX)


def tensor_names(path: Path) -> list[str]:
    """Return the names of the tensors in a file, from its header.

    Raises OSError for a file that cannot be read, and ValueError for another content.
    """
    with open_regular(path, _MAX_BYTES) as file:
        length = int.from_bytes(file.read(8), "little")
        if length > _MAX_HEADER:
            raise ValueError("the header is too large")
        header = parse_json(file.read(length))
    if not isinstance(header, dict):
        raise ValueError("the header is not an object")
    return [name for name in header if name != "__metadata__"]


def safetensors_arrays(
    path: Path,
    leaves: Sequence[ArgInfo],
    key: str | None = None,
    program: Sequence[ArgInfo] | None = None,
) -> dict[str, Array]:
    """Return the array in the file for each leaf, by leaf name; tensors have `dotted_name` names.

    The file of the one argument `key` may leave its name out: `0.w` for `params[0]['w']`. `program`
    has all arguments of the program, for hints, if `leaves` are only some of them.

    Raises:
        BackendError: the package `safetensors` is not installed.
        UsageError: the file cannot be read, lacks an argument, has one more, or has one of another
            shape.
    """
    library = _library()
    try:
        tensors = dict(library.deserialize(read_regular(path, _most_bytes())))
    except OSError as error:
        raise UsageError(
            f"{display_path(path)} cannot be read: {error.strerror or error}"
        ) from error
    except Exception as error:  # a class of the package's own
        raise UsageError(f"{display_path(path)} is not a .safetensors file: {error}") from error
    names = _names_of(path, leaves, list(tensors), key, program or leaves)
    return {leaf.name: _array(path, leaf, tensors[names[leaf.name]]) for leaf in leaves}


def _most_bytes() -> int:
    """Return the size limit of a file, in bytes: the whole file is read into memory."""
    available = available_memory()
    return _MAX_BYTES if available is None else min(available, _MAX_BYTES)


def _library() -> Any:
    try:
        import safetensors
    except ImportError as error:
        raise BackendError(
            f".safetensors files need the package safetensors, which is not installed: {_INSTALL}",
            hint=_INSTALL,
        ) from error
    return safetensors


def _names_of(
    path: Path,
    leaves: Sequence[ArgInfo],
    tensors: Sequence[str],
    key: str | None,
    program: Sequence[ArgInfo],
) -> dict[str, str]:
    """Return the tensor of each leaf: with the leaf's name, the dotted name, or that less `key`."""
    wanted = {leaf.name for leaf in leaves}
    every = _forms(program, key)
    forms = [{name: tensor for name, tensor in form.items() if name in wanted} for form in every]
    fitting = [i for i, form in enumerate(forms) if set(form.values()) == set(tensors)]
    scores = [(len(set(form.values()) & set(tensors)), i == 1) for i, form in enumerate(forms)]
    chosen = fitting[0] if fitting else scores.index(max(scores))  # of equals, the dotted names
    form, known = forms[chosen], list(every[chosen].values())
    if len(set(form.values())) < len(leaves):
        raise UsageError(
            f"two arguments have one name in {display_path(path)}: a key with a dot is "
            "like two keys",
            hint="a .npz file has the names of the arguments as they are",
        )
    missing = [name for name in form.values() if name not in tensors]
    extra = [name for name in tensors if name not in form.values()]
    hint = _names_hint(tensors, extra, known)
    if missing:
        stray = f", and has {_listed(extra)}, which the program does not take" if extra else ""
        raise UsageError(f"{display_path(path)} lacks {_listed(missing)}{stray}", hint=hint)
    if extra:
        what = f"{display_path(path)} has {_listed(extra)}"
        raise UsageError(f"{what}, which the program does not take", hint=hint)
    return form


def _forms(leaves: Sequence[ArgInfo], key: str | None) -> list[dict[str, str]]:
    """Return the possible forms of tensor names, each by leaf name."""
    whole = {leaf.name: dotted_name(leaf.name) for leaf in leaves}
    forms = [{leaf.name: leaf.name for leaf in leaves}, whole]
    if key is not None:
        prefix = f"{dotted_name(key)}."
        forms.append({name: tensor.removeprefix(prefix) for name, tensor in whole.items()})
    return forms


def _names_hint(tensors: Sequence[str], extra: Sequence[str], known: Sequence[str]) -> str | None:
    """Return the hint on the names of tensors: the nearest argument, and all arguments."""
    has, takes = _listed(tensors) or "none", _listed(known, _MAX_KNOWN) or "no arrays"
    near = renamed(list(map(repr, extra)), [repr(name) for name in known if name not in tensors])
    if near:
        return f"{near} the program takes {takes}"
    return f"its tensors are {has}; the program takes {takes}" if has != takes else None


def _compare(path: Path, leaf: ArgInfo, dtype: str, shape: tuple[int, ...]) -> None:
    """Raise UsageError for a tensor of another shape, or of a dtype that NumPy does not have."""
    if dtype not in WEIGHT_DTYPES:
        raise UsageError(f"{display_path(path)} has {leaf.name} in {dtype}, which cannot be read")
    if shape != leaf.shape:
        raise UsageError(
            f"argument {leaf.name} is {array_type(leaf.dtype_name, leaf.shape)}, "
            f"but {display_path(path)} has {array_type(WEIGHT_DTYPES[dtype], shape)} for it"
        )


def _array(path: Path, leaf: ArgInfo, tensor: Mapping[str, Any]) -> Array:
    _compare(path, leaf, tensor["dtype"], tuple(tensor["shape"]))
    content = np.frombuffer(tensor["data"], np.uint8)
    if tensor["dtype"] == "BOOL" and np.any(content > 1):
        raise UsageError(f"{display_path(path)} has a byte for {leaf.name} that is no bool")
    dtype = np.dtype(WEIGHT_DTYPES[tensor["dtype"]]).newbyteorder("<")
    return content.view(dtype).reshape(leaf.shape)


def _listed(names: Sequence[str], most: int = _MAX_NAMES) -> str:
    more = len(names) - most
    return ", ".join(map(repr, names[:most])) + (f" and {more} more" if more > 0 else "")
