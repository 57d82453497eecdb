"""`Module`: a function with parameters, which are found by looking at its attributes.

Nothing needs to be registered, so a subclass need not call a base constructor. An attribute whose
name does not begin with an underscore belongs to the module if it is

* a `Parameter`, a trainable `Variable` or a tensor that requires gradients: a parameter;
* another tensor that was not computed from a tracked one: a buffer (saved, but not trained);
* a `Module`;
* or a list, tuple or dictionary of these.

Names are PyTorch's: `layers.0.weight`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Self

from ..arrays import adapters
from ..arrays.kept import check_kept
from ..core import versions
from ..core.cotangent import is_complex
from ..core.tensor import Tensor, is_inexact, raw, to_array, wrap
from ..errors import ArgumentError, DtypeError, ShapeError, suggestion
from ..variable import Variable
from .calling import Calling
from .device import moved
from .parameter import Parameter


class Module(Calling):
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

    # How a front end's modules differ; see `pullback.torch.nn.Module`.
    _listed: ClassVar[Any] = list  # makes what the methods return
    _every_name: ClassVar[bool] = False  # list the state of a shared submodule under each name

    # Contents ---------------------------------------------------------------------------------

    def _members(self) -> Iterator[tuple[str, Any]]:
        """The tensors and modules among the attributes, with their names."""
        for name, value in vars(self).items():
            if not name.startswith("_"):
                yield from _inside(name, value)

    def _own(self, *kinds: str) -> Iterator[tuple[str, Any]]:
        """The module's own "parameters", "buffers" and "modules"; None where one is left out."""
        for name, value in self._members():
            if _kind(value) in kinds:
                yield name, value

    def _walk(self, prefix: str, once: bool, seen: set[int]) -> Iterator[tuple[str, Any]]:
        """This module and all submodules."""
        if once and id(self) in seen:
            return
        seen.add(id(self))
        yield prefix, self
        for name, module in self._own("modules"):
            if module is not None:
                yield from module._walk(_joined(prefix, name), once, seen)

    def _named(
        self, kind: str, prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        holders = self._walk(prefix, remove_duplicate, set()) if recurse else [(prefix, self)]
        found = (
            (_joined(before, name), value)
            for before, module in holders for name, value in module._own(kind) if value is not None
        )
        return _once(found) if remove_duplicate else found

    def named_modules(self, *, prefix: str = "", remove_duplicate: bool = True) -> Any:
        """(name, module) pairs for this module and all submodules, each once; own name: prefix."""
        return self._listed(self._walk(prefix, remove_duplicate, set()))

    def modules(self) -> Any:
        """This module and all submodules, each once."""
        return self._listed(module for _, module in self.named_modules())

    def named_children(self) -> Any:
        """(name, module) pairs of the direct submodules."""
        return self._listed(pair for pair in self._own("modules") if pair[1] is not None)

    def children(self) -> Any:
        """The direct submodules."""
        return self._listed(module for _, module in self.named_children())

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Any:
        """(name, tensor) pairs of all trainable parameters, each once.

        recurse  False for the module's own parameters only
        """
        return self._listed(self._named("parameters", prefix, recurse, remove_duplicate))

    def parameters(self, recurse: bool = True) -> Any:
        """All trainable parameters, each once: for an optimizer, or for `tape.gradient`.

        >>> from pullback import nn
        >>> [p.shape for p in nn.Linear(3, 2).parameters()]
        [(2, 3), (2,)]
        """
        return self._listed(p for _, p in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Any:
        """(name, tensor) pairs of all buffers (saved but not trained), each once."""
        return self._listed(self._named("buffers", prefix, recurse, remove_duplicate))

    def buffers(self, recurse: bool = True) -> Any:
        """All buffers (saved but not trained, such as running averages), each once."""
        return self._listed(b for _, b in self.named_buffers(recurse=recurse))

    def _tensors(self, *kinds: str) -> Iterator[tuple[str, Any]]:
        """Every parameter and buffer; a shared tensor is listed under each of its names."""
        for prefix, module in self._walk("", not self._every_name, set()):
            for name, value in module._own(*(kinds or ("parameters", "buffers"))):
                if value is not None:
                    yield _joined(prefix, name), value

    def get_submodule(self, target: str) -> Any:
        """The submodule with a dotted name; the empty name is this module.

        Raises `AttributeError` for an unknown name.

        >>> from pullback import nn
        >>> nn.Sequential(nn.Linear(3, 2), nn.ReLU()).get_submodule("1")
        ReLU()
        """
        if not target:
            return self
        for name, module in self._own("modules"):
            if module is not None and f"{target}.".startswith(f"{name}."):
                return module.get_submodule(target[len(name) + 1 :])
        raise AttributeError(f"{type(self).__name__} has no submodule {target!r}")

    def get_parameter(self, target: str) -> Any:
        """The parameter with a dotted name; raises `AttributeError` for an unknown name."""
        return self._found(target, "parameters")

    def get_buffer(self, target: str) -> Any:
        """The buffer with a dotted name; raises `AttributeError` for an unknown name."""
        return self._found(target, "buffers")

    def _found(self, target: str, kind: str) -> Any:
        found = dict(self._tensors(kind))
        if target not in found:
            raise AttributeError(f"{type(self).__name__} has no {target!r} in its {kind}")
        return found[target]

    # Training mode, devices -------------------------------------------------------------------

    def apply(self, fn: Callable[[Any], Any]) -> Self:
        """Call a function with every submodule, then with this module; returns the module."""
        for module in reversed([m for _, m in self._walk("", True, set())]):
            fn(module)
        return self

    def train(self, mode: bool = True) -> Self:
        """Set this module and all submodules to training mode (dropout is active); returns it."""
        for module in self.modules():
            module.training = bool(mode)
        return self

    def eval(self) -> Self:
        """Set this module and all submodules to evaluation mode (no dropout); returns it."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set `requires_grad` of all parameters (False freezes them); returns the module.

        A frozen `Parameter` or `Variable` stays a parameter; other frozen tensors become buffers.
        """
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def to(self, device: Any = None, dtype: Any = None, *, like: Any = None) -> Self:
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

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set the gradients of all parameters to None, or to zeros."""
        for p in self.parameters():
            if p.grad is not None:
                p.grad = None if set_to_none else p.grad.detach() * 0

    # Saving -----------------------------------------------------------------------------------

    def state_dict(self) -> Any:
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
        error = _refusal(self, missing, unexpected, []) if strict else None
        if error is not None:
            raise error
        subject = f"load_state_dict of {type(self).__name__}"
        fitted = [
            (t, _fitted(t, state_dict[name], f"{name!r} in {subject}"))
            for name, t in ours.items() if name in state_dict
        ]
        for tensor, value in fitted:
            _put(tensor, value)
        return missing, unexpected

    # Printing ---------------------------------------------------------------------------------

    def extra_repr(self) -> str:
        """The text between the parentheses of `repr`."""
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        lines = [
            f"  ({name}): " + repr(module).replace("\n", "\n  ")
            for name, module in self._own("modules")
        ]
        extra = self.extra_repr().split("\n") if self.extra_repr() else []
        if not lines and len(extra) < 2:
            return f"{self._get_name()}({''.join(extra)})"
        return "\n".join([f"{self._get_name()}(", *(f"  {e}" for e in extra), *lines, ")"])


def _inside(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, (Tensor, Module)):
        yield name, value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from _inside(f"{name}.{key}", part)
    elif isinstance(value, (list, tuple)):
        for i, part in enumerate(value):
            yield from _inside(f"{name}.{i}", part)


def _once(named: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    seen: set[int] = set()
    for name, value in named:
        if id(value) not in seen:
            seen.add(id(value))
            yield name, value


def _joined(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name


def _kind(value: Any) -> str:
    """How a module counts a tensor or a module: a computed tensor does not belong to it."""
    if isinstance(value, Module):
        return "modules"
    if isinstance(value, Variable):
        return "parameters" if value.trainable else "buffers"
    if isinstance(value, Parameter) or (value.requires_grad and value.is_leaf):
        return "parameters"
    return "buffers" if value.is_leaf else ""


def _refusal(
    module: Module, missing: list[str], unexpected: list[str], errors: list[str]
) -> ArgumentError | None:
    """The error for a state whose names or values differ from the module's, if they do."""
    got = [f"missing {', '.join(missing)}"] if missing else []
    got += [f"unexpected {', '.join(unexpected)}"] if unexpected else []
    if not got and not errors:
        return None
    fix = suggestion(unexpected[0], missing) if missing and unexpected else ""
    return ArgumentError(
        f"load_state_dict of {type(module).__name__}",
        "exactly the names of its parameters and buffers", "; ".join([*got, *errors]),
        fix or "pass strict=False to load the names that match",
    )


def _fitted(target: Tensor, value: Any, subject: str) -> Any:
    """A value as a raw array with the target's shape and dtype."""
    data = target._data
    array = adapters[data.__class__].asarray(to_array(raw(value), data))
    if tuple(array.shape) != target.shape:
        raise ShapeError(subject, f"shape {target.shape}", f"shape {tuple(array.shape)}")
    if is_inexact(array) and (
        not is_inexact(data) or (is_complex(array) and not is_complex(data))
    ):
        raise DtypeError(subject, f"values for dtype {data.dtype}", f"dtype {array.dtype}")
    return array


def _put(target: Tensor, value: Any) -> None:
    if isinstance(target, Variable):
        target.assign(value)
        return
    check_kept(target._data, "load_state_dict", value)
    target._data = adapters[target._data.__class__].write(target._data, value)
    versions.written(target._data, "load_state_dict", line=False)
