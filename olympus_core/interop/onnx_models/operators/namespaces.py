"""The public namespaces that operators are written in."""

from __future__ import annotations

import importlib
from typing import Any

lax: Any = importlib.import_module("olympus.lax")
nn: Any = importlib.import_module("olympus.nn")
jnp: Any = importlib.import_module("olympus.numpy")
