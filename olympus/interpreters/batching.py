"""Batching rules of primitives."""

from olympus_core.extension.batching_rules import (
    axis_primitive_batchers as axis_primitive_batchers,
)
from olympus_core.extension.batching_rules import bdim_at_front as bdim_at_front
from olympus_core.extension.batching_rules import broadcast as broadcast
from olympus_core.extension.batching_rules import defbroadcasting as defbroadcasting
from olympus_core.extension.batching_rules import defreducer as defreducer
from olympus_core.extension.batching_rules import defvectorized as defvectorized
from olympus_core.extension.batching_rules import primitive_batchers as primitive_batchers
from olympus_core.extension.programs.batching import batch_jaxpr_axes as batch_jaxpr_axes
from olympus_core.extension.programs.batching import batch_subtrace as batch_subtrace
from olympus_core.extension.programs.batching import zero_if_mapped as zero_if_mapped
from olympus_core.extension.rules import (
    fancy_primitive_batchers as fancy_primitive_batchers,
)
from olympus_core.transforms.vmappables import register_vmappable as register_vmappable
from olympus_core.transforms.vmappables import unregister_vmappable as unregister_vmappable
