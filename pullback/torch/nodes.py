"""`grad_fn`: graph nodes with PyTorch's interface."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

from .. import ops
from ..core.multi_output import Pick
from ..core.node import FREED, Leaf, note
from ..core.node import Node as CoreNode
from ..core.record import freed
from ..core.tensor import Tensor as CoreTensor
from ..core.tensor import raw, wrap
from ..custom.context import FunctionNode
from ..custom.saved_tensor_hooks import PackedOp, Packing, unpacked
from ..errors import ArgumentError
from ..passes import hooks
from .errors import as_runtime, guarded_pull

_NAMES = {
    "absolute": "Abs", "multiply": "Mul", "subtract": "Sub", "divide": "Div", "negative": "Neg",
    "identity": "Clone", "matmul": "Mm", "permute_dims": "Permute", "reshape": "View",
    "expand_dims": "Unsqueeze", "broadcast_to": "Expand", "getitem": "Slice", "concat": "Cat",
    "cumulative_sum": "Cumsum", "cumulative_prod": "Cumprod", "swapaxes": "Transpose",
    "matrix_transpose": "T", "square": "Pow", "astype": "ToCopy", "clip": "Clamp",
    "take_along_axis": "Gather", "take": "IndexSelect", "unstack": "Unbind", "atan2": "Atan2",
    "vector_norm": "LinalgVectorNorm", "set_at": "CopySlices", "put_view": "CopySlices",
    "take_view": "AsStrided", "log_softmax": "LogSoftmax", "leaf": "AccumulateGrad",
    "cross_entropy": "NllLoss",
}
_POSITIONS = {"self": 0, "input": 0, "other": 1, "mat2": 1, "exponent": 1, "weight": 1}

owners: weakref.WeakKeyDictionary[Leaf, Any] = weakref.WeakKeyDictionary()
"""Leaf -> weak reference to its tensor."""

_shown: weakref.WeakValueDictionary[int, Node] = weakref.WeakValueDictionary()
_kinds: dict[str, type[Node]] = {}


def name_of(node: CoreNode) -> str:
    """PyTorch's name of a recorded operation, such as `MulBackward0`.

    Operations that PyTorch does not have are named by the same pattern.
    """
    if isinstance(node, FunctionNode):
        return node.name()
    own = node.op.name
    if own == "leaf":
        return "AccumulateGrad"
    return _NAMES.get(own, own.title().replace("_", "")) + "Backward0"


class Node:
    """A node of the autograd graph: `tensor.grad_fn`. Its class is named after the operation.

    For a `Function`, it has the attributes of the context, such as `saved_tensors`; for others,
    `_saved_self`, `_saved_other` and `_saved_result`, if they are saved.

    >>> import pullback.torch as torch
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> (x * x).grad_fn.name()
    'MulBackward0'
    """

    __slots__ = ("__weakref__", "_node")

    _node: Any

    def name(self) -> str:
        """The name of the operation, such as `MulBackward0`; AccumulateGrad for a leaf."""
        return type(self).__name__

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes of the inputs, each with its output index."""
        return tuple([(None, 0) if p is None else (shown(p), place(p)) for p in self._node.parents])

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for user data about the node."""
        found = note(self._node)
        if found.metadata is None:
            found.metadata = {}
        return found.metadata

    def register_hook(self, fn: Callable[..., Any]) -> Any:
        """Call `fn(grad_inputs, grad_outputs)` after each backward pass through this node.

        Both are tuples. A non-None result replaces grad_inputs. If an input occurs twice, its
        first entry holds its whole gradient, and the second None.
        """
        if isinstance(self._node, Leaf):
            hook, node = fn, self._node
            return hooks.added(node, "before", lambda gs: _passed(hook((), gs), gs))
        return hooks.added(self._node, "after", guarded_pull(fn))

    def register_prehook(self, fn: Callable[..., Any]) -> Any:
        """Call `fn(grad_outputs)`, with a tuple, before each backward pass through this node.

        A non-None result replaces grad_outputs.
        """
        return hooks.added(self._node, "before", fn)

    @property
    def variable(self) -> Any:
        """The leaf into which an AccumulateGrad node accumulates gradients."""
        if not isinstance(self._node, Leaf):
            raise AttributeError("variable")
        return leaf_tensor(self._node)

    def __getattr__(self, name: str) -> Any:
        node = self._node
        if isinstance(node, FunctionNode):
            return getattr(node, name)
        for prefix in ("_raw_saved_", "_saved_"):
            if name.startswith(prefix):
                at = self._position(name.removeprefix(prefix))
                return SavedTensor(node, at) if prefix == "_raw_saved_" else saved_value(node, at)
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def _position(self, name: str) -> int:
        node = self._node
        if node.saved is FREED:
            raise freed(node)
        packed = getattr(node.saved, "packed", {})
        at = len(node.parents) if name == "result" else _POSITIONS.get(name, len(node.saved))
        if at >= len(node.saved) or (node.saved[at] is None and at not in packed):
            raise AttributeError(f"{type(self).__name__} did not save `{name}`")
        return at


def _passed(returned: Any, gs: Any) -> Any:
    return None if returned is None or returned == () else returned


def saved_value(node: Any, at: int) -> Any:
    """A value that a node saved: a tensor with its history, or a number."""
    from .tensor import Tensor

    packed = getattr(node.saved, "packed", {})
    value = unpacked(packed[at], "a saved tensor") if at in packed else node.saved[at]
    if isinstance(value, weakref.ref):
        value = value()
    parents = node.parents
    parent = parents[at] if at < len(parents) else node
    if isinstance(parent, Leaf) and at not in packed:
        return leaf_tensor(parent)
    return wrap(Tensor, value, parent) if hasattr(value, "dtype") else value


class SavedTensor:
    """A saved tensor of one operation; `register_hooks` packs it."""

    def __init__(self, node: Any, at: int) -> None:
        self._node, self._at = node, at

    def register_hooks(
        self, pack_hook: Callable[..., Any], unpack_hook: Callable[..., Any]
    ) -> None:
        """Store the result of `pack_hook` instead of the value; `unpack_hook` restores it.

        Raises `ArgumentError` (also a `RuntimeError`) if it already has hooks.
        """
        from .tensor import Tensor

        node = self._node
        if isinstance(node.op, PackedOp):
            raise as_runtime(ArgumentError(
                "register_hooks of a saved tensor", "a saved tensor without hooks",
                "hooks are already registered", "register hooks for one saved tensor only",
            ))
        Packing(pack_hook, unpack_hook).pack(node, [self._at], Tensor)


def leaf_tensor(leaf: Leaf) -> Any:
    """The tensor of a leaf, or a new tensor like it if it was garbage-collected."""
    from .tensor import Tensor

    owner = owners.get(leaf)
    found = owner() if owner is not None else None
    return wrap(Tensor, leaf.data, leaf) if found is None or found._node is not leaf else found


def place(node: CoreNode) -> int:
    """The index of a node among its operation's outputs."""
    return node.index if isinstance(node, Pick) else 0


