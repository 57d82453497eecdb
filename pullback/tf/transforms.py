"""`vectorized_map` and `recompute_grad`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..transforms.checkpoint import checkpoint
from ..transforms.mapping import vmap
from ..trees import flatten, mapped
from .convert import as_tensor, convert_to_tensor
from .errors import invalid

__all__ = ["recompute_grad", "vectorized_map"]


def vectorized_map(
    fn: Callable[[Any], Any], elems: Any, fallback_to_while_loop: bool = True, warn: bool = True
) -> Any:
    """Applies fn to each slice along the first axis, vectorized (per-example batching).

    fn     takes one argument, one example in the structure of `elems`
    elems  a tensor or nested structure of tensors; first axes of one length, or of length 1

    `fallback_to_while_loop` and `warn` are ignored: an operation without a batching rule always
    runs once per example, and gives a warning. Random samples are drawn per example.

    Raises an `InvalidArgumentError` (a `ValueError`) for scalars and for lengths that differ.

    >>> from pullback import tf
    >>> pairs = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    >>> tf.vectorized_map(lambda row: tf.tensordot(row, row, 1), pairs).numpy()
    array([ 5., 25.], dtype=float32)
    """
    flat, rebuild = flatten(mapped(convert_to_tensor, elems))
    if any(x.ndim == 0 for x in flat):
        raise invalid("`vectorized_map`", "tensors with a first axis to map over", "a scalar")
    sizes = {x.shape[0] for x in flat}
    size = max(sizes, default=0)
    if not sizes <= {1, size}:
        raise invalid("`vectorized_map`", "first axes of one length, or of length 1", f"{sizes}")
    single = [x.shape[0] != size for x in flat]
    missing: list[bool] = []

    def one(*values: Any) -> list[Any]:
        out = fn(rebuild([v[0] if s else v for v, s in zip(values, single, strict=True)]))
        found, whole[0] = flatten(out)
        missing[:] = [v is None for v in found]
        return [as_tensor(v) for v in found if v is not None]

    whole: list[Any] = [None]
    axes = tuple([None if s else 0 for s in single])
    results = iter(vmap(one, in_axes=axes)(*flat))
    return whole[0]([None if m else next(results) for m in missing])


def recompute_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """f with gradient checkpointing: only its arguments are saved for the gradient.

    The gradient recomputes everything else; see `pullback.checkpoint`.

    >>> from pullback import tf
    >>> x = tf.constant(0.0)
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = tf.recompute_grad(lambda x: tf.sin(tf.exp(x)))(x)
    >>> round(float(tape.gradient(y, x)), 4)
    0.5403
    """
    return checkpoint(f)
