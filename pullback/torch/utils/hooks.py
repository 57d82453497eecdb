"""`torch.utils.hooks`: the handle that removes a hook."""

from ...nn.hooks import RemovableHandle as RemovableHandle

__all__ = ["RemovableHandle"]
