"""Layouts of arrays in memory."""

from olympus_core.placement.layout import Format as Format
from olympus_core.placement.layout import Layout as Layout
