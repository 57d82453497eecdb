"""`torch.optim.lr_scheduler`: the library's schedulers, which have PyTorch's names and formulas."""

from ...optim.schedulers import ChainedScheduler as ChainedScheduler
from ...optim.schedulers import ConstantLR as ConstantLR
from ...optim.schedulers import CosineAnnealingLR as CosineAnnealingLR
from ...optim.schedulers import CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts
from ...optim.schedulers import ExponentialLR as ExponentialLR
from ...optim.schedulers import LambdaLR as LambdaLR
from ...optim.schedulers import LinearLR as LinearLR
from ...optim.schedulers import LRScheduler as LRScheduler
from ...optim.schedulers import MultiplicativeLR as MultiplicativeLR
from ...optim.schedulers import MultiStepLR as MultiStepLR
from ...optim.schedulers import OneCycleLR as OneCycleLR
from ...optim.schedulers import PolynomialLR as PolynomialLR
from ...optim.schedulers import ReduceLROnPlateau as ReduceLROnPlateau
from ...optim.schedulers import SequentialLR as SequentialLR
from ...optim.schedulers import StepLR as StepLR
from ...optim.schedulers import __all__ as __all__

_LRScheduler = LRScheduler  # its older name
