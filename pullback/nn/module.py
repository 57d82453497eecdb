"""`Module`: a function with parameters, which are found by looking at its attributes.

Nothing is registered, so a subclass need not call a base constructor. An attribute whose name does
not begin with an underscore belongs to the module if it is

* a `Parameter`, a trainable `Variable` or a tensor that requires gradients: a parameter;
* another tensor that was not computed from a tracked one: a buffer (saved, but not trained);
* a `Module`;
* or a list, tuple or dictionary of these.

Names are PyTorch's: `layers.0.weight`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..arrays import adapters
from ..core import versions
from ..core.cotangent import is_complex
from ..core.tensor import Tensor, is_inexact, raw, to_array, wrap
from ..errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError, suggestion
from ..variable import Variable
from .device import moved
from .parameter import Parameter

Named = list[tuple[str, Any]]


class Module:
    """Base class of layers and networks: set attributes, define `forward`, and call the module.

    >>> import pullback as pb
    >>> class Scale(pb.nn.Module):
    ...     def __init__(self, size):
    ...         self.scale = pb.nn.Parameter(pb.ones(size))
    ...     def forward(self, x):
    ...         return x * self.scale
    >>> module = Scale(2)
    >>> pb.sum(module(pb.tensor([3.0, 4.0]))).backward()
    >>> [(name, p.grad) for name, p in module.named_parameters()]
    [('scale', Tensor([3., 4.]))]
    """

    training = True  # until eval() is called

    forward: Callable[..., Any]
    """The forward computation; every subclass defines its own."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result of `forward`.

        Raises `ArgumentTypeError` if the module has no `forward`.
        """
        forward = getattr(self, "forward", None)
        if forward is None:
            raise ArgumentTypeError(
                f"call of {type(self).__name__}", "a module with a method `forward`", "none",
                "define `def forward(self, x): …`",
            )
        return forward(*args, **kwargs)

    # Contents ---------------------------------------------------------------------------------

    def _members(self) -> Iterator[tuple[str, Any]]:
        """The tensors and modules among the attributes, with their names."""
        for name, value in vars(self).items():
            if not name.startswith("_"):
                yield from _inside(name, value)

    def named_modules(self, prefix: str = "") -> Named:
        """(name, module) pairs for this module and all submodules, each once; own name: prefix."""
        found: Named = []
        _collect(self, prefix, found, set())
        return found

    def modules(self) -> list[Module]:
        """This module and all submodules, each once."""
        return [module for _, module in self.named_modules()]

    def children(self) -> list[Module]:
        """The direct submodules."""
        return [value for _, value in self._members() if isinstance(value, Module)]

    def named_parameters(self) -> Named:
        """(name, tensor) pairs of all trainable parameters, each once."""
        return _once((name, t) for name, t in self._tensors() if _is_parameter(t))

    def parameters(self) -> list[Any]:
        """All trainable parameters, each once: for an optimizer, or for `tape.gradient`.

        >>> from pullback import nn
        >>> [p.shape for p in nn.Linear(3, 2).parameters()]
        [(2, 3), (2,)]
        """
        return [p for _, p in self.named_parameters()]

    def named_buffers(self) -> Named:
        """(name, tensor) pairs of all buffers (saved but not trained), each once."""
        return _once((name, t) for name, t in self._tensors() if not _is_parameter(t))

    def buffers(self) -> list[Any]:
        """All buffers (saved but not trained, such as running averages), each once."""
        return [b for _, b in self.named_buffers()]

    def _tensors(self) -> Iterator[tuple[str, Any]]:
        """Every parameter and buffer; a shared tensor is listed under each of its names."""
        for prefix, module in self.named_modules():
            for name, value in module._members():
                if isinstance(value, Tensor) and (_is_parameter(value) or value.is_leaf):
                    yield _joined(prefix, name), value

    # Training mode, devices -------------------------------------------------------------------

    def train(self, mode: bool = True) -> Module:
        """Set this module and all submodules to training mode (dropout is active); returns it."""
        for module in self.modules():
            module.training = bool(mode)
        return self

    def eval(self) -> Module:
        """Set this module and all submodules to evaluation mode (no dropout); returns it."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Module:
        """Set `requires_grad` of all parameters (False freezes them); returns the module.

        A frozen `Parameter` or `Variable` stays a parameter; other frozen tensors become buffers.
        """
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def to(self, device: Any = None, dtype: Any = None, *, like: Any = None) -> Module:
        """Move parameters and buffers, and their gradients, in place; returns the module.

        device  a device of their array library, such as "cuda"
        dtype   a floating dtype; integer and boolean tensors keep theirs, and complex tensors
                get the complex dtype of the same precision
        like    a Tensor or an array: move to its library and its device

        Create optimizers afterwards: their state is not moved. Raises the library's own error for
        an unknown device, and `DtypeError` for a dtype that is not floating.

        >>> import pullback as pb
        >>> pb.nn.Linear(3, 2).to(dtype="float64").weight.dtype
        dtype('float64')
        """
        tensors = [t for _, t in _once(self._tensors())]
        moved(tensors, device, dtype, like, f"{type(self).__name__}.to")
        return self

    def zero_grad(self) -> None:
        """Set the gradients of all parameters to None."""
        for p in self.parameters():
            p.grad = None

    # Saving -----------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Tensor]:
        """A dictionary {name: copy} of parameters and buffers; later training does not change it.

        >>> from pullback import nn
        >>> list(nn.Sequential(nn.Linear(3, 2), nn.ReLU()).state_dict())
        ['0.weight', '0.bias']
        """
        return {
            name: wrap(Tensor, adapters[t._data.__class__].copy(t._data))
            for name, t in self._tensors()
        }

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True
    ) -> tuple[list[str], list[str]]:
        """Copy values into parameters and buffers; returns (missing names, unexpected names).

        strict  raise `ArgumentError` if any name is missing or unexpected

        Values are Tensors or arrays, and are converted to the dtypes of the module. An error leaves
        the module unchanged: `ShapeError` for another shape, `DtypeError` for a value that would
        lose its fraction or imaginary part.
        """
        ours = dict(self._tensors())
        missing = [name for name in ours if name not in state_dict]
        unexpected = [name for name in state_dict if name not in ours]
        who = f"load_state_dict of {type(self).__name__}"
        if strict and (missing or unexpected):
            got = [f"missing {', '.join(missing)}"] if missing else []
            got += [f"unexpected {', '.join(unexpected)}"] if unexpected else []
            fix = suggestion(unexpected[0], missing) if missing and unexpected else ""
            raise ArgumentError(
                who, "exactly the names of its parameters and buffers", "; ".join(got),
                fix or "pass strict=False to load the names that match",
            )
        fitted = [
            (t, _fitted(t, state_dict[name], f"{name!r} in {who}"))
            for name, t in ours.items() if name in state_dict
        ]
        for tensor, value in fitted:
            _put(tensor, value)
        return missing, unexpected

    # Printing ---------------------------------------------------------------------------------

    def extra_repr(self) -> str:
        """The text between the parentheses of `repr`."""
        return ""

    def __repr__(self) -> str:
        lines = [
            f"  ({name}): " + repr(value).replace("\n", "\n  ")
            for name, value in self._members() if isinstance(value, Module)
        ]
        if not lines:
            return f"{type(self).__name__}({self.extra_repr()})"
        first = [f"  {self.extra_repr()}"] if self.extra_repr() else []
        return "\n".join([f"{type(self).__name__}(", *first, *lines, ")"])


