"""`tf.train`: optimizers, learning-rate schedules, moving averages, and saving."""

from __future__ import annotations

from . import optimizers as _optimizers
from . import saver as _saver
from . import schedules as _schedules
from .optimizers import *  # noqa: F403
from .saver import *  # noqa: F403
from .schedules import *  # noqa: F403

__all__ = [*_optimizers.__all__, *_saver.__all__, *_schedules.__all__]
