"""`tf.GradientTape` and custom gradients, on tensors of the TensorFlow front end."""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping
from typing import Any
from warnings import warn

from ..core.tensor import Tensor as CoreTensor
from ..core.tensor import is_inexact
from ..custom.gradient import custom_gradient as custom_gradient
from ..custom.override import override_gradient as _core_override
from ..custom.override import register_gradient as RegisterGradient
from ..errors import ArgumentError, ArgumentTypeError
from ..tape import GradientTape as CoreTape
from ..trees import flatten, leaves
from .indexed_slices import Slices, Sparse, slicewise

__all__ = [
    "GradientTape", "RegisterGradient", "UnconnectedGradients", "custom_gradient",
    "override_gradient",
]

_TYPES = {
    "AddV2": "add", "Sub": "subtract", "Mul": "multiply", "RealDiv": "divide", "Div": "divide",
    "Neg": "negative", "FloorDiv": "floor_divide", "FloorMod": "remainder", "Inv": "reciprocal",
    "BatchMatMulV2": "matmul", "Conj": "conj", "Transpose": "permute_dims", "Select": "where",
    "SelectV2": "where", "Cast": "astype", "ConcatV2": "concat", "Rint": "round", "Pack": "stack",
    "LogSoftmax": "log_softmax", "LeakyRelu": "leaky_relu", "ExpandDims": "expand_dims",
    "BroadcastTo": "broadcast_to", "Tile": "tile",
}
"""TensorFlow operation types that do not follow from the core's names by spelling."""


def gradient_under(name: Any) -> Any:
    """The gradient registered under an operation type, if it also fits other operations.

    That is `"Identity"`, the usual choice for a straight-through estimator. Other values, and
    names registered by the user, are returned unchanged.

    >>> gradient_under("Identity")(None, 2.0), gradient_under("Doctest.Other")
    (2.0, 'Doctest.Other')
    """
    return _identity if isinstance(name, str) and name == "Identity" else name


def _identity(op: Any, gradient: Any) -> Any:
    return gradient


def _named(overrides: Any) -> Any:
    """{operation: rule}, with the core's names instead of TensorFlow's operation types."""
    if not isinstance(overrides, Mapping):
        return overrides
    return {_core_name(k): gradient_under(v) for k, v in overrides.items()}


def _core_name(key: Any) -> Any:
    """The core's name of an operation, from its core name or its TensorFlow type."""
    from ..core.op import OPS

    if not isinstance(key, str) or key in OPS:
        return key
    return _TYPES.get(key, key.lower() if key.lower() in OPS else key)


class UnconnectedGradients(enum.Enum):
    """What a tape returns for a source that the target does not depend on: None or zeros."""

    NONE = "none"
    ZERO = "zero"


class GradientTape(CoreTape):
    """Records operations on watched tensors, for automatic differentiation.

    See `pullback.GradientTape`. Integers have no gradient: to watch one, or to ask for its
    gradient, gives a warning and None.

    >>> from pullback import tf
    >>> x = tf.constant(3.0)
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = x * x
    >>> print(tape.gradient(y, x))
    tf.Tensor(6.0, shape=(), dtype=float32)
    """

    _slicewise: Collection[Any] = ()

    def watch(self, tensor: Any) -> None:
        """Start recording operations on a tensor, or on every tensor of a nested structure.

        Raises `ArgumentError` (a `ValueError`) for a value that is not a tensor.
        """
        for x in leaves(tensor):
            if not isinstance(x, CoreTensor):
                raise ArgumentError("tape.watch", "tensors or variables", f"a {type(x).__name__}",
                                    "convert it with tf.constant(…)")
            if is_inexact(x._data):
                super().watch(x)
            else:
                _warn_of(x, "watched")

    def watched_variables(self) -> tuple[Any, ...]:
        """The variables read or watched so far, in the order of their creation."""
        found = [v for v in super().watched_variables() if v._leaf is not None]
        return tuple(sorted(found, key=lambda v: v._leaf.born))

    def gradient(
        self, target: Any, sources: Any, output_gradients: Any = None,
        unconnected_gradients: Any = UnconnectedGradients.NONE, overrides: Any = None,
        dense: bool = False,
    ) -> Any:
        """The gradient of sum(targets) with respect to each source, in the sources' structure.

        See `pullback.GradientTape.gradient`; `overrides` also accepts TensorFlow's operation types.
        The gradient is a `tf.IndexedSlices` for a variable or watched tensor that is only used by
        `tf.gather` and `tf.nn.embedding_lookup`; with `dense=True` it is a tensor.

        Raises `ArgumentTypeError` (a `TypeError`) for a target or source that is not a tensor.
        """
        if any(t is None for t in leaves(target)):
            raise ArgumentTypeError("target of tape.gradient", "tensors", "None",
                                    "return the value from the function that computes it")
        flat, rebuild = flatten(sources)
        exact = [isinstance(s, CoreTensor) and not is_inexact(s._data) for s in flat]
        for s, left_out in zip(flat, exact, strict=True):
            if left_out:
                _warn_of(s, "source")
        asked = [s for s, left_out in zip(flat, exact, strict=True) if not left_out]
        self._slicewise = () if dense else slicewise(asked)
        try:
            found = iter(super().gradient(
                target, asked, output_gradients, unconnected_gradients, overrides
            ))
        finally:
            self._slicewise = ()
        return rebuild([None if left_out else next(found) for left_out in exact])

    def _rules(self, overrides: Any) -> Any:
        rules = super()._rules(_named(overrides))
        return Sparse(set(self._slicewise), rules) if self._slicewise else rules

    def _answer(self, source: Any, node: Any, found: dict[Any, Any], zero: bool) -> Any:
        slices = found.get(node)
        return slices.public() if slices.__class__ is Slices else (
            super()._answer(source, node, found, zero)
        )


def _warn_of(x: Any, role: str) -> None:
    warn(f"The dtype of the {role} tensor must be floating (e.g. tf.float32), got {x.dtype!r}",
         stacklevel=3)


class override_gradient(_core_override):
    """Replaces the gradients of operations in a block; accepts TensorFlow's operation types.

    See `pullback.override_gradient`.

    >>> from pullback import tf
    >>> x = tf.constant([-0.5, 2.0])
    >>> with tf.GradientTape() as tape, tf.override_gradient({"Sign": lambda op, g: g}):
    ...     tape.watch(x)
    ...     y = tf.sign(x)
    >>> tape.gradient(y, x).numpy()
    array([1., 1.], dtype=float32)
    """

    def __init__(self, overrides: Mapping[Any, Any]) -> None:
        super().__init__(_named(overrides))