def shown(node: CoreNode) -> Node:
    """The unique `Node` for a recorded operation."""
    if isinstance(node, Pick):
        node = node.parents[0]
    found = _shown.get(id(node))
    if found is None or found._node is not node:
        name = name_of(node)
        cls = _kinds.get(name)
        if cls is None:
            cls = _kinds[name] = type(name, (Node,), {"__slots__": (), "__doc__": Node.__doc__})
        found = cls()
        found._node = node
        _shown[id(node)] = found
    return found


class GradientEdge(NamedTuple):
    """One output of a graph node; a target for gradients that does not keep the tensor alive."""

    node: Node
    output_nr: int
    ownership_token: Any = None


def as_tensor(value: Any) -> Any:
    """A stand-in tensor for an edge; a tensor is returned unchanged."""
    if not isinstance(value, GradientEdge):
        return value
    from .tensor import Tensor

    node = value.ownership_token or value.node._node
    data = raw(ops.broadcast_to(ops.zeros((), dtype=node.dtype), tuple(node.shape)))
    return wrap(Tensor, data, node)


def as_tensors(values: Any) -> Any:
    """`as_tensor` for one value or several."""
    if isinstance(values, (CoreTensor, GradientEdge)):
        return as_tensor(values)
    if isinstance(values, dict):
        values = values.values()
    return None if values is None else [as_tensor(v) for v in values]
