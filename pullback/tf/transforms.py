"""Functions of functions, in TensorFlow's names: `vectorized_map` and `recompute_grad`."""

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
    """What a function makes of each entry of a tensor along its first axis, all at once.

    fn     is written for one entry; it takes one argument, in the structure of `elems`
    elems  a tensor, or a nested structure of them, of one length; those of length 1 serve for all

    `fallback_to_while_loop` and `warn` are taken and change nothing: an operation that has no
    batching rule always runs once an entry, and warns. Random numbers are drawn for each entry.

    Raises an `InvalidArgumentError` (a `ValueError`) for lengths that differ and for scalars.

    >>> from pullback import tf
    >>> pairs = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    >>> tf.vectorized_map(lambda row: tf.tensordot(row, row, 1), pairs).numpy()
    array([ 5., 25.], dtype=float32)
    """
    flat, rebuild = flatten(mapped(convert_to_tensor, elems))
    if any(x.ndim == 0 for x in flat):
        raise invalid("`vectorized_map`", "tensors with a first axis", "a scalar")
    sizes = {x.shape[0] for x in flat}
    size = max(sizes, default=0)
    if not sizes <= {1, size}:
        raise invalid("`vectorized_map`", "tensors of one first length, or of 1", f"{sizes}")
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
    """The function, of which nothing is kept for its gradient but its arguments.

    What the gradient needs is computed again when a tape is asked; see `pullback.checkpoint`.

    >>> from pullback import tf
    >>> x = tf.constant(0.0)
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = tf.recompute_grad(lambda x: tf.sin(tf.exp(x)))(x)
    >>> round(float(tape.gradient(y, x)), 4)
    0.5403
    """
    return checkpoint(f)
