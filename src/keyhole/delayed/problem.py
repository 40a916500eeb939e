"""The instance: arms, their rewards, and how long these take to arrive."""

from collections.abc import Sequence
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike

from keyhole.core.memory import FloatArray
from keyhole.core.setting import Setting
from keyhole.core.validate import Range, choice, vector
from keyhole.core.world import World
from keyhole.delayed.delays import Delay, Empirical
from keyhole.delayed.environment import world_of
from keyhole.delayed.learner import FEEDBACK
from keyhole.delayed.setting import SETTING

_UNIT: Final = Range(ge=0, le=1)
_WHOLE: Final = Range(ge=0, le=2**52)
