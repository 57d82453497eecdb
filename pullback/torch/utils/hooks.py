"""`torch.utils.hooks`: the handle that takes a hook away."""

from ..nn.hooks import RemovableHandle as RemovableHandle

__all__ = ["RemovableHandle"]
