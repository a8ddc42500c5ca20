"""`olympus.scipy.spatial.transform`: rotations in three dimensions."""

from olympus_core.library.scipy.rotations import Rotation as Rotation
from olympus_core.library.scipy.rotations import Slerp as Slerp
