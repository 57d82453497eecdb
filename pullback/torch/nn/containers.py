"""Modules that contain modules or parameters, in lists and dictionaries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ...core.tensor import Tensor as CoreTensor
from ...errors import ArgumentTypeError, PositionError
from .module import Module
from .parameter import Parameter

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


class _Listed(Module):
    """Modules accessed by index."""

    def _at(self, index: int) -> str:
        count = len(self._modules)
        if not -count <= index < count:
            raise PositionError(f"index of {type(self).__name__}", f"in [{-count}, {count})",
                                f"{index}")
        return list(self._modules)[index % count]

    def _renumbered(self, modules: Iterable[Any]) -> None:
        self._modules.clear()
        for i, module in enumerate(modules):
            self.add_module(str(i), module)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._modules.values()))

    def __contains__(self, module: Any) -> bool:
        return any(module is m for m in self._modules.values())

    def __setitem__(self, index: int, module: Any) -> None:
        setattr(self, self._at(index), module)

    def __delitem__(self, index: int | slice) -> None:
        modules = list(self)
        if not isinstance(index, slice):
            self._at(index)
        del modules[index]
        self._renumbered(modules)

    def append(self, module: Any) -> Any:
        """Append a module; returns this container."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Any]) -> Any:
        """Append several modules; returns this container."""
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index: int, module: Any) -> Any:
        """Insert a module before an index."""
        modules = list(self)
        modules.insert(index, module)
        self._renumbered(modules)
        return self

    def pop(self, index: int = -1) -> Any:
        """Remove a module, and return it."""
        module = self._modules[self._at(index)]
        del self[index]
        return module

    def __iadd__(self, modules: Iterable[Any]) -> Any:
        return self.extend(modules)


class Sequential(_Listed):
    """Runs modules one after another; pass them as arguments or as an ordered dictionary.

    >>> import pullback.torch as torch
    >>> torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh())
    Sequential(
      (0): Linear(in_features=3, out_features=8, bias=True)
      (1): Tanh()
    )
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named: Any = enumerate(args)
        if len(args) == 1 and isinstance(args[0], Mapping):
            named = args[0].items()
        for name, module in named:
            self.add_module(str(name), module)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(dict(list(self._modules.items())[index]))
        return self._modules[self._at(index)]

    def __add__(self, other: Any) -> Any:
        return Sequential(*self, *other)

    def forward(self, input: Any) -> Any:
        """Compute the layer's output."""
        for module in self._modules.values():
            input = module(input)
        return input


class ModuleList(_Listed):
    """A list of modules."""

    def __init__(self, modules: Iterable[Any] | None = None) -> None:
        super().__init__()
        self.extend(modules or ())

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self)[index])
        return self._modules[self._at(index)]

    def __add__(self, other: Iterable[Any]) -> Any:
        return ModuleList([*self, *other])


def _pairs(values: Any) -> Iterable[tuple[str, Any]]:
    return list(values.items()) if hasattr(values, "items") else list(values)


class _Keyed(Module):
    """Modules or parameters accessed by key."""

    _contents: Callable[[], dict[str, Any]]
    """A dictionary with these keys."""

    def __len__(self) -> int:
        return len(self._contents())

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._contents()))

    def __contains__(self, key: object) -> bool:
        return key in self._contents()

    def keys(self) -> Any:
        """The names."""
        return self._contents().keys()

    def pop(self: Any, key: str) -> Any:
        """Remove an entry, and return it."""
        value = self[key]
        del self[key]
        return value

    def clear(self: Any) -> None:
        """Remove all entries."""
        for key in self:
            del self[key]

    def update(self: Any, values: Any) -> None:
        """Add entries from a dictionary or from pairs."""
        for name, value in _pairs(values):
            self[name] = value


class ModuleDict(_Keyed):
    """A dictionary of modules."""

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        self.update(modules or {})

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Any) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def _contents(self) -> dict[str, Any]:
        return self._modules

    def values(self) -> Any:
        """The modules."""
        return self._modules.values()

    def items(self) -> Any:
        """Pairs of name and module."""
        return self._modules.items()


def _parameter(value: Any) -> Any:
    """Convert tensors to parameters; other values are unchanged."""
    if isinstance(value, CoreTensor) and not isinstance(value, Parameter):
        return Parameter(value)
    return value


def _described(value: Any) -> str:
    if not isinstance(value, CoreTensor):
        return f"Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return f"{kind} containing: [torch.{value.dtype} of size {'x'.join(map(str, value.shape))}]"


class ParameterList(Module):
    """A list of parameters."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        self.extend(values or ())

    def _name(self, index: int) -> str:
        if not -self._size <= index < self._size:
            raise PositionError("index of ParameterList", f"in [{-self._size}, {self._size})",
                                f"{index}")
        return str(index % self._size)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self)[index])
        return getattr(self, self._name(index))

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, self._name(index), _parameter(value))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(len(self))])

    def append(self, value: Any) -> ParameterList:
        """Append a value; returns the list."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """Append several values; returns the list."""
        if isinstance(values, CoreTensor):
            raise ArgumentTypeError("ParameterList.extend", "a list", "a tensor")
        for value in list(values):
            self.append(value)
        return self

    def __iadd__(self, values: Iterable[Any]) -> ParameterList:
        return self.extend(values)

    def extra_repr(self) -> str:
        """One line per entry."""
        return "\n".join(f"  ({i}): {_described(value)}" for i, value in enumerate(self))


class ParameterDict(_Keyed):
    """A dictionary of parameters."""

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        self.update(parameters or {})

    def __getitem__(self, key: str) -> Any:
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        self._keys[key] = None
        setattr(self, key, _parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def _contents(self) -> dict[str, Any]:
        return self._keys

    def values(self) -> Any:
        """The parameters."""
        return (self[key] for key in self._keys)

    def items(self) -> Any:
        """Pairs of name and parameter."""
        return ((key, self[key]) for key in self._keys)

    def get(self, key: str, default: Any = None) -> Any:
        """The parameter with a name, or the default."""
        return getattr(self, key) if key in self._keys else default

    def extra_repr(self) -> str:
        """One line per entry."""
        return "\n".join(f"  ({key}): {_described(value)}" for key, value in self.items())
