"""`olympus.experimental.roofline`: the operations and bytes of a function.

The submodule is imported before its function, whose name it has: its first import puts it here.
"""

from olympus.experimental.roofline import roofline as _submodule
from olympus_core.library.experimental import roofline_rules as _rules
from olympus_core.library.experimental.roofline import RooflineResult as RooflineResult
from olympus_core.library.experimental.roofline import RooflineRuleContext as RooflineRuleContext
from olympus_core.library.experimental.roofline import RooflineShape as RooflineShape
from olympus_core.library.experimental.roofline import register_roofline as register_roofline
from olympus_core.library.experimental.roofline import (
    register_standard_roofline as register_standard_roofline,
)
from olympus_core.library.experimental.roofline import roofline as roofline
from olympus_core.library.experimental.roofline import roofline_and_grad as roofline_and_grad
