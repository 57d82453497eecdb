"""Learning rates that change from step to step: an optimizer's, in its groups' `"lr"`.

Most multiply what is there by a factor, so that several may work on one optimizer. The first rate
of a group is kept in it as `"initial_lr"`.
"""

from .combined import ChainedScheduler as ChainedScheduler
from .combined import ReduceLROnPlateau as ReduceLROnPlateau
from .combined import SequentialLR as SequentialLR
from .cosine import CosineAnnealingLR as CosineAnnealingLR
from .cosine import CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts
from .cosine import OneCycleLR as OneCycleLR
from .factors import ConstantLR as ConstantLR
from .factors import ExponentialLR as ExponentialLR
from .factors import LambdaLR as LambdaLR
from .factors import LinearLR as LinearLR
from .factors import MultiplicativeLR as MultiplicativeLR
from .factors import MultiStepLR as MultiStepLR
from .factors import PolynomialLR as PolynomialLR
from .factors import StepLR as StepLR
from .scheduler import LRScheduler as LRScheduler

__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts",
    "ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR",
    "OneCycleLR", "PolynomialLR", "ReduceLROnPlateau", "SequentialLR", "StepLR",
]
