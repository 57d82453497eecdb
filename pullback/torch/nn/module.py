"""`torch.nn.Module`: parameters, buffers and submodules register on attribute assignment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...core.tensor import Tensor as CoreTensor
from ...errors import ArgumentError, ArgumentTypeError
from ...nn.module import Module as CoreModule
from ...nn.module import _once
from ..errors import as_runtime
from .converting import Converting
from .parameter import Buffer, Parameter
from .states import States

__all__ = ["Module"]


class Module(States, Converting, CoreModule):
    """Base class of layers and networks: assign attributes, define `forward`, and call it.

    Call `super().__init__()` first. A `Parameter`, `Buffer` or `Module` assigned to an
    attribute is registered; other tensors, and the contents of lists, are not: use
    `register_buffer`, `ModuleList` and `ParameterList` for these.

    >>> import pullback.torch as torch
    >>> class Scale(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.scale = torch.nn.Parameter(torch.ones(2))
    ...     def forward(self, x):
    ...         return x * self.scale
    >>> [name for name, _ in Scale().named_parameters()]
    ['scale']
    """

    _listed, _every_name = iter, True
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]

    def __init__(self) -> None:
        self.__dict__.update(
            _parameters={}, _buffers={}, _modules={}, _non_persistent_buffers_set=set(),
        )

    # Attributes -------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        found = self.__dict__
        for kind in ("_parameters", "_buffers", "_modules"):
            if kind in found and name in found[kind]:
                return found[kind][name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        found = self.__dict__
        if isinstance(value, Parameter):
            self._ready("parameters")
            self._forget(name, but="_parameters")
            self.register_parameter(name, value)
        elif name in found.get("_parameters", ()):
            self._replace(name, value)
        elif isinstance(value, CoreModule):
            self._ready("module")
            self._forget(name, but="_modules")
            found["_modules"][name] = value
        elif isinstance(value, Buffer):
            self._ready("buffers")
            self._forget(name, but="_buffers")
            self.register_buffer(name, value, value.persistent)
        elif name in found.get("_modules", ()):
            self._replace(name, value)
        elif name in found.get("_buffers", ()):
            if value is not None and not isinstance(value, CoreTensor):
                raise _wrong(f"buffer {name!r} of {type(self).__name__}", "a tensor or None", value)
            found["_buffers"][name] = value
        else:
            object.__setattr__(self, name, value)

    def _replace(self, name: str, value: Any) -> None:
        kind = "_parameters" if name in self._parameters else "_modules"
        if value is not None:
            wanted = "a Parameter or None" if kind == "_parameters" else "a Module or None"
            raise _wrong(f"attribute {name!r} of {type(self).__name__}", wanted, value)
        self.__dict__[kind][name] = None

    def __delattr__(self, name: str) -> None:
        if not self._forget(name):
            object.__delattr__(self, name)

    def _forget(self, name: str, but: str = "") -> bool:
        """Remove a name from all registries except one; returns whether it was registered."""
        places = [self.__dict__[k] for k in ("_parameters", "_buffers", "_modules") if k != but]
        known = [place for place in (*places, self.__dict__) if name in place]
        for place in known:
            del place[name]
        self._non_persistent_buffers_set.discard(name)
        return bool(known)

    def _ready(self, what: str) -> None:
        if "_parameters" not in self.__dict__:
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")

    def __dir__(self) -> list[str]:
        names = {*super().__dir__(), *self._parameters, *self._buffers, *self._modules}
        return sorted(n for n in names if not n[:1].isdigit())

    def register_parameter(self, name: str, param: Any) -> None:
        """Register a parameter; None reserves the name."""
        self._ready("parameters")
        self._check_name(name, "_parameters")
        if param is not None and not isinstance(param, Parameter):
            raise _wrong(f"parameter {name!r} of {type(self).__name__}", "a Parameter", param)
        if param is not None and not param.is_leaf:
            raise as_runtime(ArgumentError(
                f"parameter {name!r}", "a leaf", "a computed tensor", "detach it first",
            ))
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Register a tensor that is not trained; part of `state_dict` if persistent."""
        self._ready("buffers")
        self._check_name(name, "_buffers")
        if tensor is not None and not isinstance(tensor, CoreTensor):
            raise _wrong(f"buffer {name!r} of {type(self).__name__}", "a tensor", tensor)
        self._buffers[name] = tensor
        change = self._non_persistent_buffers_set
        (change.discard if persistent else change.add)(name)

    def register_module(self, name: str, module: Any) -> None:
        """Register a submodule."""
        self._ready("module")
        self._check_name(name, "_modules")
        if module is not None and not isinstance(module, CoreModule):
            raise _wrong(f"module {name!r} of {type(self).__name__}", "a Module", module)
        self._modules[name] = module

    add_module = register_module

    def _check_name(self, name: Any, kind: str) -> None:
        subject = f"name given to {type(self).__name__}"
        if not isinstance(name, str):
            raise ArgumentTypeError(subject, "a string", repr(name))
        if not name or "." in name:
            raise KeyError(f"{subject}: expected a name without a dot, got {name!r}")
        if name not in self.__dict__[kind] and hasattr(self, name):
            raise KeyError(f"attribute {name!r} already exists")

    # Contents ---------------------------------------------------------------------------------

    def _own(self, *kinds: str) -> Iterator[tuple[str, Any]]:
        for kind in kinds:
            yield from vars(self)[f"_{kind}"].items()

    def named_children(self) -> Any:
        """(name, module) pairs of the direct submodules, each once."""
        return _once(super().named_children())

    def named_modules(
        self, memo: Any = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Any:
        """This module and all submodules by name; its own name is the prefix."""
        memo = set() if memo is None else memo
        for name, module in self._walk(prefix, remove_duplicate, {id(m) for m in memo}):
            memo.add(module)
            yield name, module

    # Modes ------------------------------------------------------------------------------------

    def apply(self, fn: Callable[[Any], Any]) -> Any:
        """Call a function with every submodule, then with this module; returns the module."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self, mode: bool = True) -> Any:
        """Set training mode (such as dropout) for the module and all submodules; returns it."""
        if not isinstance(mode, bool):
            raise ArgumentError("argument `mode` of train", "a boolean", repr(mode))
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self


def _wrong(subject: str, expected: str, got: Any) -> Exception:
    return ArgumentTypeError(subject, expected, f"a {type(got).__name__}")
