"""Layouts of arrays in memory."""

from olympus_core.library.experimental.hints import (
    with_layout_constraint as with_layout_constraint,
)
from olympus_core.placement.layout import Format as Format
from olympus_core.placement.layout import Layout as Layout
