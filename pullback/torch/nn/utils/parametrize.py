"""`torch.nn.utils.parametrize`: a module's parameter as a function of other parameters."""

from __future__ import annotations

from typing import Any

from ....errors import ArgumentError
from ..containers import ModuleDict, ModuleList
from ..module import Module
from ..parameter import Parameter

__all__ = [
    "ParametrizationList", "is_parametrized", "register_parametrization", "remove_parametrizations",
]


class ParametrizationList(ModuleList):
    """Computes a tensor from the trained tensors `original`, or `original0`, …."""

    def __init__(self, modules: Any, original: Any) -> None:
        super().__init__(modules)
        values = original.data
        for module in reversed(list(self)):
            if hasattr(module, "right_inverse"):
                values = module.right_inverse(values)
        self.is_tensor = not isinstance(values, tuple)
        if self.is_tensor:
            self.original = Parameter(values.detach(), original.requires_grad)
            return
        for i, value in enumerate(values):
            setattr(self, f"original{i}", Parameter(value.detach(), original.requires_grad))

    def forward(self) -> Any:
        """The tensor."""
        first, *others = self
        if self.is_tensor:
            value = first(self.original)
        else:
            value = first(*(p for n, p in self._parameters.items() if n.startswith("original")))
        for module in others:
            value = module(value)
        return value


def is_parametrized(module: Any, tensor_name: str | None = None) -> bool:
    """True if a module has a parametrized tensor (with this name)."""
    found = module._modules.get("parametrizations")
    return found is not None and (tensor_name is None or tensor_name in found)


def register_parametrization(
    module: Any, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Any:
    """Replace a parameter by `parametrization(original)`; returns the module.

    If the parametrization has `right_inverse`, it gives the initial value of the original.

    >>> import pullback.torch as torch
    >>> class Symmetric(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> layer = torch.nn.Linear(3, 3)
    >>> layer = register_parametrization(layer, "weight", Symmetric())
    >>> bool((layer.weight == layer.weight.T).all())
    True
    """
    if is_parametrized(module, tensor_name):
        module.parametrizations[tensor_name].append(parametrization)
        return module
    original = module._parameters.get(tensor_name)
    if original is None:
        raise ArgumentError("`register_parametrization`", f"a parameter of {type(module).__name__}",
                            repr(tensor_name))
    if not is_parametrized(module):
        cls = type(module)
        module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), {"_plain": cls})
        module.parametrizations = ModuleDict()
    del module._parameters[tensor_name]
    module.parametrizations[tensor_name] = ParametrizationList([parametrization], original)
    setattr(type(module), tensor_name, property(lambda m: m.parametrizations[tensor_name]()))
    return module


def remove_parametrizations(
    module: Any, tensor_name: str, leave_parametrized: bool = True
) -> Any:
    """Make it an ordinary parameter again, with the computed value (or the original's)."""
    if not is_parametrized(module, tensor_name):
        raise ArgumentError("`remove_parametrizations`", "a parametrized tensor",
                            repr(tensor_name))
    made = module.parametrizations[tensor_name]
    value = made() if leave_parametrized else made.original
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    if not len(module.parametrizations):
        del module.parametrizations
        module.__class__ = type(module)._plain
    module.register_parameter(tensor_name, Parameter(value.detach()))
    return module
