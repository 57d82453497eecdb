"""`torch.optim`: the library's optimizers, which have PyTorch's formulas and options."""

from __future__ import annotations

import inspect
from collections import defaultdict as _defaultdict
from typing import Any

from ... import optim as _core
from ...errors import ArgumentError as _ArgumentError
from . import lr_scheduler as lr_scheduler
from .optimizer import Optimizer as Optimizer
from .optimizer import Ready as _Ready

__all__ = [
    "LBFGS", "SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "Optimizer", "RAdam",
    "RMSprop", "Rprop", "lr_scheduler",
]

_IGNORED = ("foreach", "capturable", "fused")


def _adapted(core: Any, *own: str) -> Any:
    """A core's optimizer with PyTorch's `step` and the options that say how it computes."""
    known = inspect.signature(core.__init__).parameters

    def __init__(self: Any, params: Any, *args: Any, **options: Any) -> None:
        for name in _IGNORED:
            options.pop(name, None)
        if options.pop("differentiable", False):
            raise _ArgumentError(f"argument `differentiable` of {core.__name__}", "False", "True",
                                 "write the update with tensors of your own")
        if "decoupled_weight_decay" not in known:
            options.pop("decoupled_weight_decay", None)
        core.__init__(self, self._prepared(params), *args, **options)
        self.state = _defaultdict(dict, self.state)

    body = {
        "__init__": __init__, "__doc__": core.__doc__.partition(">>>")[0].rstrip(),
        "__module__": __name__, "__qualname__": core.__name__,
        "__signature__": inspect.signature(core), "_update": core._update,
    }
    body |= {name: getattr(core, name) for name in own}
    return type(core.__name__, (_Ready, core), body)


SGD, Adam, AdamW = _adapted(_core.SGD), _adapted(_core.Adam), _adapted(_core.AdamW)
RMSprop, Adagrad, Adadelta = map(_adapted, (_core.RMSprop, _core.Adagrad, _core.Adadelta))
Adamax, NAdam, RAdam, Rprop = map(
    _adapted, (_core.Adamax, _core.NAdam, _core.RAdam, _core.Rprop)
)
LBFGS = _adapted(_core.LBFGS, "step", "state_dict", "load_state_dict")
