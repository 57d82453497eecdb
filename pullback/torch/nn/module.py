"""`torch.nn.Module`: parameters, buffers and submodules register on attribute assignment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...core.tensor import Tensor as CoreTensor
from ...errors import ArgumentError, ArgumentTypeError
from ...nn.module import Module as CoreModule
from ..errors import as_runtime
from .calling import Calling
from .converting import Converting
from .parameter import Buffer, Parameter
from .states import States

__all__ = ["Module"]


class Module(Calling, States, Converting, CoreModule):
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

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]

    def __init__(self) -> None:
        self.__dict__.update(
            training=True, _parameters={}, _buffers={}, _modules={},
            _non_persistent_buffers_set=set(), _hooks={},
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
        who = f"name given to {type(self).__name__}"
        if not isinstance(name, str):
            raise ArgumentTypeError(who, "a string", repr(name))
        if not name or "." in name:
            raise KeyError(f"{who}: expected a name without a dot, got {name!r}")
        if name not in self.__dict__[kind] and hasattr(self, name):
            raise KeyError(f"attribute {name!r} already exists")

    # Contents ---------------------------------------------------------------------------------

    def _members(self) -> Iterator[tuple[str, Any]]:
        for kind in (self._parameters, self._buffers, self._modules):
            for name, value in kind.items():
                if value is not None:
                    yield name, value

    def _named(
        self, members: Callable[[Any], Iterator[tuple[str, Any]]], prefix: str, recurse: bool,
        once: bool,
    ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        holders = (
            self.named_modules(prefix=prefix, remove_duplicate=once) if recurse
            else [(prefix, self)]
        )
        for before, module in holders:
            for name, value in members(module):
                if value is None or (once and id(value) in seen):
                    continue
                seen.add(id(value))
                yield (f"{before}.{name}" if before else name), value

    def named_parameters(  # type: ignore[override]
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """The parameters by name; without `recurse`, only the module's own."""
        return self._named(lambda m: iter(m._parameters.items()), prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Any]:  # type: ignore[override]
        """The parameters, each once."""
        return (p for _, p in self.named_parameters(recurse=recurse))

    def named_buffers(  # type: ignore[override]
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """The buffers by name."""
        return self._named(lambda m: iter(m._buffers.items()), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Any]:  # type: ignore[override]
        """The buffers, each once."""
        return (b for _, b in self.named_buffers(recurse=recurse))

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """The direct submodules by name, each once."""
        seen: set[int] = set()
        for name, module in self._modules.items():
            if module is not None and id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def children(self) -> Iterator[Any]:  # type: ignore[override]
        """The direct submodules, each once."""
        return (module for _, module in self.named_children())

    def named_modules(  # type: ignore[override]
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """This module and all submodules by name; its own name is the prefix."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                inner = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(memo, inner, remove_duplicate)

    def modules(self) -> Iterator[Any]:  # type: ignore[override]
        """This module and all submodules, each once."""
        return (module for _, module in self.named_modules())

    def _tensors(self) -> Iterator[tuple[str, Any]]:
        for prefix, module in self.named_modules(remove_duplicate=False):
            for name, value in (*module._parameters.items(), *module._buffers.items()):
                if value is not None:
                    yield (f"{prefix}.{name}" if prefix else name), value

    def get_submodule(self, target: str) -> Any:
        """The submodule with a dotted name; the empty name is this module."""
        found: Any = self
        for part in target.split(".") if target else ():
            found = getattr(found, part)
            if not isinstance(found, CoreModule):
                raise AttributeError(f"{part!r} in {target!r} is not a module")
        return found

    def get_parameter(self, target: str) -> Any:
        """The parameter with a dotted name."""
        return self._found(target, "_parameters")

    def get_buffer(self, target: str) -> Any:
        """The buffer with a dotted name."""
        return self._found(target, "_buffers")

    def _found(self, target: str, kind: str) -> Any:
        path, _, name = target.rpartition(".")
        holder = vars(self.get_submodule(path))[kind]
        if name not in holder:
            raise AttributeError(f"{type(self).__name__} has no {target!r} in {kind}")
        return holder[name]

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

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Make all parameters trainable, or (False) freeze them; returns the module."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients of the parameters to None, or to zeros."""
        for p in self.parameters():
            if p.grad is not None:
                p.grad = None if set_to_none else p.grad.detach() * 0

    # Printing ---------------------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        lines = [
            f"  ({name}): " + repr(module).replace("\n", "\n  ")
            for name, module in self._modules.items()
        ]
        extra = self.extra_repr().split("\n") if self.extra_repr() else []
        if not lines and len(extra) < 2:
            return f"{self._get_name()}({''.join(extra)})"
        return "\n".join([f"{self._get_name()}(", *(f"  {e}" for e in extra), *lines, ")"])


def _wrong(who: str, expected: str, got: Any) -> Exception:
    return ArgumentTypeError(who, expected, f"a {type(got).__name__}")
