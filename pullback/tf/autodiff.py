"""`tf.autodiff`: forward-mode differentiation, to use beside `tf.GradientTape`."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor as CoreTensor
from ..core.tensor import is_inexact
from ..errors import ArgumentTypeError
from ..forward_accumulator import ForwardAccumulator as CoreAccumulator
from ..trees import flatten, leaves
from .convert import convert_to_tensor
from .nest import assert_same_structure
from .tape import GradientTape as GradientTape
from .tape import UnconnectedGradients, _warn_of

__all__ = ["ForwardAccumulator", "GradientTape"]


class ForwardAccumulator(CoreAccumulator):
    """Computes Jacobian-vector products (JVPs) during the forward pass.

    See `pullback.ForwardAccumulator`. Each tangent is a tensor of its primal's dtype, or a number
    or array, which is converted. An integer primal has no derivative: passing one gives a warning.

    >>> from pullback import tf
    >>> x = tf.constant([2.0, 3.0])
    >>> with tf.autodiff.ForwardAccumulator(x, tf.constant([1.0, 0.0])) as acc:
    ...     y = tf.reduce_prod(x)
    >>> print(acc.jvp(y))
    tf.Tensor(3.0, shape=(), dtype=float32)
    """

    def __init__(self, primals: Any, tangents: Any) -> None:
        assert_same_structure(primals, tangents)
        followed, given = [], []
        for x, t in zip(leaves(primals), leaves(tangents), strict=True):
            if not isinstance(x, CoreTensor):
                raise ArgumentTypeError(
                    "argument `primals` of ForwardAccumulator", "tensors or variables",
                    f"a {type(x).__name__}", "convert it with tf.constant(…)",
                )
            if not is_inexact(x._data):
                _warn_of(x, "watched")
                continue
            followed.append(x)
            given.append(convert_to_tensor(t, dtype=x.dtype))
        super().__init__(followed, given)

    def jvp(
        self, primals: Any, unconnected_gradients: Any = UnconnectedGradients.NONE
    ) -> Any:
        """The JVP of each tensor in a nested structure; for a tensor that does not depend on the
        primals, None or zeros.

        >>> from pullback import tf
        >>> v = tf.Variable(3.0)
        >>> with tf.autodiff.ForwardAccumulator(v, tf.constant(2.0)) as acc:
        ...     y = v * v
        >>> float(acc.jvp(y)), acc.jvp(tf.constant(1.0))
        (12.0, None)
        """
        flat, rebuild = flatten(primals)
        return rebuild(super().jvp(flat, unconnected_gradients))
