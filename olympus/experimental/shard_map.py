"""`shard_map` with the signature of older programs; `olympus.shard_map` is the newer form."""

from olympus_core.library.shard_map import older_shard_map as _older_shard_map

shard_map = _older_shard_map
