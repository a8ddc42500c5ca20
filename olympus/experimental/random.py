"""Random numbers from a generator with a state."""

from olympus_core.library.stateful_random import StatefulPRNG as StatefulPRNG
from olympus_core.library.stateful_random import stateful_rng as stateful_rng
