"""`olympus.experimental.serialize_executable`: compiled programs as bytes."""

from olympus_core.artifact.executable_bytes import deserialize_and_load as deserialize_and_load
from olympus_core.artifact.executable_bytes import serialize as serialize