def _inside(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, (Tensor, Module)):
        yield name, value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from _inside(f"{name}.{key}", part)
    elif isinstance(value, (list, tuple)):
        for i, part in enumerate(value):
            yield from _inside(f"{name}.{i}", part)


def _collect(module: Module, name: str, found: Named, seen: set[int]) -> None:
    if id(module) in seen:
        return
    seen.add(id(module))
    found.append((name, module))
    for part, value in module._members():
        if isinstance(value, Module):
            _collect(value, _joined(name, part), found, seen)


def _once(named: Iterator[tuple[str, Any]]) -> Named:
    found: dict[int, tuple[str, Any]] = {}
    for name, value in named:
        found.setdefault(id(value), (name, value))
    return list(found.values())


def _joined(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name


def _is_parameter(value: Tensor) -> bool:
    if isinstance(value, Variable):
        return value.trainable
    return isinstance(value, Parameter) or (value.requires_grad and value.is_leaf)


def _fitted(target: Tensor, value: Any, who: str) -> Any:
    """A value as a raw array with the target's shape and dtype."""
    data = target._data
    array = adapters[data.__class__].asarray(to_array(raw(value), data))
    if tuple(array.shape) != target.shape:
        raise ShapeError(who, f"shape {target.shape}", f"shape {tuple(array.shape)}")
    if is_inexact(array) and (
        not is_inexact(data) or (is_complex(array) and not is_complex(data))
    ):
        raise DtypeError(who, f"values for dtype {data.dtype}", f"dtype {array.dtype}")
    return array


def _put(target: Tensor, value: Any) -> None:
    if isinstance(target, Variable):
        target.assign(value)
        return
    target._data = adapters[target._data.__class__].write(target._data, value)
    versions.written(target._data, "load_state_dict", line=False)
