"""`olympus.experimental.shard_alike`: arrays with equal shardings."""

from olympus_core.library.experimental.hints import shard_alike as _shard_alike

shard_alike = _shard_alike
