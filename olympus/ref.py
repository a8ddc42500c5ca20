"""Mutable references, and functions of them."""

from olympus_core.library.refs import addupdate as addupdate
from olympus_core.library.refs import empty_ref as empty_ref
from olympus_core.library.refs import free_ref as free_ref
from olympus_core.library.refs import freeze as freeze
from olympus_core.library.refs import get as get
from olympus_core.library.refs import new_ref as new_ref
from olympus_core.library.refs import set as set
from olympus_core.library.refs import swap as swap
from olympus_core.transforms.references import AbstractRef as AbstractRef
from olympus_core.transforms.references import Reference as _Reference

Ref = _Reference
