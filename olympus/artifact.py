"""The `.olympus` bundle: a compiled program in one file, saved, loaded and called.

`docs/reference/bundle.md` describes the format and its guarantees.
"""

from olympus_bundle.buckets import ALL_SIZES as ALL_SIZES
from olympus_bundle.buckets import BUCKETS_VERSION as BUCKETS_VERSION
from olympus_bundle.buckets import BucketManifest as BucketManifest
from olympus_bundle.buckets import RowArray as RowArray
from olympus_bundle.bundle_file import schema_version as _schema_version
from olympus_bundle.manifest import CONSTANTS as CONSTANTS
from olympus_bundle.symbolic.manifest import SYMBOLIC_VERSION as SYMBOLIC_VERSION
from olympus_bundle.symbolic.manifest import SymbolicManifest as SymbolicManifest
from olympus_bundle.symbolic.manifest import part_name as part_name
from olympus_bundle.weight_bundles import WEIGHTS_VERSION as WEIGHTS_VERSION
from olympus_bundle.weight_bundles import WeightManifest as WeightManifest
from olympus_bundle.weights import DTYPES as _DTYPES
from olympus_bundle.weights import dotted as _dotted
from olympus_core.artifact import COMPILERS as COMPILERS
from olympus_core.artifact import SCHEMA_VERSION as SCHEMA_VERSION
from olympus_core.artifact import Bundle as Bundle
from olympus_core.artifact import Host as Host
from olympus_core.artifact import KeyPair as KeyPair
from olympus_core.artifact import Manifest as Manifest
from olympus_core.artifact import Member as Member
from olympus_core.artifact import Node as Node
from olympus_core.artifact import PublicKey as PublicKey
from olympus_core.artifact import Signature as Signature
from olympus_core.artifact import SignatureState as SignatureState
from olympus_core.artifact import StoredArray as StoredArray
from olympus_core.artifact import StoredExecutable as StoredExecutable
from olympus_core.artifact import all_sizes_of as all_sizes_of
from olympus_core.artifact import arguments_with_weights as arguments_with_weights
from olympus_core.artifact import buckets_of as buckets_of
from olympus_core.artifact import digest_of_files as digest_of_files
from olympus_core.artifact import extract_program as extract_program
from olympus_core.artifact import indented as indented
from olympus_core.artifact import join_buckets as join_buckets
from olympus_core.artifact import join_symbolic as join_symbolic
from olympus_core.artifact import join_weights as join_weights
from olympus_core.artifact import load as load
from olympus_core.artifact import manifest_schema as manifest_schema
from olympus_core.artifact import new_key as new_key
from olympus_core.artifact import part_digest as part_digest
from olympus_core.artifact import save as save
from olympus_core.artifact import sign as sign
from olympus_core.artifact import sign_result as sign_result
from olympus_core.artifact import stored_arrays as stored_arrays
from olympus_core.artifact import symbolic_of as symbolic_of
from olympus_core.artifact import update_sources as update_sources
from olympus_core.artifact import verify_result as verify_result
from olympus_core.artifact import weights_of as weights_of
from olympus_core.artifact import write_whole as write_whole
from olympus_core.stages.interface import ArgInfo as _ArgInfo
from olympus_core.xla import versions as _versions
from olympus_runtime.loading.bound_program import BoundProgram as BoundProgram
from olympus_runtime.loading.bucket_program import BucketProgram as BucketProgram
from olympus_runtime.loading.load import load as _load_program
from olympus_runtime.loading.result_store import executable_in as _executable_in
from olympus_runtime.loading.symbolic_program import SymbolicProgram as SymbolicProgram

load_program = _load_program
schema_version = _schema_version
compiler_versions = _versions
stored_executable = _executable_in
dotted_name = _dotted
WEIGHT_DTYPES = _DTYPES
Argument = _ArgInfo
Result = _ArgInfo
