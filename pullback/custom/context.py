"""What a `Function` keeps for its backward: the context, and what of it has a history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core import state as _state
from ..core import versions
from ..core.compiled import NODE_SLOTS, ContextBase, compiled
from ..core.custom_op import CustomNode
from ..core.multi_output import end_of
from ..core.node import FREED, Node, number, object_new, where
from ..core.record import freed
from ..core.tensor import Tensor, is_inexact, wrap
from ..errors import ArgumentTypeError, NotDifferentiableError
from .saved_tensor_hooks import Packed, unpacked

MADE = -1  # in a saved entry: made inside forward, where nothing is recorded


class Context(ContextBase):
    """What `forward` leaves for `backward`: `ctx`, with any attributes one puts on it.

    The recorded node holds it, and it holds no node, so that there is no cycle; only while a rule
    that wants to know it runs, `_node` is there.
    """

    __slots__ = ()  # those of `ContextBase`

    _parents: tuple[Node | None, ...]
    _saved: tuple[Any, ...] | list[Any]  # tensors, or entries; see `saved_entry`
    _nodes: tuple[Node | None, ...]  # of the tensors, as the call had them
    _dirty: tuple[Any, ...] = ()
    _flat: tuple[Any, ...] = ()
    _several = False
    _materialize = True
    _node: Any = None
    _recording = False  # the rule is being recorded
    _pushing = False  # it is `jvp`
    _has_jvp = False
    _ahead: tuple[Any, ...] | list[Any] | None = None  # saved for it
    _spaces: tuple[Any, ...] = ()  # of the arguments, for it

    def _save(self, *tensors: Any) -> None:
        """Keep tensors (or None) for `backward`, which reads them as `ctx.saved_tensors`.

        Inputs and outputs are kept with their history, so that `backward` can be differentiated.
        """
        for t in tensors:
            if not isinstance(t, Tensor) and t is not None:
                raise _unsavable(t, "ctx.save_for_backward")
        self._saved = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep other tensors (or None) for `jvp`; what was saved for `backward` serves it too."""
        for t in tensors:
            if not isinstance(t, Tensor) and t is not None:
                raise _unsavable(t, "ctx.save_for_forward")
        if self._has_jvp:
            self._ahead = tensors

    def _restored_tensors(self) -> tuple[Any, ...]:
        """The tensors that were saved: in `jvp` those for it, if there are any of its own.

        Raises `InplaceError` when one was overwritten.
        """
        saved, node = self._saved, self._node
        if node is not None and self._pushing and self._ahead is not None:
            saved = self._ahead
        if saved.__class__ is tuple:  # arguments
            if node is not None and versions.latest[0] > node.seq:
                for t in saved:
                    if t is not None:
                        versions.check_array(t._data, node, node.seq, "saved tensor")
            if self._recording:
                return tuple([
                    None if t is None else wrap(t._out, t._data, n)
                    for t, n in zip(saved, self._nodes, strict=True)
                ])
            return saved
        if node is not None:
            return tuple([self._restored(entry, node) for entry in saved])
        return tuple([e and wrap(e[1], _opened(e[0])) for e in saved])

    def _restored(self, entry: Any, ctx: Any) -> Any:
        """One saved tensor, checked against in-place writes, with its history."""
        if entry is None:
            return None
        data, cls, node = entry
        if data.__class__ is Packed:
            data = unpacked(data, where(ctx))
        else:
            versions.check_array(data, ctx, ctx.seq, "saved tensor")
        if not self._recording:
            return wrap(cls, data)
        if node.__class__ is int:
            node = lost_history(ctx, data) if node == MADE else _output(ctx, node, data)
        return wrap(cls, data, node)

    if TYPE_CHECKING or compiled is None:
        save_for_backward = _save
        saved_tensors = property(_restored_tensors)

    @property
    def needs_input_grad(self) -> tuple[bool, ...]:
        """For each argument, whether a gradient of it can be wanted."""
        return tuple([p is not None for p in self._parents])

    def mark_dirty(self, *tensors: Any) -> None:
        """Say which inputs `forward` changed in place; they must be among the outputs."""
        self._dirty = tensors
        self._several = True

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Say which outputs have no gradient."""
        self._flat = tensors
        self._several = True

    def set_materialize_grads(self, value: bool) -> None:
        """Whether the cotangent of an unused output is zeros (default) or None."""
        self._materialize = value


_SLOTS = {*NODE_SLOTS, *CustomNode.__slots__}


class FunctionNode(CustomNode):
    """A recorded call of a `Function`; `saved` is its context, whose attributes it shows."""

    __slots__ = ()

    def name(self) -> str:
        """The name of the function with `Backward` behind."""
        return type(self).__name__

    def __getattr__(self, name: str) -> Any:
        # As `grad_fn` in PyTorch, which is the context; reached for what no node has.
        if name.startswith("_") or name in _SLOTS:
            raise AttributeError(name)
        if self.saved is FREED:
            raise freed(self)
        return getattr(self.saved, name)


def _opened(data: Any) -> Any:
    return unpacked(data, "a saved tensor") if data.__class__ is Packed else data


def _output(node: Any, index: int, data: Any) -> Node | None:
    """The node of a saved output, with its tangents."""
    if node.dtype is not None:
        return node
    return end_of(node, index, data)


def _unsavable(value: Any, subject: str) -> ArgumentTypeError:
    return ArgumentTypeError(
        subject, "tensors or None", f"a {type(value).__name__}",
        "keep other things as attributes: ctx.limit = limit",
    )


def saved_entry(t: Any, args: tuple[Any, ...], outs: tuple[Any, ...]) -> Any:
    """What is kept of a saved tensor: (array, class, node), or None; for an output, its index.

    Never an output itself, whose node is the context: that would make a cycle. Nor a tensor that
    can be assigned another array.
    """
    if t is None:
        return None
    node: Any = t._node
    index = next((i for i, o in enumerate(outs) if o is t), None)
    if index is not None:
        node = index
    elif node is None and not any(a is t for a in args):
        node = MADE
    hooks = _state.state().packing
    data = t._data if hooks is None else hooks.packed(t._data, t._out)
    return data, t._out, node


def untie(ctx: Context, outs: tuple[Any, ...]) -> None:
    """Replace attributes of the context that are outputs by twins, which make no cycle."""
    for name, value in ctx.__dict__.items():
        if isinstance(value, Tensor) and any(value is o for o in outs):
            ctx.__dict__[name] = wrap(value._out, value._data)


def linked(ctx: Context, node: Any) -> dict[str, Any]:
    """While a rule is recorded, let tensors that are attributes have a history; what to undo.

    What was made inside forward gets one that raises when a derivative needs it.
    """
    before = {
        name: value for name, value in ctx.__dict__.items()
        if isinstance(value, Tensor) and value._node is None and is_inexact(value._data)
    }
    for name, value in before.items():
        ctx.__dict__[name] = wrap(value._out, value._data, lost_history(node, value._data))
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


class UnknownTangent(Tensor):
    """The tangent of such a value: using it raises the error."""

    __slots__ = ("message",)

    def __init__(self, message: tuple[str, str, str, str]) -> None:
        self.message, self._node = message, None

    def __getattr__(self, name: str) -> Any:
        # Reached by the slot of the array, which is empty.
        raise NotDifferentiableError(*self.message)


def lost_history(node: Node, data: Any) -> Node:
    """A node for a tensor made inside forward, that raises when a derivative needs its history."""
    return unknown(node.parents, data, (
        f"second derivative through {where(node)}",
        "saved inputs and outputs, whose history is known",
        "a tensor that was made inside forward, where nothing is recorded",
        "compute it in backward from the saved inputs, or return it from forward as an output "
        "(a constant made outside: pass it as an argument)",
    ))


def unknown(
    parents: tuple[Node | None, ...], data: Any, message: tuple[str, str, str, str]
) -> Node:
    """A node that raises when a derivative is taken through it."""
    node = stand_in(UnknownOp(message), parents, data)
    for accumulator in _state.state().accumulators:
        if any(p is not None and p in accumulator.tangents for p in parents):
            accumulator.tangents[node] = UnknownTangent(message)
    return node


def stand_in(op: Any, parents: tuple[Node | None, ...], data: Any) -> Node:
    """A node for an array, of an operation that says what its history is."""
    node = object_new(Node)
    node.op = op
    node.parents = parents
    node.saved = ()
    node.seq = number()
    node.level = min((p.level for p in parents if p is not None), default=_state.ALL)
    node.shape, node.dtype = data.shape, data.dtype
    return node
