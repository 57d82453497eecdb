"""Move a module's tensors to another library, device or dtype; call it with other parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..arrays import adapters
from ..core.cotangent import is_complex, is_complex_dtype
from ..core.node import Leaf
from ..core.tensor import Tensor, inexact_dtypes, is_inexact, raw, wrap
from ..errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError, suggestion
from ..ops import asarray, astype
from ..variable import Variable


def moved(tensors: list[Any], device: Any, dtype: Any, like: Any, subject: str) -> None:
    """Move every tensor and its gradient in place; after an error nothing has changed."""
    made = [(t, _array(t, device, dtype, like, subject)) for t in tensors]
    grads = [t.grad for t in tensors]
    new = [None if g is None else _array(g, device, dtype, like, subject) for g in grads]
    for (t, array), grad in zip(made, new, strict=True):
        if array is t._data:
            continue
        t._data = array
        leaf = t._leaf if isinstance(t, Variable) else t._node
        if isinstance(leaf, Leaf):
            leaf.dtype = array.dtype
            leaf.renew(array)
            leaf.grad = None if grad is None else wrap(Tensor, grad)


def _array(t: Any, device: Any, dtype: Any, like: Any, subject: str) -> Any:
    """A tensor's array after the move; the array itself if nothing changes."""
    data = t._data
    if like is not None:
        data = raw(asarray(wrap(Tensor, data), like=like))
    adapter = adapters[data.__class__]
    if device is not None:
        data = adapter.place(data, device)
    if dtype is not None and is_inexact(data):
        wanted = adapter.dtype(dtype)
        if not inexact_dtypes[wanted]:
            raise DtypeError(f"argument `dtype` of {subject}", "a floating dtype", str(dtype))
        if data.dtype != wanted and (is_complex_dtype(wanted) or not is_complex(data)):
            data = astype(data, wanted)
    return data if data is t._data else adapter.adopt(adapter.own(data))


def functional_call(module: Any, values: Mapping[str, Any], *args: Any, **kwargs: Any) -> Any:
    """The output of a module called with other parameters and buffers; its own stay unchanged.

    values  {name: Tensor or array}, named as in `state_dict`; the module uses its own tensors for
            names that are missing

    This makes a module a function of its parameters: for `grad` and the other transformations, or
    inside `jax.jit`. A buffer that the module updates keeps its old value. Raises `ArgumentError`
    for an unknown name and for a `Variable`; `ShapeError` for another shape.

    >>> import pullback as pb
    >>> layer = pb.nn.Linear(2, 1, bias=False)
    >>> loss = lambda p: pb.sum(pb.nn.functional_call(layer, p, pb.tensor([1.0, 2.0])))
    >>> pb.grad(loss)({"weight": pb.zeros((1, 2))})
    {'weight': Tensor([[1., 2.]])}
    """
    own = dict(module._tensors())
    given = {name: _given(name, value, own) for name, value in values.items()}
    with swapped([(own[name], value) for name, value in given.items()]):
        return module(*args, **kwargs)


@contextmanager
def swapped(pairs: list[tuple[Any, Any]]) -> Iterator[None]:
    """A block in which the first tensor of each pair is the second one."""
    before = [(own, own._data, own._node) for own, _ in pairs]
    try:
        for own, value in pairs:
            own._data, own._node = value._data, value._node
        yield
    finally:
        for own, data, node in before:
            own._data, own._node = data, node


def _given(name: str, value: Any, own: Mapping[str, Any]) -> Tensor:
    if not isinstance(value, Tensor) and not hasattr(value, "dtype"):
        raise ArgumentTypeError(
            f"{name!r} of functional_call", "a Tensor or an array", f"a {type(value).__name__}"
        )
    value = value if isinstance(value, Tensor) else Tensor(value)
    target = own.get(name)
    if target is None or isinstance(target, Variable):
        raise ArgumentError(
            f"{name!r} of functional_call", f"a name in the module: {', '.join(own)}",
            "a Variable; assign to it instead" if target is not None else "an unknown name",
            "" if target is not None else suggestion(name, own),
        )
    if value.shape != target.shape:
        raise ShapeError(
            f"{name!r} of functional_call", f"shape {target.shape}", f"shape {value.shape}"
        )
    return value
