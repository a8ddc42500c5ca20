"""`olympus.experimental.jet`: the derivatives of all orders along a curve."""

from olympus_core.library.jet import jet as jet
