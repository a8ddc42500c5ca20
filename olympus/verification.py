"""Checks of a program's numbers, and a search for the operation that makes them wrong.

`docs/explanation/verification.md` describes the comparisons and the allowed rounding.
"""

from olympus_core.verification import Comparison as Comparison
from olympus_core.verification import Draw as Draw
from olympus_core.verification import Element as Element
from olympus_core.verification import Finding as Finding
from olympus_core.verification import RangeFault as RangeFault
from olympus_core.verification import Ranges as Ranges
from olympus_core.verification import ResultCheck as ResultCheck
from olympus_core.verification import Run as Run
from olympus_core.verification import Statistics as Statistics
from olympus_core.verification import Tolerance as Tolerance
from olympus_core.verification import Verification as Verification
from olympus_core.verification import arguments_of as arguments_of
from olympus_core.verification import can_vary as can_vary
from olympus_core.verification import compare as compare
from olympus_core.verification import first_wrong as first_wrong
from olympus_core.verification import interpret as interpret
from olympus_core.verification import judge_ranges as judge_ranges
from olympus_core.verification import prefix as prefix
from olympus_core.verification import runner as runner
from olympus_core.verification import statistics as statistics
from olympus_core.verification import ulps as ulps
from olympus_core.verification import verify as verify
from olympus_core.verification.padding.proof import PROOF_VERSION as PROOF_VERSION
from olympus_core.verification.padding.proof import PaddedAxes as PaddedAxes
from olympus_core.verification.padding.proof import prove_rows_independent as prove_rows_independent
