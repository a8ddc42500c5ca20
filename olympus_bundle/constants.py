"""The large constants of programs: arrays that a bundle stores once for all of its programs."""

from __future__ import annotations

from olympus_bundle.bundle_file import BundleFile, program_manifest
from olympus_bundle.errors import ArtifactError, UsageError
from olympus_bundle.manifest import CONSTANTS, ArrayInfo, type_text
from olympus_bundle.weights import Array, aligned, weights_in


def constants_of(file: BundleFile, backend: str) -> list[tuple[ArrayInfo, Array]]:
    """Return the arrays that the program for a backend takes before the arguments of a call.

    Each is with its record in the manifest. They share the memory of the mapped file.

    Raises:
      ArtifactError: the file with the arrays is absent or damaged, or has other arrays.

    >>> [x.shape for _, x in constants_of(read_bundle(Path("f.olympus")), "cpu")]
    [(1000, 2560)]
    """
    constants = program_manifest(file).constants_for(backend)
    if not constants:
        return []
    if file.constants is None:
        raise ArtifactError(
            f"{file.path} has no {CONSTANTS}: it is a part of a bundle, which has its constants",
            hint="load the whole bundle with olympus_runtime.load",
        )
    try:
        stored = weights_in(file.constants, f"{file.path}: {CONSTANTS}")
    except UsageError as exc:
        raise ArtifactError(str(exc)) from None
    found = []
    for info in constants:
        array = stored.get(info.name)
        if array is None or (array.dtype, array.shape) != (info.dtype, info.shape):
            has = "none" if array is None else type_text(array.dtype, array.shape)
            raise ArtifactError(
                f"{file.path} cannot be used: its constant {info.name:.16} is "
                f"{type_text(info.dtype, info.shape)}, and {CONSTANTS} has {has}"
            )
        found.append((info, aligned(array)))
    return found
