"""`olympus.experimental.custom_partitioning`: functions that their authors partition."""

from olympus_core.control.custom_partitioning import custom_partitioning as custom_partitioning
from olympus_core.control.custom_partitioning import custom_partitioning_p as custom_partitioning_p
from olympus_core.placement.factor_rules import BATCHING as BATCHING
from olympus_core.placement.factor_rules import ArrayMapping as ArrayMapping
from olympus_core.placement.factor_rules import CompoundFactor as CompoundFactor
from olympus_core.placement.factor_rules import SdyShardingRule as SdyShardingRule
