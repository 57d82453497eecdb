"""`torch.autograd.graph`: nodes, gradient edges, multi-tensor hooks, and saved-tensor hooks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...core import reverse, versions
from ...core import state as _state
from ...core.state import Scoped
from ...core.tensor import Tensor as CoreTensor
from ...custom.saved_tensor_hooks import Packing
from ...errors import ArgumentError, ArgumentTypeError, DisconnectedError
from ..errors import as_runtime
from ..nodes import GradientEdge as GradientEdge
from ..nodes import Node as Node
from ..nodes import as_tensors as as_tensors
from ..nodes import place, shown

__all__ = [
    "GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks",
    "get_gradient_edge", "increment_version", "register_multi_grad_hook", "save_on_cpu",
    "saved_tensors_hooks",
]

_disabled: Scoped[str | None] = Scoped("no_saved_tensors_hooks", None)


# Saved tensors --------------------------------------------------------------------------------


class saved_tensors_hooks:
    """Context manager: saved tensors go through `pack_hook`, and `unpack_hook` restores them.

    pack_hook    receives the tensor, and returns the object to store instead
    unpack_hook  receives that object, and returns a tensor of the same shape, dtype and values

    >>> import pullback.torch as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t.half(), lambda t: t.float()):
    ...     y = (x * x).sum()
    >>> y.backward()
    >>> x.grad
    tensor([2., 4.])
    """

    def __init__(
        self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]
    ) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook
        self._before: list[Any] = []

    def __enter__(self) -> None:
        message = _disabled.get()
        if message is not None:
            raise as_runtime(ArgumentError(
                "saved_tensors_hooks", "a block in which they are enabled", message
            ))
        before = _state.change(packing=Packing(self.pack_hook, self.unpack_hook))
        self._before.append(before.packing)

    def __exit__(self, *exc: object) -> None:
        _state.change(packing=self._before.pop())


class save_on_cpu(saved_tensors_hooks):
    """Context manager that stores saved tensors on the CPU, where all tensors already are."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cpu") -> None:
        super().__init__(lambda t: t.clone(), lambda t: t)


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Context manager in which using `saved_tensors_hooks` raises an error with this message."""
    token = _disabled.set(error_message)
    before = _state.change(packing=None)
    try:
        yield
    finally:
        _disabled.set(token)
        _state.change(packing=before.packing)


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[None]:
    """Context manager that allows writing to saved tensors: it saves copies of them.

    >>> import pullback.torch as torch
    >>> with torch.autograd.graph.allow_mutation_on_saved_tensors():
    ...     x = torch.tensor([1.0, 2.0], requires_grad=True)
    ...     y = x.clone()
    ...     out = (y * y).sum()
    ...     _ = y.mul_(10)
    ...     out.backward()
    >>> x.grad
    tensor([2., 4.])
    """
    with saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        yield


def increment_version(tensor: Any) -> None:
    """Record that tensors were modified in a way that the library cannot see."""
    for x in [tensor] if isinstance(tensor, CoreTensor) else tensor:
        versions.written(x._data, "increment_version")


# Nodes and edges ------------------------------------------------------------------------------


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """The gradient edge of a tensor: its node, and the index of the output.

    >>> import pullback.torch as torch
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> edge = torch.autograd.graph.get_gradient_edge(x)
    >>> torch.autograd.grad(x * x, edge)
    (tensor(6.),)
    """
    if not tensor.requires_grad:
        raise DisconnectedError(
            "get_gradient_edge()", "a tensor that requires grad", "a tensor that does not"
        )
    node = tensor._node
    return GradientEdge(shown(node), place(node), node)


# Hooks on several tensors ---------------------------------------------------------------------


class _Handles:
    def __init__(self, handles: list[Any]) -> None:
        self._handles = handles

    def remove(self) -> None:
        """Remove the hooks."""
        for handle in self._handles:
            handle.remove()

    def __enter__(self) -> _Handles:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def register_multi_grad_hook(
    tensors: Sequence[Any], fn: Callable[..., Any], *, mode: str = "all"
) -> Any:
    """Registers a hook on several tensors, called once per backward pass.

    mode  "all": `fn(gradients)` once all are computed; None for tensors that get no gradient;
          "any": `fn(gradient)` for the first tensor whose gradient is computed

    >>> import pullback.torch as torch
    >>> a, b = (torch.tensor(1.0, requires_grad=True) for _ in "ab")
    >>> _ = torch.autograd.graph.register_multi_grad_hook((a, b), lambda gs: print(gs))
    >>> (a * 2).backward()
    [tensor(2.), None]
    """
    if mode not in ("all", "any"):
        raise ArgumentError("argument `mode`", "'all' or 'any'", repr(mode))
    tensors = list(tensors)
    if not all(isinstance(t, CoreTensor) for t in tensors):
        raise ArgumentTypeError(
            "register_multi_grad_hook", "tensors", "a value that is not a tensor"
        )
    collected: dict[int, Any] = {}
    nodes = [t._node for t in tensors]
    current: list[Any] = [None]

    def hook_of(index: int) -> Callable[[Any], None]:
        def hook(gradient: Any) -> None:
            run = reverse.passing()
            if current[0] is not run:
                current[0] = run
                collected.clear()
            collected[index] = gradient
            if mode == "any":
                if len(collected) == 1:
                    fn(gradient)
                return
            if all(i in collected for i, n in enumerate(nodes) if n in run):
                fn([collected.get(i) for i in range(len(nodes))])
                collected.clear()

        return hook

    return _Handles([t.register_hook(hook_of(i)) for i, t in enumerate(tensors)])
