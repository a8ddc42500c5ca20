"""The `.olympus` bundle: a compiled program with all data to call it in another process.

`save` writes the results of the stages to a file; `load` verifies a file and returns a `Bundle`.
"""

from olympus_bundle.host import COMPILERS, Host
from olympus_bundle.manifest import SCHEMA_VERSION, Member
from olympus_bundle.signatures import PublicKey
from olympus_core.artifact.buckets import all_sizes_of, buckets_of, join_buckets
from olympus_core.artifact.bundle import Bundle, load, sign, update_sources
from olympus_core.artifact.constants import part_digest
from olympus_core.artifact.files import write_whole
from olympus_core.artifact.jsontext import indented
from olympus_core.artifact.manifest import Manifest, Signature, StoredExecutable
from olympus_core.artifact.manifest_schema import manifest_schema
from olympus_core.artifact.saving import save
from olympus_core.artifact.signing import (
    KeyPair,
    SignatureState,
    new_key,
    sign_result,
    verify_result,
)
from olympus_core.artifact.stored_arrays import StoredArray, stored_arrays
from olympus_core.artifact.stored_tree import Node
from olympus_core.artifact.symbolic import join_symbolic, symbolic_of
from olympus_core.artifact.weights import (
    arguments_with_weights,
    digest_of_files,
    extract_program,
    join_weights,
    weights_of,
)

__all__ = [
    "COMPILERS",
    "SCHEMA_VERSION",
    "Bundle",
    "Host",
    "KeyPair",
    "Manifest",
    "Member",
    "Node",
    "PublicKey",
    "Signature",
    "SignatureState",
    "StoredArray",
    "StoredExecutable",
    "all_sizes_of",
    "arguments_with_weights",
    "buckets_of",
    "digest_of_files",
    "extract_program",
    "indented",
    "join_buckets",
    "join_symbolic",
    "join_weights",
    "load",
    "manifest_schema",
    "new_key",
    "part_digest",
    "save",
    "sign",
    "sign_result",
    "stored_arrays",
    "symbolic_of",
    "update_sources",
    "verify_result",
    "weights_of",
    "write_whole",
]
