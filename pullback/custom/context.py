"""What a `Function` keeps for its backward: the context, and what of it has a history."""

from __future__ import annotations

from typing import Any

from ..core import state as _state
from ..core import writes
from ..core.node import FREED, Node, new, number, where
from ..core.record import freed
from ..core.tensor import Tensor, is_inexact, wrap
from ..errors import ArgumentTypeError, NotDifferentiableError

OUTPUT = -1  # in a saved entry: the node of the value is the context's own
MADE = -2  # in a saved entry: made inside forward, where nothing is recorded


class Context(Node):
    """What `forward` leaves for `backward`: `ctx`, and at the same time the recorded node."""

    __slots__ = ("__dict__", "_to_save", "cls")

    cls: type
    _to_save: tuple[Any, ...]
    spaces: Any = None
    _dirty: tuple[Any, ...] = ()
    _flat: tuple[Any, ...] = ()
    _several = False
    _materialize = True
    _recording = False

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors (or None) for `backward`, which reads them as `ctx.saved_tensors`.

        Inputs and outputs are kept with their history, so that `backward` can be differentiated.
        """
        for t in tensors:
            if not isinstance(t, Tensor) and t is not None:
                raise ArgumentTypeError(
                    "ctx.save_for_backward", "tensors or None", f"a {type(t).__name__}",
                    "keep other things as attributes: ctx.limit = limit",
                )
        self._to_save = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors that were saved.

        Raises `GraphFreedError` after they were freed, `InplaceError` when one was overwritten.
        """
        saved = self.saved
        if saved is FREED:
            raise freed(self)
        written = writes.latest[0] > self.seq
        if saved.__class__ is tuple:  # inputs, which hold their own history
            if written:
                for t in saved:
                    if t is not None:
                        writes.check_array(t._data, self, self.seq, "saved tensor")
            return saved
        if self._recording or written:
            return tuple([self._restored(entry) for entry in saved])
        return tuple([e and wrap(e[1], e[0]) for e in saved])

    def _restored(self, entry: Any) -> Any:
        """One saved tensor, checked against in-place writes, with its history."""
        if entry is None:
            return None
        data, cls, node = entry
        writes.check_array(data, self, self.seq, "saved tensor")
        if not self._recording:
            return wrap(cls, data)
        if node.__class__ is int:
            node = self if node == OUTPUT else lost_history(self, data)
        return wrap(cls, data, node)

    @property
    def needs_input_grad(self) -> tuple[bool, ...]:
        """For each argument, whether a gradient of it can be wanted."""
        return tuple([p is not None for p in self.parents])

    def mark_dirty(self, *tensors: Any) -> None:
        """Say which inputs `forward` changed in place; they must be among the outputs."""
        self._dirty = tensors
        self._several = True

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Say which outputs have no gradient."""
        self._flat = tensors
        self._several = True

    def set_materialize_grads(self, value: bool) -> None:
        """Whether the cotangent of an unused output is handed as zeros (default) or None."""
        self._materialize = value

    def name(self) -> str:
        """The name of the function with `Backward` behind."""
        return type(self).__name__


def saved_entry(t: Any, args: tuple[Any, ...], outs: tuple[Any, ...]) -> Any:
    """What is kept of a saved tensor: (array, class, node), or None.

    Never an output itself, whose node is the context: that would make a cycle. Nor a tensor that
    can be assigned another array.
    """
    if t is None:
        return None
    node: Any = t._node
    if any(o is t for o in outs):
        node = OUTPUT
    elif node is None and not any(a is t for a in args):
        node = MADE
    return t._data, t._out, node


def untie(ctx: Any, outs: tuple[Any, ...]) -> None:
    """Replace attributes of the context that are outputs by twins, which make no cycle."""
    for name, value in ctx.__dict__.items():
        if isinstance(value, Tensor) and any(value is o for o in outs):
            ctx.__dict__[name] = wrap(value._out, value._data)


def linked(node: Any) -> dict[str, Any]:
    """While `backward` is recorded, let tensors that are attributes have a history; what to undo.

    What was made inside forward gets one that raises when a derivative needs it.
    """
    before = {
        name: value for name, value in node.__dict__.items()
        if isinstance(value, Tensor) and value._node is None and is_inexact(value._data)
    }
    for name, value in before.items():
        node.__dict__[name] = wrap(value._out, value._data, lost_history(node, value._data))
    return before


class UnknownOp:
    """The operation of a value whose dependence on the inputs was not recorded."""

    keeps = False

    def __init__(self, message: tuple[str, str, str, str]) -> None:
        self.name = message[0]
        self.message = message

    def pull(self, node: Node, g: Any, cotangents: dict[Node, Any]) -> None:
        """Raise: a derivative needs what is not known."""
        raise NotDifferentiableError(*self.message)

    def step(self, node: Node, g: Any, cotangents: dict[Node, Any], *rest: Any) -> None:
        """Raise: a derivative needs what is not known."""
        self.pull(node, g, cotangents)


def lost_history(ctx: Node, data: Any) -> Node:
    """A node for a tensor made inside forward, that raises when a derivative needs its history."""
    return unknown(ctx.parents, data, (
        f"second derivative through {where(ctx)}",
        "saved inputs and outputs, whose history is known",
        "a tensor that was made inside forward, where nothing is recorded",
        "compute it in backward from the saved inputs, or return it from forward as an output "
        "(a constant made outside: pass it as an argument)",
    ))


def unknown(
    parents: tuple[Node | None, ...], data: Any, message: tuple[str, str, str, str]
) -> Node:
    """A node that raises when a derivative is taken through it."""
    node = new(Node)
    node.op = UnknownOp(message)
    node.parents = parents
    node.saved = ()
    node.seq = number()
    node.level = min((p.level for p in parents if p is not None), default=_state.ALL)
    node.shape, node.dtype = data.shape, data.dtype
    return node
